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
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.history import History
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose import Proposer
from intelliperf_swizzle.records import Attempt, Candidate, Capture
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.baseline import choose_evaluator, profile_baseline
from intelliperf_swizzle.search.conclude import Outcome, Result, gather
from intelliperf_swizzle.search.one_kernel import optimize_kernel
from intelliperf_swizzle.search.plan import Search, plan_searches
from intelliperf_swizzle.search.recorded import choose_kernel, examine_kernels, record_application
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject, describe
from intelliperf_swizzle.stopping import Interrupted, apart, begin_part, hold, limit


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
    if setup.options.seconds:
        limit(setup.options.seconds)
    with record_application(setup, progress) as recorded:
        subjects, rows = apart(lambda: examine_kernels(recorded, setup, progress, to_edit=True))
        searches = plan_searches(subjects, setup)
        try:
            for number, one in enumerate(searches, 1):
                begin_part(len(searches) - number + 1)
                if len(searches) > 1:
                    progress.note(f"kernel {number} of {len(searches)}: {one.subject.kernel}")
                result = _try_kernel(one, recorded, proposers, folder, progress)
                results[one.subject] = result
                if isinstance(result, Outcome) and result.interrupted:
                    interrupted = result.interrupted
                    break
            hold()
        except Interrupted as signal:
            interrupted = signal
    failures = [result for result in results.values() if isinstance(result, SwizzleError)]
    if len(failures) == len(results):
        raise interrupted or failures[0]
    if interrupted:
        interrupted.exit_code *= interrupted.number != SIGALRM
        results = {**{one.subject: interrupted for one in searches}, **results}
    return gather([(one, results.get(one)) for one in subjects], rows, interrupted, setup)


def _try_kernel(
    one: Search, recorded: Capture, proposers: Sequence[Proposer], folder: Path, progress: Progress
) -> Outcome | SwizzleError:
    """As `optimize_kernel`; an error is returned."""
    try:
        return optimize_kernel(one, recorded, proposers, folder, progress)
    except SwizzleError as error:
        return error


def explain(setup: Setup, progress: Progress | None = None) -> HardwareContext:
    """What a language model would be told of the kernel; nothing is tried."""
    progress = progress or Silent()
    with record_application(setup, progress) as recorded:
        return apart(lambda: _explain(setup, recorded, progress))


def _explain(setup: Setup, recorded: Capture, progress: Progress) -> HardwareContext:
    subject = choose_kernel(recorded, setup, progress)
    baseline, _ = profile_baseline(setup, subject, progress)
    for caution in subject.cautions:
        progress.note(caution)
    return describe(setup, replace(subject, baseline=baseline))


def score(
    candidate: Candidate, setup: Setup, progress: Progress | None = None
) -> tuple[Subject, Attempt]:
    """Proves and evaluates one candidate on the application's kernel; no file is changed."""
    progress = progress or Silent()
    with record_application(setup, progress) as recorded, temporary_folder("score") as folder:
        return apart(lambda: _score(candidate, setup, recorded, folder, progress))


def _score(
    candidate: Candidate, setup: Setup, recorded: Capture, folder: Path, progress: Progress
) -> tuple[Subject, Attempt]:
    subject = choose_kernel(recorded, setup, progress)
    history = History(folder / "history.jsonl", {})
    evaluator = choose_evaluator(setup, subject, history, recorded.folder.parent, progress)
    attempts = Attempts(setup, subject, history)
    screened = attempts.screen([candidate], attempts.prove([candidate]))
    evaluator.evaluate(attempts.edit(attempts.promising(screened, least=0.0)))
    [attempt] = attempts.current(screened)
    history.close()
    return replace(subject, baseline=evaluator.baseline), attempts.explained(attempt)
