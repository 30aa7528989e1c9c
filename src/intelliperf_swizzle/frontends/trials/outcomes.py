# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a trial means for an edit; and times of interleaved rounds as medians with an interval.

The clock of a GPU drifts by percents within seconds, and both kernels of a round meet the same
clock. So candidates are compared by the median of their ratios within rounds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from intelliperf_swizzle.frontends.ports import GpuOutcome
from intelliperf_swizzle.frontends.trials import Trial
from intelliperf_swizzle.records import Interval, Timing, Validation

CONFIDENCE = 0.95


def median_interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The median and its interval from order statistics, which needs no distribution.

    Of n samples the k-th smallest and the k-th largest enclose the true median with probability
    1 - 2 P(Binomial(n, 1/2) < k). Source: H. A. David, Order Statistics, 2.5.
    """
    ordered = sorted(samples)
    count = len(ordered)
    rank, outside = 0, 0.0
    while rank < count // 2:
        outside += math.comb(count, rank) / 2**count
        if 2 * outside > 1 - confidence:
            break
        rank += 1
    first = max(rank - 1, 0)
    return Interval(statistics.median(ordered), ordered[first], ordered[count - 1 - first])


def timing(
    rounds_by_task: Sequence[Sequence[tuple[float, float]]], counts: Sequence[int], device: str
) -> Timing:
    """Combines tasks; bounds are added as if all were wrong the same way.

    Args:
        rounds_by_task: for each task, (original, candidate) times in ns of each round.
        counts: how often the application launches each.
        device: the GPU.
    """
    originals = [median_interval([o for o, _ in rounds]) for rounds in rounds_by_task]
    candidates = [median_interval([c for _, c in rounds]) for rounds in rounds_by_task]
    ratios = [median_interval([c / o for o, c in rounds]) for rounds in rounds_by_task]
    weights = [one.median * count for one, count in zip(originals, counts, strict=True)]
    share = [weight / sum(weights) for weight in weights]
    return Timing(
        device=device,
        original_ms=_sum(originals, [count / 1e6 for count in counts]),
        time_ms=_sum(candidates, [count / 1e6 for count in counts]),
        ratio=_sum(ratios, share),
        rounds=min(len(rounds) for rounds in rounds_by_task),
        ratios=tuple(ratios),
    )


def _sum(intervals: Sequence[Interval], weights: Sequence[float]) -> Interval:
    pairs = list(zip(intervals, weights, strict=True))
    return Interval(
        sum(one.median * weight for one, weight in pairs),
        sum(one.low * weight for one, weight in pairs),
        sum(one.high * weight for one, weight in pairs),
    )


RACE_SECONDS = 1.5
"""For the times of all candidates of one trial; a race of a dozen GEMMs of 5 ms has 25 rounds, and
one of the best alone, to confirm it, 150."""


def outcome_of(trial: Trial, tiles: Sequence[int], tolerance: float) -> GpuOutcome:
    """The outcome, by what was compared and timed.

    Args:
        trial: over all tasks.
        tiles: of each task.
        tolerance: within which floats that atomics add up were compared.
    """
    if trial.failure is not None:
        kind, text = trial.failure.kind, trial.failure.text
        if kind == "does not build" or kind == "not validated":
            return GpuOutcome((kind, text))
        return GpuOutcome(("output differs", f"the swizzled kernel {kind}: {text}"))
    compared = [tiles[task] for task in trial.checks]
    loose = any(check.loose for check in trial.checks.values())
    validation = Validation(
        method="gpu",
        launches=len(compared),
        tiles_compared=sum(compared),
        tiles=sum(tiles),
        same_bits=trial.difference is None,
        rule="tolerance" if loose else "bits",
        tolerance=tolerance if loose else None,
        difference=trial.difference,
    )
    if not validation.same_bits:
        return GpuOutcome(("output differs", trial.difference or ""), validation)
    if len(trial.checks) < len(tiles):
        missing = len(tiles) - len(trial.checks)
        how = f"were not compared: {trial.note}" if trial.note else "did not come again"
        reason = f"{missing} of {len(tiles)} recorded launches {how}"
        return GpuOutcome(("not validated", reason), validation)
    if trial.timing is None:
        return GpuOutcome(("not measured", trial.note or "no times were taken"), validation)
    return GpuOutcome(None, validation, trial.timing)
