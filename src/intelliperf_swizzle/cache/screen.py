# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The quick look: an L2 hit rate in milliseconds, to decide what deserves a full replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from intelliperf_swizzle.cache.amd_replay import drift, is_pipelined, lockstep
from intelliperf_swizzle.cache.stream import ReferenceStream, Turns, l2_parts, stream_of
from intelliperf_swizzle.cache.traffic import FULL, misses_per_line, stream_requests
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Int32Array, Int64Array, Trace

if TYPE_CHECKING:
    from intelliperf_swizzle.cache.compiled.merging import Pieces

MOST_PIECES = 4
"""Pieces a reference, on average, up to which the parts of an L2 are worth keeping apart. Where
strides are powers of two a block lies in one or two channels (a GEMM at 8192: 1.5), and conflicts
decide; where it lies in all of them it is spread evenly and conflicts are rare."""


class Screen:
    """A launch made ready, once, for the scoring of many orders.

    The physics is that of `replay` without the L1s and the last-level cache. Units are kept whole.
    The *parts* of an L2 are its channels, or its sets where the target does not hash them; each is
    taken as fully associative, and those that hold the same units alike are taken together. Where
    that does not make the work small, where the target hashes its channels, too, or where loads are
    issued ahead, step by step, each L2 is one part.

    Args:
        trace: of the launch.
        target: on which GPU.
        occupancy: workgroups resident on one CU.

    Attributes:
        parts: into how many an L2 is divided.
    """

    def __init__(self, trace: Trace, target: Target, occupancy: int) -> None:
        stream = stream_of(trace)
        self._requests = stream_requests(stream, target)
        self._turns = None
        programs = trace.tiles
        if trace.program is not None and trace.turn is not None:
            self._turns = Turns.of(trace.program, trace.turn)
            programs = len(self._turns.first) - 1
        domain = target.domain_of(np.arange(programs))
        self._by_domain = np.argsort(domain, kind="stable")
        self._domain_offset = np.searchsorted(
            domain[self._by_domain], np.arange(target.num_xcds + 1)
        ).astype(np.int64)
        slots = target.cus_per_xcd * occupancy
        self._drift = drift(target, slots, seed=0)
        parts = l2_parts(stream, target)
        if is_pipelined(stream, target, FULL):
            self._drift = lockstep(target, slots)
            parts = np.zeros_like(parts[0]), 1
        self.parts, self._stream = _in_pieces(stream, target, *parts)

    def hit_rate(self, tile: Int64Array) -> float:
        """The L2 hit rate of the order `tile: int64[tiles]`, from 0 to 1; 0 without requests.

        Cost: 5 to 20 ns a piece of a unit (a GEMM of 4096 tiles refers to 1.6 M).
        """
        from intelliperf_swizzle.cache.compiled.merging import screen_misses

        if self._requests == 0:
            return 0.0
        stream = self._stream
        if self._turns is not None:
            offset, at = self._turns.join(stream.tile_offset, tile)
            pieces, misses_of = stream.ref_piece[at], stream.ref_misses[at]
            stream = stream._replace(tile_offset=offset, ref_piece=pieces, ref_misses=misses_of)
            tile = np.arange(len(offset) - 1)
        tiles = tile[self._by_domain].astype(np.int32)
        misses = screen_misses(tiles, self._domain_offset, stream, self._drift)
        return 1.0 - misses / self._requests


def _in_pieces(
    stream: ReferenceStream, target: Target, part_of: Int32Array, parts: int
) -> tuple[int, Pieces]:
    """The number of parts that are kept apart, and the stream in pieces.

    A *class* is the parts that hold equally many lines of each unit: they see the same and so do
    the same. A *piece* is what a unit has in the parts of one class.
    """
    from intelliperf_swizzle.cache.compiled import merging
    from intelliperf_swizzle.trace.shapes import distinct

    signature = merging.part_signatures(stream.unit_offset, part_of, parts)
    _, class_of = distinct(signature.reshape(-1, 1))
    class_parts = np.bincount(class_of)
    offset, piece_class, lines = merging.unit_pieces(
        stream.unit_offset, part_of, class_of, class_parts
    )
    total = int(np.diff(offset)[stream.plain_units].sum())
    if parts > 1 and total > MOST_PIECES * len(stream.ref_unit):
        return _in_pieces(stream, target, np.zeros_like(part_of), 1)
    tile_offset, ref_piece, ref_misses = merging.expand(
        total,
        stream.tile_offset,
        stream.ref_unit,
        misses_per_line(target)[stream.ref_code],
        offset,
        lines * class_parts[piece_class],
    )
    capacity = target.l2_lines_per_xcd // parts
    return parts, merging.Pieces(
        tile_offset, ref_piece, ref_misses, piece_class, lines, capacity, len(class_parts)
    )
