# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One run on an application: record it, search for each kernel that is worth it, conclude."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose import Proposer
from intelliperf_swizzle.records import Capture
from intelliperf_swizzle.search.all_kernels import Result, gather
from intelliperf_swizzle.search.conclude import Outcome
from intelliperf_swizzle.search.one_kernel import optimize_kernel
from intelliperf_swizzle.search.plan import Search, plan_searches
from intelliperf_swizzle.search.recorded import examine_kernels, record_application
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
    if interrupted:
        results = {**{one.subject: interrupted for one in searches}, **results}
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
