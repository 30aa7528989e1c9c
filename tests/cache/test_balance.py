# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""When the last workgroup ends, on GPUs small enough to schedule by hand."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.cache.amd_replay import imbalance, work
from intelliperf_swizzle.cache.model import replay
from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import Access

sys.path.insert(0, str(Path(__file__).parent))
from traces_by_hand import written_out

MI300X, H100 = load_target("mi300x"), load_target("h100")
TWO_XCDS = replace(MI300X, num_xcds=2, cus_per_xcd=2, dispatch_domains=(0, 1))


def by_hand(*taken: float, occupancy: int = 1) -> float | None:
    return imbalance([(np.array(taken, np.float64), 1, occupancy)], TWO_XCDS)


def test_each_xcd_takes_its_own_workgroups_one_after_the_other() -> None:
    """XCD 0 gets 6, 1, 1, 8 on two CUs: these end at 6 and at 1 + 1 + 8; 8 takes 8."""
    assert by_hand(6, 1, 1, 1, 1, 1, 8, 1) == 10 / 8
    assert by_hand(8, 1, 6, 1, 1, 1, 1, 1) == 1
    assert by_hand(1, 1, 1, 1, 1, 1, 8, 6) == 9 / 8
    assert by_hand(1, 1, 1, 1, 1, 1, 8, 6, occupancy=2) == 1
    assert by_hand(3, 5, 3, 5, 3, 5, 3, 5) == 10 / 8


def test_a_gpu_that_does_not_deal_workgroups_out_has_one_queue() -> None:
    single = replace(H100, num_xcds=2, cus_per_xcd=1)
    assert single.cus == 2
    assert imbalance([(np.array([1.0, 1, 2, 4]), 1, 1)], single) == 5 / 4
    assert imbalance([(np.array([4.0, 2, 1, 1]), 1, 1)], single) == 1


def test_launches_count_as_often_as_they_were_made() -> None:
    even, uneven = np.ones(8), np.array([1.0, 1, 1, 1, 1, 1, 1, 9])
    assert imbalance([(even, 5, 1)], TWO_XCDS) is None
    assert imbalance([(even, 3, 1), (uneven, 1, 1)], TWO_XCDS) == (3 * 2 + 10) / (3 * 2 + 9)


def test_the_replay_reports_tiles_that_touch_more_lines() -> None:
    tiles = [[(Access.READ, [0, 1, 2, 3])] * (1 + 7 * (tile == 15)) for tile in range(16)]
    trace = written_out(tiles)
    assert work(stream_of(trace), TWO_XCDS).tolist() == [4] * 15 + [32]
    late, early = np.arange(16), np.arange(16)[::-1]
    assert replay([(trace, late, 1, 1)], TWO_XCDS).imbalance == pytest.approx((3 + 8) / 8)
    assert replay([(trace, early, 1, 1)], TWO_XCDS).imbalance == pytest.approx(1)
    assert replay([(written_out(tiles[:15]), late[:15], 1, 1)], TWO_XCDS).imbalance is None


def test_the_time_is_that_of_the_slower_of_memory_and_arithmetic_until_the_last_one_ends() -> None:
    tiles = [[(Access.READ, [0])] * (1 + tile) for tile in range(8)]
    measured = replay([(written_out(tiles), np.arange(8), 1, 1)], TWO_XCDS)
    memory, late = measured.overlapped_time_ms, measured.imbalance
    assert memory is not None
    assert late is not None
    assert measured.modelled_time_ms == memory * late
    assert replace(measured, arithmetic_time_ms=2 * memory).modelled_time_ms == 2 * memory * late
    even = replace(measured, imbalance=None)
    assert even.modelled_time_ms == memory
    assert replace(even, arithmetic_time_ms=9.0, overlapped_time_ms=None).modelled_time_ms == 9.0
    overlapped = replace(even, arithmetic_time_ms=9.0, overlapped_time_ms=10.0)
    assert overlapped.modelled_time_ms == 10.0
