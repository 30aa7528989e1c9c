# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Arrays and numbers that rooms hand to each other; the grain of memory, and what tiles touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.codec import Between

if TYPE_CHECKING:
    from intelliperf_swizzle.records.launches import Launch

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


def launched_axes(grid: Grid) -> int:
    """The axes up to the last that has several programs, at least one."""
    return max(axis for axis, extent in enumerate(grid, 1) if extent > 1 or axis == 1)


@dataclass(frozen=True)
class Witness:
    """Why a mapping is not a permutation.

    Attributes:
        collision: two launch indices and the tile that both compute, or None.
        missing: tiles that no program computes (the first few).
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


RemapKind: TypeAlias = Literal["permutation", "not a permutation", "undecided"]


@dataclass(frozen=True)
class SizesTried:
    """What holds for a launch at other sizes.

    Attributes:
        grids: that were tried.
        condition: where it is a permutation, as text; None if it is on all of them.
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
        kind: `permutation`; `not a permutation`; `undecided`, where this cannot be decided.
        reason: in one sentence.
        evidence: what was found, a fact a line: the witness, or what was checked.
        count: how often this launch was seen.
        drops_tiles: programs do the work of others, and of a tensor that several programs store to,
            elements are stored by none, and that does not follow from loaded values, which need
            not be those of a real run. Narrower than `not a permutation`: it is reported unasked.
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


class Access(IntEnum):
    """What an access does to its lines."""

    READ = 0
    WRITE = 1
    ATOMIC = 2


@dataclass(frozen=True)
class Segment:
    """Where a storage lies in the synthetic address space of a trace.

    Attributes:
        names: the tensor arguments that are views of it.
        first_line: its first cache line.
        bytes: its size.
    """

    names: tuple[str, ...]
    first_line: int
    bytes: int


@dataclass(frozen=True, eq=False)
class Trace:
    """For each tile, the cache lines that it touches, in order.

    Tile `t` makes the accesses `tile_offset[t]:tile_offset[t + 1]`, one per load, store or atomic
    that it executes (those that touch no line are left out). Access `a` touches the lines
    `access_base[a] + shape_line[i]` for `i` in `shape_offset[s]:shape_offset[s + 1]`, where
    `s = access_shape[a]`, each line once, in the order of first touch. Regular kernels share a
    handful of shapes, so a trace of hundreds of millions of lines is small.

    Attributes:
        grid: of the launch.
        tile_offset: int64[tiles + 1].
        access_base: int32[accesses]; a line number.
        access_shape: int32[accesses].
        shape_offset: int64[shapes + 1].
        shape_line: int32[...]; relative to the base, the first one is 0.
        shape_sectors: uint8[...]; which of the line's four sectors are touched, bit 0 = first.
        shape_kind: uint8[shapes]; `Access`.
        segments: the address space, by increasing first line.
        method: `batched`, or `sequential` where programs had to be executed one by one.
        notes: sentences for the report (why not batched, …).
        cautions: what makes it doubtful, a sentence each; for beside the verdict.
        shared_writes: names of tensors of which programs of this launch read, or store over, what
            others write.
        contested: the sectors of these in which they do, by increasing number; None = not known.
        waits: whether a program waits for another (a spin loop on memory).
        order_matters: whether programs update the same address with atomics.
        tiles_outside: tiles with accesses outside every tensor, which are left out.
        elements_outside: how many elements these accesses have.
        shape_late: uint8[...]; those sectors that no thread's first instruction touches. A thread
            has 16 bytes of a row; if they are not aligned it takes several instructions.
        shape_passes: uint8[...]; how many instructions touch the line, as a power of two up to 8.
            Both None = every access is aligned.
        tile_arithmetic: int64[tiles, 3]; matrix products (`tl.dot`) of each tile, their operations
            on 16-bit numbers (one on 32-bit numbers is two), and operations on lanes of other
            floating-point blocks (a special function is 16). None = no tile has any.
        waves: of a workgroup; 0 = not known, or the kernel is not written for threads.
        program: int32[tiles]; which program runs each tile of the unmodified kernel, several one
            after another in the order of
        turn: int32[tiles]. Both None = each program runs one. The last tiles of a trace may be what
            programs do outside of a loop (`Launch.loop`), one for each: these stay.
        immaterial: names of arguments that decided no address, mask or branch: of scalars the
            value, of tensors what they hold. A launch that differs in these has the same trace.
        unresolved: why it is not known what is accessed: outside of every tensor, or as floats are
            rounded.
        hands_over: whether programs may exchange data through atomics, in this launch or at another
            size.
        seen: where in the source stores, and loads of what is stored to, stand that are made,
        unseen: … and where some stand that no program of this launch makes.
        by_variables: whether contents of device variables, which are no arguments, decide, too.
        placed: whether contents may decide where programs store, or read what programs store.
        floats: names of tensors of floats that decide accesses, also such as no program makes here.
        uncompiled: where accesses stand that the compiler left out -> the arguments that decide it.
    """

    grid: Grid
    tile_offset: Int64Array
    access_base: Int32Array
    access_shape: Int32Array
    shape_offset: Int64Array
    shape_line: Int32Array
    shape_sectors: UInt8Array
    shape_kind: UInt8Array
    segments: tuple[Segment, ...]
    method: Literal["batched", "sequential"]
    notes: tuple[str, ...] = ()
    shared_writes: tuple[str, ...] = ()
    contested: Int64Array | None = None
    waits: bool = False
    order_matters: bool = False
    tiles_outside: int = 0
    elements_outside: int = 0
    shape_late: UInt8Array | None = None
    shape_passes: UInt8Array | None = None
    tile_arithmetic: Int64Array | None = None
    waves: int = 0
    immaterial: tuple[str, ...] = ()
    program: Int32Array | None = None
    turn: Int32Array | None = None
    cautions: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    hands_over: bool = False
    seen: frozenset[str] = frozenset()
    unseen: frozenset[str] = frozenset()
    by_variables: bool = False
    placed: bool = True
    floats: tuple[str, ...] = ()
    uncompiled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def tiles(self) -> int:
        """Number of tiles, which is the number of programs of the launch if it has no loop."""
        return len(self.tile_offset) - 1

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of what the launch touches."""
        return not len(self.access_base)

    @property
    def runs_in(self) -> Int64Array:
        """int64[tiles]; the program that runs each tile of the unmodified kernel."""
        return np.arange(self.tiles) if self.program is None else self.program.astype(np.int64)

    @property
    def rounds(self) -> Int64Array:
        """int64[tiles]; the tiles in the order in which a kernel whose programs keep step begins
        them: the first of all programs, then the second."""
        if self.program is None or self.turn is None:
            return np.arange(self.tiles)
        return np.lexsort((self.program, self.turn))

    @property
    def line_accesses(self) -> int:
        """Lines touched, summed over all accesses of all tiles."""
        return int(np.diff(self.shape_offset)[self.access_shape].sum())

    def segment_of(self, lines: npt.NDArray[np.integer[Any]]) -> Int64Array:
        """The number of the segment that each line lies in: int[n] -> int64[n]."""
        starts = np.array([segment.first_line for segment in self.segments], np.int64)
        return np.maximum(np.searchsorted(starts, lines, side="right") - 1, 0)

    def touches(self, accesses: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Every line that some accesses touch, in their order; int64[touches] each.

        Returns:
            Which of the accesses it is, its place in `shape_line`, and the line.
        """
        shape = self.access_shape[accesses]
        counts = np.diff(self.shape_offset)[shape]
        which = np.repeat(np.arange(len(shape)), counts)
        before = self.shape_offset[shape] - (np.cumsum(counts) - counts)
        place = np.arange(len(which)) + before[which]
        base = self.access_base[accesses].astype(np.int64)
        return which, place, base[which] + self.shape_line[place]

    def lines(self, tile: int) -> Int32Array:
        """The lines of one tile in program order, as the plain interpreter would list them."""
        accesses = np.arange(self.tile_offset[tile], self.tile_offset[tile + 1])
        return self.touches(accesses)[2].astype(np.int32)


@dataclass(frozen=True)
class MappedLaunch:
    """A launch, what it touches, and the tiles that a proved swizzle gives its programs.

    Attributes:
        launch: as it was recorded.
        trace: of it.
        tile: int64[tiles of the trace]; program, or number of a loop -> tile, a permutation.
    """

    launch: Launch
    trace: Trace
    tile: Int64Array
