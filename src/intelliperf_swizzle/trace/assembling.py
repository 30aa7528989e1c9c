# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From accesses to a trace: each access becomes a first line and a shape."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.records import (
    LINE_BYTES,
    Access,
    Grid,
    Int32Array,
    Int64Array,
    Segment,
    TileLoop,
    Trace,
)
from intelliperf_swizzle.trace import shapes
from intelliperf_swizzle.trace.observer import Atomics, Bits, BlockAccess, Observer, Update

OTHER_TILES = "programs take other tiles than they did when the loop was found"
_LINE_SHIFT = LINE_BYTES.bit_length() - 1


@dataclass(eq=False)
class TraceRecorder(Observer):
    """Takes accesses from the interpreter, in batches or one by one.

    Attributes:
        begins: int64[storages]; first address of each storage, increasing.
        ends: int64[storages]; address after its last byte.
        current_update: the atomic operation that is being carried out, if one is.
        wave_lanes: lanes of a wave, each of which touches a line for itself; 0 = a program touches
            a line once.
        loop: whose tiles are traced apart; `number` says when one begins.
        where: where in the source the access is that is being made.
        inside: whether an access outside of every storage ends the trace.
        unresolved: where in the source something outside of every storage is accessed.
        atomics: the words that atomics update.
        site_outside: of the first access outside of every storage; None = there is none.
        sites: of all accesses that touch something.
    """

    begins: Int64Array
    ends: Int64Array
    current_update: Callable[[], Update]
    wave_lanes: int = 0
    loop: TileLoop | None = None
    where: Callable[[], str] = lambda: ""
    inside: bool = False

    def __post_init__(self) -> None:
        self.unresolved: dict[str, None] = {}
        self._latest: dict[int, tuple[Int64Array, Int32Array]] = {}
        self._shapes = shapes.ShapeTable()
        self._parts: list[shapes.Part] = []
        self._grouping = shapes.Grouping()
        self._regular: dict[tuple[Any, ...], shapes.RelativeLines] = {}
        self._single: dict[int, list[tuple[int, int]]] = {}
        self._single_outside: Counter[int] = Counter()
        self.value_loads: list[tuple[int, Int64Array, Int32Array]] = []
        self.atomics = Atomics(self.begins, self.current_update)
        self.site_outside: int | None = None
        self.sites = set[int | None]()

    @property
    def accesses(self) -> int:
        """How many are kept so far, of batches that are over."""
        return sum(len(part.base) for part in self._parts)

    # --- one by one ----------------------------------------------------------------------------

    def observe(self, program: int, block: BlockAccess) -> None:
        """One access of one program."""
        _, lanes, active = next(block.lanes())
        first, shape, outside = self._rows(block, lanes, active)
        self._single_outside[program] += int(outside[0])
        accesses = self._single.setdefault(program, [])
        if block.kind == Access.ATOMIC:
            words = lanes[active]
            if len(words):
                self.atomics.note_update(int(words.min()), int(words.max()))
            self.atomics.keep(np.full(len(words), program), words, block.item_bytes)
        if shape[0] != shapes.NO_SHAPE:
            accesses.append((int(first[0]), int(shape[0])))

    def finish_single(self) -> None:
        """Keep the programs that were observed one by one."""
        for program, accesses in self._single.items():
            table = np.array(accesses, np.int64).reshape(-1, 2)
            base, shape = (table[:, column].astype(np.int32) for column in (0, 1))
            numbers = program, len(table), self._single_outside[program]
            own, count, outside = (np.array([number], np.int64) for number in numbers)
            self._parts.append(shapes.Part(own, count, base, shape, outside))
        self._single, self._single_outside = {}, Counter()

    # --- in batches ----------------------------------------------------------------------------

    def begin(self, programs: Int64Array) -> None:
        """A batch begins."""
        self._programs = programs
        self._accesses: list[tuple[Int64Array, Int32Array]] = []
        self._words: list[tuple[int, Int64Array, Int64Array, int]] = []
        self._begun: list[tuple[int, Int64Array | None, Bits | None]] = []
        self._outside = np.zeros(len(programs), np.int64)
        self._grouping.begin()
        self._latest.clear()

    def number(self, values: Int64Array | None, active: Bits | None = None) -> bool:
        """What follows belongs to the tiles of these numbers, one per program; None = to no tile.

        Args:
            values: the numbers, or one for all.
            active: bool[programs]; which of them take a tile; None = all.

        Returns:
            Whether it is wanted.

        Raises:
            TraceError: they are the numbers of none of these programs.
        """
        self._begun.append((len(self._accesses), values, active))
        if values is None or self.loop is None:
            return True
        inside = (values >= 0) & (values < self.loop.tiles)
        owner = self.loop.program[np.where(inside, values, 0)]
        if not (inside & (owner == self._programs)).any():
            raise TraceError(OTHER_TILES)
        most = self.loop.most_turns
        return most is None or len(self._begun) <= most

    def access(self, block: BlockAccess) -> int:
        """The active programs access a block.

        A load that touches the very lines and sectors that the load before it at its `site` has
        touched is left out: threads that walk along rows would take as much memory as time.
        """
        active, site = block.active, block.site
        if block.kind == Access.ATOMIC:
            self._note_words(block)
            self.atomics.note_update(*block.span())
        chosen = np.flatnonzero(active)
        selected = None if len(chosen) == len(active) else chosen
        grouped = [self._grouping.groups(term, selected) for term in block.addresses]
        if not all(groups.regular for groups in grouped):
            first, shape = self._irregular(block, chosen)
        else:
            masks = [self._grouping.groups(term, selected) for term in block.mask]
            first, shape = self._by_groups(block, grouped, masks)
            self._check_inside(block, selected, first, shape)
        if self.site_outside is None and self._outside.any():
            self.site_outside = site
        if (shape != shapes.NO_SHAPE).any():
            self.sites.add(site)
        if site is not None and block.kind == Access.READ:
            first, shape = shapes.without_repeats(self._latest, site, first, shape)
        self._accesses.append(shapes.spread_over(first, shape, selected, len(active)))
        return len(self._accesses) - 1

    def end(self, active: Bits, value_loads: Mapping[int, int]) -> None:
        """A batch is over: keep what the active programs did."""
        for number, origin in value_loads.items():
            whole_base, whole_shape = self._broadcast(number)
            touching = active & (whole_shape != shapes.NO_SHAPE)
            self.value_loads.append((origin, whole_base[touching], whole_shape[touching]))
        for begin, end, rows, own in self._tiles(active):
            outside = self._outside[rows] if begin == 0 else np.zeros(len(rows), np.int64)
            self._keep_part(begin, end, rows, own, outside)
        self._accesses = []

    def _keep_part(
        self, begin: int, end: int, rows: Int64Array, own: Int64Array, outside: Int64Array
    ) -> None:
        """What the programs in some rows do from one access to another, for separate tiles."""
        place = np.full(len(self._programs), -1)
        place[rows] = np.arange(len(rows))
        for at, row, words, item_bytes in self._words:
            if begin <= at < end:
                kept = place[row] >= 0
                self.atomics.keep(own[place[row[kept]]], words[kept], item_bytes)
        base = np.empty((end - begin, len(rows)), np.int32)
        shape = np.empty((end - begin, len(rows)), np.int32)
        for number in range(begin, min(end, len(self._accesses))):
            whole_base, whole_shape = self._broadcast(number)
            base[number - begin], shape[number - begin] = whole_base[rows], whole_shape[rows]
        touching = shape.T != shapes.NO_SHAPE
        self._parts.append(
            shapes.Part(own, touching.sum(axis=1), base.T[touching], shape.T[touching], outside)
        )

    def _tiles(self, active: Bits) -> Iterator[tuple[int, int, Int64Array, Int64Array]]:
        """Ranges of accesses, rows of the programs that make them, and their tiles.

        What programs do outside of the loop comes after all tiles of the loop.
        """
        rest = self._programs + (self.loop.tiles if self.loop else 0)
        begun = [(0, None, None), *self._begun, (len(self._accesses), None, None)]
        for (begin, numbers, taking), (end, _, _) in itertools.pairwise(begun):
            rows = np.flatnonzero(active if taking is None else active & taking)
            own = rest[rows]
            if numbers is not None and self.loop is not None:
                own = np.broadcast_to(numbers, active.shape)[rows].astype(np.int64)
                inside = (own >= 0) & (own < self.loop.tiles)
                if not inside.all() or (self.loop.program[own] != self._programs[rows]).any():
                    raise TraceError(OTHER_TILES)
            if begin < end or begin == 0:
                yield begin, end, rows, own

    def _note_words(self, block: BlockAccess) -> None:
        """Keep row number in the batch and address of every active lane of an atomic."""
        extents = block.extents
        common = (len(self._programs), *extents)
        if not self.atomics.has_room(int(np.prod(common))):
            return
        lanes = np.broadcast_to(sum(block.addresses), common)
        active = np.broadcast_to(block.active.reshape(-1, *(1,) * len(extents)), common).copy()
        for bits in block.mask:
            active &= bits
        rows = np.nonzero(active)[0]
        self._words.append((len(self._accesses), rows, lanes[active], block.item_bytes))

    def _broadcast(self, number: int) -> tuple[Int64Array, Int32Array]:
        base, shape = self._accesses[number]
        count = len(self._programs)
        return np.broadcast_to(base, count), np.broadcast_to(shape, count)

    def _by_groups(
        self, block: BlockAccess, addresses: Sequence[shapes.Groups], masks: Sequence[shapes.Groups]
    ) -> tuple[Int64Array, Int32Array]:
        """First line and shape per program (or one for all), computed once per kind of program."""
        base: Any = sum(groups.first for groups in addresses)
        code: Any = base & (LINE_BYTES - 1)
        for groups in (*addresses, *masks):
            if len(groups.patterns) > 1:
                code = code * len(groups.patterns) + groups.group
        kinds, which = shapes.distinct(np.reshape(code, (-1, 1)))
        found = [
            self._lines_of(block, addresses, masks, int(at), int(base[at % len(base)]))
            for at in kinds
        ]
        shape = np.array([lines.shape for lines in found], np.int32)[which]
        line = np.array([lines.line for lines in found], np.int64)[which]
        self._low = base + np.array([lines.low for lines in found], np.int64)[which]
        self._high = base + np.array([lines.high for lines in found], np.int64)[which]
        return (base >> _LINE_SHIFT) + line, shape

    def _lines_of(
        self,
        block: BlockAccess,
        addresses: Sequence[shapes.Groups],
        masks: Sequence[shapes.Groups],
        at: int,
        base: int,
    ) -> shapes.RelativeLines:
        """The lines of the program at one row."""
        residue = base & (LINE_BYTES - 1)
        chosen = [groups.of_row(at) for groups in addresses]
        covered = [groups.of_row(at) for groups in masks]
        key = (
            int(block.kind), block.item_bytes, residue,
            tuple(g.patterns[i] for g, i in zip(addresses, chosen, strict=True)),
            tuple(g.patterns[i] for g, i in zip(masks, covered, strict=True)),
        )  # fmt: skip
        lines = self._regular.get(key)
        if lines is None:
            lanes: Any = residue
            for groups, i in zip(addresses, chosen, strict=True):
                lanes = lanes + groups.rows[i]
            active: Any = np.ones((1,) * lanes.ndim, np.bool_)
            for groups, i in zip(masks, covered, strict=True):
                active = active & groups.rows[i]
            lines = self._compute(block, lanes, active, residue)
            self._regular[key] = lines
        return lines

    def _compute(
        self, block: BlockAccess, lanes: npt.NDArray[np.int64], active: Bits, residue: int
    ) -> shapes.RelativeLines:
        common = np.broadcast_shapes(lanes.shape, active.shape)
        lanes = np.broadcast_to(lanes, common).reshape(1, -1)
        active = np.broadcast_to(active, common).reshape(1, -1)
        if not active.any():
            return shapes.RelativeLines(shapes.NO_SHAPE, 0, 0, 0)
        touched = lanes[active]
        # Lines are counted from one that is below all lanes, because numbers must not be negative.
        raised = -(int(touched.min()) // LINE_BYTES) * LINE_BYTES
        offset, line, mark = shapes.touched_lines(
            lanes + raised, active, block.item_bytes, self.wave_lanes
        )
        first, shape = self._shapes.add(block.kind, offset, line, mark)
        return shapes.RelativeLines(
            int(shape[0]),
            int(first[0]) - raised // LINE_BYTES,
            int(touched.min()) - residue,
            int(touched.max()) + block.item_bytes - residue,
        )

    def _check_inside(
        self, block: BlockAccess, selected: Int64Array | None, first: Int64Array, shape: Int32Array
    ) -> None:
        """Redo, lane by lane, the programs with lanes outside the storage of their others."""
        place = np.searchsorted(self.begins, self._low, side="right") - 1
        wrong = (shape != shapes.NO_SHAPE) & ((place < 0) | (self._high > self.ends[place]))
        if not wrong.any():
            return
        rows = np.flatnonzero(np.broadcast_to(wrong, np.broadcast_shapes(first.shape, shape.shape)))
        programs = rows if selected is None else selected[rows]
        first[rows], shape[rows] = self._irregular(block, programs)

    def _irregular(self, block: BlockAccess, programs: Int64Array) -> tuple[Int64Array, Int32Array]:
        """First line and shape per program, from all its lanes."""
        first, shape = np.empty(len(programs), np.int64), np.empty(len(programs), np.int32)
        done = 0
        for rows, lanes, active in block.lanes(programs):
            piece = slice(done, done + len(rows))
            spread = self._rows(block, lanes, active)
            first[piece], shape[piece] = spread[:2]
            self._outside[rows] += spread[2]
            done = piece.stop
        return first, shape

    def _rows(
        self, block: BlockAccess, lanes: npt.NDArray[np.int64], active: Bits
    ) -> tuple[Int64Array, Int32Array, Int64Array]:
        """First line and shape of each row of lanes inside a storage; how many lie outside all."""
        place = np.searchsorted(self.begins, lanes, side="right") - 1
        inside = active & (place >= 0) & (lanes < self.ends[place])
        touched = shapes.touched_lines(lanes, inside, block.item_bytes, self.wave_lanes)
        first, shape = self._shapes.add(block.kind, *touched)
        outside = np.count_nonzero(active & ~inside, axis=1)
        if outside.any():
            if self.inside:
                raise TraceError(f"{self.where()} reaches outside of every tensor")
            self.unresolved[self.where()] = None
        return first, shape, outside

    # --- the trace -----------------------------------------------------------------------------

    def trace(
        self,
        grid: Grid,
        segments: tuple[Segment, ...],
        *,
        method: Literal["batched", "sequential"],
        arithmetic: Int64Array,
        notes: tuple[str, ...] = (),
        waits: bool = False,
        immaterial: tuple[str, ...] = (),
    ) -> Trace:
        """Everything recorded, in the order of the tiles."""
        tiles = grid[0] * grid[1] * grid[2]
        if self.loop:
            grid, arithmetic = (self.loop.tiles, 1, 1), shapes.each_tile(self.loop, arithmetic)
            tiles += self.loop.tiles
        count = np.zeros(tiles, np.int64)
        for part in self._parts:
            count[part.programs] += part.count
        program = turn = None
        if self.loop:
            programs = tiles - self.loop.tiles
            if not count[-programs:].any():
                count, arithmetic, programs = count[:-programs], arithmetic[:-programs], 0
            program = np.append(self.loop.program, np.arange(programs, dtype=np.int32))
            turn = np.append(self.loop.turn, np.full(programs, self.loop.tiles, np.int32))
        tile_offset = np.concatenate((np.zeros(1, np.int64), np.cumsum(count)))
        base = np.empty(tile_offset[-1], np.int32)
        shape = np.empty(tile_offset[-1], np.int32)
        free = np.append(tile_offset[:-1], np.zeros(tiles - len(count), np.int64))
        for part in self._parts:
            shapes.enter(free, part.programs, part.count, part.base, part.shape, base, shape)
        shape_arrays: dict[str, Any] = self._shapes.arrays()
        return Trace(
            grid, tile_offset, base, shape,
            segments=segments, method=method, notes=notes, waits=waits, **shape_arrays,
            tiles_outside=sum(int(np.count_nonzero(part.outside)) for part in self._parts),
            elements_outside=sum(int(part.outside.sum()) for part in self._parts),
            tile_arithmetic=arithmetic if arithmetic.any() else None, immaterial=immaterial,
            program=program, turn=turn,
        )  # fmt: skip
