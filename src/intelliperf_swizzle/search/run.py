# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One run on an application: record it, search for each kernel that is worth it, conclude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.edit import read_exactly
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose import Effort, Proposer
from intelliperf_swizzle.records import Capture
from intelliperf_swizzle.search.application import Result, gather
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.baseline import choose_evaluator
from intelliperf_swizzle.search.conclude import Outcome, conclude, draw
from intelliperf_swizzle.search.cures import compare_cures
from intelliperf_swizzle.search.loop import pose_problem, search
from intelliperf_swizzle.search.plan import Search, is_promising, plan_searches
from intelliperf_swizzle.search.recorded import examine_kernels, look_closely, record_application
from intelliperf_swizzle.search.run_folder import (
    kernel_folder,
    lock_folder,
    name_proposers,
    open_history,
)
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject
from intelliperf_swizzle.stopping import Interrupted, apart, hold


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
    with record_application(setup, progress) as recorded:
        subjects, rows = apart(lambda: examine_kernels(recorded, setup, progress, to_edit=True))
        searches = plan_searches(subjects, setup)
        try:
            for number, one in enumerate(searches, 1):
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
    return gather([(one, results.get(one)) for one in subjects], rows, interrupted, setup)


def _try_kernel(
    one: Search,
    recorded: Capture,
    proposers: Sequence[Proposer],
    folder: Path,
    progress: Progress,
) -> Outcome | SwizzleError:
    """As `optimize_kernel`; an error is returned."""
    try:
        return optimize_kernel(one, recorded, proposers, folder, progress)
    except SwizzleError as error:
        return error


def optimize_kernel(
    one: Search,
    recorded: Capture,
    proposers: Sequence[Proposer],
    folder: Path,
    progress: Progress,
) -> Outcome:
    """Runs the loop on one kernel of a recorded application; as of `optimize`."""
    setup = one.setup
    subject = apart(lambda: look_closely(one.subject, setup, progress))
    folder = kernel_folder(folder / one.folder, setup, subject)
    file = subject.launches[0].source.entry.file
    initial = read_exactly(Path(file))
    with (
        lock_folder(folder, subject) as lock,
        open_history(setup, subject, proposers, folder, progress) as history,
    ):
        scratch = recorded.folder.parent
        evaluator = apart(lambda: choose_evaluator(setup, subject, history, scratch, progress))
        best, effort, interrupted, seen, cures = None, Effort(), None, None, None
        try:
            if is_promising(setup, subject):
                attempts = apart(lambda: Attempts(setup, subject, history))
                problem = pose_problem(setup, subject, evaluator, attempts)
                best, effort = apart(
                    lambda: search(proposers, problem, attempts, evaluator, progress)
                )
            seen = apart(lambda: draw(setup, subject, best))
            cures = apart(lambda: compare_cures(setup, subject, best, progress))
        except Interrupted as signal:
            best, interrupted = best or evaluator.confirmed, signal
            efforts = [proposer.effort for proposer in proposers]
            effort = sum(efforts, Effort((f"{signal}; --resume goes on",)))
        run = replace(
            conclude(setup, recorded, subject, name_proposers(proposers), evaluator, history),
            best=best.attempt if best else None,
            picture=seen,
            cures=cures,
            interrupted=interrupted is not None,
            usage=effort.usage,
        )
        run = replace(run, notes=(*run.notes, *effort.notes))
        edit = best.edit if best else None
        return Outcome(run, edit, file, initial, folder, lock, interrupted)
