# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether a permutation keeps the order of programs that depend on each other."""

from __future__ import annotations

import numpy as np

from intelliperf_swizzle.records import Int64Array
from intelliperf_swizzle.trace import Dependence


def safe_order(dependence: Dependence, tile: Int64Array) -> str | None:
    """Why a permutation may not be used on a launch whose programs depend on each other, or None.

    Programs that depend on each other must be launched in the order in which they were. Where
    programs wait, a program may be waiting for one that is launched after it, which works only
    while both are resident; so there the programs concerned must keep their very places. Where
    nothing is known, all must.

    Args:
        dependence: of the launch's programs.
        tile: int64[programs]; launch index -> tile.
    """
    if not len(dependence.chains) and not dependence.unknown:
        return None
    launch_index = np.empty_like(tile)
    launch_index[tile] = np.arange(len(tile))
    if dependence.unknown:
        moved = np.flatnonzero(launch_index != np.arange(len(tile)))
        return f"not checked: {dependence.unknown}" if len(moved) else None
    chains = dependence.chains
    if dependence.waits:
        involved = np.unique(chains)
        moved = involved[launch_index[involved] != involved]
        if len(moved):
            return (
                f"programs wait for each other, and tile {moved[0]} would be launched "
                f"as number {launch_index[moved[0]]}"
            )
    swapped = np.flatnonzero(launch_index[chains[:, 0]] > launch_index[chains[:, 1]])
    if len(swapped):
        first, second = chains[swapped[0]]
        tensors = ", ".join(f"`{name}`" for name in dependence.tensors) or "a tensor"
        return (
            f"tiles {first} and {second} touch the same part of {tensors}, which one of "
            f"them writes, and would be launched in the opposite order"
        )
    return None
