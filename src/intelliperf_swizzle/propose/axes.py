# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which axes a launch's tiles may have: the grid's own, or for a flat grid what its sizes suggest.

A GEMM is often launched over one axis and finds its row and column by `pid // cdiv(N, BLOCK_N)`.
The axes are not recorded anywhere, so each quotient of the kernel's own sizes that divides the
grid is a guess, the better one if the other axis is such a quotient too; the search tries them and
the cache model tells which was right.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from intelliperf_swizzle.records import Launch

LARGEST_FACTOR = 4096
"""A grid split into more columns than this is as good as not split."""

COLUMN_NAMES = ("N", "COL", "WIDTH", "W")
"""How kernels call the size of their fast axis; decides only between equal extents."""

MOST_GUESSES = 6
"""Ways to split a flat grid that are tried; a kernel with more sizes than a GEMM has is rare."""


@dataclass(frozen=True)
class Axis:
    """One axis of the tiles: its extent as an expression of the swizzle language, and its value."""

    expression: str
    extent: int


def axis_choices(launches: Sequence[Launch]) -> list[tuple[Axis, ...]]:
    """Ways to see the tiles of the largest launch as a grid, likeliest first; axes slow to fast.

    The product of the extents is the number of programs. The last choice is always the flat grid.
    """
    launch = max(launches, key=lambda one: one.programs)
    own = tuple(
        Axis(f"grid_{axis}", extent)
        for axis, extent in reversed(list(enumerate(launch.grid)))
        if extent > 1
    )
    if len(own) > 1:
        return [own]
    flat = (Axis("num_pids", launch.programs),)
    return [*_guesses(launch), flat]


def column_expressions(launches: Sequence[Launch]) -> list[Axis]:
    """What patterns may take for the number of tile columns, likeliest first."""
    columns = {choice[-1].expression: choice[-1] for choice in axis_choices(launches)}
    columns.pop("num_pids", None)
    return list(columns.values())


def _guesses(launch: Launch) -> list[tuple[Axis, ...]]:
    programs = launch.programs
    quotients = _quotients(launch)
    splits = [
        (Axis(f"num_pids // ({column.expression})", programs // column.extent), column)
        for column in quotients
        if programs % column.extent == 0
    ]
    values = {axis.extent for axis in quotients}
    explained = [split for split in splits if split[0].extent in values]
    splits = explained or splits
    grouped = [
        (
            Axis(
                f"num_pids // ({group.expression} * {across.expression})",
                programs // (group.extent * across.extent),
            ),
            across,
            group,
        )
        for group, (_, across) in itertools.product(_groups(launch), splits)
        if programs % (group.extent * across.extent) == 0
    ]
    if not splits:  # a persistent kernel: its programs are no whole number of rows of tiles
        splits = [
            (Axis(f"num_pids // {group.expression}", programs // group.extent), group)
            for group in _groups(launch)
            if programs % group.extent == 0
        ]
    return [*grouped[:2], *splits[:MOST_GUESSES]]


def _quotients(launch: Launch) -> list[Axis]:
    """`cdiv(size, block)` for the kernel's sizes and blocks, one for each value, likeliest first.

    Names that belong together (`N`, `BLOCK_N`) come before others, and those of columns first.
    """
    constants = {name: value for name, value in launch.constants.items() if value > 1}
    blocks = {name: value for name, value in constants.items() if name in launch.constexprs}
    sizes = {name: value for name, value in constants.items() if name not in launch.constexprs}
    pairs = sorted(
        itertools.product(sizes, blocks),
        key=lambda pair: (
            not pair[1].upper().endswith(pair[0].upper()),
            not pair[0].upper().startswith(COLUMN_NAMES),
        ),
    )
    axes = [
        Axis(f"cdiv({size}, {block})", -(-sizes[size] // blocks[block])) for size, block in pairs
    ]
    axes += [Axis(size, length) for size, length in sizes.items()]
    distinct: dict[int, Axis] = {}
    for axis in axes:
        if 1 < axis.extent < min(launch.programs, LARGEST_FACTOR):
            distinct.setdefault(axis.extent, axis)
    return list(distinct.values())


def _groups(launch: Launch) -> list[Axis]:
    """Constexprs by which a kernel groups its own tile order (`GROUP_SIZE_M`)."""
    return [
        Axis(name, value)
        for name, value in launch.constants.items()
        if name in launch.constexprs and "GROUP" in name.upper() and 1 < value <= 64
    ]
