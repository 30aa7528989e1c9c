# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Is a swizzle a permutation of a launch's tiles? A certificate, or a witness against it.

Also which tiles to execute if all of them would take too long.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from intelliperf_swizzle.errors import LanguageError, NotAPermutationError, UsageError
from intelliperf_swizzle.language import Owners, Swizzle, check, evaluate
from intelliperf_swizzle.language.evaluation import outside_axis
from intelliperf_swizzle.records import Constants, Grid, Int64Array, Proof, Witness

MOST_PROGRAMS = 2**26
"""Programs of the largest grid that is checked; the arrays of one proof then take some 3 GB."""
LISTED = 8
"""How many missing or out-of-range tiles a witness names."""
FEWEST_TO_GENERALISE = 3
"""Grids on which a swizzle must hold before a modulus is read off them."""


def prove(
    swizzle: Swizzle, grid: Grid, constants: Constants, *, owners: Owners | None = None, **gpu: int
) -> Proof | Witness:
    """Evaluate a swizzle on the whole grid and say whether each tile is computed exactly once.

    Args:
        swizzle: the remap.
        grid: the launch's programs along the three axes.
        constants: the kernel's integer arguments by name.
        owners: as of `evaluate`.
        gpu: as of `evaluate`.

    Returns:
        A proof, or a witness.

    Raises:
        LanguageError: the text reads a name that the launch does not bind.
        UsageError: the grid is empty or has more than `MOST_PROGRAMS` programs.

    Cost: linear; tens of milliseconds for a million programs.
    """
    _check_size(grid)
    check(swizzle, constants)
    try:
        tile = evaluate(swizzle, grid, constants, owners=owners, **gpu)
    except LanguageError as error:
        return Witness(None, (), math.prod(grid), (), 0.0, failure=str(error))
    if _is_permutation(tile):
        return Proof(grid, tile, hashlib.blake2b(tile.data, digest_size=16).hexdigest())
    witness = _witness(tile)
    if owners or not witness.out_of_range:
        return witness
    program, _ = witness.out_of_range[0]
    return replace(witness, coordinate=outside_axis(swizzle, grid, constants, program, **gpu))


def _check_size(grid: Grid) -> None:
    if min(grid) < 1 or math.prod(grid) > MOST_PROGRAMS:
        raise UsageError(
            f"a grid of {grid[0]} × {grid[1]} × {grid[2]} programs cannot be checked",
            hint=f"each axis has at least 1 program, all together at most {MOST_PROGRAMS}",
        )


def _is_permutation(tile: Int64Array) -> bool:
    if tile.min() < 0 or tile.max() >= len(tile):
        return False
    computed = np.zeros(len(tile), np.bool_)
    computed[tile] = True
    return bool(computed.all())


def _witness(tile: Int64Array) -> Witness:
    tiles = len(tile)
    inside = (tile >= 0) & (tile < tiles)
    outside = np.flatnonzero(~inside)
    times = np.bincount(tile[inside], minlength=tiles)
    missing = np.flatnonzero(times == 0)
    return Witness(
        collision=_first_collision(tile, inside, times),
        missing=tuple(missing[:LISTED].tolist()),
        missing_count=len(missing),
        out_of_range=tuple((int(i), int(tile[i])) for i in outside[:LISTED]),
        computed_fraction=(tiles - len(missing)) / tiles,
    )


def _first_collision(
    tile: Int64Array, inside: np.ndarray, times: np.ndarray
) -> tuple[int, int, int] | None:
    """The first program whose tile another one computes too, that other one, and the tile."""
    repeated = np.flatnonzero(inside & (times[np.where(inside, tile, 0)] > 1))
    if len(repeated) == 0:
        return None
    shared = int(tile[repeated[0]])
    first, second = np.flatnonzero(tile == shared)[:2]
    return int(first), int(second), shared


def condition(grids: Sequence[Grid], holds: Sequence[bool]) -> str | None:
    """On which grids a swizzle holds, as text; None if it holds on all of them.

    A modulus of the number of programs or of one axis is named where it separates exactly the
    grids that hold from those that do not. Single programs are left out of that: on them whatever
    stays in range holds.
    """
    if all(holds):
        return None
    sizes = {
        "num_pids": [math.prod(grid) for grid in grids],
        **{f"grid_{axis}": [grid[axis] for grid in grids] for axis in range(3)},
    }
    judged = [i for i, grid in enumerate(grids) if math.prod(grid) > 1]
    for name, size in sizes.items():
        for wanted, relation in ((True, "=="), (False, "!=")):
            special = [size[i] for i in judged if holds[i] is wanted]
            modulus = math.gcd(*special)
            separates = all(
                (size[i] % max(modulus, 1) == 0) is (holds[i] is wanted) for i in judged
            )
            if modulus > 1 and separates and len(set(special)) >= FEWEST_TO_GENERALISE:
                return f"{name} % {modulus} {relation} 0"
    return f"{sum(holds)} of {len(grids)} grids checked"


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


SPREAD = 16
"""Tiles spread evenly over the launch, besides those that are there for a reason."""
KINDS_OF_STEP = 8
"""Kinds of steps between neighbours that are examined, the rarest first."""


def sample_tiles(grid: Grid, tile: Int64Array) -> Int64Array:
    """Launch indices to execute, the most telling first.

    In this order: the corners of the grid; both sides of the steps of the mapping (where
    `tile[i + 1] - tile[i]` takes one of its rarer values, a branch of the swizzle has flipped: the
    first and the last such place of each value); the middles of the grid's edges; tiles spread
    evenly.

    Args:
        grid: of the launch.
        tile: int64[programs]; launch index -> tile.

    Returns:
        The launch indices, each once.
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
    return np.array(list(dict.fromkeys([*map(int, musts), *map(int, spread)])), np.int64)


def _linear(at: tuple[int, ...], grid: Grid) -> int:
    return at[0] + grid[0] * (at[1] + grid[1] * at[2])


def _steps(tile: Int64Array) -> list[int]:
    """Launch indices on both sides of the rarer steps of a mapping."""
    step = np.diff(tile)
    values, counts = np.unique(step, return_counts=True)
    rare = values[np.argsort(counts, kind="stable")][:KINDS_OF_STEP]
    places = [np.flatnonzero(step == value)[[0, -1]] for value in rare]
    return [int(index) for place in places for at in place for index in (at, at + 1)]
