# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Rows of memory and the times that follow, in memories so small that all is written out."""

import csv
import dataclasses
import statistics
from pathlib import Path

import numpy as np
import pytest
from traces_by_hand import READ, WRITE, written_out

from intelliperf_swizzle.cache import Physics
from intelliperf_swizzle.cache.model import measurement, with_times
from intelliperf_swizzle.cache.nvidia_replay import nvidia_replay
from intelliperf_swizzle.cache.stream import merge
from intelliperf_swizzle.cache.traffic import Traffic, add_division_time, overlap_levels
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import Measurement

H200 = load_target("h200")
PROBE = Path(__file__).parents[2] / "benchmarks" / "measured" / "h200_probe"


def opened(tiles, banks, sectors=15, **changes):
    """Rows of 8 lines that one CU on either side opens, in so many banks."""
    facts = {"cus_per_xcd": 1, "gpc_cus": (1, 1), "gpc_domains": (0, 1), "memory_channels": 1}
    target = dataclasses.replace(H200, **facts, memory_banks_per_channel=banks, **changes)
    stream = merge(written_out(tiles, sectors))
    order = np.arange(stream.tiles)
    return nvidia_replay(stream, order, target, 1, Physics(l1=False)).row_activations


def reads(*lines):
    return [[(READ, [line]) for line in lines], []]


@pytest.mark.parametrize(
    ("lines", "in_one_bank", "in_many"),
    [
        ((0, 1, 7), 1, 1),  # one row
        ((0, 8, 1), 3, 2),  # rows 0, 1, 0
        ((0, 8, 0), 2, 2),  # line 0 is in the L2 by then
        ((0, 8, 16, 9, 1), 5, 3),  # rows 0, 1, 2, 1, 0
    ],
)
def test_a_bank_that_holds_another_row_open_opens_this_one(lines, in_one_bank, in_many):
    assert opened(reads(*lines), banks=1) == in_one_bank
    assert opened(reads(*lines), banks=4096) == in_many


def test_lines_that_are_asked_for_together_open_their_row_once_a_side():
    rows = [list(range(8)), list(range(8, 16))]
    assert opened([[(READ, row) for row in rows], []], banks=1) == 2
    assert opened([[(READ, [*rows[0], *rows[1]])], []], banks=1) == 4, "two rows of either side"


def test_rows_are_as_long_as_the_target_has_them():
    assert opened(reads(0, 8, 1), banks=1, memory_row_bytes=2048) == 1


def test_what_is_written_back_opens_rows_too():
    """At the end, in the order in which the lines were first touched."""
    assert opened([[(WRITE, [line]) for line in (0, 1, 8)], []], banks=1) == 2
    assert opened([[(WRITE, [line]) for line in (0, 8, 1)], []], banks=1) == 3


def test_rows_are_not_counted_where_tiles_write_parts_of_sectors():
    tile = [(WRITE, [0]), (WRITE, [8])]
    assert opened([tile, []], banks=1) == 2
    assert opened([tile, tile], banks=1) == 0
    assert opened([tile, [(WRITE, [16])]], banks=1) == 3


def test_rows_are_not_counted_if_the_target_has_none():
    target = dataclasses.replace(H200, memory_row_bytes=0)
    stream = merge(written_out(reads(0, 8)))
    assert nvidia_replay(stream, np.arange(2), target, 1, Physics(l1=False)).row_activations == 0


# --- times ---------------------------------------------------------------------------------------


def traffic(**changes):
    """2 lines from memory through the L2."""
    facts = {
        "requests": np.array([4, 4]),
        "misses": np.array([4, 4]),
        "l2_bytes": 256,
        "l1_hit_lines": 0,
        "fill_lines": 2,
        "llc_hit_lines": 0,
        "written_bytes": 0,
        "distinct_lines": 2,
    }
    return Traffic(**(facts | changes))


def test_rows_are_opened_by_all_channels_at_once():
    facts = {"l2_gb_s": 256.0, "memory_gb_s": 128.0, "row_activation_ns": 3.0, "memory_channels": 2}
    target = dataclasses.replace(H200, **facts)
    plain = measurement(traffic(), target).modelled_memory_time_ms
    assert plain == pytest.approx(3e-6)  # 1 ns in the L2, 2 ns in memory
    rows = measurement(traffic(row_activations=4), target).modelled_memory_time_ms
    assert rows == pytest.approx(9e-6)  # 4 rows of 3 ns in 2 channels
    doubled = measurement(traffic(row_activations=4) * 2, target).modelled_memory_time_ms
    assert doubled == pytest.approx(18e-6)


def together(l2=3.0, below=4.0, overlap=2.0, **times):
    target = dataclasses.replace(H200, l2_gb_s=1.0, overlap=overlap)
    read = Measurement(
        "model", "", 0.5, l2_bytes=int(l2 * 1e6), modelled_memory_time_ms=l2 + below, **times
    )
    return overlap_levels(read, target).overlapped_time_ms


def test_levels_overlap_in_part():
    assert together() == pytest.approx(5.0)
    assert together(overlap=1) == pytest.approx(7.0)
    assert together(below=2.0, arithmetic_time_ms=6.0) == pytest.approx(7.0)  # 3, 2 and 6


def test_each_division_holds_up_every_round():
    read = Measurement("model", "", 0.5, overlapped_time_ms=1.0)
    target = dataclasses.replace(H200, clocks_division=100, clock_ghz=2.0)
    assert add_division_time(read, 3, 4.5, target).overlapped_time_ms == pytest.approx(1 + 675e-6)
    assert add_division_time(read, 0, 4.5, target) == read
    assert add_division_time(read, 3, 4.5, load_target("mi300x")) == read


def test_a_division_takes_what_was_measured():
    """Of one or two workgroups per CU, whose round takes as much longer."""
    rows = list(csv.DictReader((PROBE / "divisions.csv").read_text().splitlines()))
    us = {(row["residents"], row["bytes"], int(row["levels"])): float(row["us"]) for row in rows}
    measured = [
        1e3 * (us[residents, size, levels] - us[residents, size, 0]) / int(row["rounds"]) / levels
        for row in rows
        for residents, size, levels in [(row["residents"], row["bytes"], int(row["levels"]))]
        if levels and residents in ("1", "2")
    ]
    modelled = H200.clocks_division / H200.clock_ghz
    assert min(measured) < modelled < max(measured)
    assert modelled == pytest.approx(statistics.median(measured), rel=0.1)


def test_data_that_come_late_count_where_arithmetic_is_the_longest():
    late = {"replayed_time_ms": 6.0}
    assert together(below=2.0, arithmetic_time_ms=5.0, **late) == pytest.approx(7.0)
    assert together(below=2.0, arithmetic_time_ms=2.9, **late) == together(
        below=2.0, arithmetic_time_ms=2.9
    )
    uneven = together(below=2.0, arithmetic_time_ms=5.0, imbalance=1.2, **late)
    assert uneven == together(below=2.0, arithmetic_time_ms=5.0)


def test_the_time_that_orders_are_compared_by():
    read = Measurement("model", "", 0.5, modelled_memory_time_ms=7.0, overlapped_time_ms=5.0)
    assert read.modelled_time_ms == 5.0
    assert dataclasses.replace(read, overlapped_time_ms=None).modelled_time_ms == 7.0
    uneven = dataclasses.replace(read, arithmetic_time_ms=6.0, imbalance=1.5)
    assert uneven.modelled_time_ms == 9.0


def test_amds_levels_overlap_less_and_arithmetic_reaches_half_of_its_rates():
    mi300x = load_target("mi300x")
    read = with_times(measurement(traffic(), mi300x), [], mi300x)
    assert 0 < read.modelled_time_ms < read.modelled_memory_time_ms
    computing = overlap_levels(dataclasses.replace(read, arithmetic_time_ms=46.0), mi300x)
    assert computing.modelled_time_ms == pytest.approx(100.0, rel=1e-3)
