# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Rows of memory that requests open: each bank holds one row open; for `sectors`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.cache.compiled import mix
from intelliperf_swizzle.jit import jit, loop
from intelliperf_swizzle.records import Int32Array, Int64Array, UInt8Array


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
    """The first three fields of `Rows`, of rows of so many lines. Cost linear in the lines."""
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


@jit
def writers(ref_unit: Int32Array, ref_code: UInt8Array, unit_offset: Int64Array) -> float:
    """How often a sector that is written at all is written, on average; 0 where none is."""
    written = np.zeros(len(unit_offset) - 1, np.uint8)
    writes = distinct = 0
    for r in range(len(ref_unit)):
        if ref_code[r] >> 4 == 1:
            u = ref_unit[r] if ref_unit[r] >= 0 else ~ref_unit[r]
            lines = unit_offset[u + 1] - unit_offset[u]
            for sector in range(4):
                if ref_code[r] >> sector & 1:
                    writes += lines
                    if written[u] >> sector & 1 == 0:
                        distinct += lines
            written[u] |= ref_code[r] & 15
    return writes / distinct if distinct else 0.0
