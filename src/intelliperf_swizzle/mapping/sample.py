# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which tiles to execute where all of them would take too long."""

from __future__ import annotations

from itertools import product

import numpy as np

from intelliperf_swizzle.records import Grid, Int64Array

SPREAD = 16
"""Tiles spread evenly over the launch, besides those that are there for a reason."""
KINDS_OF_STEP = 8
"""So many kinds of steps between neighbours are looked at, the rarest first."""


def sample_tiles(grid: Grid, tile: Int64Array) -> tuple[Int64Array, int]:
    """Launch indices to execute, the most telling first.

    In this order: the corners of the grid; both sides of the steps of the mapping (where
    `tile[i + 1] - tile[i]` takes one of its rarer values, a branch of the swizzle has flipped: the
    first and the last such place of each value); the middles of the grid's edges; tiles spread
    evenly.

    Args:
        grid: of the launch.
        tile: int64[programs]; launch index -> tile.

    Returns:
        The launch indices, each once, and how many of the first must not be left out.
    """
    launch_index = np.empty_like(tile)
    launch_index[tile] = np.arange(len(tile))
    ends = [sorted({0, extent - 1}) for extent in grid]
    corners = [_linear(corner, grid) for corner in product(*ends)]
    edges = [
        _linear((*at[:axis], extent // 2, *at[axis + 1 :]), grid)
        for axis, extent in enumerate(grid)
        for at in product(*ends)
    ]
    musts = [0, len(tile) - 1, *launch_index[corners], *_steps(tile), *launch_index[edges]]
    spread = np.linspace(0, len(tile) - 1, SPREAD).astype(np.int64)
    chosen = dict.fromkeys([*map(int, musts), *map(int, spread)])
    return np.array(list(chosen), np.int64), len(set(map(int, musts)))


def _linear(at: tuple[int, ...], grid: Grid) -> int:
    return at[0] + grid[0] * (at[1] + grid[1] * at[2])


def _steps(tile: Int64Array) -> list[int]:
    """Launch indices on both sides of the rarer steps of a mapping."""
    step = np.diff(tile)
    values, counts = np.unique(step, return_counts=True)
    rare = values[np.argsort(counts, kind="stable")][:KINDS_OF_STEP]
    places = [np.flatnonzero(step == value)[[0, -1]] for value in rare]
    return [int(index) for place in places for at in place for index in (at, at + 1)]
