# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A verdict in words."""

from __future__ import annotations

from intelliperf_swizzle.frontends.triton.source_proofs.judge import RemapVerdict, SizesTried
from intelliperf_swizzle.records import Grid


def described(verdict: RemapVerdict) -> str:
    """The verdict and its evidence, in lines."""
    times = f" (launched {verdict.count} times)" if verdict.count > 1 else ""
    what = f"`{verdict.kernel}` on grid {_extents(verdict.grid)}{times}"
    first = {
        "permutation": f"Permutation. {what}: {verdict.reason}",
        "not a permutation": f"Refused: {what} is not a permutation: {verdict.reason}",
        "not told": f"Not told: {what}: {verdict.reason}",
    }[verdict.kind]
    lines = [*verdict.evidence, *(_describe_sizes(verdict.sizes) if verdict.sizes else ())]
    return "\n".join([first, *(f"  {line}" for line in lines)])


def _describe_sizes(sizes: SizesTried) -> list[str]:
    if sizes.not_tried:
        return [f"other sizes were not tried: {sizes.not_tried}"]
    tried = f"{len(sizes.grids)} grids were tried, {_extents(sizes.grids[0])} to "
    tried += _extents(sizes.grids[-1])
    if sizes.condition is None:
        return [f"other sizes: a permutation on all ({tried})"]
    where = sizes.condition
    where = f"only where {where}" if "%" in where else f"only on {where}"
    lines = [f"other sizes: a permutation {where} ({tried})"]
    if sizes.witness:
        lines.append(f"on grid {_extents(sizes.witness)} it is not: {sizes.reason}")
    return lines


def _extents(grid: Grid) -> str:
    extents = [str(extent) for extent in grid]
    while len(extents) > 1 and extents[-1] == "1":
        extents.pop()
    return " × ".join(extents)
