# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What was found of a launch, in lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from intelliperf_swizzle.frontends.triton.source_proofs.observation import (
    UNDEFINED,
    Observation,
    Output,
    Parts,
    Site,
)
from intelliperf_swizzle.frontends.triton.source_proofs.tiles import (
    MOST_SCALARS,
    Astray,
    Tiles,
    distinct_rows,
    find_beyond,
    first_rows,
    independent,
    missing,
    same_partition,
)
from intelliperf_swizzle.records import Int64Array

LISTED = 8
"""How many tiles a verdict names."""


def describe_outputs(seen: Observation) -> list[str]:
    """What is written of each tensor."""
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


def describe_idle(seen: Observation) -> list[str]:
    """Says so where programs write nothing; nothing else."""
    idle = int((~seen.writes).sum())
    return [f"{idle} of {len(seen.writes)} programs write nothing"] if idle else []


def describe_once(seen: Observation, tiles: Tiles | None) -> list[str]:
    """Says so where each tile is taken exactly once; nothing else."""
    if tiles is None:
        return []
    taken = seen.values[np.ix_(distinct_rows(seen), np.array(tiles.sites))]
    if not len(taken) == len(np.unique(taken, axis=0)) == math.prod(tiles.extents):
        return []
    extents = " × ".join(map(str, tiles.extents))
    start = f", from {_listed(np.array([tiles.start]))} on," if any(tiles.start) else ""
    return [f"{_names(seen, tiles.sites)} takes each of {extents} values{start} once"]


def describe_collision(seen: Observation, tiles: Tiles | None) -> list[str]:
    """Two programs that do the same, the scalar that says so, the tiles that nobody computes."""
    one, other = _first_pair(seen)
    culprit = _culprit(seen)
    named = tiles.sites if tiles else independent(seen, distinct_rows(seen))
    lines = []
    for sites in dict.fromkeys(sites for sites in (culprit, named) if sites):
        values = _at_program(seen, one, sites)
        told = len(sites) <= MOST_SCALARS and UNDEFINED not in values
        if told and np.array_equal(values, _at_program(seen, other, sites)):
            what = f"{_names(seen, sites)} is {_listed(values[None])}"
            lines.append(f"{what} in programs {one} and {other}")
    if not lines:
        lines.append(f"programs {one} and {other} access the same addresses in the same order")
    if tiles is None and culprit is not None:
        return [*lines, *_never_taken(seen, culprit[0])]
    return [*lines, *describe_missing(seen, tiles)]


def describe_missing(seen: Observation, tiles: Tiles | None) -> list[str]:
    """The tiles that nobody computes."""
    if tiles is None or not len(left := missing(seen, tiles)):
        return []
    total = math.prod(tiles.extents)
    name = ", ".join(seen.sites[site].name for site in tiles.sites)
    return [
        f"{total - len(left)} of {total} tiles are computed",
        f"never computed: {name} = {_listed(left)}",
    ]


def _never_taken(seen: Observation, site: int) -> list[str]:
    """The values that a scalar leaves out which numbers the programs anew; else nothing."""
    values = seen.values[first_rows(seen), site]
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
    rows = first_rows(seen)
    rows = rows[seen.writes[seen.program[rows]]]
    work = seen.work[seen.program[rows]]
    for site in range(3, len(seen.sites)) if len(rows) else ():
        values = seen.values[rows, site]
        copied = any(np.array_equal(values, seen.values[rows, axis]) for axis in range(3))
        if not copied and not (values == UNDEFINED).any() and same_partition(values, work):
            return (site,)
    return None


def _at_program(seen: Observation, program: int, sites: Sequence[int]) -> Int64Array:
    row = int(np.argmax(seen.program == program))
    values: Int64Array = seen.values[row][list(sites)]
    return values


def describe_astray(seen: Observation, astray: Astray) -> list[str]:
    """Programs with a tile beyond the extents, and the tiles that they leave."""
    sites, rows = astray.sites, astray.rows
    shown = ", ".join(
        f"{seen.program[row]} ({_listed(seen.values[row, list(sites)][None]).strip('()')})"
        for row in rows[:LISTED]
    )
    more = f" and {len(rows) - LISTED} more" if len(rows) > LISTED else ""
    whole = " × ".join(map(str, astray.extents))
    line = f"{_names(seen, sites)} lies outside {whole} in programs {shown}{more}"
    left = describe_missing(seen, astray.tiles) if astray.tiles else _never_taken(seen, sites[0])
    return [line, *left]


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


def describe_scattered(seen: Observation, tiles: Tiles | None) -> list[str]:
    """Why elements are stored by several programs, and others by none."""
    beyond = find_beyond(seen)
    return describe_astray(seen, beyond) if beyond else describe_missing(seen, tiles)


def describe_parts(seen: Observation, parts: Parts) -> list[str]:
    """Which parts of a tensor are accessed more than once, how many never, and the scalar."""
    line = f"`{parts.name}`: {parts.taken} of {parts.room} parts are {parts.access}"
    if parts.clash:
        line += f", one of them by programs {parts.clash[0]} and {parts.clash[1]}"
    if parts.outside:
        line += f", {parts.outside} outside it"
    lines = [f"{line}; {parts.left} are {parts.access} by no program"]
    rows = first_rows(seen)
    if parts.clash is None or len(rows) < len(seen.work):
        return lines
    one, two = parts.clash
    for site in range(3, len(seen.sites)):
        values = seen.values[rows, site]
        value = values[one]
        if value == values[two] != UNDEFINED and len(np.unique(values)) == parts.taken:
            lines.append(f"{_names(seen, (site,))} is {value} in programs {one} and {two}")
            return [*lines, *_never_taken(seen, site)]
    return lines
