# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What came of a run on an application, for all its kernels, and its files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from intelliperf_swizzle.disk import FolderLock
from intelliperf_swizzle.edit import Edit, apply, combine
from intelliperf_swizzle.errors import SpliceError, SwizzleError, ValidationError
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.records import KernelSummary
from intelliperf_swizzle.report.files import Finished, write_application, write_files
from intelliperf_swizzle.report.sentences import verdict
from intelliperf_swizzle.search.plan import is_promising
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.stages import UnitTest
from intelliperf_swizzle.search.subject import Subject
from intelliperf_swizzle.stopping import Interrupted


@dataclass(frozen=True)
class Outcome(Finished):
    """What came of the search on a kernel.

    Attributes:
        folder: for files, the kernel's own.
        lock: keeps other runs from that folder until the files are written.
        interrupted: the signal that ended the search; None if it came to its end.
        others: the outcomes of the other kernels that were searched.
        combined: the best swizzles of all of them in one edit; None if there are none.
    """

    folder: Path
    lock: FolderLock = field(repr=False, compare=False)
    interrupted: Interrupted | None = None
    others: "tuple[Outcome, ...]" = ()
    combined: Edit | None = None


Result: TypeAlias = "Outcome | SwizzleError | Interrupted | None"
"""What came of a kernel: an outcome, a failure, a signal before its search, or no search."""


def gather(
    results: Sequence[tuple[Subject, Result]],
    rows: Sequence[KernelSummary],
    interrupted: Interrupted | None,
    setup: RunContext,
) -> Outcome:
    """The outcome for the kernel that saves most time, with those of the others in it.

    Args:
        results: all kernels that could be edited, with the outcome of each; at least one outcome.
        rows: of the kernels that could not.
        interrupted: the signal that ended the run; None if it came to its end.
        setup: of the run.
    """
    table = _table(results, setup)
    ranked = sorted(zip(table, results, strict=True), key=lambda pair: -(pair[0].time_saved or 0))
    kernels = (*(row for row, _ in ranked), *rows)
    outcomes = [
        replace(result, run=replace(result.run, kernels=kernels), interrupted=interrupted)
        for _, (_, result) in ranked
        if isinstance(result, Outcome)
    ]
    first, *others = outcomes
    combined, notes = combine_edits(outcomes, setup)
    run = replace(first.run, notes=(*first.run.notes, *notes))
    return replace(first, run=run, others=tuple(others), combined=combined)


def _table(results: Sequence[tuple[Subject, Result]], setup: RunContext) -> list[KernelSummary]:
    """The rows; times are measured if all of them were, else modelled."""
    times = [
        outcome.run.baseline.time_ms * subject.untraced_factor
        for subject, outcome in results
        if isinstance(outcome, Outcome) and outcome.run.baseline.time_ms is not None
    ]
    if len(times) < len(results):
        times = [subject.time_ms for subject, _ in results]
    whole = sum(times)
    timed = zip(results, times, strict=True)
    return [kernel_row(*found, ms / whole if whole else None, setup) for found, ms in timed]


def kernel_row(
    subject: Subject, result: Result, share: float | None, setup: RunContext
) -> KernelSummary:
    """The row of a kernel; `share` is its part of the time of all recorded kernels."""
    if isinstance(result, SwizzleError):
        return replace(subject.summary, time_share=share, note=result.fact)
    if isinstance(result, Interrupted):
        return replace(subject.summary, time_share=share, note=f"not searched: {result}")
    if result is None:
        why = "too little time to save" if is_promising(setup, subject) else "nothing to gain"
        why = "not searched" if subject.refusal else why
        return replace(subject.summary, time_share=share, verdict=why)
    best, before = result.run.best, result.run.baseline.modelled_time_ms
    read = best.measurement if best else None
    ratio = read.timing.ratio.median if read and read.timing else None
    if read and before and ratio is None and result.run.claims_time:
        ratio = (read.modelled_time_ms or before) / before
    return replace(
        result.run.kernels[0],
        time_share=share,
        best_l2_hit_rate=read.l2_hit_rate if read else None,
        time_saved=None if ratio is None or share is None else share * (1 - ratio),
        verdict=verdict(result.run),
    )


def combine_edits(
    outcomes: Iterable[Outcome], setup: RunContext
) -> tuple[Edit | None, tuple[str, ...]]:
    """The edits of all outcomes in one; where that cannot be, the first alone, and why.

    If there are several, the user's own test must pass on them together.
    """
    edits = [outcome.edit for outcome in outcomes if outcome.edit]
    if len(edits) < 2:
        return (edits[0] if edits else None), ()
    try:
        combined = combine(edits, setup.patch_roots)
        failure = UnitTest(setup).failure(combined)
    except (SpliceError, ValidationError) as error:
        failure = error.fact
    if failure is not None:
        return edits[0], (f"the patches of the kernels cannot be combined: {failure}",)
    return combined, ()


def deliver(outcome: Outcome, options: Options) -> list[str]:
    """Writes the files and applies the edits if asked for; a line for each, for people.

    Args:
        outcome: of a run, for all kernels.
        options: which name other places for the result.
    """
    attempts = options.trace_path
    for other in outcome.others:
        write_files(other, other.folder, output_file=None, attempts_directory=attempts)
    written = write_files(
        outcome, outcome.folder, output_file=options.output_file, attempts_directory=attempts
    )
    if outcome.others:
        written += write_application(outcome.folder.parent, outcome.combined)
    if options.in_place and outcome.interrupted and outcome.interrupted.exit_code:
        written.append("nothing applied: the run was interrupted")
    elif options.in_place and outcome.combined:
        applied = zip(outcome.combined.files, apply(outcome.combined), strict=True)
        written += [f"applied: {path} (before: {backup})" for path, backup in applied]
    elif options.in_place:
        written.append("nothing applied: no eligible swizzle")
    for searched in (outcome, *outcome.others):
        searched.lock.release()
    return written
