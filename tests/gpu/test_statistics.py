# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Medians with their intervals."""

from __future__ import annotations

import random

import pytest

from intelliperf_swizzle.frontends.trials.processes import median_interval, timing


def test_ranks_are_those_of_the_tables() -> None:
    # H. A. David, Order Statistics: n = 11 -> 2nd and 10th, n = 20 -> 6th and 15th, at 95 %
    assert median_interval(range(1, 12)) == median_interval(list(range(11, 0, -1)))
    for count, low, high in ((11, 2, 10), (20, 6, 15), (100, 40, 61)):
        interval = median_interval(range(1, count + 1))
        assert (interval.low, interval.high) == (low, high)
        assert interval.median == (count + 1) / 2


def test_the_true_median_is_inside_as_often_as_promised() -> None:
    dice = random.Random(0)
    inside = 0
    for _ in range(1000):
        interval = median_interval([dice.lognormvariate(0, 1) for _ in range(41)])
        inside += interval.low <= 1.0 <= interval.high
    assert inside >= 940


def test_a_drifting_clock_does_not_widen_the_ratio() -> None:
    rounds = [(1e6 * (1 + 0.01 * n), 0.9e6 * (1 + 0.01 * n)) for n in range(40)]
    found = timing([rounds], [3], "a GPU")
    assert found.ratio.median == pytest.approx(0.9)
    assert found.ratio.high - found.ratio.low < 1e-9
    assert found.time_ms.high - found.time_ms.low > 0.1
    assert found.original_ms.median == pytest.approx(3 * 1.195)


def test_launches_count_as_often_as_they_are_made() -> None:
    short = [(1e6, 2e6)] * 20
    long = [(8e6, 4e6)] * 20
    found = timing([short, long], [4, 1], "a GPU")
    assert found.original_ms.median == pytest.approx(12)
    assert found.time_ms.median == pytest.approx(12)
    assert found.ratio.median == pytest.approx((4 * 2 + 8 * 0.5) / 12)
    assert [ratio.median for ratio in found.ratios] == [2, 0.5]
