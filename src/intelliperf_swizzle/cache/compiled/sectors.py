# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An L2 of two domains that copy each other's lines, and the rows of memory behind it; for `timed`.

Of every unit there are four parts: in domain 0 the lines at home there and copies of those at home
in domain 1, and the same in domain 1. A part is numbered `2 * domain + copy`.
"""

import math
from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.cache.compiled import POPULATION, Lru, drop_oldest, mix, renew
from intelliperf_swizzle.jit import Integer, jit, loop
from intelliperf_swizzle.records import Float64Array, Int32Array, Int64Array, UInt8Array


class Rows(NamedTuple):
    """The rows of memory that lie open. A hash of its number says in which bank a row lies.

    Attributes:
        offset: int64[2 * units + 1]; into `row`, of the lines of unit `u` at home in domain `d` at
            `2 * u + d`.
        row: int32[n]; in which these lines lie, neighbours once, and
        bank: int32[n]; of which bank.
        open: int64[banks]; the row that each bank holds open. Empty where rows are not counted.
        activated: int64[1]; how often a bank had to open another row.
    """

    offset: Int64Array
    row: Int32Array
    bank: Int32Array
    open: Int64Array
    activated: Int64Array


@jit
def rows_of(
    unit_offset: Int64Array, unit_line: Int32Array, row_lines: int, banks: int
) -> tuple[Int64Array, Int32Array, Int32Array]:
    """The first three fields of `Rows`, of rows of that many lines. Cost linear in the lines."""
    units = len(unit_offset) - 1
    offset = np.zeros(2 * units + 1, np.int64)
    row, bank = np.empty(len(unit_line), np.int32), np.empty(len(unit_line), np.int32)
    n = 0
    for u in range(units):
        for domain in range(2):
            begin = n
            for k in range(unit_offset[u], unit_offset[u + 1]):
                if np.int64(mix(unit_line[k] * 7 + 3) & np.uint64(1)) == domain:
                    number = unit_line[k] // row_lines
                    if n == begin or row[n - 1] != number:
                        row[n] = number
                        bank[n] = np.int64(mix(number) % np.uint64(banks))
                        n += 1
            offset[2 * u + domain + 1] = n
    return offset, row[:n].copy(), bank[:n].copy()


@loop
def activate(rows: Rows, u: int, domain: int) -> None:
    """Memory is asked for lines of a unit that are at home in a domain."""
    if len(rows.open) == 0:
        return
    for i in range(rows.offset[2 * u + domain], rows.offset[2 * u + domain + 1]):
        if rows.open[rows.bank[i]] != rows.row[i]:
            rows.open[rows.bank[i]] = rows.row[i]
            rows.activated[0] += 1


class L2(NamedTuple):
    """Both domains' caches: LRU over parts of units, with the sectors of their lines.

    A hash spreads lines over the sets; those of a block, as many in a row as there are sets, it
    spreads evenly. So where a domain holds some lines of many blocks some of its sets are crowded,
    and where it holds whole blocks none is. Parts belong to quarters of the cache, from the crowded
    sets to the empty ones: quarter `q` holds `capacity / 4 * (1 + crowding * uneven[q])` lines.

    Attributes:
        lines: int32[units, 4]; of each part.
        sectors: uint8[units, 2, 4]; VALID and DIRTY ones of each part.
        quarters: 4 of each domain, which hold items `4 * unit + part`.
        written: int64[1]; sectors that were written back.
        rows: of the memory behind.
    """

    lines: Int32Array
    sectors: UInt8Array
    quarters: Lru
    written: Int64Array
    rows: Rows


VALID, DIRTY = 0, 1


class Crowding(NamedTuple):
    """How crowded the sets of a domain are: where lines of one unit in `SAMPLED` lie.

    Attributes:
        unit: int32[n].
        block: int32[n]; in which some of its lines lie.
        share: float64[n]; of its lines.
        block_lines: lines of a block.
        capacity: lines of a domain.
        uneven: float64[4]; ascending.
    """

    unit: Int32Array
    block: Int32Array
    share: Float64Array
    block_lines: int
    capacity: int
    uneven: Float64Array


SAMPLED = 8


@jit
def lines_at_home(unit_offset: Int64Array, unit_line: Int32Array) -> Int32Array:
    """Lines of each part, int32[units, 4]: a hash of the line number decides where home is."""
    units = len(unit_offset) - 1
    lines = np.zeros((units, 4), np.int32)
    for u in range(units):
        for k in range(unit_offset[u], unit_offset[u + 1]):
            home = np.int64(mix(unit_line[k] * 7 + 3) & np.uint64(1))
            lines[u, 2 * home] += 1
            lines[u, 3 - 2 * home] += 1
    return lines


@loop
def spread(u: int) -> np.int64:
    """A number in whose low bits units of regular numbers differ (Knuth's multiplicative hash)."""
    return (np.int64(u) * 2654435761) >> 12


@jit
def sampled_blocks(
    unit_offset: Int64Array, unit_line: Int32Array, block_lines: int
) -> tuple[Int32Array, Int32Array, Float64Array]:
    """The first three fields of `Crowding`. Blocks begin at multiples of their size."""
    size = 0
    for u in range(len(unit_offset) - 1):
        if spread(u) % SAMPLED == 0:
            size += unit_offset[u + 1] - unit_offset[u]
    unit, block, share = np.empty(size, np.int32), np.empty(size, np.int32), np.zeros(size)
    n = 0
    for u in range(len(unit_offset) - 1):
        if spread(u) % SAMPLED == 0:
            begin, end = unit_offset[u], unit_offset[u + 1]
            for i in range(begin, end):
                b = unit_line[i] // block_lines
                if i == begin or block[n - 1] != b:
                    unit[n], block[n] = u, b
                    n += 1
                share[n - 1] += 1 / (end - begin)
    return unit[:n].copy(), block[:n].copy(), share[:n].copy()


@loop
def touch(l2: L2, u: int, part: int) -> None:
    """Make a part the newest of its quarter; the oldest ones make room."""
    lru, item = l2.quarters, 4 * u + part
    quarter = (part >> 1) << 2 | int(spread(item)) & 3
    renew(lru, item, quarter)
    while lru.held[quarter] > lru.room[quarter]:
        oldest = drop_oldest(lru, quarter)
        sectors = l2.sectors[oldest >> 2, :, oldest & 3]
        if sectors[DIRTY] > 0:
            l2.written[0] += lru.lines[oldest] * POPULATION[sectors[DIRTY]]
            activate(l2.rows, oldest >> 2, (oldest & 3) >> 1)
        sectors[VALID] = sectors[DIRTY] = 0


@jit
def share_out(l2: L2, crowding: Crowding) -> None:
    """How many lines have room in each quarter, from what is there.

    The deviation of a set's number of lines, a sum of binomials, one a block, by that of a Poisson
    number says how uneven the quarters are.
    """
    held = np.zeros(1 + (crowding.block.max() if len(crowding.block) > 0 else 0))
    for domain in range(2):
        held[:] = 0
        for i in range(len(crowding.unit)):
            for part in range(2 * domain, 2 * domain + 2):
                if l2.quarters.older[4 * crowding.unit[i] + part] >= 0:
                    lines = l2.lines[crowding.unit[i], part]
                    held[crowding.block[i]] += crowding.share[i] * lines
        drawn = 0.0
        if held.sum() > 0:
            whole = SAMPLED * (held**2).sum() / (held.sum() * crowding.block_lines)
            drawn = math.sqrt(max(1 - whole, 0.0))
        for quarter in range(4):
            room = crowding.capacity / 4 * (1 + drawn * crowding.uneven[quarter])
            l2.quarters.room[4 * domain + quarter] = int(room)


@loop
def filled_sectors(sectors: Integer, granule: int) -> int:
    """The sectors that come when these are missing, `granule` of them at a time."""
    filled = 0
    piece = (1 << granule) - 1
    for first in range(0, 4, granule):
        if sectors >> first & piece:
            filled |= piece << first
    return filled


@loop
def fetch(l2: L2, u: int, part: int, sectors: Integer, granule: int) -> int:
    """Bring sectors to a part at its home; returns how many memory had to give."""
    valid = np.int64(l2.sectors[u, VALID, part])
    given = filled_sectors(sectors & ~valid, granule) & ~valid
    touch(l2, u, part)
    l2.sectors[u, VALID, part] |= np.uint8(sectors | given)
    if given > 0:
        activate(l2.rows, u, part >> 1)
    return POPULATION[given] * l2.lines[u, part]


@loop
def write(
    l2: L2, u: int, domain: int, sectors: Integer, atomic: bool, granule: int
) -> tuple[int, int, int]:
    """Write sectors at their home, and to the copy next to the CU; an atomic fetches them first.

    Returns the sectors that were not there, those that memory gave, and those that crossed over.
    """
    absent = 0
    given = 0
    for part in range(0, 4, 2):
        lines = l2.lines[u, part]
        if lines > 0:
            absent += POPULATION[sectors & ~np.int64(l2.sectors[u, VALID, part])] * lines
            if atomic:
                given += fetch(l2, u, part, sectors, granule)
            else:
                touch(l2, u, part)
            l2.sectors[u, VALID, part] |= np.uint8(sectors)
            l2.sectors[u, DIRTY, part] |= np.uint8(sectors)
    copy = 2 * domain + 1
    if l2.lines[u, copy] > 0:
        touch(l2, u, copy)
        l2.sectors[u, VALID, copy] |= np.uint8(sectors)
    return absent, given, POPULATION[sectors] * l2.lines[u, copy]
