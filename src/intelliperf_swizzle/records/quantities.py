# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Types of arrays and numbers that rooms hand to each other, and the grain of memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.codec import Between

Int64Array: TypeAlias = npt.NDArray[np.int64]
Float64Array: TypeAlias = npt.NDArray[np.float64]
Int32Array: TypeAlias = npt.NDArray[np.int32]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]

Grid: TypeAlias = tuple[int, int, int]
Constants: TypeAlias = Mapping[str, int]
Rate: TypeAlias = Annotated[float, Between(0, 1)]

LINE_BYTES = 128
"""Bytes of a cache line; of every level of every supported GPU that a swizzle can matter to."""
SECTOR_BYTES = 32
"""Bytes of a sector, the quarter of a line that NVIDIA counts and the grain of partial lines."""


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


Extent: TypeAlias = Literal["every size", "under a condition", "the recorded sizes"]
"""For which values of what a swizzle reads it was proved a permutation."""


@dataclass(frozen=True)
class Certificate:
    """Certificate that the swizzle is a permutation.

    Attributes:
        holds: it does.
        extent: for which values of all that it reads, each of them free.
        condition: that the patch carries where it is not one at every size; None = none is needed.
    """

    holds: Literal[True] = field(default=True, kw_only=True)
    extent: Extent = "the recorded sizes"
    condition: str | None = None


@dataclass(frozen=True)
class Proof:
    """Proof that a swizzle is a permutation of a launch's tiles.

    Attributes:
        grid: the launch's grid.
        tile: int64[programs]; launch index (axis 0 fastest) -> tile, a permutation.
        fingerprint: hex digest of `tile`; equal for swizzles that are the same permutation.
        extent: for which other sizes it is one, too, as of `Certificate`.
        condition: under which it is one; as of `Certificate`.
    """

    grid: Grid
    tile: Int64Array
    fingerprint: str
    extent: Extent = "the recorded sizes"
    condition: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Proof) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


RemapKind: TypeAlias = Literal["permutation", "not a permutation", "not told"]


@dataclass(frozen=True)
class SizesTried:
    """What holds for a launch at other sizes.

    Attributes:
        grids: that were tried.
        condition: where it is a permutation, in words; None if it is on all of them.
        witness: the smallest grid of more than one program on which it is none; None likewise.
        reason: why it is none there.
        not_tried: why there are no other sizes; None if there are.
    """

    grids: tuple[Grid, ...] = ()
    condition: str | None = None
    witness: Grid | None = None
    reason: str = ""
    not_tried: str | None = None


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
        sizes: the same launch at other sizes; None if these were not asked for.
    """

    kernel: str
    grid: Grid
    kind: RemapKind
    reason: str
    evidence: tuple[str, ...] = ()
    count: int = 1
    drops_tiles: bool = False
    sizes: SizesTried | None = None
