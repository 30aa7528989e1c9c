# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The quick look: an L2 hit rate in milliseconds, to decide what deserves a full replay."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeAlias

import numpy as np

from intelliperf_swizzle.cache.counting import misses_per_line, stream_requests
from intelliperf_swizzle.cache.drift import drift
from intelliperf_swizzle.cache.layout import l2_sets
from intelliperf_swizzle.cache.stream import Stream, merge, stream_of
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Int32Array, Int64Array, Trace

Associativity: TypeAlias = Literal["parts", "full"]

MOST_PIECES = 4
"""Pieces a reference, on average, up to which the parts of an L2 are worth keeping apart. Where
strides are powers of two a block lies in one or two channels (a GEMM at 8192: 1.5), and conflicts
decide; where it lies in all of them it is spread evenly and conflicts are rare."""


class Screen:
    """A launch made ready, once, for the scoring of many orders.

    The physics is that of `replay` without the L1s and the last-level cache. Units are kept whole.
    The *parts* of an L2 are its channels, or its sets where the target does not hash them; each is
    taken as fully associative, and those that hold the same units alike are taken together. Where
    that does not make the work small, or where the target hashes its channels, too, each L2 is one
    part.

    Args:
        trace: of the launch.
        target: on which GPU.
        occupancy: workgroups resident on one CU.
        seed: of the drift between workgroups.
        whole_units: False scores line by line; slow, for comparison.
        associativity: of `parts` or `full`; None chooses as said above.
    """

    def __init__(
        self,
        trace: Trace,
        target: Target,
        occupancy: int,
        *,
        seed: int = 0,
        whole_units: bool = True,
        associativity: Associativity | None = None,
    ) -> None:
        stream = stream_of(trace) if whole_units else merge(trace, whole_units=False)
        self._requests = stream_requests(stream, target)
        domain = target.domain_of(np.arange(trace.tiles))
        self._by_domain = np.argsort(domain, kind="stable")
        self._domain_offset = np.searchsorted(
            domain[self._by_domain], np.arange(target.num_xcds + 1)
        ).astype(np.int64)
        slots = target.cus_per_xcd * occupancy
        turns = drift(target, slots, stream.accesses_per_tile, seed)
        self._turns = (turns.turn_offset, turns.turn_slot, turns.first_turn, turns.starts, slots)
        self.associativity, self._misses = _counter(stream, target, associativity, self._turns)

    def hit_rate(self, tile: Int64Array) -> float:
        """The L2 hit rate of the order `tile: int64[programs]`, from 0 to 1; 0 without requests.

        Cost: 5 to 20 ns a piece of a unit (a GEMM of 4096 tiles refers to 1.6 M).
        """
        if self._requests == 0:
            return 0.0
        tiles: Int32Array = tile[self._by_domain].astype(np.int32)
        return 1.0 - self._misses(tiles, self._domain_offset) / self._requests

    def hit_rates(self, tiles: Sequence[Int64Array]) -> list[float]:
        """`hit_rate` of many orders, on all cores."""
        with ThreadPoolExecutor(cores()) as pool:
            return list(pool.map(self.hit_rate, tiles))


Misses: TypeAlias = Callable[[Int32Array, Int64Array], int]
"""Counts the misses of tiles, by domain, with the domains' offsets."""

Turns: TypeAlias = tuple[Int64Array, Int32Array, Int64Array, int, int]


def _counter(
    stream: Stream, target: Target, wish: Associativity | None, turns: Turns
) -> tuple[Associativity, Misses]:
    """How the misses of an order are counted.

    A *class* is the parts that hold equally many lines of each unit: they see the same and so do
    the same. A *piece* is what a unit has in the parts of one class.
    """
    from intelliperf_swizzle.cache import kernels

    full = np.zeros(len(stream.unit_line), np.int32), 1
    part_of, parts = full if wish == "full" else _parts(stream, target)
    class_of, _ = kernels.dense_ids(kernels.part_signatures(stream.unit_offset, part_of, parts))
    class_parts = np.bincount(class_of)
    offset, piece_class, lines = kernels.unit_pieces(
        stream.unit_offset, part_of, class_of, class_parts
    )
    pieces = np.diff(offset)[stream.plain_units].sum()
    if wish is None and pieces > MOST_PIECES * len(stream.ref_unit):
        return _counter(stream, target, "full", turns)
    refs = kernels.expand(
        stream.tile_offset,
        stream.ref_unit,
        misses_per_line(target)[stream.ref_code],
        offset,
        lines * class_parts[piece_class],
    )
    lru = (piece_class, lines, len(class_parts), target.l2_lines_per_xcd // parts)
    return "parts" if parts > 1 else "full", lambda tiles, at: int(
        kernels.screen_misses(tiles, at, *refs, *lru, *turns)
    )


def _parts(stream: Stream, target: Target) -> tuple[Int32Array, int]:
    """The part of the L2 of each line of `stream.unit_line`, and how many there are."""
    sets = l2_sets(stream, target)
    if target.l2_channel_bits is None:
        return np.zeros_like(sets), 1
    if target.l2_set_bits is None:
        return sets // np.int32(target.l2_sets_per_channel), target.l2_channels_per_xcd
    return sets, target.l2_channels_per_xcd * target.l2_sets_per_channel


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
