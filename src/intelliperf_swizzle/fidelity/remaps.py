# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Published remaps as Python text, turned into orders in a child process.

A remap is `def remap(pids, S)`: `pids` are arrays of the program ids, one an axis, and `S` a table
of sizes; it returns arrays of the logical coordinates, one an axis of the logical grid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.children import CallError, call
from intelliperf_swizzle.records import Int64Array

LIMIT_SECONDS = 60.0
_BUILTINS = {"abs": abs, "int": int, "len": len, "max": max, "min": min, "range": range}


def orders_of(
    remaps: Sequence[str], grid: Sequence[int], sizes: Mapping[str, Any]
) -> list[Int64Array | str]:
    """Launch index -> tile of each remap, or why there is none.

    Tiles are numbered along the grid's axes, the first fastest; where a grid of one axis stands
    for two coordinates, row by row. A tile out of range is -1.

    Args:
        remaps: their texts.
        grid: programs along each axis.
        sizes: what they look up in `S`.
    """
    request = tuple(remaps), tuple(grid), dict(sizes)
    try:
        evaluated: list[Int64Array | str] = call(
            f"{__name__}:evaluate", request, limit_seconds=LIMIT_SECONDS
        )
    except CallError:
        return ["its text cannot be evaluated"] * len(remaps)
    return evaluated


def evaluate(
    request: tuple[Sequence[str], Sequence[int], Mapping[str, Any]], _: Path
) -> list[Int64Array | str]:
    """Evaluates remaps, in the child process."""
    remaps, grid, sizes = request
    orders: list[Int64Array | str] = []
    for text in remaps:
        try:
            orders.append(_order(text, grid, sizes))
        except Exception as error:
            orders.append(f"its text fails: {type(error).__name__}: {error}")
    return orders


def _order(text: str, grid: Sequence[int], sizes: Mapping[str, Any]) -> Int64Array:
    names: dict[str, Any] = {"np": np, "__builtins__": _BUILTINS}
    exec(text, names)
    index = np.arange(math.prod(grid))
    pids = np.unravel_index(index, tuple(grid), order="F")
    returned = names["remap"]([pid.astype(np.int64) for pid in pids], dict(sizes))
    coordinates = [np.broadcast_to(np.asarray(one, np.int64), index.shape) for one in returned]
    return _tile(coordinates, grid)


def _tile(coordinates: Sequence[Int64Array], grid: Sequence[int]) -> Int64Array:
    if len(coordinates) == 2 and len(grid) == 1:
        slow, fast = coordinates
        return np.asarray(slow * (fast.max() + 1) + fast, np.int64)
    if len(coordinates) != len(grid):
        raise ValueError(f"{len(coordinates)} coordinates on a grid of {len(grid)} axes")
    outside = np.any([(c < 0) | (c >= n) for c, n in zip(coordinates, grid, strict=True)], axis=0)
    inside = [np.where(outside, 0, one) for one in coordinates]
    tile: Int64Array = np.ravel_multi_index(inside, tuple(grid), order="F").astype(np.int64)
    tile[outside] = -1
    return tile
