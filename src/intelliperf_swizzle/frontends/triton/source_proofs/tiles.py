# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The tiles of a launch, named by scalars of its source.

Which program does what is known from accesses; the scalars say how a reader would call it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.frontends.triton.source_proofs.observation import UNDEFINED, Observation
from intelliperf_swizzle.records import Grid, Int64Array

MOST_SCALARS = 4
"""Scalars that may name a tile together."""
_MOST_SIZES = 64
"""Sizes that are tried as extents of the tile grid."""


@dataclass(frozen=True)
class Tiles:
    """The tiles of a launch, named by scalars of its source.

    Attributes:
        sites: numbers of the scalars, slowest first.
        extents: of the grid of tiles that they span, once each of `start` and `step`.
        start, step: a scalar takes the values `start + step * i`.
    """

    sites: tuple[int, ...]
    extents: tuple[int, ...]
    start: tuple[int, ...]
    step: tuple[int, ...]


def frontier_tiles(seen: Observation, grid: Grid) -> Tiles | None:
    """The grid of tiles that the scalars span from which addresses are computed.

    None where these are not independent, or where it is not clear how far each of them goes.
    """
    rows = distinct_rows(seen)
    varying = tuple(s for s in seen.frontier if len(np.unique(seen.values[rows, s])) > 1)
    for sites in dict.fromkeys((varying, independent(seen, rows))):
        tiles = _tiles_of(seen, grid, rows, sites)
        if tiles is not None:
            return tiles
    return None


def _tiles_of(
    seen: Observation, grid: Grid, rows: Int64Array, sites: tuple[int, ...]
) -> Tiles | None:
    axes = tuple(axis for axis in range(3) if grid[axis] > 1)
    once = len(rows) == len(seen.work)  # one tile each, so that the launch has as many tiles
    if once and len(sites) < len(axes):  # some may be the same in all programs
        constant = [site for site in seen.frontier if site not in sites]
        sites = tuple(sorted((*constant[len(sites) - len(axes) :], *sites)))
    values = seen.values[np.ix_(rows, np.array(sites, np.int64))]
    if not 0 < len(sites) <= MOST_SCALARS or (values == UNDEFINED).any():
        return None
    least = values.min(axis=0)
    step = np.array([max(1, math.gcd(*column.tolist())) for column in (values - least).T])
    from_zero = (least >= 0).all() and (least % step == 0).all()
    for start in (np.zeros_like(least), least) if from_zero else (least,):
        reached = tuple(int(v) for v in ((values - start) // step).max(axis=0) + 1)
        extents = _extents_of_axes(seen, sites, reached, grid, axes) if once else None
        extents = extents or _extents_of_sizes(seen, reached, len(rows))
        if extents is not None:
            return Tiles(sites, extents, tuple(start.tolist()), tuple(step.tolist()))
    return None


def distinct_rows(seen: Observation) -> Int64Array:
    """One row of each program and each combination of the scalars that addresses come from."""
    keys = np.column_stack([seen.program, seen.values[:, list(seen.frontier)]])
    return np.sort(np.unique(keys, axis=0, return_index=True)[1]).astype(np.int64)


def independent(seen: Observation, rows: Int64Array) -> tuple[int, ...]:
    """The frontier less what is constant, and less what follows from another scalar of it."""
    columns = {site: seen.values[rows, site] for site in seen.frontier}
    classes = {site: len(np.unique(column)) for site, column in columns.items()}
    kept = [site for site in seen.frontier if classes[site] > 1]
    for site in reversed(kept):
        others = [other for other in kept if other != site]
        if any(joint_classes([columns[o], columns[site]]) == classes[o] for o in others):
            kept.remove(site)
    return tuple(kept)


def _extents_of_axes(
    seen: Observation,
    sites: Sequence[int],
    reached: tuple[int, ...],
    grid: Grid,
    axes: tuple[int, ...],
) -> tuple[int, ...] | None:
    """The launch's own grid, where the scalars stand in for its axes: by name, or by size."""
    if len(sites) != len(axes):
        return None
    named = {
        seen.sites[site].name: axis
        for axis in axes
        for site in range(3, len(seen.sites))
        if np.array_equal(seen.values[:, site], seen.values[:, axis])
    }
    by_name = tuple(named.get(seen.sites[site].name, -1) for site in sites)
    orders = [by_name] if sorted(by_name) == list(axes) else []
    fits = {
        tuple(grid[axis] for axis in order)
        for order in orders or itertools.permutations(axes)
        if all(grid[axis] >= least for axis, least in zip(order, reached, strict=True))
    }
    return fits.pop() if len(fits) == 1 else None


def _extents_of_sizes(
    seen: Observation, reached: tuple[int, ...], tiles: int
) -> tuple[int, ...] | None:
    """The one grid of so many tiles whose extents are what is reached, or sizes of the launch."""
    if math.prod(reached) == tiles:
        return reached
    choices = [
        sorted({least, *(size for size in seen.sizes if size >= least)})[:_MOST_SIZES]
        for least in reached
    ]
    fits = [fit for fit in itertools.product(*choices) if math.prod(fit) == tiles]
    as_reached = [sum(e == r for e, r in zip(fit, reached, strict=True)) for fit in fits]
    best = [fit for fit, same in zip(fits, as_reached, strict=True) if same == max(as_reached)]
    return best[0] if len(best) == 1 else None


def missing(seen: Observation, tiles: Tiles) -> Int64Array:
    """The tiles (int64[n, scalars], as their scalars name them) that no program holds."""
    values = seen.values[seen.wrote][:, list(tiles.sites)]
    values = values[(values != UNDEFINED).all(axis=1)]
    index = (values - np.array(tiles.start)) // np.array(tiles.step)
    taken = np.zeros(tiles.extents, np.bool_)
    taken[tuple(index.T)] = True
    missing: Int64Array = np.argwhere(~taken) * np.array(tiles.step) + np.array(tiles.start)
    return missing


def first_rows(seen: Observation) -> Int64Array:
    """One row of each program."""
    return np.unique(seen.program, return_index=True)[1].astype(np.int64)


def same_partition(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic]) -> bool:
    """Whether two columns are equal in the same rows."""
    classes = len(np.unique(one))
    return classes == len(np.unique(other)) == joint_classes([one, other])


def joint_classes(columns: Iterable[npt.NDArray[np.generic]]) -> int:
    """How many different rows columns have."""
    codes = np.zeros(0, np.int64)
    for column in columns:
        values, code = np.unique(column, return_inverse=True)
        joint = code if not len(codes) else codes * len(values) + code
        codes = np.unique(joint, return_inverse=True)[1]
    return int(codes.max()) + 1 if len(codes) else 0


# --- tiles that do not exist ---------------------------------------------------------------------


@dataclass(frozen=True)
class Astray:
    """Programs whose tile lies outside the grid of tiles.

    Attributes:
        sites: numbers of the scalars that name the tile.
        rows: of these programs.
        extents: of the grid of tiles.
        tiles: which the others should take; None where one scalar numbers the programs anew.
    """

    sites: tuple[int, ...]
    rows: Int64Array
    extents: tuple[int, ...]
    tiles: Tiles | None


def find_astray(seen: Observation, grid: Grid) -> Astray | None:
    """Programs beyond the tiles, where just these write nothing or write outside every tensor."""
    idle = frozenset(np.flatnonzero(~seen.writes).tolist())
    renumbered = find_beyond(seen, None if seen.lanes_outside else idle)
    return renumbered or _beyond_grid(seen, grid)


def find_beyond(seen: Observation, who: frozenset[int] | None = None) -> Astray | None:
    """A scalar that numbers the programs anew, and not from 0 to their number.

    With `who`, only one that does so in just these programs.
    """
    rows = first_rows(seen)
    programs = len(seen.work)
    for site in range(3, len(seen.sites)) if len(rows) else ():
        values = seen.values[rows, site]
        beyond = values >= programs
        if (values == UNDEFINED).any() or values.min() < 0 or not beyond.any():
            continue
        if len(np.unique(values)) < programs or values.max() >= 2 * programs:
            continue
        if who is None or who == set(seen.program[rows][beyond].tolist()):
            return Astray((site,), rows[beyond], (programs,), None)
    return None


def _beyond_grid(seen: Observation, grid: Grid) -> Astray | None:
    """Programs that write nothing because their tile lies outside the grid of tiles.

    Told only where the tiles of those that write lie in a grid with as many tiles as programs,
    whose extents are sizes of the launch, and the tiles of all others outside it.
    """
    rows = distinct_rows(seen)
    sites = independent(seen, rows)
    values = seen.values[np.ix_(rows, np.array(sites, np.int64))]
    if len(rows) != len(seen.work) or not sites or (values < 0).any():
        return None
    writes = seen.writes[seen.program[rows]]
    reached = tuple(int(v) + 1 for v in values[writes].max(axis=0))
    extents = _extents_of_sizes(seen, reached, len(rows)) if len(sites) <= MOST_SCALARS else None
    outside = (values >= np.array(extents or 0)).any(axis=1)
    if extents is None or writes.all() or (outside == writes).any():
        return None
    tiles = Tiles(sites, extents, (0,) * len(sites), (1,) * len(sites))
    return Astray(sites, rows[outside], extents, tiles)
