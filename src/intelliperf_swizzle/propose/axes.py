# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which axes a launch's tiles may have: the grid's own, or for a flat grid what its sizes suggest.

A GEMM is often launched over one axis and finds its row and column by `pid // cdiv(N, BLOCK_N)`.
The axes are not recorded anywhere, so each quotient of the kernel's own sizes that divides the
grid is a guess. Where the trace tells how far apart tiles of one column are, a quotient of that
value is no guess; else the better ones are those whose other axis is such a quotient too. The
search tries them and the cache model tells which was right.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from intelliperf_swizzle.records import Launch, Trace

LARGEST_FACTOR = 4096
"""A grid split into more columns than this is as good as not split."""

COLUMN_NAMES = ("N", "COL", "WIDTH", "W")
"""How kernels call the size of their fast axis; decides only between equal extents."""

MOST_GUESSES = 6
"""Ways to split a flat grid that are tried; a kernel with more sizes than a GEMM has is rare."""


FIRST_ACCESSES = 8
"""Of each tile that are looked at for the length of a row: its operands' first ones."""


@dataclass(frozen=True)
class Axis:
    """One axis of the tiles: its extent as an expression of the swizzle language, and its value."""

    expression: str
    extent: int


def row_lengths(trace: Trace) -> frozenset[int]:
    """How many tiles lie in a row, as the launch itself tells: none, one, or what may be meant.

    Tiles of one column begin at the same place of a tensor (of B in `A @ B`), and the next such
    tile lies one row further on. Cost: a sort of the tiles for each tensor.
    """
    counts = np.minimum(np.diff(trace.tile_offset), FIRST_ACCESSES)
    tile_of = np.repeat(np.arange(trace.tiles), counts)
    before = np.cumsum(counts) - counts
    bases = trace.access_base[np.arange(len(tile_of)) + (trace.tile_offset[:-1] - before)[tile_of]]
    segment_of = trace.segment_of(bases)
    lengths = set()
    for number in np.unique(segment_of).tolist():
        mine = np.flatnonzero(segment_of == number)
        tile, first = np.unique(tile_of[mine], return_index=True)
        base = bases[mine[first]]
        order = np.argsort(base, kind="stable")
        steps = np.diff(tile[order])[np.diff(base[order]) == 0]
        values, often = np.unique(steps, return_counts=True)
        if len(values) and often.max() > len(steps) / 2:
            lengths.add(int(values[often.argmax()]))
    return frozenset(lengths - {1})


def axis_choices(
    launches: Sequence[Launch], lengths: Collection[int] = ()
) -> list[tuple[Axis, ...]]:
    """Ways to see the tiles of the largest launch as a grid, likeliest first; axes slow to fast.

    The product of the extents is the number of programs. The last choice is always the flat grid.

    Args:
        launches: of one kernel.
        lengths: the `row_lengths` of the largest one, if it was traced.
    """
    launch = max(launches, key=lambda one: one.tiles)
    own = tuple(
        Axis(f"grid_{axis}", extent)
        for axis, extent in reversed(list(enumerate(launch.numbers)))
        if extent > 1
    )
    if len(own) > 1:
        return [own]
    flat = (Axis("num_pids", launch.tiles),)
    return [*_guesses(launch, lengths), flat]


def column_expressions(launches: Sequence[Launch], lengths: Collection[int] = ()) -> list[Axis]:
    """What patterns may take for the number of tile columns, likeliest first."""
    columns = {choice[-1].expression: choice[-1] for choice in axis_choices(launches, lengths)}
    columns.pop("num_pids", None)
    if any(one.loop and one.loop.read_from for one in launches):  # sizes that no argument holds
        columns |= {str(length): Axis(str(length), length) for length in sorted(lengths)}
    return list(columns.values())


def _guesses(launch: Launch, lengths: Collection[int]) -> list[tuple[Axis, ...]]:
    programs = launch.tiles
    quotients = _quotients(launch)
    splits = [
        (Axis(f"num_pids // ({column.expression})", programs // column.extent), column)
        for column in quotients
        if programs % column.extent == 0
    ]
    values = {axis.extent for axis in quotients}
    explained = [split for split in splits if split[0].extent in values]
    traced = [split for split in splits if split[1].extent in lengths]
    splits = traced or explained or splits
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
        if 1 < axis.extent < min(launch.tiles, LARGEST_FACTOR):
            distinct.setdefault(axis.extent, axis)
    return list(distinct.values())


def _groups(launch: Launch) -> list[Axis]:
    """Constexprs by which a kernel groups its own tile order (`GROUP_SIZE_M`)."""
    return [
        Axis(name, value)
        for name, value in launch.constants.items()
        if name in launch.constexprs and "GROUP" in name.upper() and 1 < value <= 64
    ]
