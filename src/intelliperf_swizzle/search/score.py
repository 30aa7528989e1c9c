# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is known of one kernel of an application, and of one candidate on it: without a search."""

from collections.abc import Sequence
from dataclasses import replace

from intelliperf_swizzle.history import History
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose.llm.prompt import Question, first_questions
from intelliperf_swizzle.records import Accuracy, Candidate, Score
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.evaluators import choose_evaluator
from intelliperf_swizzle.search.examine import choose_kernel, record_application
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.stages import EvaluationContext, carried_by_no_patch, without_edit
from intelliperf_swizzle.search.subject import describe
from intelliperf_swizzle.stopping import interruptibly


def explain(setup: RunContext, progress: Progress | None = None) -> list[Question]:
    """What a language model would be asked of the kernel first; nothing is tried."""
    progress = progress or Silent()

    def ask() -> list[Question]:
        subject = choose_kernel(recorded, setup, progress)
        for caution in subject.cautions:
            progress.note(caution)
        return first_questions(setup.formula, describe(setup, subject))

    with record_application(setup, progress) as recorded:
        return interruptibly(ask)


def score(
    text: str, name: str, setups: Sequence[RunContext], progress: Progress | None = None
) -> list[tuple[Score, Accuracy | None]]:
    """Proves and evaluates a swizzle on the application's kernel; no file is changed.

    Also what is known of the model on such kernels. Setups differ in their target alone, and are
    of one product: the application is built and recorded once.
    """
    progress, candidate = progress or Silent(), Candidate(text, name, "user")

    def evaluated(setup: RunContext) -> tuple[Score, Accuracy | None]:
        subject, folder = choose_kernel(recorded, setup, progress), recorded.folder.parent
        history = History(folder / "history.jsonl", {})
        context = EvaluationContext(subject, setup, history.record, progress)
        evaluator = choose_evaluator(context, folder)
        attempts = Attempts(setup, subject, history)
        screened = attempts.screen([candidate], attempts.prove([candidate]))
        promising = attempts.promising(screened, least=0.0)
        needed = setup.device or setup.profiler  # to the model the mapping is enough
        evaluator.evaluate(attempts.edit(promising) if needed else [*map(without_edit, promising)])
        attempt = attempts.explain(*attempts.current(screened))
        if proved := [s.proved for s in promising]:
            attempt = replace(attempt, proof=proved[0].certify())
        history.close()
        notes = [*subject.cautions, *(n for s in promising for n in carried_by_no_patch(s, setup))]
        found = Score(subject.kernel, evaluator.baseline, subject.ceiling, attempt, tuple(notes))
        return found, subject.accuracy(setup.target)

    with record_application(setups[0], progress) as recorded:
        return interruptibly(lambda: [*map(evaluated, setups)])
