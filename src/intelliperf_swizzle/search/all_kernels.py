# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What came of all kernels of an application: the table, the one that saves most, one patch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from intelliperf_swizzle.edit import Edit, combine
from intelliperf_swizzle.errors import SpliceError, SwizzleError, ValidationError
from intelliperf_swizzle.records import KernelSummary, Run
from intelliperf_swizzle.report.words import verdict
from intelliperf_swizzle.search.conclude import Outcome
from intelliperf_swizzle.search.plan import is_promising
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject
from intelliperf_swizzle.search.user_commands import UnitTest
from intelliperf_swizzle.stopping import Interrupted

Result: TypeAlias = "Outcome | SwizzleError | Interrupted | None"
"""What came of a kernel: an outcome, a failure, a signal before its search, or no search."""


def gather(
    results: Sequence[tuple[Subject, Result]],
    rows: Sequence[KernelSummary],
    interrupted: Interrupted | None,
    setup: Setup,
) -> Outcome:
    """The outcome for the kernel that saves most time, with those of the others in it.

    Args:
        results: all kernels that could be edited, with what came of each; at least one outcome.
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


def _table(results: Sequence[tuple[Subject, Result]], setup: Setup) -> list[KernelSummary]:
    """The rows; times are measured if all of them were, else modelled."""
    measured = [
        result.run.baseline.time_ms if isinstance(result, Outcome) else None
        for _, result in results
    ]
    times = [
        (ms or 0.0) * subject.untraced_factor
        for (subject, _), ms in zip(results, measured, strict=True)
    ]
    if None in measured:
        times = [subject.memory_time_ms for subject, _ in results]
    whole = sum(times)
    return [
        kernel_row(subject, result, ms / whole if whole else None, setup)
        for (subject, result), ms in zip(results, times, strict=True)
    ]


def kernel_row(
    subject: Subject, result: Result, share: float | None, setup: Setup
) -> KernelSummary:
    """The row of a kernel; `share` is its part of the time of all recorded kernels."""
    if isinstance(result, SwizzleError):
        return replace(subject.summary, time_share=share, note=result.fact)
    if isinstance(result, Interrupted):
        return replace(subject.summary, time_share=share, note=f"not searched: {result}")
    if result is None:
        why = "too little time to save" if is_promising(setup, subject) else "nothing to gain"
        return replace(subject.summary, time_share=share, verdict=why)
    ratio, best = time_ratio(result.run), result.run.best
    return replace(
        result.run.kernels[0],
        time_share=share,
        best_l2_hit_rate=best.measurement.l2_hit_rate if best and best.measurement else None,
        time_saved=None if ratio is None or share is None else share * (1 - ratio),
        verdict=verdict(result.run),
    )


def time_ratio(run: Run) -> float | None:
    """The time with the best swizzle, by the time before; measured if it was, else modelled."""
    after = run.best.measurement if run.best else None
    if after is None:
        return None
    if after.timing is not None:
        return after.timing.ratio.median
    now, before = after.modelled_time_ms, run.baseline.modelled_time_ms
    return now / before if now is not None and before else None


def combine_edits(outcomes: Iterable[Outcome], setup: Setup) -> tuple[Edit | None, tuple[str, ...]]:
    """The edits of all outcomes in one; where that cannot be, the first alone, and why.

    If there are several, the user's own test must pass on them together.
    """
    edits = [one.edit for one in outcomes if one.edit]
    if len(edits) < 2:
        return (edits[0] if edits else None), ()
    try:
        combined = combine(edits, setup.patch_roots)
        failure = UnitTest(setup).failure(combined)
    except (SpliceError, ValidationError) as error:
        failure = error.fact
    if failure is not None:
        return edits[0], (f"the patches of the kernels cannot be one: {failure}",)
    return combined, ()
