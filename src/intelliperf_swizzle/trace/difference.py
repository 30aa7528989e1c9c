# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether a swizzled kernel touches what the original does, renumbered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from intelliperf_swizzle.records import Access, Int32Array, Int64Array, Trace

_PIECE = 1 << 22
"""Accesses that are compared at once."""


def access_difference(original: Trace, edited: Trace, tile: Int64Array) -> str | None:
    """Where programs touch something else than their tiles did, in words.

    Args:
        original: by the unmodified kernel's programs, which are the tiles.
        edited: by the swizzled kernel's programs.
        tile: int64[programs]; program -> tile.
    """
    if original.segments != edited.segments or original.tiles != edited.tiles:
        return "the launches are not alike"
    expected, found = np.diff(original.tile_offset)[tile], np.diff(edited.tile_offset)
    for program in np.flatnonzero(expected != found)[:1]:
        return (
            f"program {program} makes {found[program]} accesses, tile {tile[program]} of the "
            f"original {expected[program]}"
        )
    shape = _numbers_of_shapes(original, edited)
    for first, last in _pieces(edited.tile_offset):
        begin, end = edited.tile_offset[first], edited.tile_offset[last]
        moved = original.tile_offset[tile[first:last]] - edited.tile_offset[first:last]
        at = np.repeat(moved, found[first:last]) + np.arange(begin, end)
        differs = original.access_base[at] != edited.access_base[begin:end]
        differs |= original.access_shape[at] != shape[edited.access_shape[begin:end]]
        for place in np.flatnonzero(differs)[:1]:
            access = int(begin + place)
            program = int(np.searchsorted(edited.tile_offset, access, side="right")) - 1
            return (
                f"access {access - edited.tile_offset[program]} of program {program} is "
                f"{_words(edited, access)}, of tile {tile[program]} of the original "
                f"{_words(original, int(at[place]))}"
            )
    if (original.tiles_outside, original.elements_outside) != (
        edited.tiles_outside,
        edited.elements_outside,
    ):
        return "other elements outside of every tensor are accessed"
    return None


def _pieces(offset: Int64Array) -> Iterator[tuple[int, int]]:
    """Ranges of programs with not many more than `_PIECE` accesses together."""
    first, programs = 0, len(offset) - 1
    while first < programs:
        last = int(np.searchsorted(offset, offset[first] + _PIECE, side="right")) - 1
        last = min(max(last, first + 1), programs)
        yield first, last
        first = last


def _numbers_of_shapes(original: Trace, edited: Trace) -> Int32Array:
    """For each shape of the edited trace its number in the original one, -1 if it is new."""
    numbers = {key: number for number, key in enumerate(_shapes(original))}
    return np.array([numbers.get(key, -1) for key in _shapes(edited)], np.int32)


def _shapes(trace: Trace) -> Iterator[tuple[object, ...]]:
    parts = (trace.shape_line, trace.shape_sectors, trace.shape_late, trace.shape_passes)
    for number, kind in enumerate(trace.shape_kind.tolist()):
        own = slice(trace.shape_offset[number], trace.shape_offset[number + 1])
        yield kind, *(None if part is None else part[own].tobytes() for part in parts)


def _words(trace: Trace, access: int) -> str:
    line, shape = int(trace.access_base[access]), int(trace.access_shape[access])
    kind = Access(int(trace.shape_kind[shape])).name.lower()
    [segment] = trace.segment_of(np.array([line]))
    within = line - trace.segments[segment].first_line
    names = "`, `".join(trace.segments[segment].names)
    return f"a {kind} that begins at line {within} of `{names}`"
