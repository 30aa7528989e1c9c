# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Locality of a trace small enough to be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from intelliperf_swizzle.context.locality import hardware_context
from intelliperf_swizzle.context.sections import COUNTERS, SECTIONS, render
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import (
    Ceiling,
    KernelSource,
    Launch,
    Measurement,
    Segment,
    SourceFunction,
    Trace,
)

BASELINE = Measurement("model", "mi300x", l2_hit_rate=0.25, memory_bytes=4096)
TARGET = replace(
    load_target("mi300x"), num_xcds=2, cus_per_xcd=2, dispatch_domains=(0, 1), l2_bytes_per_xcd=512
)


def launch_of(grid):
    source = KernelSource("k", {"k": SourceFunction("k", "k.py", 1, "def k(): ...\n")})
    return Launch("k", source, grid, {"N": 4}, ("N",), {}, {})


def trace_of(grid, touched):
    """A trace in which tile t reads, one by one, the lines touched[t]; the last line is written."""
    flat = [line for lines in touched for line in lines]
    last = max(flat)
    return Trace(
        grid=grid,
        tile_offset=np.cumsum([0, *map(len, touched)]),
        access_base=np.array(flat, np.int32),
        access_shape=np.array([int(line == last) for line in flat], np.int32),
        shape_offset=np.array([0, 1, 2]),
        shape_line=np.array([0, 0], np.int32),
        shape_sectors=np.array([15, 15], np.uint8),
        shape_kind=np.array([0, 1], np.uint8),
        segments=(Segment(("a",), 0, 1024), Segment(("b",), 8, 1024)),
        method="batched",
    )


@pytest.fixture
def context():
    """A grid of 4 x 2: a's line is that of the column, b's that of the row; b's last is written.

    Launch index = pid_0 + 4 * pid_1; even ones run on XCD 0. Two CUs an XCD: waves 0 0 0 0 1 1 1 1.
    """
    touched = [[pid_0, 8 + pid_1] for pid_1 in range(2) for pid_0 in range(4)]
    return hardware_context(
        launch_of((4, 2, 1)),
        trace_of((4, 2, 1), touched),
        TARGET,
        occupancy=1,
        baseline=BASELINE,
        ceiling=Ceiling(0.6, "by hand"),
    )


def test_tensors_and_who_shares_them(context):
    by_name = {tensor.names: tensor for tensor in context.tensors}
    a, b = by_name["a",], by_name["b",]
    assert (a.reads, a.writes, a.touched_bytes, a.tile_bytes) == (8, 0, 4 * 128, 128)
    assert (b.reads, b.writes, b.touched_bytes) == (4, 4, 2 * 128)
    assert a.traffic_share == b.traffic_share == 0.5
    assert (a.tiles_per_line, b.tiles_per_line, b.most_tiles_per_line) == (2, 4, 4)
    assert a.shared_with_neighbour == (0, 1, None)
    assert b.shared_with_neighbour == (1, 0, None)
    assert [(tile.distance, tile.share) for tile in a.next_tiles] == [(4, 1)]
    assert [(tile.distance, tile.share) for tile in b.next_tiles] == [(1, 1)]


def test_waves_and_where_lines_are_found(context):
    wave, reuse = context.wave, context.reuse
    assert (wave.workgroups_per_domain, wave.waves) == (2, 2)
    # A wave of an XCD: two tiles of one row, so two lines of a and one of b.
    assert wave.domain_bytes == 3 * 128
    assert wave.device_bytes == 5 * 128
    # First: four lines of a, two of b. Other XCD: b on XCD 1, twice. Same wave: b's second tile of
    # each XCD and row. Earlier wave: all of a in the second row.
    assert (reuse.first, reuse.other_domain) == (6 / 16, 2 / 16)
    assert (reuse.same_wave, reuse.earlier_wave) == (4 / 16, 4 / 16)
    assert reuse.distance_bytes == 3 * 128
    assert reuse.distance_fits == 1
    # a: four lines on one XCD each; b: two lines on two.
    assert reuse.domains_per_shared_line == pytest.approx((4 * 1 + 2 * 2) / 6)


def test_sections_say_the_numbers(context):
    shown = {name: render(context, name, ["l2_hit_rate", "memory_bytes"]) for name in SECTIONS}
    assert "L2 hit rate: 25.0 %" in shown["bottleneck"]
    assert "headroom +35.0 points" in shown["bottleneck"]
    assert "bytes from memory: 4.0 KiB" in shown["bottleneck"]
    assert (
        "grid of 4 x 2 programs (pid_0, pid_1; 8 in all), integer arguments: N = 4"
        in (shown["launch"])
    )
    assert "launch index i runs on XCD i % 2" in shown["dispatch"]
    assert "- round 1: 2 (2, 0) -> 0, 3 (3, 0) -> 1" in shown["dispatch"]
    assert "Each XCD runs 4 workgroups in 2 waves" in shown["dispatch"]
    assert "along axis 1 (pid_1): a tile and the next one have 100.0 %" in shown["locality"]
    assert "touched before, but on other XCDs only, so fetched again: 12.5 %" in shown["locality"]
    assert "2 XCDs of 2 CUs" in shown["target"]
    assert shown["source"] == "def k(): ..."


def test_a_domain_has_the_name_that_the_vendor_gives_it(context):
    """`context` is of an AMD GPU."""
    partitions = replace(context, target=load_target("h200"))
    counters = list(COUNTERS)
    for section in ("target", "dispatch", "locality"):
        assert "XCD" in render(context, section, counters)
        assert "XCD" not in render(partitions, section, counters)
    for section in ("target", "dispatch"):
        assert "L2 partition" in render(partitions, section, counters)


def test_what_was_not_collected_is_not_listed(context):
    assert "time" not in render(context, "bottleneck", list(COUNTERS))


def test_one_counter_alone_does_not_decide_the_bound(context):
    assert "60" not in render(context, "bottleneck", ["l2_hit_rate"])


def test_other_launches_are_named(context):
    other = launch_of((6, 2, 1))
    context = replace(context, launches=(context.launch, other))
    assert "- k on a grid of 6 x 2 programs" in render(context, "launch", [])


def test_a_grid_of_one_axis_and_a_rest():
    touched = [[pid // 2, 8] for pid in range(5)]
    context = hardware_context(
        launch_of((5, 1, 1)),
        trace_of((5, 1, 1), touched),
        TARGET,
        occupancy=1,
        baseline=BASELINE,
        ceiling=Ceiling(0.6, "by hand"),
    )
    assert "Each XCD runs 2 or 3 workgroups" in render(context, "dispatch", [])
    a = next(tensor for tensor in context.tensors if tensor.names == ("a",))
    assert a.shared_with_neighbour == (0.5, None, None)
    assert "in pid, at +1 (100.0 %)" in render(context, "locality", [])


def test_a_long_stream_is_marked_as_sampled(mocker):
    from intelliperf_swizzle.cache import stream

    mocker.patch.object(stream, "MOST_REFERENCES", 8)
    touched = [[pid_0, 8 + pid_1] for pid_1 in range(2) for pid_0 in range(4)]
    context = hardware_context(
        launch_of((4, 2, 1)),
        trace_of((4, 2, 1), touched),
        TARGET,
        occupancy=1,
        baseline=BASELINE,
        ceiling=Ceiling(0.6, "by hand"),
    )
    text = render(context, "locality", [])
    assert context.sampled == 2
    assert "one line in 2" in text
    assert "512 B touched (4 lines), about " in text
    assert "touched by no tile before: about " in text
