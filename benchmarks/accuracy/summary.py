# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Pairs summed up: errors, order, regret, of one configuration and of all (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import numpy.typing as npt

from accuracy.agreement import (
    errors_points,
    kendall_tau_b,
    order_agreement,
    regret_points,
    spread_points,
)
from accuracy.comparison import ComparedConfiguration, Pair
from intelliperf_swizzle.records import Measurement

ORDERED_SPREAD_POINTS = 5.0
"""Orders whose measured hit rates lie closer are not ranked: H200s differ by up to 11 points."""
WIDE_SPREAD_POINTS = 10.0
"""Configurations on which the order decides."""
TIME_NOISE_FRACTION = 0.02
"""Measured times that differ by less are not distinguished; repeats differ by about 1 %."""


@dataclass(frozen=True)
class Scores:
    """How well one configuration is modelled. Errors in percentage points; None = not measured.

    Attributes:
        pairs: compared.
        spread: of the measured hit rates.
        mean_error: mean absolute error of the hit rate.
        worst_error: greatest one, signed: modelled less measured.
        worst_mapping: where.
        counter_error: mean absolute error against the profiler's own quotient.
        worst_counter_error: greatest one, signed.
        llc_error: of the last-level cache's hit rate.
        tau: Kendall's τ-b of the order of mappings.
        regret: measured rate of the mapping that the model prefers, less than the best.
        agreeing_times: pairs of mappings put in the same order by modelled and measured time.
        different_times: pairs whose measured times differ by more than noise.
        agreeing_times_of_both, different_times_of_both: the same of pairs that both readings of
            time tell apart in the same direction; of one reading where there is no second.
        measured_spread: between repeated readings, mean.
    """

    pairs: int
    spread: float
    mean_error: float
    worst_error: float
    worst_mapping: str
    counter_error: float | None
    worst_counter_error: float | None
    llc_error: float | None
    tau: float | None
    regret: float
    agreeing_times: int
    different_times: int
    agreeing_times_of_both: int
    different_times_of_both: int
    measured_spread: float


def scores(pairs: Sequence[Pair]) -> Scores:
    """Sum up the pairs of one configuration."""
    modelled = [pair.modelled for pair in pairs]
    predicted = [measurement.l2_hit_rate for measurement in modelled]
    measured = [pair.measured.hit_rate for pair in pairs]
    errors = errors_points(predicted, measured)
    worst = int(abs(errors).argmax())
    both = list(zip(modelled, pairs, strict=True))
    counters = errors_points(*_both((_counter(m), p.measured.counter_hit_rate) for m, p in both))
    last_level = errors_points(*_both((m.llc_hit_rate, p.measured.llc_hit_rate) for m, p in both))
    agreeing, different, agreeing_twice, different_twice = _times_in_order(pairs)
    return Scores(
        pairs=len(pairs),
        spread=spread_points(measured),
        mean_error=float(abs(errors).mean()),
        worst_error=float(errors[worst]),
        worst_mapping=pairs[worst].measured.mapping,
        counter_error=_mean(abs(counters)),
        worst_counter_error=float(max(counters, key=abs)) if len(counters) else None,
        llc_error=_mean(abs(last_level)),
        tau=kendall_tau_b(predicted, measured),
        regret=regret_points(predicted, measured),
        agreeing_times=agreeing,
        different_times=different,
        agreeing_times_of_both=agreeing_twice,
        different_times_of_both=different_twice,
        measured_spread=fmean(pair.measured.spread_points for pair in pairs),
    )


def _times_in_order(pairs: Sequence[Pair]) -> tuple[int, int, int, int]:
    """The four counts of `Scores` that concern times."""
    known = [
        (modelled, pair.measured.time_ms, pair.measured.profiled_time_ms)
        for pair in pairs
        if (modelled := pair.modelled.modelled_time_ms) is not None
        and pair.measured.time_ms is not None
    ]
    if not known:
        return 0, 0, 0, 0
    times, measured = [timed[0] for timed in known], [timed[1] for timed in known]
    again = [timed[2] for timed in known if timed[2] is not None]
    once = order_agreement(times, measured, TIME_NOISE_FRACTION)
    if len(again) < len(known):
        return *once, *once
    return *once, *order_agreement(times, measured, TIME_NOISE_FRACTION, again)


@dataclass(frozen=True)
class Summary:
    """All configurations together; points are percentage points, None = nothing of the kind.

    Attributes:
        pairs: compared.
        configurations: of which at least one pair was compared.
        mean_error_points: mean absolute error of the hit rate over pairs.
        mean_error_points_wide: … of configurations whose measured spread exceeds
            `WIDE_SPREAD_POINTS`.
        worst_error_points: greatest, signed: modelled less measured.
        worst_pair: `config, mapping` of it.
        counter_mean_error_points: against the profiler's own quotient.
        counter_worst_error_points: greatest, signed.
        llc_mean_error_points: of the last-level cache's hit rate.
        mean_tau: mean τ-b of configurations whose measured spread exceeds `ORDERED_SPREAD_POINTS`.
        mean_regret_points: mean over configurations.
        worst_regret_points: greatest.
        agreeing_times: pairs of mappings that modelled and measured time put in the same order.
        different_times: pairs of mappings of one configuration whose measured times differ by more
            than `TIME_NOISE_FRACTION`.
        agreeing_times_of_both, different_times_of_both: as `Scores` has them.
        time_order_agreement: quotient of `agreeing_times` and `different_times`.
        measured_spread_points: between repeated readings of one pair, mean.
    """

    pairs: int
    configurations: int
    mean_error_points: float | None
    mean_error_points_wide: float | None
    worst_error_points: float | None
    worst_pair: str | None
    counter_mean_error_points: float | None
    counter_worst_error_points: float | None
    llc_mean_error_points: float | None
    mean_tau: float | None
    mean_regret_points: float | None
    worst_regret_points: float | None
    agreeing_times: int
    different_times: int
    agreeing_times_of_both: int
    different_times_of_both: int
    time_order_agreement: float | None
    measured_spread_points: float | None


def summarise(outcomes: Sequence[ComparedConfiguration]) -> Summary:
    """Sum up all configurations."""
    each = [scores(outcome.pairs) for outcome in outcomes]
    worst = max(range(len(each)), key=lambda i: abs(each[i].worst_error), default=None)
    agreeing, different = (
        sum(getattr(score, f"{name}_times") for score in each) for name in ("agreeing", "different")
    )
    return Summary(
        pairs=sum(score.pairs for score in each),
        configurations=len(each),
        mean_error_points=_over_pairs(each, "mean_error"),
        mean_error_points_wide=_over_pairs(
            [score for score in each if score.spread > WIDE_SPREAD_POINTS], "mean_error"
        ),
        worst_error_points=None if worst is None else each[worst].worst_error,
        worst_pair=None
        if worst is None
        else f"{outcomes[worst].name}, {each[worst].worst_mapping}",
        counter_mean_error_points=_over_pairs(each, "counter_error"),
        counter_worst_error_points=max(_known(each, "worst_counter_error"), key=abs, default=None),
        llc_mean_error_points=_over_pairs(each, "llc_error"),
        mean_tau=_mean(_known([o for o in each if o.spread > ORDERED_SPREAD_POINTS], "tau")),
        mean_regret_points=_mean(_known(each, "regret")),
        worst_regret_points=max(_known(each, "regret"), default=None),
        agreeing_times=agreeing,
        different_times=different,
        agreeing_times_of_both=sum(score.agreeing_times_of_both for score in each),
        different_times_of_both=sum(score.different_times_of_both for score in each),
        time_order_agreement=agreeing / different if different else None,
        measured_spread_points=_over_pairs(each, "measured_spread"),
    )


def _counter(modelled: Measurement) -> float:
    """The profiler's own quotient."""
    own = modelled.l2_counter_hit_rate
    return modelled.l2_hit_rate if own is None else own


def _both(pairs: Iterable[tuple[float | None, float | None]]) -> tuple[list[float], list[float]]:
    """The modelled and the measured numbers where both are there."""
    known = [(pair, other) for pair, other in pairs if pair is not None and other is not None]
    return [pair for pair, _ in known], [other for _, other in known]


def _mean(numbers: Sequence[float] | npt.NDArray[np.float64]) -> float | None:
    return float(np.mean(numbers)) if len(numbers) else None


def _known(scores: Sequence[Scores], name: str) -> list[float]:
    return [getattr(score, name) for score in scores if getattr(score, name) is not None]


def _over_pairs(scores: Sequence[Scores], name: str) -> float | None:
    """The mean of a configuration's mean, weighted by its pairs."""
    known = [score for score in scores if getattr(score, name) is not None]
    weights = sum(score.pairs for score in known)
    return sum(getattr(score, name) * score.pairs for score in known) / weights if weights else None
