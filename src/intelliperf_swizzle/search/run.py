# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One run on an application: record it, search for each kernel that is worth it, conclude."""

from collections.abc import Callable, Sequence
from pathlib import Path
from signal import SIGALRM

from intelliperf_swizzle import stopping
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose import Proposer
from intelliperf_swizzle.propose.llm import choose_proposers
from intelliperf_swizzle.report.files import STDOUT, check_format, writable
from intelliperf_swizzle.search import plan
from intelliperf_swizzle.search.deliver import Outcome, Result, gather
from intelliperf_swizzle.search.examine import examine_kernels, record_application
from intelliperf_swizzle.search.kernel import optimize_kernel
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.subject import Subject


def optimize_as_asked(
    setup: RunContext, progress: Progress, tell: Callable[[str], None] | None = None
) -> Outcome:
    """`optimize` by the proposers, and with files in the folder, that the options name.

    Args:
        setup: what the run works with.
        progress: receives each step.
        tell: receives a sentence if files cannot go where they should.
    """
    options = setup.options
    if options.output_file not in (None, STDOUT):
        check_format(Path(options.output_file))
    folder = writable(options.report_dir, tell or progress.note)
    return optimize(setup, choose_proposers(options, progress), folder, progress)


def optimize(
    setup: RunContext, proposers: Sequence[Proposer], folder: Path, progress: Progress | None = None
) -> Outcome:
    """Runs the loop on each kernel that could save time, the one that could save most first.

    A kernel whose search fails does not take with it what was found for the others. If a signal
    interrupts a search (see `stopping`), the outcome is the best so far.

    Args:
        setup: what the run works with.
        proposers: who offers candidates, one after the other.
        folder: for files, in a folder of each kernel's name.
        progress: receives each step.

    Returns:
        The outcome for the kernel that saves most time, with those of the others in it.

    Raises:
        SwizzleError: the application, the recording or a tool failed, or the input is wrong.
        Interrupted: a signal came before the search.
    """
    progress = progress or Silent()
    results: dict[Subject, Result] = {}
    interrupted: stopping.Interrupted | None = None
    stopping.limit(setup.options.seconds)
    with record_application(setup, progress) as recorded:
        setup.make_ready(recorded.folder.parent)
        subjects, rows = stopping.interruptibly(lambda: examine_kernels(recorded, setup, progress))
        searches = plan.plan_searches(subjects, setup)
        try:
            for number, planned in enumerate(searches, 1):
                shares = [search.setup.share for search in searches[number - 1 :]]
                stopping.begin_part(shares[0] / sum(shares))
                if len(searches) > 1:
                    progress.note(f"kernel {number} of {len(searches)}: {planned.subject.kernel}")
                try:
                    result = optimize_kernel(planned, recorded, proposers, folder, progress)
                except SwizzleError as error:
                    results[planned.subject] = error
                    continue
                results[planned.subject], interrupted = result, result.interrupted
                if interrupted:
                    break
            stopping.defer_signals()
        except stopping.Interrupted as signal:
            interrupted = signal
    failures = [result for result in results.values() if isinstance(result, SwizzleError)]
    if len(failures) == len(results):
        raise interrupted or failures[0]
    if interrupted:
        interrupted.exit_code *= interrupted.number != SIGALRM
        results = {**{search.subject: interrupted for search in searches}, **results}
    return gather([(s, results.get(s)) for s in subjects], rows, interrupted, setup)
