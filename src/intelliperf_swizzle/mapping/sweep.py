# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The grids on which every swizzle is tried besides the one it is meant for."""

from __future__ import annotations

from intelliperf_swizzle.records import Grid

LONGEST = 4096
"""Linear grids are tried at every length up to this one."""

_SIDES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 38, 48, 57, 63, 64)
"""Powers of two, their neighbours, and the odd sides of real problems."""
_DEPTHS = (1, 2, 3, 5, 8)


def sweep_grids(grid: Grid) -> tuple[Grid, ...]:
    """The declared sweep for grids of the same number of axes.

    One axis: every length from 1 to 4096. Two: every pair of 22 sides up to 64. Three: every
    triple of such sides up to 9 and five depths.
    """
    if grid[2] > 1:
        small = [side for side in _SIDES if side <= 9]
        return tuple((a, b, c) for c in _DEPTHS for b in small for a in small)
    if grid[1] > 1:
        return tuple((a, b, 1) for b in _SIDES for a in _SIDES)
    return tuple((n, 1, 1) for n in range(1, LONGEST + 1))
