# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A witness in words."""

from __future__ import annotations

import math

from intelliperf_swizzle.errors import NotAPermutationError
from intelliperf_swizzle.records import Grid, Witness


def describe(witness: Witness) -> tuple[str, ...]:
    """The lines that show why a mapping is not a permutation, most telling first."""
    if witness.failure is not None:
        return tuple(witness.failure.splitlines())
    lines = []
    if witness.collision is not None:
        first, second, tile = witness.collision
        lines.append(f"tile {tile} is computed by programs {first} and {second}")
    if witness.missing:
        listed = " ".join(str(tile) for tile in witness.missing)
        more = witness.missing_count - len(witness.missing)
        lines.append(f"never computed: {listed}" + (f" and {more} more" if more else ""))
    if witness.coordinate is not None:
        name, value, extent = witness.coordinate
        program = witness.out_of_range[0][0]
        lines.append(f"program {program} → {name} = {value}, grid_{name[-1]} = {extent}")
    if witness.out_of_range:
        listed = ", ".join(
            f"{program}" + (f" (tile {tile})" if tile != -1 else "")
            for program, tile in witness.out_of_range
        )
        lines.append(f"first programs out of range: {listed}")
    if witness.missing_count > len(witness.missing):
        lines.append(f"computed: {100 * witness.computed_fraction:.2f} % of the tiles")
    return tuple(lines)


def refusal(
    witness: Witness, name: str, grid: Grid, *, domains: str, hint: str | None = None
) -> NotAPermutationError:
    """The error that refuses a swizzle, with its witness as details; `domains`: `8 XCDs`."""
    tiles = math.prod(grid)
    missing = witness.missing_count
    count = f"{missing} {'tile is' if missing == 1 else 'tiles are'} never computed"
    if witness.failure is not None:
        count = "it has no value on this grid"
    return NotAPermutationError(
        f"`{name}` is not a permutation of {tiles} tiles on {domains}: {count}",
        hint=hint,
        details=describe(witness),
    )
