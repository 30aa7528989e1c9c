# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One run on an application: record it, search for each kernel that is worth it, conclude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from signal import SIGALRM

from intelliperf_swizzle.context import HardwareContext
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import SpliceError, SwizzleError
from intelliperf_swizzle.history import History
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose import Effort, Proposer
from intelliperf_swizzle.records import Attempt, ByHand, Candidate, Capture
from intelliperf_swizzle.search import plan
from intelliperf_swizzle.search.builds import check_dependences
from intelliperf_swizzle.search.compare_cures import case_of, compare_cures, find_parameters
from intelliperf_swizzle.search.conclude import Outcome, Result, conclude, draw, gather
from intelliperf_swizzle.search.evaluators import choose_evaluator
from intelliperf_swizzle.search.guard import SizeGuard
from intelliperf_swizzle.search.loop import Attempts, search_kernel
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Edited, Evaluated, Screened
from intelliperf_swizzle.search.subject import Subject, describe, edit_launches
from intelliperf_swizzle.stopping import (
    Interrupted,
    ahead,
    begin_part,
    defer_signals,
    interruptibly,
    limit,
)  # fmt: skip

LATER = (
    "validated without the condition that the patch tests, with which it is the same permutation "
    "of every recorded launch"
)


def optimize_kernel(
    one: plan.Search,
    recorded: Capture,
    proposers: Sequence[Proposer],
    folder: Path,
    progress: Progress,
) -> Outcome:
    """Runs the loop on one kernel of a recorded application; as of `optimize`."""
    setup = one.setup
    promising = plan.is_promising(setup, one.subject)
    if setup.device is not None and not promising:
        setup = replace(setup, device=None, profiler=None)  # nothing is timed or counted
    subject = interruptibly(lambda: check_dependences(one.subject, setup, progress))
    folder = plan.kernel_folder(folder / one.folder, setup, subject)
    initial = "" if subject.refusal else subject.read_file()
    with (
        plan.lock_folder(folder, subject) as lock,
        plan.open_history(setup, subject, proposers, folder, progress) as history,
    ):
        scratch = recorded.folder.parent
        evaluator = interruptibly(
            lambda: choose_evaluator(setup, subject, history, scratch, progress)
        )
        best: Edited | None = None
        effort, interrupted = Effort(), None
        picture, cures = None, None
        by_hand: tuple[ByHand, ...] = ()
        guard = SizeGuard(setup, subject, progress)
        parameters = None
        try:
            if promising:
                if setup.device and subject.is_traced:  # while candidates are tried there
                    case, _ = case_of(setup, subject)
                    parameters = ahead(lambda: [*find_parameters(case, subject)])
                best, effort, by_hand = interruptibly(
                    lambda: search_kernel(
                        setup, subject, proposers, evaluator, history, progress, guard
                    )
                )
            if subject.is_traced:
                picture = interruptibly(lambda: draw(setup, subject, best))
            cures = interruptibly(lambda: compare_cures(setup, subject, best, progress, parameters))
        except Interrupted as signal:
            guarded = map(guard.at_once, evaluator.confirmed)
            best, interrupted = best or next(filter(None, guarded), None), signal
            efforts = [proposer.effort for proposer in proposers]
            later = (LATER,) if best and not isinstance(best, Evaluated) else ()
            effort = sum(efforts, Effort((f"{signal}; --resume goes on", *later)))
        run = replace(
            conclude(setup, recorded, subject, plan.name_proposers(proposers), evaluator, history),
            best=best.attempt if best else None,
            independence=guard.independence if subject.is_traced else None,
            picture=picture,
            cures=cures,
            by_hand=by_hand,
            interrupted=interrupted is not None,
            usage=effort.usage,
        )
        edit = best.edit if best else None
        run = replace(run, notes=(*run.notes, *effort.notes, *(edit.notes if edit else ())))
        return Outcome(run, edit, subject.file, initial, folder, lock, interrupted)


def optimize(
    setup: Setup, proposers: Sequence[Proposer], folder: Path, progress: Progress | None = None
) -> Outcome:
    """Runs the loop on each kernel that could save time, the one that could save most first.

    A kernel whose search fails does not take with it what was found for the others. If a signal
    interrupts a search (see `stopping`), the outcome is the best so far.

    Args:
        setup: what the run works with.
        proposers: who offers candidates, one after the other.
        folder: for files, in a folder of each kernel's name.
        progress: told of each step.

    Returns:
        The outcome for the kernel that saves most time, with those of the others in it.

    Raises:
        SwizzleError: the application, the recording or a tool failed, or the input is wrong.
        Interrupted: a signal came before the search.
    """
    progress = progress or Silent()
    results: dict[Subject, Result] = {}
    interrupted: Interrupted | None = None
    limit(setup.options.seconds)
    with plan.record_application(setup, progress) as recorded:
        subjects, rows = interruptibly(lambda: plan.examine_kernels(recorded, setup, progress))
        searches = plan.plan_searches(subjects, setup)
        try:
            for number, one in enumerate(searches, 1):
                begin_part(len(searches) - number + 1)
                if len(searches) > 1:
                    progress.note(f"kernel {number} of {len(searches)}: {one.subject.kernel}")
                try:
                    result = optimize_kernel(one, recorded, proposers, folder, progress)
                except SwizzleError as error:
                    results[one.subject] = error
                    continue
                results[one.subject], interrupted = result, result.interrupted
                if interrupted:
                    break
            defer_signals()
        except Interrupted as signal:
            interrupted = signal
    failures = [result for result in results.values() if isinstance(result, SwizzleError)]
    if len(failures) == len(results):
        raise interrupted or failures[0]
    if interrupted:
        interrupted.exit_code *= interrupted.number != SIGALRM
        results = {**{one.subject: interrupted for one in searches}, **results}
    return gather([(one, results.get(one)) for one in subjects], rows, interrupted, setup)


def explain(setup: Setup, progress: Progress | None = None) -> HardwareContext:
    """What a language model would be told of the kernel; nothing is tried."""
    progress = progress or Silent()
    with plan.record_application(setup, progress) as recorded:
        return interruptibly(lambda: _explain(setup, recorded, progress))


def _explain(setup: Setup, recorded: Capture, progress: Progress) -> HardwareContext:
    subject = plan.choose_kernel(recorded, setup, progress)
    for caution in subject.cautions:
        progress.note(caution)
    return describe(setup, subject)


def score(
    candidate: Candidate, setup: Setup, progress: Progress | None = None
) -> tuple[Subject, Attempt]:
    """Proves and evaluates one candidate on the application's kernel; no file is changed."""
    progress = progress or Silent()
    with plan.record_application(setup, progress) as recorded, temporary_folder("score") as folder:
        return interruptibly(lambda: _score(candidate, setup, recorded, folder, progress))


def _score(
    candidate: Candidate, setup: Setup, recorded: Capture, folder: Path, progress: Progress
) -> tuple[Subject, Attempt]:
    subject = plan.choose_kernel(recorded, setup, progress)
    history = History(folder / "history.jsonl", {})
    evaluator = choose_evaluator(setup, subject, history, recorded.folder.parent, progress)
    attempts = Attempts(setup, subject, history)
    screened = attempts.screen([candidate], attempts.prove([candidate]))
    promising = attempts.promising(screened, least=0.0)
    needed = setup.device or setup.profiler  # to the model the mapping is enough
    plain = [Edited(one.proved, one.attempt, Edit({}, {}, {}, "")) for one in promising]
    evaluator.evaluate(attempts.edit(promising) if needed else plain)
    [attempt] = attempts.current(screened)
    history.close()
    told = [told for one in promising for told in _carried(one, setup)]
    subject = replace(subject, baseline=evaluator.baseline, cautions=(*subject.cautions, *told))
    return subject, attempts.explained(attempt)


def _carried(one: Screened, setup: Setup) -> tuple[str, ...]:
    """What is to be said of a swizzle that no patch can carry."""
    try:
        own = one.proved
        return edit_launches(setup, own.subject.launches, own.swizzle, own.candidate.name).notes
    except SpliceError as error:
        return (f"neither a patch nor `apply` can carry it: {error.fact}",)
