# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What programs of one launch do to each other's memory, and so which tensors they share.

The grain is the sector of 32 bytes. Atomics are compared word by word if they are not too many:
counters and locks of different programs lie side by side. If sectors alone do not decide, the
bytes of loads and stores are compared.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.jit import jit
from intelliperf_swizzle.records import (
    LINE_BYTES,
    SECTOR_BYTES,
    Access,
    Int32Array,
    Int64Array,
    Segment,
    Trace,
    UInt8Array,
)
from intelliperf_swizzle.trace.assembling import TraceRecorder
from intelliperf_swizzle.trace.observer import Bits, BlockAccess, Observer

_SECTORS = LINE_BYTES // SECTOR_BYTES
NOBODY = -1
SEVERAL = -2
_WINDOW_LINES = 1 << 22  # lines whose writers are looked up at once (64 MB)


def contested_sectors(trace: Trace, segment: Segment, *, ordered: bool) -> Int64Array:
    """The sectors of a segment that a program stores to or updates and another one touches.

    Increasing; none if all of them only update.

    Args:
        trace: of the launch.
        segment: of the trace.
        ordered: whether atomics load, too: their order shows.
    """
    writes = _accesses(trace, segment, (Access.WRITE, Access.ATOMIC))
    loads = (Access.READ, Access.ATOMIC) if ordered else (Access.READ,)
    reads = _accesses(trace, segment, loads)
    stores = bool(_accesses(trace, segment, (Access.WRITE,)).any())
    if not writes.any() or not (stores or reads.any()):
        return np.zeros(0, np.int64)
    shapes = (trace.shape_offset, trace.shape_line, trace.shape_sectors)
    writing, reading = (
        (_offsets(trace, chosen), trace.access_base[chosen], trace.access_shape[chosen], *shapes)
        for chosen in (writes, reads)
    )
    first_line, end_line = _line_range(trace, trace.access_base[writes])
    found: list[Int64Array] = []
    for line in range(first_line, end_line, _WINDOW_LINES):
        lines = min(_WINDOW_LINES, end_line - line)
        tiles = np.full(lines * _SECTORS, NOBODY, np.int32)
        _meet(*writing, line, tiles, np.zeros(0, np.bool_), True)
        met = (tiles == SEVERAL) & stores
        _meet(*reading, line, tiles, met)
        found.append(line * _SECTORS + np.flatnonzero(met))
    return np.concatenate(found)


def updates_collide(
    trace: Trace, atomic_words: Sequence[tuple[Int64Array, Int64Array]] | None
) -> bool:
    """Whether two programs update the same address with atomics.

    Args:
        trace: of the launch.
        atomic_words: programs and addresses of all atomics; None if they were too many.
    """
    if atomic_words is None:
        updaters = [_tiles_of_sectors(trace, s, (Access.ATOMIC,))[1] for s in trace.segments]
        return any(SEVERAL in tiles for tiles in updaters)
    if not atomic_words:
        return False
    programs = np.concatenate([programs for programs, _ in atomic_words])
    words = np.concatenate([words for _, words in atomic_words])
    pairs = np.unique(np.stack((words, programs)), axis=1)
    return bool(len(np.unique(pairs[0])) < pairs.shape[1])


def reads_what_is_written(
    trace: Trace, places: int, value_loads: Sequence[tuple[int, Int64Array, Int32Array]]
) -> bool:
    """Whether loads whose values decided something read words that the launch itself writes.

    Args:
        trace: of the launch.
        places: bit set of the storages that matter, bit `1 + place`.
        value_loads: bit set of storages, first line and shape of such loads.
    """
    for place, segment in enumerate(trace.segments):
        if not places >> place + 1 & 1:
            continue
        first_line, written = _tiles_of_sectors(trace, segment, (Access.WRITE, Access.ATOMIC))
        for origin, base, shape in value_loads:
            stranger = np.zeros(trace.tiles + 2, np.int64)  # a reader that is not a tile
            stranger[-1] = len(base)
            if origin >> place + 1 & 1 and _meet(
                stranger, base.astype(np.int32), shape, trace.shape_offset, trace.shape_line,
                trace.shape_sectors, first_line, written, np.zeros(0, np.bool_),
            ):  # fmt: skip
                return True
    return False


def writes_any(trace: Trace, sectors: Mapping[int, UInt8Array]) -> bool:
    """Whether the launch writes one of some sectors.

    Args:
        trace: of the launch.
        sectors: uint8[sectors] by the address of a segment; not 0 for those that are asked for.
    """
    for segment in trace.segments:
        asked = sectors.get(segment.first_line * LINE_BYTES)
        if asked is None or not asked.any():
            continue
        first_line, tiles = _tiles_of_sectors(trace, segment, (Access.WRITE, Access.ATOMIC))
        written = np.flatnonzero(tiles != NOBODY) + (first_line - segment.first_line) * _SECTORS
        if asked[written[(written >= 0) & (written < len(asked))]].any():
            return True
    return False


def _accesses(trace: Trace, segment: Segment, kinds: tuple[Access, ...]) -> npt.NDArray[np.bool_]:
    """Which accesses are of these kinds and in the segment."""
    wanted = np.isin(trace.shape_kind, [int(kind) for kind in kinds])
    inside: npt.NDArray[np.bool_] = wanted[trace.access_shape]
    inside &= trace.access_base >= segment.first_line
    inside &= trace.access_base < segment.first_line + -(-segment.bytes // LINE_BYTES)
    return inside


def _offsets(trace: Trace, chosen: npt.NDArray[np.bool_]) -> Int64Array:
    """`tile_offset` of the chosen accesses alone."""
    before = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(chosen, out=before[1:])
    return before[trace.tile_offset]


def _line_range(trace: Trace, base: Int32Array) -> tuple[int, int]:
    """First line, and line after the last one, that accesses at these bases can reach."""
    return (
        int(base.min()) + int(trace.shape_line.min()),
        int(base.max()) + int(trace.shape_line.max()) + 1,
    )


def _tiles_of_sectors(
    trace: Trace, segment: Segment, kinds: tuple[Access, ...]
) -> tuple[int, Int32Array]:
    """For each sector, from a first line on, the tile that touches it so; empty if none does.

    `NOBODY` and `SEVERAL` stand for no tile and for more than one.
    """
    inside = _accesses(trace, segment, kinds)
    if not inside.any():
        return segment.first_line, np.zeros(0, np.int32)
    base, shape = trace.access_base[inside], trace.access_shape[inside]
    first_line, end_line = _line_range(trace, base)
    tiles = np.full((end_line - first_line) * _SECTORS, NOBODY, np.int32)
    _meet(
        _offsets(trace, inside), base, shape, trace.shape_offset, trace.shape_line,
        trace.shape_sectors, first_line, tiles, np.zeros(0, np.bool_), True,
    )  # fmt: skip
    return first_line, tiles


@jit
def _meet(
    tile_offset: Int64Array,
    base: Int32Array,
    shape: Int32Array,
    shape_offset: Int64Array,
    shape_line: Int32Array,
    shape_sectors: UInt8Array,
    first_line: int,
    tiles: Int32Array,
    met: npt.NDArray[np.bool_],
    enter: bool = False,
) -> bool:
    """Whether an access touches a sector at which another tile, or several, are entered.

    All such sectors are entered in `met`; if that is empty, the first one ends the search. With
    `enter`, each tile is entered at the sectors that its accesses touch, and nothing is asked.
    """
    found = False
    for tile in range(tile_offset.size - 1):
        for access in range(tile_offset[tile], tile_offset[tile + 1]):
            for at in range(shape_offset[shape[access]], shape_offset[shape[access] + 1]):
                line = base[access] + shape_line[at] - first_line
                for sector in range(4):
                    place = line * 4 + sector
                    if not (shape_sectors[at] >> sector) & 1 or not 0 <= place < tiles.size:
                        continue
                    if enter:
                        alone = tiles[place] == -1 or tiles[place] == tile
                        tiles[place] = tile if alone else -2
                    elif tiles[place] != -1 and tiles[place] != tile:
                        found = True
                        if met.size == 0:
                            return found
                        met[place] = True
    return found


_COARSE = 4  # bytes that are noted as one, as long as all accesses are multiples of them
MOST_SECTORS = 1 << 22
"""Sectors that are compared byte by byte (512 MB); if there are more, they count as shared."""


def with_sharing(
    trace: Trace, recorder: TraceRecorder, run_again: "Callable[[ByteWatch], object]"
) -> Trace:
    """The trace with what its programs do to each other's memory.

    Costs a second run where, and only where, programs meet in a sector that one of them writes.

    Args:
        trace: of the launch.
        recorder: of the trace.
        run_again: runs the launch once more and reports its accesses.
    """
    updates = bool((trace.shape_kind == Access.ATOMIC).any())
    order_matters = updates and updates_collide(trace, recorder.atomics.words)
    ordered = recorder.atomics.ordered if order_matters else ()  # else each word has one program
    shared, sectors = shared_tensors(trace, ordered, run_again)
    return replace(trace, shared_writes=shared, contested=sectors, order_matters=order_matters)


def shared_tensors(
    trace: Trace, ordered: Collection[int], run_again: "Callable[[ByteWatch], object]"
) -> tuple[tuple[str, ...], Int64Array]:
    """Names of tensors with a byte that a program stores or updates and another one touches, and
    the sectors of such bytes.

    Args:
        trace: of the launch.
        ordered: places of the segments where it shows in what order atomics update.
        run_again: as of `with_sharing`.
    """
    placed = enumerate(trace.segments)
    contested = [contested_sectors(trace, s, ordered=place in ordered) for place, s in placed]
    watched = [own for place, own in enumerate(contested) if place not in ordered]
    sectors = np.concatenate((np.zeros(0, np.int64), *watched))
    if 0 < len(sectors) <= MOST_SECTORS:
        watch = ByteWatch(sectors, _COARSE)
        run_again(watch)
        while watch.finest < watch.grain:
            watch = ByteWatch(sectors, watch.finest)
            run_again(watch)
        found = watch.shared()
        for place, own in enumerate(contested):
            if place not in ordered:
                contested[place] = own[np.isin(own, found, assume_unique=True)]
    both = zip(trace.segments, contested, strict=True)
    names = tuple(name for segment, own in both if len(own) for name in segment.names)
    return names, np.concatenate((np.zeros(0, np.int64), *contested))


class ByteWatch(Observer):
    """Notes who touches each byte of some sectors; takes accesses as `TraceRecorder`.

    Args:
        sectors: int64[n], increasing; addresses over `SECTOR_BYTES`.
        grain: bytes that are noted as one, a power of two.

    Attributes:
        grain: as given.
        finest: the grain of which all accesses are multiples; if it is less than `grain`, nothing
            was found out.
    """

    def __init__(self, sectors: Int64Array, grain: int) -> None:
        self.grain = self.finest = grain
        self._sectors = sectors
        gaps = np.diff(sectors) > 1
        begin = sectors[np.concatenate(([True], gaps))] * SECTOR_BYTES
        end = (sectors[np.concatenate((gaps, [True]))] + 1) * SECTOR_BYTES
        self._writers = Writers(begin, end, grain)

    def begin(self, programs: Int64Array) -> None:
        """A batch begins."""
        self._programs = self._batch = programs

    def number(self, values: Int64Array | None, active: Bits | None = None) -> None:
        """What follows belongs to the tiles of these numbers; None = to the programs themselves."""
        own = self._programs if values is None else -1 - values.astype(np.int64)
        self._batch = np.broadcast_to(own, self._programs.shape)

    def access(self, block: BlockAccess) -> int:
        """The active programs access a block."""
        low, high = block.span()
        beyond = (high + block.item_bytes - 1) // SECTOR_BYTES
        last = np.searchsorted(self._sectors, beyond, side="right")
        if last == np.searchsorted(self._sectors, low // SECTOR_BYTES):
            return 0  # no lane comes near
        self._refine(block)
        if self.finest < self.grain:
            return 0
        for own, lanes, covered in block.lanes():
            self._writers.note(block.kind, self._batch[own], lanes, covered, block.item_bytes)
        return 0

    def _refine(self, block: BlockAccess) -> None:
        """Takes note of what addresses and size are multiples of."""
        bits = block.item_bytes
        for term in block.used():
            bits |= int(np.bitwise_or.reduce(term, axis=None))
        while bits & (self.finest - 1):
            self.finest //= 2

    def observe(self, program: int, block: BlockAccess) -> None:
        """One access of one program."""
        self._refine(block)
        _, lanes, covered = next(block.lanes())
        self._writers.note(block.kind, np.array([program]), lanes, covered, block.item_bytes)

    def shared(self) -> Int64Array:
        """The sectors with a byte that one program writes and another one reads or stores."""
        per_sector = SECTOR_BYTES // self.grain
        clash = self._writers.clashes().reshape(-1, per_sector).any(axis=1)
        found: Int64Array = self._sectors[clash]
        return found


STORED, SHARED, UPDATED, MIXED = 1, 2, 4, 8
"""Bits of an element's state: some program stores it; several do; atomics update it; one program
stores and another updates it. 16: several update it."""


class Writers:
    """Takes what programs touch, block by block.

    Args:
        begin: int64[ranges]; addresses, increasing.
        end: int64[ranges]; the address after each range's last byte; ranges are apart.
        grain: bytes of an element.

    Attributes:
        grain: as given.
        state: uint8[elements]; of all ranges, one after the other.
        first: int32[elements]; the program that stored it first; without a meaning if none did.
        clash: int64[3]; an element that several programs store, and two of them; -1 if there is
            none.
    """

    def __init__(self, begin: Int64Array, end: Int64Array, grain: int) -> None:
        self.grain = grain
        elements = -(-(end - begin) // grain)
        self._ranges = np.stack((begin, end, np.cumsum(elements) - elements))
        self.first: Int32Array = np.zeros(elements.sum(), np.int32)
        self._reader: Int32Array = np.zeros(0, np.int32)
        self.state: UInt8Array = np.zeros(elements.sum(), np.uint8)
        self.clash = np.full(3, -1, np.int64)

    def note(
        self,
        kind: Access,
        programs: Int64Array,
        lanes: Int64Array,
        covered: npt.NDArray[np.bool_],
        item_bytes: int,
    ) -> int:
        """Programs touch memory; returns how many lanes lie wholly in one of the ranges.

        Args:
            kind: of the access.
            programs: int64[rows].
            lanes: int64[rows, lanes]; addresses.
            covered: bool[rows, lanes]; which of them are active.
            item_bytes: of a lane.
        """
        if kind == Access.READ and not len(self._reader):
            self._reader = np.zeros_like(self.first)
        inside = _note(
            programs, lanes, covered, item_bytes, int(kind), self._ranges, self.grain,
            self.first, self._reader, self.state, self.clash,
        )  # fmt: skip
        return int(inside)

    def clashes(self) -> npt.NDArray[np.bool_]:
        """The elements that one program stores, or several update, and another one touches."""
        found: npt.NDArray[np.bool_] = self.state & (SHARED | MIXED) > 0
        if len(self._reader):
            several = (self.state & (16 | 64) > 0) | (self.first != self._reader)
            found |= (self.state & (STORED | UPDATED) > 0) & (self.state & 32 > 0) & several
        return found


@jit
def _note(
    programs: Int64Array,
    lanes: Int64Array,
    covered: npt.NDArray[np.bool_],
    item_bytes: int,
    kind: int,
    ranges: Int64Array,
    grain: int,
    first: Int32Array,
    reader: Int32Array,
    state: UInt8Array,
    clash: Int64Array,
) -> int:
    begin, end, offset = ranges[0], ranges[1], ranges[2]
    inside = 0
    last = 0
    for row in range(lanes.shape[0]):
        program = programs[row]
        for lane in range(lanes.shape[1]):
            if not covered[row, lane]:
                continue
            low, high = lanes[row, lane], lanes[row, lane] + item_bytes
            if not begin[last] <= low < end[last]:
                last = max(0, np.searchsorted(begin, low, side="right") - 1)
            inside += begin[last] <= low and high <= end[last]
            place = last
            while place < begin.size and begin[place] < high:
                start = (max(low, begin[place]) - begin[place]) // grain
                past = -((begin[place] - min(high, end[place])) // grain)
                for element in range(offset[place] + start, offset[place] + past):
                    if kind == 0:
                        if not state[element] & 32:
                            reader[element] = program
                        elif reader[element] != program:
                            state[element] |= 64
                        state[element] |= 32
                    elif kind == 2:
                        if not state[element] & 5:
                            first[element] = program
                        elif first[element] != program:
                            state[element] |= 8 if state[element] & 1 else 16
                        state[element] |= 4
                    elif state[element] & 1:
                        if first[element] != program and not state[element] & 2:
                            state[element] |= 2
                            if clash[0] < 0:
                                clash[0], clash[1], clash[2] = element, first[element], program
                    else:
                        if state[element] & 16 or (
                            state[element] & 4 and first[element] != program
                        ):
                            state[element] |= 8
                        first[element] = program
                        state[element] |= 1
                place += 1
    return inside
