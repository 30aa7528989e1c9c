# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Accesses on their way into a trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intelliperf_swizzle.jit import jit
from intelliperf_swizzle.records import Int32Array, Int64Array, TileLoop
from intelliperf_swizzle.trace.shapes import NO_SHAPE


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
    each = arithmetic // np.maximum(tiles, 1)[:, None]
    return np.concatenate((each[loop.program], np.zeros_like(arithmetic)))


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
