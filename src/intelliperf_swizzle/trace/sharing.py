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
        return any(bool((tiles == _SEVERAL).any()) for tiles in updaters)
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
        changes = (Access.WRITE, Access.ATOMIC)
        if not (places >> place + 1 & 1 and _is_touched(trace, segment, changes)):
            continue
        written = _tiles_of_sectors(trace, segment, changes)
        read = np.full(len(written), _NOBODY, np.int32)
        for origin, base, shape in value_loads:
            if origin >> place + 1 & 1:
                at = np.arange(len(base) + 1, dtype=np.int64)
                _mark(
                    at, base.astype(np.int32), shape, trace.shape_offset, trace.shape_line,
                    trace.shape_sectors, segment.first_line, read,
                )  # fmt: skip
        if ((read != _NOBODY) & (written != _NOBODY)).any():
            return True
    return False


def _is_touched(trace: Trace, segment: Segment, kinds: tuple[Access, ...]) -> bool:
    """Whether any access of these kinds begins in the segment."""
    return bool(_accesses(trace, segment, kinds).any())


def _accesses(trace: Trace, segment: Segment, kinds: tuple[Access, ...]) -> npt.NDArray[np.bool_]:
    """Which accesses are of these kinds and in the segment."""
    wanted = np.isin(trace.shape_kind, [int(kind) for kind in kinds])
    inside: npt.NDArray[np.bool_] = wanted[trace.access_shape]
    inside &= trace.access_base >= segment.first_line
    inside &= trace.access_base < segment.first_line + -(-segment.bytes // LINE_BYTES)
    return inside


def _tiles_of_sectors(trace: Trace, segment: Segment, kinds: tuple[Access, ...]) -> Int32Array:
    """For each sector of a segment the tile that touches it so, or `_NOBODY` or `_SEVERAL`."""
    inside = _accesses(trace, segment, kinds)
    tiles = np.full(-(-segment.bytes // LINE_BYTES) * _SECTORS, _NOBODY, np.int32)
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(inside)))
    _mark(
        before[trace.tile_offset], trace.access_base[inside], trace.access_shape[inside],
        trace.shape_offset, trace.shape_line, trace.shape_sectors, segment.first_line, tiles,
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
