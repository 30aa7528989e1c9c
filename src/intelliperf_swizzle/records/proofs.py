# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""That a mapping is a permutation, or why it is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from intelliperf_swizzle.records.quantities import Grid, Int64Array


@dataclass(frozen=True)
class Witness:
    """Why a mapping is not a permutation.

    Attributes:
        collision: two launch indices and the tile that both compute, or None.
        missing: tiles that nobody computes (the first few).
        missing_count: how many there are.
        out_of_range: launch index and tile for programs without a tile (the first few).
        computed_fraction: tiles computed at least once / tiles.
        failure: message of the language where evaluation itself failed (division by zero, …).
        coordinate: of the first program out of range, where a swizzle gives coordinates: the one
            that is, its value, and how many programs there are along its axis.
    """

    collision: tuple[int, int, int] | None
    missing: tuple[int, ...]
    missing_count: int
    out_of_range: tuple[tuple[int, int], ...]
    computed_fraction: float
    failure: str | None = None
    coordinate: tuple[str, int, int] | None = None


@dataclass(frozen=True)
class Certificate:
    """Certificate that the swizzle is a permutation.

    Attributes:
        holds: it does.
        grids_checked: on how many grids it holds, the launch's own included.
        largest_checked: programs of the largest grid on which it holds.
        condition: on which grids of the sweep it holds, in words; None = on all of them.
    """

    holds: Literal[True] = field(default=True, kw_only=True)
    grids_checked: int
    largest_checked: int
    condition: str | None


@dataclass(frozen=True)
class Proof:
    """Proof that a swizzle is a permutation of a launch's tiles.

    Attributes:
        grid: the launch's grid.
        tile: int64[programs]; launch index (axis 0 fastest) -> tile, a permutation.
        fingerprint: hex digest of `tile`; equal for swizzles that are the same permutation.
        grids_checked: on how many grids it holds, the launch's own included.
        largest_checked: programs of the largest grid on which it holds.
        condition: on which grids of the sweep it holds, in words; None = on all of them.
    """

    grid: Grid
    tile: Int64Array
    fingerprint: str
    grids_checked: int = 1
    largest_checked: int = 0
    condition: str | None = None

    def certificate(self) -> Certificate:
        """The proof without the tiles, which take 8 bytes a program; the text gives them again."""
        return Certificate(self.grids_checked, self.largest_checked, self.condition)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Proof) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)
