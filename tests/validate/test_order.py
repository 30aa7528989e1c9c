# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A permutation must keep the order of programs that depend on each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from intelliperf_swizzle.dependence import find_dependence, safe_order
from intelliperf_swizzle.records import (
    Access,
    KernelSource,
    Launch,
    Segment,
    Storage,
    TensorArgument,
    Trace,
)

IDENTITY = np.arange(6)
LAUNCH = Launch(
    "k", KernelSource("k", {}), (6, 1, 1), {"x": TensorArgument(0, "fp32", (6,), (1,))}, (), {},
    {0: Storage(24)},
)  # fmt: skip


def trace_of(touches: list[list[tuple[Access, int]]], **flags: Any) -> Trace:
    """One line a touch; `x` lies on lines 10 to 19, `flag` from 20 on."""
    accesses = [touch for tile in touches for touch in tile]
    return Trace(
        grid=(len(touches), 1, 1),
        tile_offset=np.cumsum([0, *map(len, touches)]),
        access_base=np.array([line for _, line in accesses], np.int32),
        access_shape=np.array([kind for kind, _ in accesses], np.int32),
        shape_offset=np.arange(4),
        shape_line=np.zeros(3, np.int32),
        shape_sectors=np.ones(3, np.uint8),
        shape_kind=np.array([Access.READ, Access.WRITE, Access.ATOMIC], np.uint8),
        segments=(Segment(("x",), 10, 1280), Segment(("flag",), 20, 128)),
        method="sequential",
        **flags,
    )


# Tiles 1 and 4 share line 12, which tile 1 writes; tiles 0 and 5 only read line 13.
SHARED = [
    [(Access.READ, 13)],
    [(Access.WRITE, 12)],
    [(Access.WRITE, 14)],
    [(Access.WRITE, 15)],
    [(Access.READ, 12)],
    [(Access.READ, 13)],
]


def test_independent_programs_may_go_anywhere() -> None:
    assert safe_order(find_dependence(trace_of(SHARED), LAUNCH), IDENTITY[::-1].copy()) is None


def test_order_of_writer_and_reader_is_kept() -> None:
    trace = trace_of(SHARED, shared_writes=("x",))
    assert safe_order(find_dependence(trace, LAUNCH), IDENTITY) is None
    assert safe_order(find_dependence(trace, LAUNCH), np.array([5, 1, 3, 2, 4, 0])) is None
    reason = safe_order(find_dependence(trace, LAUNCH), np.array([0, 4, 2, 3, 1, 5]))
    assert reason is not None
    assert "tiles 1 and 4" in reason
    assert "`x`" in reason


def test_a_chain_binds_all_its_members() -> None:
    trace = trace_of([[(Access.WRITE, 12)]] * 6, shared_writes=("x",))
    assert safe_order(find_dependence(trace, LAUNCH), IDENTITY) is None
    for swap in ([1, 0, 2, 3, 4, 5], [0, 1, 2, 3, 5, 4], [5, 1, 2, 3, 4, 0]):
        assert safe_order(find_dependence(trace, LAUNCH), np.array(swap)) is not None


def test_other_tensors_do_not_bind() -> None:
    trace = trace_of(SHARED, shared_writes=("flag",))
    assert safe_order(find_dependence(trace, LAUNCH), IDENTITY[::-1].copy()) is None


def test_programs_that_wait_keep_their_places() -> None:
    waiting = [[(Access.ATOMIC, 20)], [(Access.ATOMIC, 20)], *([[(Access.READ, 13)]] * 4)]
    trace = trace_of(waiting, waits=True)
    assert safe_order(find_dependence(trace, LAUNCH), IDENTITY) is None
    assert safe_order(find_dependence(trace, LAUNCH), np.array([0, 1, 5, 4, 3, 2])) is None
    reason = safe_order(find_dependence(trace, LAUNCH), np.array([2, 0, 1, 3, 4, 5]))
    assert reason == ("programs wait for each other, and tile 0 would be launched as number 1")


def test_of_calls_that_floats_may_tell_apart_nothing_is_known() -> None:
    """A call with other floats may touch other lines; it was not recorded, so nothing may move."""
    by_floats = replace(trace_of(SHARED), method="sequential")
    twice = replace(LAUNCH, count=2)
    integers = {"x": TensorArgument(0, "int32", (6,), (1,))}
    moved = IDENTITY[::-1].copy()
    assert "recorded as one" in (safe_order(find_dependence(by_floats, twice), moved) or "")
    for trace, launch in (
        (by_floats, LAUNCH),
        (replace(by_floats, method="batched"), twice),
        (by_floats, replace(twice, arguments=integers)),
    ):
        assert safe_order(find_dependence(trace, launch), moved) is None


def test_what_a_waiting_launch_only_reads_costs_nothing() -> None:
    """Tiles 1 and 4 share line 12; each reads half a million lines that no program writes."""
    few = trace_of(SHARED, waits=True)
    lines = 1 << 19  # of each access: 15,000 million touches
    many = replace(
        few,
        tile_offset=few.tile_offset + np.arange(7) * 5000,
        access_base=np.insert(few.access_base, np.repeat(np.arange(1, 7), 5000), 100),
        access_shape=np.insert(few.access_shape, np.repeat(np.arange(1, 7), 5000), 3),
        shape_offset=np.append(few.shape_offset, 3 + lines),
        shape_line=np.append(few.shape_line, np.arange(lines, dtype=np.int32)),
        shape_sectors=np.append(few.shape_sectors, np.ones(lines, np.uint8)),
        shape_kind=np.append(few.shape_kind, np.uint8(Access.READ)),
    )
    assert find_dependence(many, LAUNCH).chains.tolist() == [[1, 4]]
