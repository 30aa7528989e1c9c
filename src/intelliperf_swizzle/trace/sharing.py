# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What programs of one launch do to each other's memory, read off a trace.

The grain is the sector of 32 bytes. Atomics are compared word by word where they are not too many:
counters and locks of different programs lie side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.records import (
    LINE_BYTES,
    SECTOR_BYTES,
    Access,
    Int32Array,
    Int64Array,
    Segment,
    Trace,
    UInt8Array,
)

_SECTORS = LINE_BYTES // SECTOR_BYTES
_NOBODY = -1
_SEVERAL = -2


def shared_writes(trace: Trace) -> tuple[str, ...]:
    """Names of tensors of which some program loads what another one stores or updates."""
    names: list[str] = []
    for segment in trace.segments:
        readers = _tiles_of_sectors(trace, segment, (Access.READ,))
        if readers is None:
            continue
        writers = _tiles_of_sectors(trace, segment, (Access.WRITE, Access.ATOMIC))
        if (
            writers is not None
            and (
                (readers != _NOBODY)
                & (writers != _NOBODY)
                & ((readers != writers) | (readers == _SEVERAL))
            ).any()
        ):
            names.extend(segment.names)
    return tuple(names)


def updates_collide(
    trace: Trace, atomic_words: Sequence[tuple[Int64Array, Int64Array]] | None
) -> bool:
    """Whether two programs update the same address with atomics.

    Args:
        trace: of the launch.
        atomic_words: programs and addresses of all atomics; None where they were too many.
    """
    if atomic_words is None:
        updaters = (_tiles_of_sectors(trace, s, (Access.ATOMIC,)) for s in trace.segments)
        return any(tiles is not None and (tiles == _SEVERAL).any() for tiles in updaters)
    if not atomic_words:
        return False
    programs = np.concatenate([programs for programs, _ in atomic_words])
    words = np.concatenate([words for _, words in atomic_words])
    pairs = np.unique(np.stack((words, programs)), axis=1)
    return len(np.unique(pairs[0])) < pairs.shape[1]


def reads_what_is_written(
    trace: Trace, places: int, value_loads: Sequence[tuple[int, Int64Array, Int32Array]]
) -> bool:
    """Whether loads whose values decided something read words that the launch itself writes.

    Args:
        trace: of the launch.
        places: bit set of the storages that matter, bit `1 + place`.
        value_loads: bit set of storages, first line and shape of such loads.
    """
    for place, segment in enumerate(trace.segments):
        if not places >> place + 1 & 1:
            continue
        written = _tiles_of_sectors(trace, segment, (Access.WRITE, Access.ATOMIC))
        if written is None:
            continue
        read = np.full(len(written), _NOBODY, np.int32)
        for origin, base, shape in value_loads:
            if origin >> place + 1 & 1:
                at = np.arange(len(base) + 1, dtype=np.int64)
                kept = np.ones(len(trace.shape_kind), np.bool_)
                _mark(
                    at, base.astype(np.int32), shape, trace.shape_offset, trace.shape_line,
                    trace.shape_sectors, kept, segment.first_line, read,
                )  # fmt: skip
        if ((read != _NOBODY) & (written != _NOBODY)).any():
            return True
    return False


def _tiles_of_sectors(
    trace: Trace, segment: Segment, kinds: tuple[Access, ...]
) -> Int32Array | None:
    """For each sector of a segment the tile that touches it so, or `_NOBODY` or `_SEVERAL`.

    None if nobody does.
    """
    wanted = np.isin(trace.shape_kind, [int(kind) for kind in kinds])
    lines = -(-segment.bytes // LINE_BYTES)
    inside = wanted[trace.access_shape]
    inside &= trace.access_base >= segment.first_line
    inside &= trace.access_base < segment.first_line + lines
    if not inside.any():
        return None
    tiles = np.full(lines * _SECTORS, _NOBODY, np.int32)
    count = np.add.reduceat(
        np.append(inside, False), np.minimum(trace.tile_offset[:-1], len(inside))
    )
    count[np.diff(trace.tile_offset) == 0] = 0
    offset = np.concatenate((np.zeros(1, np.int64), np.cumsum(count)))
    _mark(
        offset, trace.access_base[inside], trace.access_shape[inside], trace.shape_offset,
        trace.shape_line, trace.shape_sectors, wanted, segment.first_line, tiles,
    )  # fmt: skip
    return tiles


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _mark(
    tile_offset: Int64Array,
    base: Int32Array,
    shape: Int32Array,
    shape_offset: Int64Array,
    shape_line: Int32Array,
    shape_sectors: UInt8Array,
    wanted: npt.NDArray[np.bool_],
    first_line: int,
    tiles: Int32Array,
) -> None:
    """Enter each tile at the sectors that its accesses touch."""
    for tile in range(tile_offset.size - 1):
        for access in range(tile_offset[tile], tile_offset[tile + 1]):
            for at in range(shape_offset[shape[access]], shape_offset[shape[access] + 1]):
                line = base[access] + shape_line[at] - first_line
                for sector in range(4):
                    place = line * 4 + sector
                    if not (shape_sectors[at] >> sector) & 1 or not 0 <= place < tiles.size:
                        continue
                    if tiles[place] == -1:
                        tiles[place] = tile
                    elif tiles[place] != tile:
                        tiles[place] = -2
