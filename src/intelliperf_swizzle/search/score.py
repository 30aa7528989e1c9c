# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is known of one kernel of an application, and of one candidate on it: without a search."""

from __future__ import annotations

from dataclasses import replace

from intelliperf_swizzle.history import History
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose.llm.prompt import Question, first_questions
from intelliperf_swizzle.records import Attempt, Candidate, Capture
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.evaluators import choose_evaluator
from intelliperf_swizzle.search.examine import choose_kernel, record_application
from intelliperf_swizzle.search.judging import EvaluationContext
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import carried_by_no_patch, unedited
from intelliperf_swizzle.search.subject import Subject, describe
from intelliperf_swizzle.stopping import interruptibly


def explain(setup: Setup, progress: Progress | None = None) -> list[Question]:
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
    text: str, name: str, setup: Setup, progress: Progress | None = None
) -> tuple[Subject, Attempt]:
    """Proves and evaluates a swizzle on the application's kernel; no file is changed."""
    progress, candidate = progress or Silent(), Candidate(text, name, "user")
    with record_application(setup, progress) as recorded:
        return interruptibly(lambda: _score(candidate, setup, recorded, progress))


def _score(
    candidate: Candidate, setup: Setup, recorded: Capture, progress: Progress
) -> tuple[Subject, Attempt]:
    subject = choose_kernel(recorded, setup, progress)
    folder = recorded.folder.parent
    history = History(folder / "history.jsonl", {})
    setting = EvaluationContext(subject, setup, history.record, progress)
    evaluator = choose_evaluator(setting, folder)
    attempts = Attempts(setup, subject, history)
    screened = attempts.screen([candidate], attempts.prove([candidate]))
    promising = attempts.promising(screened, least=0.0)
    needed = setup.device or setup.profiler  # to the model the mapping is enough
    evaluator.evaluate(attempts.edit(promising) if needed else [*map(unedited, promising)])
    [attempt] = attempts.current(screened)
    history.close()
    told = [told for one in promising for told in carried_by_no_patch(one, setup)]
    subject = replace(subject, baseline=evaluator.baseline, cautions=(*subject.cautions, *told))
    return subject, attempts.explained(attempt)
