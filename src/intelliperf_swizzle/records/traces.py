# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the tiles of a launch touch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.records.launches import Launch
from intelliperf_swizzle.records.quantities import Grid, Int32Array, Int64Array, UInt8Array


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
        method: `batched`, or `sequential` where the plain interpreter had to be used.
        notes: sentences for the report (why not batched, …).
        cautions: what makes it doubtful, a sentence each; for beside the verdict.
        shared_writes: names of tensors of which programs of this launch read, or store over, what
            others write.
        waits: whether a program waits for another (a spin loop on memory).
        order_matters: whether programs update the same address with atomics.
        tiles_outside: tiles with accesses outside every tensor, which are left out.
        elements_outside: how many elements these accesses have.
        shape_late: uint8[...]; those sectors that no thread's first instruction touches. A thread
            has 16 bytes of a row; where they are not aligned it takes several instructions.
        shape_passes: uint8[...]; so many instructions touch the line, as a power of two up to 8.
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
        unresolved: where in the source something outside of every tensor is accessed.
        hands_over: whether programs may exchange data through atomics, in this launch or at another
            size.
        seen: where in the source stores, and loads of what is stored to, stand that are made,
        unseen: … and where some stand that no program of this launch makes.
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

    @property
    def tiles(self) -> int:
        """Number of tiles, which is the number of programs of the launch if it has no loop."""
        return len(self.tile_offset) - 1

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
