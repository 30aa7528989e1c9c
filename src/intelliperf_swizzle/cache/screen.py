# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The quick look: an L2 hit rate in milliseconds, to decide what deserves a full replay."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from intelliperf_swizzle.cache.counting import misses_per_line, stream_requests
from intelliperf_swizzle.cache.drift import drift
from intelliperf_swizzle.cache.layout import l2_sets
from intelliperf_swizzle.cache.stream import Stream, merge, stream_of
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Int32Array, Int64Array, Trace

Associativity: TypeAlias = Literal["sets", "full"]

MOST_PIECES = 4
"""Pieces a reference, on average, up to which sets are worth keeping apart. Where strides are
powers of two a block lies in one or two classes of sets (a GEMM at 8192: 1.5), and conflicts
decide; where it lies in a hundred (at 9216: 120) it is spread evenly and conflicts are rare."""

MOST_LINES = 255
"""Lines of a piece in one set that the packed words of the compiled loop can say."""

MOST_LANES = 4
MOST_NUMBERED = 2**16 - 1
MOST_CLASSES = 2**13
"""Quanta of a set, pieces of a class, and classes that the faster loop's packed words can say."""


class Screen:
    """A launch made ready, once, for the scoring of many orders.

    The physics is that of `replay` without the L1s and the last-level cache. Units are kept whole
    and sets that hold the same units alike are taken together, which changes nothing; where that
    does not make the work small, or where the target hashes its sets, each L2 is taken as fully
    associative.

    Args:
        trace: of the launch.
        target: on which GPU.
        occupancy: workgroups resident on one CU.
        seed: of the drift between workgroups.
        whole_units: False scores line by line; slow, for comparison.
        associativity: `sets` or `full`; None chooses as said above.
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
        turns = drift(target, slots, seed)
        self._turns = (turns.turn_offset, turns.turn_slot, turns.first_turn, slots)
        self.associativity, self._misses = _counter(stream, target, associativity, self._turns)

    def hit_rate(self, tile: Int64Array) -> float:
        """The L2 hit rate of the order `tile: int64[programs]`, from 0 to 1; 0 without requests.

        Cost: 3 to 5 ns a reference (a GEMM of 4096 tiles has 1.05 M) where sets hold few pieces of
        units, else 5 to 20 ns.
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

Turns: TypeAlias = tuple[Int64Array, Int32Array, Int64Array, int]


def _counter(
    stream: Stream, target: Target, wish: Associativity | None, turns: Turns
) -> tuple[Associativity, Misses]:
    hashed = target.l2_channel_bits is None or target.l2_set_bits is None
    if wish == "full" or (wish is None and hashed):
        return "full", _fully_associative(stream, target, turns)
    by_sets = _by_sets(stream, target, turns, None if wish else MOST_PIECES)
    if by_sets is None:
        return "full", _fully_associative(stream, target, turns)
    return "sets", by_sets


def _fully_associative(stream: Stream, target: Target, turns: Turns) -> Misses:
    from intelliperf_swizzle.cache.kernels import screen_misses

    unit_lines = stream.unit_lines
    weight = unit_lines[stream.plain_units] * misses_per_line(target)[stream.ref_code]
    refs = (stream.tile_offset, stream.ref_unit, weight.astype(np.int32), unit_lines)
    capacity = target.l2_lines_per_xcd
    return lambda tiles, offset: int(screen_misses(tiles, offset, *refs, *turns, capacity))


def _by_sets(
    stream: Stream, target: Target, turns: Turns, most_pieces: int | None
) -> Misses | None:
    """The counter that keeps sets apart; None where a reference has too many pieces.

    A *class* is the sets that hold equally many lines of each unit: they see the same and so do
    the same. A *piece* is what a unit has in the sets of one class. For targets on which a line
    that is not there counts as one miss, which is all that do not hash.
    """
    from intelliperf_swizzle.cache import kernels

    set_of = l2_sets(stream, target)
    sets = target.l2_channels_per_xcd * target.l2_sets_per_channel
    class_of, _ = kernels.dense_ids(kernels.set_signatures(stream.unit_offset, set_of, sets))
    class_sets = np.bincount(class_of)
    offset, piece_class, lines = kernels.unit_pieces(
        stream.unit_offset, set_of, class_of, class_sets
    )
    pieces = np.diff(offset)[stream.plain_units].sum()
    if most_pieces is not None and pieces > most_pieces * len(stream.ref_unit):
        return None
    if lines.max(initial=0) > MOST_LINES or (misses_per_line(target)[stream.ref_code] != 1).any():
        return None
    expand = partial(kernels.expand, stream.tile_offset, stream.ref_unit, offset)
    ways = target.l2_ways
    quantum = max(1, int(np.gcd.reduce(lines)))
    number = _number_within(piece_class)
    if (
        1 <= ways // quantum <= MOST_LANES
        and lines.max(initial=0) <= MOST_LANES * quantum
        and number.max(initial=0) <= MOST_NUMBERED
        and len(class_sets) <= MOST_CLASSES
    ):
        tile_offset, word = expand(piece_class << 18 | lines // quantum - 1 << 16 | number)
        refs = (tile_offset, np.where(word < 0, ~word, word | 1 << 31).astype(np.uint32))
        lines_missed = np.outer(quantum * np.arange(1, MOST_LANES + 1), (0, 1))
        misses = np.multiply.outer(class_sets, lines_missed).astype(np.uint64)
        return lambda tiles, at: int(
            kernels.screen_lane_misses(tiles, at, *refs, misses.ravel(), *turns, ways // quantum)
        )
    refs = expand(np.arange(len(lines)) << 32 | piece_class << 8 | lines)
    return lambda tiles, at: int(
        kernels.screen_set_misses(tiles, at, *refs, class_sets, *turns, ways)
    )


def _number_within(group: Int64Array) -> Int64Array:
    """Each element's number, from 1, among those of its group: int64[n] -> int64[n]."""
    order = np.argsort(group, kind="stable")
    size = np.bincount(group)
    number = np.empty(len(group), np.int64)
    number[order] = np.arange(1, len(group) + 1) - np.repeat(np.cumsum(size) - size, size)
    return number


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
