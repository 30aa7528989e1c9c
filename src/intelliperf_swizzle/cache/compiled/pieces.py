# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The screen's inner loop: LRU over pieces of units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.cache.compiled import Lru, forget, hold, mix, nothing_held
from intelliperf_swizzle.cache.compiled.slots import Rounds, end_turn, next_turn, rounds
from intelliperf_swizzle.cache.drift import Drift
from intelliperf_swizzle.jit import jit, loop
from intelliperf_swizzle.records import Int32Array, Int64Array


@jit
def part_signatures(unit_offset: Int64Array, part_of: Int32Array, parts: int) -> Int64Array:
    """For each part of an L2 a hash of the units with lines in it, and of how many."""
    signature = np.zeros(parts, np.int64)
    count = np.zeros(parts, np.int64)
    for u in range(len(unit_offset) - 1):
        for k in range(unit_offset[u], unit_offset[u + 1]):
            count[part_of[k]] += 1
        for k in range(unit_offset[u], unit_offset[u + 1]):
            if count[part_of[k]] > 0:
                signature[part_of[k]] += np.int64(mix(u * 65536 + count[part_of[k]]))
                count[part_of[k]] = 0
    return signature


@jit
def unit_pieces(
    unit_offset: Int64Array, part_of: Int32Array, class_of: Int32Array, class_parts: Int64Array
) -> tuple[Int64Array, Int32Array, Int32Array]:
    """The pieces of each unit: offsets, and of each piece its class and its lines in a part."""
    offset = np.zeros(len(unit_offset), np.int64)
    mark = np.full(len(class_parts), -1, np.int64)
    total = 0
    for u in range(len(unit_offset) - 1):
        for k in range(unit_offset[u], unit_offset[u + 1]):
            c = class_of[part_of[k]]
            if mark[c] != u:
                mark[c] = u
                total += 1
        offset[u + 1] = total
    mark[:] = -1
    piece_class = np.empty(total, np.int32)
    piece_lines = np.zeros(total, np.int32)
    n = 0
    for u in range(len(unit_offset) - 1):
        for k in range(unit_offset[u], unit_offset[u + 1]):
            c = class_of[part_of[k]]
            if mark[c] < offset[u]:
                mark[c] = n
                piece_class[n] = c
                n += 1
            piece_lines[mark[c]] += 1
    for p in range(total):
        piece_lines[p] //= class_parts[piece_class[p]]
    return offset, piece_class, piece_lines


@jit
def expand(
    tile_offset: Int64Array,
    ref_unit: Int32Array,
    ref_misses: Int64Array,
    offset: Int64Array,
    piece_lines: Int64Array,
) -> tuple[Int64Array, Int32Array, Int32Array]:
    """The stream in pieces: offsets of the tiles, pieces, and what each counts if it is missing.

    `ref_misses: int64[references]` is what a line that is not there counts, `piece_lines` the
    lines of each piece in all parts, and `offset` that of each unit in the pieces. All pieces but
    an access's last are stored complemented.
    """
    total = 0
    for r in range(len(ref_unit)):
        u = ref_unit[r] if ref_unit[r] >= 0 else ~ref_unit[r]
        total += offset[u + 1] - offset[u]
    new_offset = np.zeros(len(tile_offset), np.int64)
    ref_piece = np.empty(total, np.int32)
    piece_misses = np.empty(total, np.int32)
    n = 0
    for t in range(len(tile_offset) - 1):
        for r in range(tile_offset[t], tile_offset[t + 1]):
            u = ref_unit[r] if ref_unit[r] >= 0 else ~ref_unit[r]
            for p in range(offset[u], offset[u + 1]):
                ref_piece[n] = ~p
                piece_misses[n] = ref_misses[r] * piece_lines[p]
                n += 1
            if ref_unit[r] >= 0:
                ref_piece[n - 1] = ~ref_piece[n - 1]
        new_offset[t + 1] = n
    return new_offset, ref_piece, piece_misses


class Pieces(NamedTuple):
    """What the tiles refer to in pieces, and the LRU lists of each class of parts.

    Attributes:
        tile_offset: int64[tiles + 1]; into the references.
        ref_piece: int32[references]; all but an access's last complemented.
        ref_misses: int32[references]; what a piece that is missing counts.
        piece_class: int32[pieces].
        piece_lines: int32[pieces]; lines of each piece in one part.
        capacity: lines that a part holds.
        classes: how many there are.
    """

    tile_offset: Int64Array
    ref_piece: Int32Array
    ref_misses: Int32Array
    piece_class: Int32Array
    piece_lines: Int32Array
    capacity: int
    classes: int


@jit
def screen_misses(
    tiles: Int32Array, domain_offset: Int64Array, stream: Pieces, drift: Drift
) -> int:
    """L2 misses of all domains together, as counted, with an LRU list of pieces for each class."""
    lru = nothing_held(stream.piece_lines, stream.classes, stream.capacity)
    misses = 0
    for d in range(len(domain_offset) - 1):
        forget(lru)
        turns = rounds(tiles[domain_offset[d] : domain_offset[d + 1]], stream.tile_offset, drift, d)
        misses += _domain_misses(turns, stream, lru)
    return misses


@loop
def _domain_misses(turns: Rounds, stream: Pieces, lru: Lru) -> int:
    misses = 0
    s = next_turn(turns)
    while s >= 0:
        place = turns.slots.at[s]
        last = False
        while not last:
            piece = stream.ref_piece[place]
            last = piece >= 0
            if not last:
                piece = ~piece
            if not hold(lru, piece, stream.piece_class[piece]):
                misses += stream.ref_misses[place]
            place += 1
        end_turn(turns, s, place)
        s = next_turn(turns)
    return misses
