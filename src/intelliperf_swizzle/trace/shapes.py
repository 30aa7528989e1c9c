# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The shapes of accesses: which lines relative to the first one, each distinct shape kept once."""

from __future__ import annotations

import itertools
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.jit import Integer, jit, table_size
from intelliperf_swizzle.records import LINE_BYTES, SECTOR_BYTES, Access, Int32Array, Int64Array

_UInt16Array: TypeAlias = npt.NDArray[np.uint16]

_SECTOR_SHIFT = SECTOR_BYTES.bit_length() - 1
_SECTORS_MASK = LINE_BYTES // SECTOR_BYTES - 1
_ALL_SECTORS = (1 << LINE_BYTES // SECTOR_BYTES) - 1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

NO_SHAPE = -1
"""The shape of an access that touches no line."""
_THREAD_BYTES = 16
"""What a thread loads at most with one instruction; compilers give each thread so much of a row."""
_MOST_PASSES_LOG2 = 3
_LATE, _PASSES, _MARK_BITS = 4, 8, 16
"""Where a mark (uint16) of a line holds, above its sectors, the late ones and log2 of its passes.
"""


@jit
def _vectors(
    addresses: Int64Array, mask: npt.NDArray[np.bool_], item_bytes: int
) -> tuple[int, int]:
    """Lanes of a thread, and how many of them an instruction takes, of one row of lanes.

    Lanes side by side in memory, 16 bytes of them, are a thread's. It loads them with one
    instruction if all threads' addresses are aligned to 16 bytes, else in smaller pieces.
    """
    each = max(1, min(_THREAD_BYTES // item_bytes, addresses.size))
    offsets = 0
    for lane in range(addresses.size):
        if not mask[lane]:
            continue
        place = lane % each
        if place > 0 and mask[lane - 1] and addresses[lane] - addresses[lane - 1] != item_bytes:
            return 1, 1
        offsets |= addresses[lane] - place * item_bytes
    together = each
    while together > 1 and offsets & (together * item_bytes - 1):
        together >>= 1
    return each, together


@jit
def _slot(
    at_line: Integer, group: int, line: Int64Array, table: Int64Array, stamp: Int64Array
) -> np.int64:
    """The slot of a line of a group in a hash table, or that which it is to have."""
    last = np.int64(table.size - 1)
    slot = np.int64((np.uint64(at_line) * _MULTIPLIER) >> np.uint64(40)) & last
    while stamp[slot] == group and line[table[slot]] != at_line:
        slot = (slot + 1) & last
    return slot


@jit
def touched_lines(
    addresses: Int64Array, mask: npt.NDArray[np.bool_], item_bytes: int, wave_lanes: int = 0
) -> tuple[Int64Array, Int64Array, _UInt16Array]:
    """Lines of each row of lanes, once each (once for each wave), in the order of first touch.

    Args:
        addresses: int64[rows, lanes].
        mask: bool[rows, lanes]; which lanes are active.
        item_bytes: bytes that a lane touches.
        wave_lanes: so many lanes in turn are a wave, and each lane a thread with one instruction;
            0 = lanes are shared out to threads as a compiler would.

    Returns:
        offset int64[rows + 1], line int64[offset[-1]], mark uint16[offset[-1]]: sectors, those of
        them that no thread's first instruction touches, log2 of the instructions that touch it.
    """
    rows, lanes = addresses.shape
    offset = np.zeros(rows + 1, np.int64)
    line = np.empty(max(lanes, 16), np.int64)
    marks = np.zeros((max(lanes, 16), 3), np.uint16)  # sectors, early ones, instructions
    table = np.zeros(table_size(2 * lanes), np.int64)
    stamp = np.full(table.size, -1, np.int64)
    count = 0
    for row in range(rows):
        last, at = np.int64(-1), 0
        if count + 2 * lanes > line.size:
            line = np.concatenate((line, np.empty(line.size + 2 * lanes, np.int64)))
            marks = np.concatenate((marks, np.zeros((len(marks) + 2 * lanes, 3), np.uint16)))
        each, together = 1, 1
        if wave_lanes == 0:
            each, together = _vectors(addresses[row], mask[row], item_bytes)
        group = row * lanes
        for lane in range(lanes):
            if wave_lanes > 0 and lane % wave_lanes == 0:
                group = row * lanes + lane
                last = np.int64(-1)
            if not mask[row, lane]:
                continue
            instruction = np.uint16(lane % each // together)
            first = addresses[row, lane]
            end = ((first + item_bytes - 1) >> _SECTOR_SHIFT) + 1
            for sector in range(first >> _SECTOR_SHIFT, end):
                bit = np.uint16(1) << np.uint16(sector & _SECTORS_MASK)
                if sector // (_SECTORS_MASK + 1) != last:
                    last = np.int64(sector // (_SECTORS_MASK + 1))
                    slot = _slot(last, group, line, table, stamp)
                    if stamp[slot] != group:
                        stamp[slot], table[slot], line[count] = group, count, last
                        count += 1
                    at = int(table[slot])
                marks[at, 0] |= bit
                if instruction == 0:
                    marks[at, 1] |= bit
                marks[at, 2] |= np.uint16(1) << instruction
        offset[row + 1] = count
    for at in range(count):
        late = marks[at, 0] & ~marks[at, 1]
        passes = _log2_of_ones(marks[at, 2])
        marks[at, 0] |= late << np.uint16(_LATE) | passes << np.uint16(_PASSES)
    return offset, line[:count], marks[:count, 0].copy()


@jit
def _log2_of_ones(word: int) -> np.uint16:
    """log2 of how many bits are set, rounded up."""
    ones = 0
    while word:
        ones += word & 1
        word >>= 1
    log2 = 0
    while 1 << log2 < ones and log2 < _MOST_PASSES_LOG2:
        log2 += 1
    return np.uint16(log2)


class ShapeTable:
    """All distinct shapes of a trace, numbered in the order in which they were first met."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, bytes], int] = {}

    def add(
        self, kind: Access, offset: Int64Array, line: Int64Array, mark: _UInt16Array
    ) -> tuple[Int64Array, Int32Array]:
        """First line and shape of each row of `touched_lines`; `NO_SHAPE` for empty rows."""
        count = np.diff(offset)
        touching = np.flatnonzero(count)
        first, ids = np.zeros(len(count), np.int64), np.full(len(count), NO_SHAPE, np.int32)
        first[touching] = line[offset[touching]]
        codes = (line - np.repeat(first, count) << _MARK_BITS | mark).tobytes()
        ends = (offset[np.append(touching, len(count))] * 8).tolist()
        known, own = self._numbers, int(kind)
        ids[touching] = [
            known.setdefault((own, codes[begin:end]), len(known))
            for begin, end in itertools.pairwise(ends)
        ]
        return first, ids

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a trace that describe its shapes, by their names there."""
        codes = np.frombuffer(b"".join(codes for _, codes in self._numbers), np.int64)
        counts = [len(codes) // 8 for _, codes in self._numbers]
        mark = codes & (1 << _MARK_BITS) - 1
        return {
            "shape_offset": np.cumsum([0, *counts], dtype=np.int64),
            "shape_line": (codes >> _MARK_BITS).astype(np.int32),
            "shape_sectors": (mark & _ALL_SECTORS).astype(np.uint8),
            "shape_kind": np.array([kind for kind, _ in self._numbers], np.uint8),
            "shape_late": (mark >> _LATE & _ALL_SECTORS).astype(np.uint8),
            "shape_passes": (1 << (mark >> _PASSES)).astype(np.uint8),
        }


def group_rows(rows: npt.NDArray[Any]) -> tuple[Int32Array, Int64Array]:
    """Group equal rows.

    Args:
        rows: int64 or bool [n, lanes].

    Returns:
        group int32[n], representative int64[groups] (the first row of each group).
    """
    if rows.dtype == np.bool_:
        rows = np.packbits(rows, axis=1).astype(np.int64)
    representative, group = distinct(rows)
    return group, representative


@jit
def distinct(codes: Int64Array) -> tuple[Int64Array, Int32Array]:
    """Positions of the first of each distinct code, and for each code which one it is.

    A code is a row: int64[n, numbers].
    """
    count = len(codes)
    size = table_size(count)
    table = np.full(size, -1, np.int32)
    first = np.empty(count, np.int64)
    which = np.empty(count, np.int32)
    found = 0
    for at in range(count):
        if at > 0 and _same(codes, at, at - 1):
            which[at] = which[at - 1]
            continue
        key = np.uint64(0)
        for number in range(codes.shape[1]):
            key = (key ^ np.uint64(codes[at, number])) * _MULTIPLIER
            key ^= key >> np.uint64(29)
        slot = np.int64(key >> np.uint64(20)) & np.int64(size - 1)
        while table[slot] >= 0 and not _same(codes, at, first[table[slot]]):
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = found
            first[found] = at
            found += 1
        which[at] = table[slot]
    return first[:found].copy(), which


@jit
def _same(codes: Int64Array, one: int, other: int) -> bool:
    number = 0
    while number < codes.shape[1] and codes[one, number] == codes[other, number]:
        number += 1
    return bool(number == codes.shape[1])
