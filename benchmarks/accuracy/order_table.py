# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A kernel that reads its block from a table, `pid = tl.load(perm + tl.program_id(0))`.

The table is an argument, so that one compiled kernel runs under any order. Its own loads depend on
the launch index and not on the block: program `i` reads entry `i` whatever stands there.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.cache.stream import ReferenceStream, stream_of
from intelliperf_swizzle.records import (
    LINE_BYTES,
    SECTOR_BYTES,
    Access,
    Int64Array,
    Launch,
    TensorArgument,
    Trace,
)

_INTEGERS = {name: np.dtype(name) for name in ("int16", "uint16", "int32", "uint32", "int64")}
PROBED_PROGRAMS = 1024
"""So many programs are traced under a random order, to see that blocks do not depend on it."""


@dataclass(frozen=True)
class OrderTable:
    """Which argument of a launch holds the order.

    Attributes:
        name: of the argument.
        storage: its storage, which holds nothing else.
        dtype: of its entries.
    """

    name: str
    storage: int
    dtype: np.dtype[Any]


def find_table(launch: Launch, order: Int64Array) -> OrderTable | None:
    """The integer argument that holds `order`, in a storage of its own; None if there is none."""
    for name, argument in launch.arguments.items():
        if not isinstance(argument, TensorArgument) or argument.dtype not in _INTEGERS:
            continue
        storage, dtype = launch.storages[argument.storage], _INTEGERS[argument.dtype]
        if storage.contents is None or storage.bytes != len(order) * dtype.itemsize:
            continue
        if np.array_equal(np.load(storage.contents, mmap_mode="r").view(dtype), order):
            return OrderTable(name, argument.storage, dtype)
    return None


def digest_of(order: npt.NDArray[Any]) -> str:
    """Tells an order from any other one."""
    return hashlib.blake2b(np.ascontiguousarray(order, np.int64).data, digest_size=16).hexdigest()


def under_order(launch: Launch, table: OrderTable, order: Int64Array, path: Path) -> Launch:
    """The launch with another order in its table, which is written to `path` (.npy)."""
    np.save(path, order.astype(table.dtype).view(np.uint8))
    storage = replace(launch.storages[table.storage], contents=str(path))
    return replace(launch, storages={**launch.storages, table.storage: storage})


# --- is a program nothing but its block? --------------------------------------------------------


def first_programs(launch: Launch, count: int) -> Launch:
    """The launch with only its first programs, where its grid has one axis."""
    if launch.programs > launch.grid[0]:
        return launch
    return replace(launch, grid=(min(count, launch.grid[0]), *launch.grid[1:]))


def same_blocks(by_block: Trace, by_order: Trace, order: Int64Array, table: OrderTable) -> bool:
    """Whether programs do under an order what the programs of their blocks do under none.

    Args:
        by_block: of the launch whose table holds 0, 1, 2, …
        by_order: of the launch, or of its first programs, whose table holds `order`.
        order: launch index -> block.
        table: whose own loads are left out, but must be one entry a program, its own.
    """
    sectors = _table_sectors(by_block, table)
    own = np.arange(by_block.tiles) * table.dtype.itemsize // SECTOR_BYTES
    if sectors is None or not np.array_equal(sectors, own):
        return False
    marks, expected = _marks(by_order, table), _marks(by_block, table)
    return bool(np.array_equal(marks, expected[order[: by_order.tiles]]))


def _table_sectors(trace: Trace, table: OrderTable) -> Int64Array | None:
    """The one sector of the table that each tile reads; None if it is not one."""
    accesses = np.flatnonzero(_reads_table(trace, table))
    tile = np.searchsorted(trace.tile_offset, accesses, side="right") - 1
    shape = trace.access_shape[accesses]
    masks = trace.shape_sectors[trace.shape_offset[shape]]
    single = (np.diff(trace.shape_offset)[shape] == 1) & (masks & (masks - 1) == 0)
    if not np.array_equal(tile, np.arange(trace.tiles)) or not single.all():
        return None
    line = trace.access_base[accesses].astype(np.int64) - _first_line(trace, table)
    return line * (LINE_BYTES // SECTOR_BYTES) + np.log2(masks).astype(np.int64)


def _reads_table(trace: Trace, table: OrderTable) -> npt.NDArray[np.bool_]:
    segment = next(known for known in trace.segments if table.name in known.names)
    end = segment.first_line + -(-segment.bytes // LINE_BYTES)
    return (trace.access_base >= segment.first_line) & (trace.access_base < end)


def _first_line(trace: Trace, table: OrderTable) -> int:
    return next(segment.first_line for segment in trace.segments if table.name in segment.names)


def _marks(trace: Trace, table: OrderTable) -> Int64Array:
    """A hash of what each tile touches, in order, the table left out: int64[tiles]."""
    lengths = np.diff(trace.shape_offset)
    shape_mark = np.array(
        [
            hash(
                (
                    trace.shape_line[begin : begin + length].tobytes(),
                    trace.shape_sectors[begin : begin + length].tobytes(),
                    int(kind),
                )
            )
            for begin, length, kind in zip(
                trace.shape_offset, lengths, trace.shape_kind, strict=False
            )
        ],
        np.int64,
    )
    others = ~_reads_table(trace, table)
    tile = np.repeat(np.arange(trace.tiles), np.diff(trace.tile_offset))[others]
    kept = np.bincount(tile, minlength=trace.tiles)
    place = np.arange(len(tile)) - np.repeat(np.cumsum(kept) - kept, kept)
    mark = shape_mark[trace.access_shape[others]] ^ trace.access_base[others] * np.int64(0x9E3779B1)
    mark *= 2 * place + 1
    total = np.zeros(trace.tiles, np.int64)
    np.add.at(total, tile, mark)
    return total


# --- replay -------------------------------------------------------------------------------------


def stream_under(trace: Trace, table: OrderTable, order: Int64Array) -> ReferenceStream:
    """The stream of a trace by block, each block's table load moved to where its program loads.

    A line of the table is touched by table loads alone, so it is a unit of its own.
    """
    stream = stream_of(trace)
    first = _first_line(trace, table)
    lines = -(-len(order) * table.dtype.itemsize // LINE_BYTES)
    line_of_unit = stream.unit_line[stream.unit_offset[:-1]] - first
    units = np.flatnonzero((line_of_unit >= 0) & (line_of_unit < lines))
    unit_of_line = np.zeros(lines, np.int32)
    unit_of_line[line_of_unit[units]] = units
    is_table = np.zeros(stream.units, np.bool_)
    is_table[units] = True
    references = np.flatnonzero(is_table[stream.plain_units])

    byte = np.empty(len(order), np.int64)
    byte[order] = np.arange(len(order)) * table.dtype.itemsize
    ref_unit, ref_code = stream.ref_unit.copy(), stream.ref_code.copy()
    ref_unit[references] = unit_of_line[byte // LINE_BYTES]
    ref_code[references] = Access.READ << 4 | 1 << byte % LINE_BYTES // SECTOR_BYTES
    return replace(stream, ref_unit=ref_unit, ref_code=ref_code)
