# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The shapes of accesses: which lines relative to the first one, each distinct shape kept once;
and programs grouped by what a term of their addresses or masks is up to a constant."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.jit import Integer, jit, table_size
from intelliperf_swizzle.records import (
    LINE_BYTES,
    SECTOR_BYTES,
    Access,
    Int32Array,
    Int64Array,
    TileLoop,
)

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
    width = max(1, min(_THREAD_BYTES // item_bytes, addresses.size))
    offsets = 0
    for lane in range(addresses.size):
        if not mask[lane]:
            continue
        place = lane % width
        if place > 0 and mask[lane - 1] and addresses[lane] - addresses[lane - 1] != item_bytes:
            return 1, 1
        offsets |= addresses[lane] - place * item_bytes
    together = width
    while together > 1 and offsets & (together * item_bytes - 1):
        together >>= 1
    return width, together


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
        wave_lanes: how many lanes in turn are a wave, and each lane a thread with one instruction;
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
        width, together = 1, 1
        if wave_lanes == 0:
            width, together = _vectors(addresses[row], mask[row], item_bytes)
        group = row * lanes
        for lane in range(lanes):
            if wave_lanes > 0 and lane % wave_lanes == 0:
                group = row * lanes + lane
                last = np.int64(-1)
            if not mask[row, lane]:
                continue
            instruction = np.uint16(lane % width // together)
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
def _same(codes: Int64Array, a: int, b: int) -> bool:
    number = 0
    while number < codes.shape[1] and codes[a, number] == codes[b, number]:
        number += 1
    return bool(number == codes.shape[1])


@dataclass(frozen=True)
class RelativeLines:
    """The lines of one program's access relative to its base address.

    Attributes:
        shape: number of the shape.
        line: first line less the base's line.
        low, high: first byte and byte after the last one, less the base.
    """

    shape: int
    line: int
    low: int
    high: int


@dataclass(frozen=True)
class Part:
    """Accesses of some programs, program by program.

    `outside`: how many elements outside every storage each program accesses.
    """

    programs: Int64Array
    count: Int64Array
    base: Int32Array
    shape: Int32Array
    outside: Int64Array


def each_tile(loop: TileLoop, arithmetic: Int64Array) -> Int64Array:
    """What programs compute, shared out evenly to the tiles of a loop; none for what is outside."""
    tiles = np.bincount(loop.program, minlength=len(arithmetic))
    per_tile = arithmetic // np.maximum(tiles, 1)[:, None]
    return np.concatenate((per_tile[loop.program], np.zeros_like(arithmetic)))


def without_repeats(
    latest: dict[int, tuple[Int64Array, Int32Array]],
    site: int,
    first: Int64Array,
    shape: Int32Array,
) -> tuple[Int64Array, Int32Array]:
    """The accesses without those that the ones before them at their site were, too."""
    before = latest.get(site)
    latest[site] = first, shape
    if before is None:
        return first, shape
    again = (before[0] == first) & (before[1] == shape)
    return first, np.where(again, np.int32(NO_SHAPE), shape) if again.any() else shape


def spread_over(
    first: Int64Array, shape: Int32Array, selected: Int64Array | None, count: int
) -> tuple[Int64Array, Int32Array]:
    """First lines and shapes of the selected programs among all; one entry if all are the same."""
    if selected is None:
        return first, shape
    all_first, all_shape = np.zeros(count, np.int64), np.full(count, NO_SHAPE, np.int32)
    all_first[selected], all_shape[selected] = first, shape
    return all_first, all_shape


@jit
def enter(
    free: Int64Array,
    programs: Int64Array,
    count: Int64Array,
    part_base: Int32Array,
    part_shape: Int32Array,
    base: Int32Array,
    shape: Int32Array,
) -> None:
    """Enter accesses at the first `free` place of each tile, which moves on."""
    read = 0
    for at in range(programs.size):
        write = free[programs[at]]
        for access in range(count[at]):
            base[write + access] = part_base[read + access]
            shape[write + access] = part_shape[read + access]
        free[programs[at]] += count[at]
        read += count[at]


_FEW_ROWS = 32
_REMEMBERED_TERMS = 16
"""Terms whose grouping is remembered: those of a loop's pointers come again in every iteration."""


@dataclass(frozen=True)
class Groups:
    """The rows (programs) of a term, grouped by what they are up to a constant.

    Attributes:
        first: int64[rows]; each row's first number.
        group: int32[rows].
        patterns: number of each group's pattern, shared by all terms of a recorder; none if
            the rows are not regular.
        rows: each group's row less its first number, shaped as a term of one program.
    """

    first: Int64Array
    group: Int32Array
    patterns: tuple[int, ...]
    rows: tuple[npt.NDArray[Any], ...]

    @property
    def regular(self) -> bool:
        """Whether groups are so few that it pays to look at them in the place of rows."""
        return not 2 * len(self.rows) > len(self.first) > _FEW_ROWS

    def of_row(self, at: int) -> int:
        """The group of a row; one row stands for all."""
        return int(self.group[at % len(self.group)])


class Grouping:
    """Groups the terms of one recorder, whose patterns it numbers."""

    def __init__(self) -> None:
        self._patterns: dict[tuple[Any, ...], int] = {}
        self._remembered: dict[tuple[int, int], tuple[Any, Groups]] = {}

    def begin(self) -> None:
        """Other programs follow: terms are forgotten, patterns keep their numbers."""
        self._remembered.clear()

    def groups(self, term: npt.NDArray[Any], selected: Int64Array | None) -> Groups:
        """The groups of a term's selected rows; remembered by the identity of the term."""
        chosen = 0 if selected is None else hash(selected.tobytes())
        key = (term.__array_interface__["data"][0], chosen)
        found = self._remembered.get(key)
        if found is not None and found[0].shape == term.shape and found[0].strides == term.strides:
            return found[1]
        groups = self._of(term if selected is None or len(term) == 1 else term[selected])
        while len(self._remembered) >= _REMEMBERED_TERMS:
            del self._remembered[next(iter(self._remembered))]
        self._remembered[key] = (term, groups)
        return groups

    def _of(self, rows: npt.NDArray[Any]) -> Groups:
        """Rows of numbers that differ by a constant are in one group; of masks, equal ones."""
        flat = rows.reshape(len(rows), -1)
        first = np.zeros(1, np.int64) if rows.dtype == np.bool_ else flat[:, 0]
        relative = flat if rows.dtype == np.bool_ else flat - flat[:, :1]
        group, chosen = group_rows(relative)
        patterns = tuple(relative[at].reshape(1, *rows.shape[1:]) for at in chosen)
        found = Groups(first, group, (), patterns)
        return replace(found, patterns=self._number(patterns)) if found.regular else found

    def _number(self, patterns: Sequence[npt.NDArray[Any]]) -> tuple[int, ...]:
        keys = ((pattern.shape, pattern.dtype.char, pattern.tobytes()) for pattern in patterns)
        return tuple(self._patterns.setdefault(key, len(self._patterns)) for key in keys)
