# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From what was seen of a launch to a verdict: is each of its tiles computed exactly once?

What is known for certain comes from accesses: which programs do the same work, which elements are
stored by several programs and which by none. The scalars of the source name the tiles; what they
say never decides against the accesses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.records import Grid, Int64Array
from intelliperf_swizzle.source_proofs.observation import UNDEFINED, Observation, Output, Site

LISTED = 8
"""How many tiles a verdict names."""
_MOST_SIZES = 64
"""Sizes that are tried as extents of the tile grid."""
_MOST_SCALARS = 4
"""Scalars that may name a tile together."""

RemapKind: TypeAlias = Literal["permutation", "not a permutation", "not told"]


@dataclass(frozen=True)
class RemapVerdict:
    """Whether a launch computes each of its tiles exactly once, as its own source remaps them.

    Attributes:
        kernel: its name.
        grid: of the launch.
        kind: `permutation`; `not a permutation`; `not told`, where this cannot be decided.
        reason: in one sentence.
        evidence: what was found, a fact a line: the witness, or what was checked.
        count: how often this launch was seen.
        drops_tiles: programs do the work of others, and of a tensor that several programs store to,
            elements are stored by none, and that does not follow from loaded values, which need
            not be those of a real run. Narrower than `not a permutation`: it is said unasked.
    """

    kernel: str
    grid: Grid
    kind: RemapKind
    reason: str
    evidence: tuple[str, ...] = ()
    count: int = 1
    drops_tiles: bool = False


@dataclass(frozen=True)
class _Tiles:
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


def judge(observation: Observation, kernel: str, grid: Grid, count: int = 1) -> RemapVerdict:
    """The verdict, with its evidence."""
    kind, reason, evidence = _verdict(observation, grid)
    dropped = kind == "not a permutation" and _drops_tiles(observation)
    return RemapVerdict(kernel, grid, kind, reason, tuple(evidence), count, dropped)


def _drops_tiles(seen: Observation) -> bool:
    repeated = len(np.unique(seen.work[seen.writes])) < int(seen.writes.sum())
    gaps = any(one.shared and one.unwritten for one in seen.outputs or ())
    return repeated and gaps and not seen.places_loaded


def _verdict(seen: Observation, grid: Grid) -> tuple[RemapKind, str, list[str]]:
    working = int(seen.writes.sum())
    distinct = len(np.unique(seen.work[seen.writes]))
    if working == 0:
        return "not told", "no program writes anything", []
    outputs = [*_idle(seen), *_lines_of_outputs(seen)]
    tiles = _frontier_tiles(seen, grid)
    once = _once(seen, tiles)
    written = seen.outputs or ()
    unwritten = any(one.unwritten for one in written)
    shared = [one for one in written if one.shared]

    if distinct < working:
        reason = f"{working} programs do the work of {distinct}"
        return "not a permutation", reason, [*_collision(seen, grid, tiles), *outputs]
    if any(one.unwritten for one in shared) and not once:
        reason = "elements are stored by several programs, and others by none"
        return "not a permutation", reason, [*(_beyond(seen) or _absent(seen, tiles)), *outputs]
    if unwritten and (beyond := _stray(seen) or _beyond_grid(seen, grid)):
        reason = "programs take tiles that do not exist, and others take none of those that do"
        return "not a permutation", reason, [*beyond, *outputs]
    names = [f"`{one.name}`" for one in written if _is_whole(one) and one.programs == working]
    if names and working == len(seen.work) and not seen.lanes_outside:
        reason = f"each element of {', '.join(names)} is stored exactly once"
        return "permutation", reason, [*once, *outputs]
    if shared:
        return "not told", "elements are stored by several programs", [*once, *outputs]
    if unwritten and (working < len(seen.work) or seen.lanes_outside):
        reason = "elements are written by no program, and it is not known whether they should be"
        return "not told", reason, outputs
    if written and not unwritten and all(_is_whole(one) for one in written):
        return "permutation", "each element is stored exactly once", [*once, *outputs]
    if not once:
        return "not told", "no two programs do the same, and no more is known", outputs
    reason = "no two programs do the same, and each tile is taken once"
    return "permutation", reason, [*once, *outputs]


def _is_whole(output: Output) -> bool:
    return not (output.unwritten or output.shared or output.updated)


# --- words ---------------------------------------------------------------------------------------


def _lines_of_outputs(seen: Observation) -> list[str]:
    if seen.outputs is None:
        return ["the tensors are too large to look at each element"]
    lines = [line for output in seen.outputs for line in _lines_of_output(output)]
    if seen.lanes_outside:
        lines.append(f"{seen.lanes_outside} elements are written outside every tensor")
    return lines


def _lines_of_output(output: Output) -> list[str]:
    shape = " × ".join(map(str, output.shape)) or "scalar"
    whole = f"`{output.name}` ({shape})"
    lines = []
    if output.unwritten:
        share = 100 * output.unwritten / output.elements
        place = ", ".join(f"{a}:{b + 1}" for a, b in output.unwritten_range)
        lines.append(
            f"{whole}: {output.unwritten} of {output.elements} elements ({share:.2f} %) are "
            f"written by no program, within [{place}]"
        )
    if output.shared:
        line = f"{whole}: {output.shared} elements are stored by several programs"
        if output.clash:
            index, one, other = output.clash
            line += f", {list(index)} by {one} and {other}"
        lines.append(line)
    if not lines:
        verb = "updated" if output.updated else "stored by exactly one program"
        lines.append(f"{whole}: each of {output.elements} elements is {verb}")
    return lines


def _idle(seen: Observation) -> list[str]:
    idle = int((~seen.writes).sum())
    return [f"{idle} of {len(seen.writes)} programs write nothing"] if idle else []


def _once(seen: Observation, tiles: _Tiles | None) -> list[str]:
    """Says so where each tile is taken exactly once; nothing else."""
    if tiles is None:
        return []
    taken = seen.values[np.ix_(_distinct_rows(seen), np.array(tiles.sites))]
    if not len(taken) == len(np.unique(taken, axis=0)) == math.prod(tiles.extents):
        return []
    extents = " × ".join(map(str, tiles.extents))
    start = f", from {_listed(np.array([tiles.start]))} on," if any(tiles.start) else ""
    return [f"{_names(seen, tiles.sites)} takes each of {extents} values{start} once"]


def _names(seen: Observation, sites: Sequence[int]) -> str:
    """`pid` (kernel.py:12), or `(pid_m, pid_n)` (kernel.py:14)."""
    names = ", ".join(seen.sites[site].name for site in sites)
    names = f"`({names})`" if len(sites) > 1 else f"`{names}`"
    last = max((seen.sites[site] for site in sites), key=lambda site: site.line)
    return f"{names} ({_where(last)})" if sites[-1] > 2 else names


def _where(site: Site) -> str:
    return f"{Path(site.file).name}:{site.line}"


def _listed(tiles: Int64Array) -> str:
    """The first tiles, `3 5 7 and 12 more`."""
    shown = [
        str(int(tile[0])) if len(tile) == 1 else f"({', '.join(str(int(v)) for v in tile)})"
        for tile in tiles[:LISTED]
    ]
    more = len(tiles) - len(shown)
    return " ".join(shown) + (f" and {more} more" if more > 0 else "")


# --- programs that do the same -------------------------------------------------------------------


def _collision(seen: Observation, grid: Grid, tiles: _Tiles | None) -> list[str]:
    """Two programs that do the same, the scalar that says so, the tiles that nobody computes."""
    one, other = _first_pair(seen)
    culprit = _culprit(seen)
    named = tiles.sites if tiles else _independent(seen, _distinct_rows(seen))
    lines = []
    for sites in dict.fromkeys(sites for sites in (culprit, named) if sites):
        values = _at_program(seen, one, sites)
        told = len(sites) <= _MOST_SCALARS and UNDEFINED not in values
        if told and np.array_equal(values, _at_program(seen, other, sites)):
            what = f"{_names(seen, sites)} is {_listed(values[None])}"
            lines.append(f"{what} in programs {one} and {other}")
    if not lines:
        lines.append(f"programs {one} and {other} access the same addresses in the same order")
    if tiles is None and culprit is not None:
        return [*lines, *_never_taken(seen, culprit[0])]
    return [*lines, *_absent(seen, tiles)]


def _absent(seen: Observation, tiles: _Tiles | None) -> list[str]:
    """The tiles that nobody computes."""
    if tiles is None or not len(missing := _missing(seen, tiles)):
        return []
    total = math.prod(tiles.extents)
    name = ", ".join(seen.sites[site].name for site in tiles.sites)
    return [
        f"{total - len(missing)} of {total} tiles are computed",
        f"never computed: {name} = {_listed(missing)}",
    ]


def _never_taken(seen: Observation, site: int) -> list[str]:
    """The values that a scalar leaves out which numbers the programs anew; else nothing."""
    values = seen.values[_first_rows(seen), site]
    programs = len(seen.work)
    inside = values[(values >= 0) & (values < programs)]
    taken = np.zeros(programs, np.bool_)
    taken[inside] = True
    if 2 * int(taken.sum()) <= programs:
        return []  # a part of a number, then
    name = seen.sites[site].name
    return [f"never taken: {name} = {_listed(np.argwhere(~taken))}"]


def _first_pair(seen: Observation) -> tuple[int, int]:
    working = np.flatnonzero(seen.writes)
    _, group, counts = np.unique(seen.work[working], return_inverse=True, return_counts=True)
    first = int(np.argmax(counts[group] > 1))
    second = first + 1 + int(np.argmax(group[first + 1 :] == group[first]))
    return int(working[first]), int(working[second])


def _culprit(seen: Observation) -> tuple[int, ...] | None:
    """The first scalar that tells apart exactly the programs that do different work."""
    rows = _first_rows(seen)
    rows = rows[seen.writes[seen.program[rows]]]
    work = seen.work[seen.program[rows]]
    for site in range(3, len(seen.sites)) if len(rows) else ():
        values = seen.values[rows, site]
        copied = any(np.array_equal(values, seen.values[rows, axis]) for axis in range(3))
        if not copied and not (values == UNDEFINED).any() and _same_partition(values, work):
            return (site,)
    return None


def _first_rows(seen: Observation) -> Int64Array:
    """One row of each program."""
    return np.unique(seen.program, return_index=True)[1].astype(np.int64)


def _same_partition(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic]) -> bool:
    classes = len(np.unique(one))
    return classes == len(np.unique(other)) == _joint_classes([one, other])


def _joint_classes(columns: Iterable[npt.NDArray[np.generic]]) -> int:
    """How many different rows columns have."""
    codes = np.zeros(0, np.int64)
    for column in columns:
        values, code = np.unique(column, return_inverse=True)
        joint = code if not len(codes) else codes * len(values) + code
        codes = np.unique(joint, return_inverse=True)[1]
    return int(codes.max()) + 1 if len(codes) else 0


def _at_program(seen: Observation, program: int, sites: Sequence[int]) -> Int64Array:
    row = int(np.argmax(seen.program == program))
    values: Int64Array = seen.values[row][list(sites)]
    return values


# --- tiles by name -------------------------------------------------------------------------------


def _frontier_tiles(seen: Observation, grid: Grid) -> _Tiles | None:
    """The grid of tiles that the scalars span from which addresses are computed.

    None where these are not independent, or where it is not clear how far each of them goes.
    """
    rows = _distinct_rows(seen)
    varying = tuple(s for s in seen.frontier if len(np.unique(seen.values[rows, s])) > 1)
    for sites in dict.fromkeys((varying, _independent(seen, rows))):
        tiles = _tiles_of(seen, grid, rows, sites)
        if tiles is not None:
            return tiles
    return None


def _tiles_of(
    seen: Observation, grid: Grid, rows: Int64Array, sites: tuple[int, ...]
) -> _Tiles | None:
    axes = tuple(axis for axis in range(3) if grid[axis] > 1)
    once = len(rows) == len(seen.work)  # one tile each, so that the launch has as many tiles
    if once and len(sites) < len(axes):  # some may be the same in all programs
        constant = [site for site in seen.frontier if site not in sites]
        sites = tuple(sorted((*constant[len(sites) - len(axes) :], *sites)))
    values = seen.values[np.ix_(rows, np.array(sites, np.int64))]
    if not 0 < len(sites) <= _MOST_SCALARS or (values == UNDEFINED).any():
        return None
    least = values.min(axis=0)
    step = np.array([max(1, math.gcd(*column.tolist())) for column in (values - least).T])
    from_zero = (least >= 0).all() and (least % step == 0).all()
    for start in (np.zeros_like(least), least) if from_zero else (least,):
        reached = tuple(int(v) for v in ((values - start) // step).max(axis=0) + 1)
        extents = _extents_of_axes(seen, sites, reached, grid, axes) if once else None
        extents = extents or _extents_of_sizes(seen, reached, len(rows))
        if extents is not None:
            return _Tiles(sites, extents, tuple(start.tolist()), tuple(step.tolist()))
    return None


def _distinct_rows(seen: Observation) -> Int64Array:
    """One row of each program and each combination of the scalars that addresses come from."""
    keys = np.column_stack([seen.program, seen.values[:, list(seen.frontier)]])
    return np.sort(np.unique(keys, axis=0, return_index=True)[1]).astype(np.int64)


def _independent(seen: Observation, rows: Int64Array) -> tuple[int, ...]:
    """The frontier less what is constant, and less what follows from another scalar of it."""
    columns = {site: seen.values[rows, site] for site in seen.frontier}
    classes = {site: len(np.unique(column)) for site, column in columns.items()}
    kept = [site for site in seen.frontier if classes[site] > 1]
    for site in reversed(kept):
        others = [other for other in kept if other != site]
        if any(_joint_classes([columns[o], columns[site]]) == classes[o] for o in others):
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


def _missing(seen: Observation, tiles: _Tiles) -> Int64Array:
    """The tiles (int64[n, scalars], as their scalars name them) that no program holds."""
    values = seen.values[seen.wrote][:, list(tiles.sites)]
    values = values[(values != UNDEFINED).all(axis=1)]
    index = (values - np.array(tiles.start)) // np.array(tiles.step)
    taken = np.zeros(tiles.extents, np.bool_)
    taken[tuple(index.T)] = True
    missing: Int64Array = np.argwhere(~taken) * np.array(tiles.step) + np.array(tiles.start)
    return missing


# --- tiles that do not exist ---------------------------------------------------------------------


def _stray(seen: Observation) -> list[str]:
    """As `_beyond`, where just the programs beyond write nothing, or write outside every tensor."""
    idle = frozenset(np.flatnonzero(~seen.writes).tolist())
    return _beyond(seen, None if seen.lanes_outside else idle)


def _beyond(seen: Observation, who: frozenset[int] | None = None) -> list[str]:
    """A scalar that numbers the programs anew, and not from 0 to their number; else nothing.

    With `who`, only one that does so in just these programs.
    """
    rows = _first_rows(seen)
    programs = len(seen.work)
    for site in range(3, len(seen.sites)) if len(rows) else ():
        values = seen.values[rows, site]
        beyond = values >= programs
        if (values == UNDEFINED).any() or values.min() < 0 or not beyond.any():
            continue
        if len(np.unique(values)) < programs or values.max() >= 2 * programs:
            continue
        if who is None or who == set(seen.program[rows][beyond].tolist()):
            return [_astray(seen, (site,), rows[beyond], (programs,)), *_never_taken(seen, site)]
    return []


def _beyond_grid(seen: Observation, grid: Grid) -> list[str]:
    """Programs that write nothing because their tile lies outside the grid of tiles.

    Told only where the tiles of those that write lie in a grid with as many tiles as programs,
    whose extents are sizes of the launch, and the tiles of all others outside it.
    """
    rows = _distinct_rows(seen)
    sites = _independent(seen, rows)
    values = seen.values[np.ix_(rows, np.array(sites, np.int64))]
    if len(rows) != len(seen.work) or not sites or (values < 0).any():
        return []
    inside = values[seen.writes[seen.program[rows]]]
    reached = tuple(int(v) + 1 for v in inside.max(axis=0))
    extents = _extents_of_sizes(seen, reached, len(rows)) if len(sites) <= _MOST_SCALARS else None
    outside = (values >= np.array(extents or 0)).any(axis=1)
    writes = seen.writes[seen.program[rows]]
    if extents is None or writes.all() or (outside == writes).any():
        return []
    tiles = _Tiles(sites, extents, (0,) * len(sites), (1,) * len(sites))
    return [_astray(seen, sites, rows[outside], extents), *_absent(seen, tiles)]


def _astray(
    seen: Observation, sites: tuple[int, ...], rows: Int64Array, extents: tuple[int, ...]
) -> str:
    """Programs with a tile beyond the extents."""
    shown = ", ".join(
        f"{seen.program[row]} ({_listed(seen.values[row, list(sites)][None]).strip('()')})"
        for row in rows[:LISTED]
    )
    more = f" and {len(rows) - LISTED} more" if len(rows) > LISTED else ""
    whole = " × ".join(map(str, extents))
    return f"{_names(seen, sites)} lies outside {whole} in programs {shown}{more}"
