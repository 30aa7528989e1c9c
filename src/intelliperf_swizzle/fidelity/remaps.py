# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Published remaps as Python text, turned into orders in a child process.

A remap is `def remap(pids, S)`: `pids` are arrays of the program ids, one an axis, and `S` a table
of sizes; it returns arrays of the logical coordinates, one an axis of the logical grid.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.children import run_child
from intelliperf_swizzle.records import Int64Array

LIMIT_SECONDS = 60.0
_BUILTINS = {"abs": abs, "int": int, "len": len, "max": max, "min": min, "range": range}


def orders_of(
    remaps: Sequence[str], grid: Sequence[int], sizes: Mapping[str, Any], folder: Path
) -> list[Int64Array | str]:
    """Launch index -> tile of each remap, or why there is none.

    Tiles are numbered along the grid's axes, the first fastest; where a grid of one axis stands
    for two coordinates, row by row. A tile out of range is -1.

    Args:
        remaps: their texts.
        grid: programs along each axis.
        sizes: what they look up in `S`.
        folder: an empty one.
    """
    request = {"remaps": list(remaps), "grid": list(grid), "sizes": dict(sizes)}
    (folder / "remaps.json").write_text(json.dumps(request))
    child = run_child(__name__, folder, environment=os.environ, limit_seconds=LIMIT_SECONDS)
    if child is None or child.returncode:
        return ["its text cannot be evaluated"] * len(remaps)
    failures = json.loads((folder / "failures.json").read_text())
    with np.load(folder / "orders.npz") as stored:
        return [failures.get(str(i)) or stored[f"arr_{i}"] for i in range(len(remaps))]


def main(folder: Path) -> None:
    """Evaluate the remaps that the request in the folder holds."""
    request = json.loads((folder / "remaps.json").read_text())
    orders, failures = [], {}
    for number, text in enumerate(request["remaps"]):
        try:
            orders.append(_order(text, request["grid"], request["sizes"]))
        except Exception as error:
            orders.append(np.zeros(0, np.int64))
            failures[number] = f"its text fails: {type(error).__name__}: {error}"
    np.savez(folder / "orders.npz", *orders)
    (folder / "failures.json").write_text(json.dumps(failures))


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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
