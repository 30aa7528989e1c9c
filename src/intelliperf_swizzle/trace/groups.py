# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Programs grouped by what a term of their addresses or masks is up to a constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.records import Int32Array, Int64Array
from intelliperf_swizzle.trace.shapes import group_rows

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
        groups = self._of_bits(rows) if term.dtype == np.bool_ else self._of_numbers(rows)
        while len(self._remembered) >= _REMEMBERED_TERMS:
            del self._remembered[next(iter(self._remembered))]
        self._remembered[key] = (term, groups)
        return groups

    def _of_numbers(self, rows: npt.NDArray[np.int64]) -> Groups:
        """Rows that differ by a constant are in one group."""
        flat = np.ascontiguousarray(rows.reshape(len(rows), -1))
        if flat.shape[1] == 1 or len(flat) == 1:
            group, chosen = np.zeros(len(flat), np.int32), np.zeros(1, np.int64)
        else:
            group, chosen = group_rows(flat)
        patterns = tuple(rows[at : at + 1] - flat[at, 0] for at in chosen)
        found = Groups(flat[:, 0], group, (), patterns)
        return replace(found, patterns=self._number(patterns)) if found.regular else found

    def _of_bits(self, rows: npt.NDArray[np.bool_]) -> Groups:
        """Only equal rows are in one group (a leading 0 keeps all 0 apart from all 1)."""
        flat = rows.reshape(len(rows), -1)
        if len(flat) == 1 or flat.all():
            group, chosen = np.zeros(len(flat), np.int32), np.zeros(1, np.int64)
        else:
            zeros = np.zeros((len(flat), 1), np.int64)
            group, chosen = group_rows(np.concatenate((zeros, flat), axis=1))
        patterns = tuple(rows[at : at + 1] for at in chosen)
        return Groups(np.zeros(1, np.int64), group, self._number(patterns), patterns)

    def _number(self, patterns: Sequence[npt.NDArray[Any]]) -> tuple[int, ...]:
        return tuple(
            self._patterns.setdefault(
                (pattern.shape, pattern.dtype.char, pattern.tobytes()), len(self._patterns)
            )
            for pattern in patterns
        )
