# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Errors, rank correlation, regret and agreement, worked by hand."""

from __future__ import annotations

import pytest

from accuracy.agreement import (
    errors_points,
    kendall_tau_b,
    order_agreement,
    regret_points,
    spread_points,
)
from accuracy.comparison import ComparedConfiguration, Pair
from accuracy.measured import MeasuredPair, UnusableError, read
from accuracy.summary import scores, summarise
from intelliperf_swizzle.records import Measurement


def test_errors_and_spread_are_in_points() -> None:
    assert errors_points([0.5, 0.25], [0.25, 0.5]).tolist() == [25, -25]
    assert spread_points([0.25, 0.75, 0.5]) == 50


def test_tau_counts_ties_as_kendall_does() -> None:
    assert kendall_tau_b([1, 2, 3], [10, 20, 30]) == 1
    assert kendall_tau_b([1, 2, 3], [30, 20, 10]) == -1
    # 5 of 6 pairs are apart on one side, all on the other: 5 agree; 5 / sqrt(5 * 6)
    assert kendall_tau_b([1, 2, 2, 4], [1, 2, 3, 4]) == pytest.approx(5 / 30**0.5)
    assert kendall_tau_b([1, 1, 1], [1, 2, 3]) is None


def test_regret_is_what_trusting_the_model_loses() -> None:
    assert regret_points([0.1, 0.9, 0.5], [0.5, 0.25, 0.75]) == 50
    assert regret_points([0.1, 0.2, 0.9], [0.5, 0.25, 0.75]) == 0


def test_times_within_noise_are_not_distinguished() -> None:
    modelled, measured = [1.0, 2.0, 3.0], [1.0, 1.01, 2.0]
    assert order_agreement(modelled, measured) == (3, 3)
    assert order_agreement(modelled, measured, 0.02) == (2, 2)
    assert order_agreement([3.0, 2.0, 1.0], measured, 0.02) == (0, 2)


def test_a_pair_counts_if_both_measurements_order_it_alike():
    modelled, measured = [1.0, 2.0, 3.0], [1.0, 1.1, 1.2]
    assert order_agreement(modelled, measured, 0.02, [2.0, 2.2, 2.4]) == (3, 3)
    assert order_agreement(modelled, measured, 0.02, [2.0, 2.01, 2.4]) == (2, 2)
    assert order_agreement(modelled, measured, 0.02, [2.2, 2.0, 2.4]) == (2, 2)


def pair(mapping: str, predicted: float, measured: float, **others: float) -> Pair:
    return Pair(
        MeasuredPair("config", mapping, measured, time_ms=others.get("time_ms")),
        Measurement("model", "h200", predicted, modelled_memory_time_ms=others.get("modelled_ms")),
    )


def test_summary_weighs_pairs_and_leaves_narrow_configurations_out_of_tau() -> None:
    wide = ComparedConfiguration("wide", 1, (pair("a", 0.5, 0.25), pair("b", 0.75, 0.75)), 1.0)
    narrow = ComparedConfiguration(
        "narrow", 1, tuple(pair(m, 0.5 - i / 100, 0.5 + i / 100) for i, m in enumerate("abc")), 1.0
    )
    assert scores(wide.pairs).worst_mapping == "a"
    assert scores(narrow.pairs).tau == -1
    summary = summarise([wide, narrow])
    assert summary.pairs == 5
    assert summary.mean_error_points == pytest.approx((25 + 0 + 0 + 2 + 4) / 5)
    assert summary.mean_error_points_wide == pytest.approx(12.5)
    assert summary.worst_error_points == pytest.approx(25)
    assert summary.worst_pair == "wide, a"
    assert summary.mean_tau == 1
    assert summary.mean_regret_points == pytest.approx((0 + 2) / 2)
    assert summary.time_order_agreement is None
    assert summary.llc_mean_error_points is None


def test_a_summary_of_nothing_holds_nothing() -> None:
    summary = summarise([])
    assert summary.pairs == 0
    assert summary.mean_error_points is None
    assert summary.worst_pair is None


def test_the_modelled_time_is_held_against_the_measured_one() -> None:
    pairs = tuple(
        pair(m, 0.5, 0.5, time_ms=time, modelled_ms=modelled)
        for m, time, modelled in (("a", 1.0, 5.0), ("b", 1.5, 4.0), ("c", 2.0, 6.0))
    )
    summary = summarise([ComparedConfiguration("config", 1, pairs, 1.0)])
    assert (summary.agreeing_times, summary.different_times) == (2, 3)


@pytest.mark.parametrize(
    ("record", "hit_rate"),
    [
        ({"sm_side_hit_rate_pct": [50, 60]}, 0.55),
        ({"sm_side_hit_rate_pct": 40.0, "l2_hit_rate_pct": 10}, 0.4),
        ({"sm_side_hit_rate_pct": [None, 30]}, 0.3),
        ({"l1_to_l2_sector_hits": 3.0, "l1_to_l2_sectors": 4.0, "l2_hit_rate_pct": 1}, 0.75),
        ({"l1_to_l2_sector_hits": [1, 3], "l1_to_l2_sectors": [4, 4]}, 0.5),
        ({"l2_hit_rate_pct": [20]}, 0.2),
        ({"sm_side_hit_rate_pct": [90, 104]}, 0.97),
    ],
)
def test_a_field_holds_a_number_or_readings(record: dict[str, object], hit_rate: float) -> None:
    assert read(record, "config", "mapping").hit_rate == pytest.approx(hit_rate)


@pytest.mark.parametrize(
    "record",
    [{}, {"sm_side_hit_rate_pct": "50"}, {"sm_side_hit_rate_pct": float("nan")},
     {"sm_side_hit_rate_pct": 140}, {"sm_side_hit_rate_pct": []}],
)  # fmt: skip
def test_a_record_without_a_rate_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(UnusableError):
        read(record, "config", "mapping")


def test_the_least_limit_is_the_occupancy() -> None:
    record = {"sm_side_hit_rate_pct": 1, "blocks_per_sm_limit": {"registers": 2.0, "warps": 8}}
    assert read(record, "config", "mapping").occupancy == 2
