# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Programs grouped by what a term of their addresses or masks is up to a constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.jit import jit
from intelliperf_swizzle.records import Int32Array, Int64Array, TileLoop
from intelliperf_swizzle.trace.shapes import NO_SHAPE, group_rows


@dataclass(frozen=True)
class RelativeLines:
    """The lines of one program's access relative to its base address.

    Attributes:
        shape: number of the shape.
        line: first line less the base's line.
        low, high: first byte and byte after the last one, less the base.
    """

    shape: int
    line: int
    low: int
    high: int


@dataclass(frozen=True)
class Part:
    """Accesses of some programs, program by program.

    `outside`: how many elements outside every storage each program accesses.
    """

    programs: Int64Array
    count: Int64Array
    base: Int32Array
    shape: Int32Array
    outside: Int64Array


def each_tile(loop: TileLoop, arithmetic: Int64Array) -> Int64Array:
    """What programs compute, shared out evenly to the tiles of a loop; none for what is outside."""
    tiles = np.bincount(loop.program, minlength=len(arithmetic))
    each = arithmetic // np.maximum(tiles, 1)[:, None]
    return np.concatenate((each[loop.program], np.zeros_like(arithmetic)))


def without_repeats(
    latest: dict[int, tuple[Int64Array, Int32Array]],
    site: int,
    first: Int64Array,
    shape: Int32Array,
) -> tuple[Int64Array, Int32Array]:
    """The accesses without those that the ones before them at their site were, too."""
    before = latest.get(site)
    latest[site] = first, shape
    if before is None:
        return first, shape
    again = (before[0] == first) & (before[1] == shape)
    return first, np.where(again, np.int32(NO_SHAPE), shape) if again.any() else shape


def spread_over(
    first: Int64Array, shape: Int32Array, selected: Int64Array | None, count: int
) -> tuple[Int64Array, Int32Array]:
    """First lines and shapes of the selected programs among all; one entry if all are the same."""
    if selected is None:
        return first, shape
    all_first, all_shape = np.zeros(count, np.int64), np.full(count, NO_SHAPE, np.int32)
    all_first[selected], all_shape[selected] = first, shape
    return all_first, all_shape


@jit
def enter(
    free: Int64Array,
    programs: Int64Array,
    count: Int64Array,
    part_base: Int32Array,
    part_shape: Int32Array,
    base: Int32Array,
    shape: Int32Array,
) -> None:
    """Enter accesses at the first `free` place of each tile, which moves on."""
    read = 0
    for at in range(programs.size):
        write = free[programs[at]]
        for access in range(count[at]):
            base[write + access] = part_base[read + access]
            shape[write + access] = part_shape[read + access]
        free[programs[at]] += count[at]
        read += count[at]


_FEW_ROWS = 32
_REMEMBERED_TERMS = 16
"""Terms whose grouping is remembered: those of a loop's pointers come again in every iteration."""


@dataclass(frozen=True)
class Groups:
    """The rows (programs) of a term, grouped by what they are up to a constant.

    Attributes:
        first: int64[rows]; each row's first number.
        group: int32[rows].
        patterns: number of each group's pattern, shared by all terms of a recorder; none where
            the rows are not regular.
        rows: each group's row less its first number, shaped as a term of one program.
    """

    first: Int64Array
    group: Int32Array
    patterns: tuple[int, ...]
    rows: tuple[npt.NDArray[Any], ...]

    @property
    def regular(self) -> bool:
        """Whether groups are so few that it pays to look at them in the place of rows."""
        return not 2 * len(self.rows) > len(self.first) > _FEW_ROWS

    def of_row(self, at: int) -> int:
        """The group of a row; one row stands for all."""
        return int(self.group[at % len(self.group)])


class Grouping:
    """Groups the terms of one recorder, whose patterns it numbers."""

    def __init__(self) -> None:
        self._patterns: dict[tuple[Any, ...], int] = {}
        self._remembered: dict[tuple[int, int], tuple[Any, Groups]] = {}

    def begin(self) -> None:
        """Other programs follow: terms are forgotten, patterns keep their numbers."""
        self._remembered.clear()

    def groups(self, term: npt.NDArray[Any], selected: Int64Array | None) -> Groups:
        """The groups of a term's selected rows; remembered by the identity of the term."""
        chosen = 0 if selected is None else hash(selected.tobytes())
        key = (term.__array_interface__["data"][0], chosen)
        found = self._remembered.get(key)
        if found is not None and found[0].shape == term.shape and found[0].strides == term.strides:
            return found[1]
        rows = term if selected is None or len(term) == 1 else term[selected]
        groups = self._of(rows)
        while len(self._remembered) >= _REMEMBERED_TERMS:
            del self._remembered[next(iter(self._remembered))]
        self._remembered[key] = (term, groups)
        return groups

    def _of(self, rows: npt.NDArray[Any]) -> Groups:
        """Rows of numbers that differ by a constant are in one group; of masks, equal ones."""
        flat = rows.reshape(len(rows), -1)
        first = np.zeros(1, np.int64) if rows.dtype == np.bool_ else flat[:, 0]
        relative = flat if rows.dtype == np.bool_ else flat - flat[:, :1]
        group, chosen = group_rows(relative)
        patterns = tuple(relative[at].reshape(1, *rows.shape[1:]) for at in chosen)
        found = Groups(first, group, (), patterns)
        return replace(found, patterns=self._number(patterns)) if found.regular else found

    def _number(self, patterns: Sequence[npt.NDArray[Any]]) -> tuple[int, ...]:
        return tuple(
            self._patterns.setdefault(
                (pattern.shape, pattern.dtype.char, pattern.tobytes()), len(self._patterns)
            )
            for pattern in patterns
        )
