# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A permutation must keep the order of programs that depend on each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from intelliperf_swizzle.records import Access, Segment, Trace
from intelliperf_swizzle.trace import dependence
from intelliperf_swizzle.validate import safe_order

IDENTITY = np.arange(6)


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
    assert safe_order(dependence(trace_of(SHARED)), IDENTITY[::-1].copy()) is None


def test_order_of_writer_and_reader_is_kept() -> None:
    trace = trace_of(SHARED, shared_writes=("x",))
    assert safe_order(dependence(trace), IDENTITY) is None
    assert safe_order(dependence(trace), np.array([5, 1, 3, 2, 4, 0])) is None
    reason = safe_order(dependence(trace), np.array([0, 4, 2, 3, 1, 5]))
    assert reason is not None
    assert "tiles 1 and 4" in reason
    assert "`x`" in reason


def test_a_chain_binds_all_its_members() -> None:
    trace = trace_of([[(Access.WRITE, 12)]] * 6, shared_writes=("x",))
    assert safe_order(dependence(trace), IDENTITY) is None
    for swap in ([1, 0, 2, 3, 4, 5], [0, 1, 2, 3, 5, 4], [5, 1, 2, 3, 4, 0]):
        assert safe_order(dependence(trace), np.array(swap)) is not None


def test_other_tensors_do_not_bind() -> None:
    trace = trace_of(SHARED, shared_writes=("flag",))
    assert safe_order(dependence(trace), IDENTITY[::-1].copy()) is None


def test_programs_that_wait_keep_their_places() -> None:
    waiting = [[(Access.ATOMIC, 20)], [(Access.ATOMIC, 20)], *([[(Access.READ, 13)]] * 4)]
    trace = trace_of(waiting, waits=True)
    assert safe_order(dependence(trace), IDENTITY) is None
    assert safe_order(dependence(trace), np.array([0, 1, 5, 4, 3, 2])) is None
    reason = safe_order(dependence(trace), np.array([2, 0, 1, 3, 4, 5]))
    assert reason == ("programs wait for each other, and tile 0 would be launched as number 1")
