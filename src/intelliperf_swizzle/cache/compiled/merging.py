# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From the footprints of a trace to units of lines, and to what each tile refers to; and for the
screen, from units to pieces of them, with its inner loop."""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.cache.amd_replay import Drift
from intelliperf_swizzle.cache.compiled import Lru, forget, hold, mix, nothing_held
from intelliperf_swizzle.cache.compiled.slots import Rounds, end_turn, next_turn, rounds
from intelliperf_swizzle.jit import jit, loop
from intelliperf_swizzle.records import Int32Array, Int64Array, UInt8Array

_Codes: TypeAlias = UInt8Array | npt.NDArray[np.uint16]
_Hashes: TypeAlias = npt.NDArray[np.uint64]
_STORES = 48
"""Bits of a code that say the kind of an access: none for a load."""


@jit
def line_signatures(
    base: Int32Array, shape: Int32Array, shape_offset: Int64Array, shape_line: Int32Array,
    code: _Codes, n: int,
) -> _Hashes:  # fmt: skip
    """For each of `n` lines a hash of the footprints (base, shape) that touch it, and how."""
    signature = np.zeros(n, np.uint64)
    for f in range(len(base)):
        for i in range(shape_offset[shape[f]], shape_offset[shape[f] + 1]):
            signature[base[f] + shape_line[i]] += mix(f * 65536 + code[i])
    return signature


@jit
def touched(
    base: Int32Array, shape: Int32Array, shape_offset: Int64Array, shape_line: Int32Array,
    signature: _Hashes,
) -> Int32Array:  # fmt: skip
    """The lines that footprints touch, in order of first touch."""
    seen = np.zeros(len(signature), np.bool_)
    found = np.empty(np.count_nonzero(signature), np.int32)
    lines = 0
    for f in range(len(base)):
        for i in range(shape_offset[shape[f]], shape_offset[shape[f] + 1]):
            line = base[f] + shape_line[i]
            if not seen[line]:
                seen[line] = True
                found[lines] = line
                lines += 1
    return found


@jit
def footprint_units(
    base: Int32Array, shape: Int32Array, shape_offset: Int64Array, shape_line: Int32Array,
    code: _Codes, unit: Int32Array, units: int,
) -> tuple[Int64Array, Int32Array, _Codes]:  # fmt: skip
    """The units of each footprint in order of first touch, as offsets, units and codes.

    Where several waves touch a line, loads of all of them are one, since an L1 has the line under
    way by the second; stores, which no L1 keeps back, are one each.
    """
    most = (shape_offset[1:] - shape_offset[:-1])[shape].sum()
    offset = np.zeros(len(base) + 1, np.int64)
    mark = np.full(units, -1, np.int64)
    first, place = np.empty(units, np.int64), np.empty(units, np.int64)
    ref_unit, ref_code = np.empty(most, np.int32), np.empty(most, code.dtype)
    n = 0
    for f in range(len(base)):
        for i in range(shape_offset[shape[f]], shape_offset[shape[f] + 1]):
            line = base[f] + shape_line[i]
            u = unit[line]
            if mark[u] == f and (first[u] != line or not code[i] & _STORES):
                if first[u] == line:
                    ref_code[place[u]] |= code[i]
                continue
            mark[u] = f
            first[u] = line
            place[u] = n
            ref_unit[n] = u
            ref_code[n] = code[i]
            n += 1
        offset[f + 1] = n
    return offset, ref_unit[:n], ref_code[:n]


@jit
def unroll(
    access_offset: Int64Array, access_footprint: Int32Array,
    offset: Int64Array, unit: Int32Array, code: _Codes,
) -> tuple[Int64Array, Int32Array, _Codes]:  # fmt: skip
    """The references of each tile one after the other; all but an access's last complemented."""
    total = (offset[1:] - offset[:-1])[access_footprint].sum()
    tile_offset = np.zeros(len(access_offset), np.int64)
    ref_unit = np.empty(total, np.int32)
    ref_code = np.empty(total, code.dtype)
    n = 0
    for t in range(len(access_offset) - 1):
        for a in range(access_offset[t], access_offset[t + 1]):
            f = access_footprint[a]
            for i in range(offset[f], offset[f + 1]):
                ref_unit[n] = ~unit[i]
                ref_code[n] = code[i]
                n += 1
            ref_unit[n - 1] = ~ref_unit[n - 1]
        tile_offset[t + 1] = n
    return tile_offset, ref_unit, ref_code


@jit
def unit_tiles(
    tile_offset: Int64Array, ref_unit: Int32Array, ref_misses: Int64Array, units: int
) -> tuple[Int64Array, Int64Array]:
    """For each unit how many tiles touch it, and the least that a touch of a line can miss.

    `ref_misses: int64[references]` is what a line that is not there counts.
    """
    tiles = np.zeros(units, np.int64)
    least = np.full(units, np.iinfo(np.int64).max, np.int64)
    latest = np.full(units, -1, np.int64)
    for t in range(len(tile_offset) - 1):
        for r in range(tile_offset[t], tile_offset[t + 1]):
            u = ref_unit[r] if ref_unit[r] >= 0 else ~ref_unit[r]
            if latest[u] != t:
                latest[u] = t
                tiles[u] += 1
            least[u] = min(least[u], ref_misses[r])
    return tiles, least


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
    latest = np.full(len(class_parts), -1, np.int64)
    piece_class = np.empty(len(part_of), np.int32)
    piece_lines = np.zeros(len(part_of), np.int32)
    n = 0
    for u in range(len(unit_offset) - 1):
        for k in range(unit_offset[u], unit_offset[u + 1]):
            c = class_of[part_of[k]]
            if latest[c] < offset[u]:
                latest[c] = n
                piece_class[n] = c
                n += 1
            piece_lines[latest[c]] += 1
        offset[u + 1] = n
    for p in range(n):
        piece_lines[p] //= class_parts[piece_class[p]]
    return offset, piece_class[:n].copy(), piece_lines[:n].copy()


@jit
def expand(
    total: int,
    tile_offset: Int64Array,
    ref_unit: Int32Array,
    ref_misses: Int64Array,
    offset: Int64Array,
    piece_lines: Int64Array,
) -> tuple[Int64Array, Int32Array, Int32Array]:
    """The stream in pieces: offsets of the tiles, pieces, and what each counts if it is missing.

    `total` counts the references to pieces, `ref_misses: int64[references]` is what a line that is
    not there counts, `piece_lines` the lines of each piece in all parts, and `offset` that of each
    unit in the pieces. All pieces but
    an access's last are stored complemented.
    """
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
