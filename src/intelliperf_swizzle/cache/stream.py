# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A trace made ready for replay: lines that are always touched together become one unit, and
lie in sets of an L2."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.hardware import BitRule, Target
from intelliperf_swizzle.records import Access, Int32Array, Int64Array, Trace, UInt8Array

MOST_REFERENCES = 8_000_000
"""References that the table of touches is made from, about three seconds; of a longer stream
one of each k units is examined."""


@dataclass(frozen=True)
class Touches:
    """Which tile touches which unit, each pair once, by unit and then by tile.

    Attributes:
        step: of how many units one was examined.
        unit: int64[pairs].
        tile: int64[pairs].
        lines: int64[pairs]; lines of the unit.
        kinds: int64[units, 3]; line reads, writes and atomics of every unit.
    """

    step: int
    unit: Int64Array
    tile: Int64Array
    lines: Int64Array
    kinds: Int64Array

    def only(self, units: npt.NDArray[np.bool_]) -> Touches:
        """Those of some units: bool[units]."""
        mine = units[self.unit]
        unit, tile, lines = self.unit[mine], self.tile[mine], self.lines[mine]
        return Touches(self.step, unit, tile, lines, self.kinds)

    def distinct_lines(self, which: npt.NDArray[Any] | None = None) -> int:
        """How many lines are touched, by some of the pairs or by all: bool[pairs]."""
        unit, lines = (a if which is None else a[which] for a in (self.unit, self.lines))
        _, once = np.unique(unit, return_index=True)
        return int(lines[once].sum()) * self.step

    @property
    def tiles_per_line(self) -> float:
        """How many tiles touch a line, on average."""
        return int(self.lines.sum()) * self.step / self.distinct_lines()

    def domains_per_line(self, domain: Int64Array) -> float:
        """On how many domains a line is touched, on average: int64[tiles]."""
        place = self.unit * (int(domain.max()) + 1) + domain[self.tile]
        _, apart = np.unique(place, return_index=True)
        return float(self.lines[apart].sum() * self.step / self.distinct_lines())


class Turns(NamedTuple):
    """The numbers that programs take, program after program.

    Attributes:
        number: int64[tiles].
        first: int64[programs + 1]; into the numbers.
    """

    number: Int64Array
    first: Int64Array

    @classmethod
    def of(cls, program: Int32Array, turn: Int32Array, most: int | None = None) -> Turns:
        """From the program and the turn of each number; at `most` turns."""
        number = np.lexsort((turn, program))
        if most is not None:
            number = number[turn[number] < most]
        programs = np.arange(int(program.max()) + 2)
        return cls(number, np.searchsorted(program[number], programs))

    def join(self, tile_offset: Int64Array, tile: Int64Array) -> tuple[Int64Array, Int64Array]:
        """What tiles refer to, joined to what programs refer to.

        Args:
            tile_offset: int64[tiles + 1]; into the references.
            tile: int64[tiles]; number -> tile.

        Returns:
            int64[programs + 1], into the references as they come now; and where each of them was.
        """
        order = tile[self.number]
        lengths = np.diff(tile_offset)[order]
        begins = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        moved = np.repeat(tile_offset[order] - begins[:-1], lengths)
        return begins[self.first], moved + np.arange(len(moved))


@dataclass(frozen=True)
class ReferenceStream:
    """What each tile refers to, in order, in units of lines.

    Two lines are in one unit if every access of the launch touches both or neither, in the same
    way. A *reference* is one access to one unit: `ref_code` is `kind << 4 | sectors`, of every
    line of the unit. The references of an access are neighbours; all but its last are stored as
    the complement `~unit`.

    Attributes:
        tile_offset: int64[tiles + 1]; into the references.
        ref_unit: int32[references].
        ref_code: uint8[references].
        ref_issue: uint8[references]; `log2(passes) << 4 | late sectors`, as `Trace` has them of
            every line of the unit. Empty if all accesses are aligned.
        tile_arithmetic: as `Trace` has it.
        unit_offset: int64[units + 1]; into `unit_line`.
        unit_line: int32[lines touched]; line numbers, grouped by unit.
        program, turn, waves: as `Trace` has them.
        sets: where the lines lie in an L2, for each layout that was asked for; see `l2_sets`. A
            stream made by `replace` begins without.
        rows: in which rows of memory, by lines of a row and banks; see `compiled.sectors`. The same
            holds.
    """

    tile_offset: Int64Array
    ref_unit: Int32Array
    ref_code: UInt8Array
    unit_offset: Int64Array
    unit_line: Int32Array
    ref_issue: UInt8Array
    tile_arithmetic: Int64Array | None = None
    program: Int32Array | None = None
    turn: Int32Array | None = None
    waves: int = 0
    sets: dict[tuple[Any, ...], Int32Array] = field(init=False, repr=False, default_factory=dict)
    rows: dict[tuple[int, int], tuple[Int64Array, Int32Array, Int32Array]] = field(
        init=False, repr=False, default_factory=dict
    )

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return len(self.tile_offset) - 1

    @property
    def runs_in(self) -> Int64Array:
        """The program that runs each tile of the unmodified kernel: int64[tiles]."""
        return np.arange(self.tiles) if self.program is None else self.program.astype(np.int64)

    def whole_programs(self, tile: Int64Array, most: int | None = None) -> ReferenceStream:
        """The stream of programs that take several tiles, each from its first to its last.

        A program begins a tile when it has ended the one before it.

        Args:
            tile: int64[tiles]; number -> tile.
            most: how many tiles of each program, the first ones; None = all.
        """
        if self.program is None or self.turn is None:
            return self
        order = Turns.of(self.program, self.turn, most)
        program_offset, at = order.join(self.tile_offset, tile)
        arithmetic = None
        if self.tile_arithmetic is not None:
            arithmetic = np.zeros((len(program_offset) - 1, 3), np.int64)
            kept = order.number
            np.add.at(arithmetic, self.program[kept], self.tile_arithmetic[tile[kept]])
        return replace(
            self,
            tile_offset=program_offset,
            ref_unit=self.ref_unit[at],
            ref_code=self.ref_code[at],
            ref_issue=self.ref_issue[at] if len(self.ref_issue) else self.ref_issue,
            tile_arithmetic=arithmetic,
            program=None,
            turn=None,
        )

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.unit_offset) - 1

    @cached_property
    def tile_accesses(self) -> Int64Array:
        """Accesses that each tile makes: int64[tiles]."""
        return self._by_tile(self.ref_unit >= 0)

    @cached_property
    def tile_loads(self) -> Int64Array:
        """Those of them that read: int64[tiles]."""
        return self._by_tile((self.ref_unit >= 0) & (self.ref_code >> 4 == Access.READ))

    def _by_tile(self, values: npt.NDArray[Any]) -> Int64Array:
        """Sums of what each reference has: int64[tiles]."""
        return np.diff(np.append(0, np.cumsum(values))[self.tile_offset])

    @property
    def tile_products(self) -> Int64Array:
        """Matrix products of each tile, 0 if none is known: int64[tiles]."""
        if self.tile_arithmetic is None:
            return np.zeros(self.tiles, np.int64)
        return self.tile_arithmetic[:, 0]

    @property
    def multiplies(self) -> bool:
        """Whether there are any: what they take is loaded into shared memory, stages ahead."""
        return bool(self.tile_products.any())

    @cached_property
    def tile_lines(self) -> Int64Array:
        """Lines that each tile accesses, each as often as it does: int64[tiles]."""
        return self._by_tile(self.unit_lines.astype(np.int64)[self.plain_units])

    @property
    def unit_lines(self) -> Int32Array:
        """Lines of each unit: int32[units]."""
        return np.diff(self.unit_offset).astype(np.int32)

    @property
    def plain_units(self) -> Int32Array:
        """Unit of each reference, without the mark of an access's last: int32[references]."""
        return np.where(self.ref_unit < 0, ~self.ref_unit, self.ref_unit)

    @cached_property
    def touches(self) -> Touches:
        """Who touches what."""
        step = -(-len(self.ref_unit) // MOST_REFERENCES) or 1
        tile_of = np.repeat(np.arange(self.tiles), np.diff(self.tile_offset))
        unit_of = self.plain_units.astype(np.int64)
        chosen = one_of_each(step, unit_of)
        pairs = np.sort(unit_of[chosen] * self.tiles + tile_of[chosen])  # `np.unique` takes longer
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        unit, tile = np.divmod(pairs, self.tiles)
        kinds = np.bincount(unit_of * 3 + (self.ref_code >> 4), minlength=3 * self.units)
        return Touches(
            step=step,
            unit=unit,
            tile=tile,
            lines=self.unit_lines.astype(np.int64)[unit],
            kinds=kinds.reshape(-1, 3) * self.unit_lines[:, None],
        )


def one_of_each(step: int, numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Of each `step` consecutive numbers one, at a place that has no period: rows of tiles have."""
    group, place = np.divmod(numbers, step)
    chosen: npt.NDArray[np.bool_] = place == (group.astype(np.int64) * 0x9E3779B1 >> 15) % step
    return chosen


class Tensors(NamedTuple):
    """Whose lines the units of a stream are.

    Attributes:
        of_unit: int32[units]; the number of its tensor.
        number: of tensors.
    """

    of_unit: Int32Array
    number: int


NO_TENSORS = Tensors(np.zeros(0, np.int32), 0)
"""For a replay that is not asked for causes."""


def tensors_of(trace: Trace, names: Sequence[tuple[str, ...]]) -> Tensors:
    """The tensors of a trace's stream, numbered as in `names`."""
    stream = stream_of(trace)
    number = np.array([names.index(segment.names) for segment in trace.segments], np.int32)
    return Tensors(number[trace.segment_of(stream.unit_line[stream.unit_offset[:-1]])], len(names))


_STREAMS: dict[int, ReferenceStream] = {}


def stream_of(trace: Trace) -> ReferenceStream:
    """The stream of a trace, merged at the first call and kept as long as the trace lives."""
    if id(trace) not in _STREAMS:
        adopt(trace, merge(trace))
    return _STREAMS[id(trace)]


def adopt(trace: Trace, stream: ReferenceStream) -> Trace:
    """The trace, whose stream is known already."""
    _STREAMS[id(trace)] = stream
    weakref.finalize(trace, _STREAMS.pop, id(trace), None)
    return trace


def merge(trace: Trace) -> ReferenceStream:
    """The stream of a trace; cost linear in the lines of its distinct footprints.

    Within one access the lines come unit by unit. That is the only order that merging changes.
    """
    from intelliperf_swizzle.cache.compiled import merging
    from intelliperf_swizzle.trace.shapes import distinct

    key = trace.access_shape.astype(np.int64) << 32 | trace.access_base
    first, footprint = distinct(key.reshape(-1, 1))
    lowest, end = _line_range(trace)
    base, shape = trace.access_base[first] - np.int32(lowest), trace.access_shape[first]
    line_kind = np.repeat(trace.shape_kind, np.diff(trace.shape_offset))
    issue = _issue(trace)
    code: npt.NDArray[Any] = (line_kind << 4 | trace.shape_sectors).astype(np.uint8)
    if issue is not None:
        code = (issue.astype(np.uint16) << 6 | code).astype(np.uint16)
    where = (base, shape, trace.shape_offset, trace.shape_line)
    signature = merging.line_signatures(*where, code, end - lowest)
    lines = merging.touched(*where, signature)
    units, unit_of = distinct(signature[lines].view(np.int64).reshape(-1, 1))
    unit = np.full(len(signature), -1, np.int32)
    unit[lines] = unit_of
    unit_offset = np.append(0, np.cumsum(np.bincount(unit_of, minlength=len(units))))
    unit_line = lines[np.argsort(unit_of, kind="stable")]
    refs = merging.footprint_units(*where, code, unit, len(units))
    tile_offset, ref_unit, codes = merging.unroll(trace.tile_offset, footprint, *refs)
    ref_issue = (codes[:0] if issue is None else codes >> 6).astype(np.uint8)
    ref_code = (codes & 63).astype(np.uint8)
    return ReferenceStream(
        tile_offset, ref_unit, ref_code, unit_offset, unit_line + np.int32(lowest), ref_issue,
        trace.tile_arithmetic, trace.program, trace.turn, trace.waves,
    )  # fmt: skip


def _issue(trace: Trace) -> UInt8Array | None:
    """What `ref_issue` holds, for every line of every shape; None if all are aligned."""
    if trace.shape_passes is None or trace.shape_late is None or (trace.shape_passes == 1).all():
        return None
    return (np.log2(trace.shape_passes).astype(np.uint8) << 4 | trace.shape_late).astype(np.uint8)


def _line_range(trace: Trace) -> tuple[int, int]:
    """The lowest line number that any access touches, and the one after the greatest."""
    if not len(trace.access_base):
        return 0, 0
    offsets = zip(trace.shape_offset[:-1], trace.shape_offset[1:], strict=True)
    shapes = [trace.shape_line[begin:end] for begin, end in offsets]
    lowest = np.array([lines.min(initial=0) for lines in shapes], np.int64)
    highest = np.array([lines.max(initial=0) for lines in shapes], np.int64)
    base, shape = trace.access_base, trace.access_shape
    return int((base + lowest[shape]).min()), int((base + highest[shape]).max()) + 1


def shared_lines(trace: Trace, after: Int64Array) -> dict[int, float]:
    """By segment, the share of a tile's lines that its neighbour touches, too; 0 to 1.

    Args:
        trace: of a launch.
        after: int64[tiles]; the neighbour of each tile, -1 = it has none.
    """
    stream = stream_of(trace)
    touches = stream.touches
    inner = after[touches.tile] >= 0
    if not inner.any():
        return {}
    pairs = touches.unit * trace.tiles + touches.tile
    wanted = touches.unit[inner] * trace.tiles + after[touches.tile[inner]]
    at = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    lines = touches.lines[inner]
    segment = trace.segment_of(stream.unit_line[stream.unit_offset[:-1]])[touches.unit[inner]]
    found = np.bincount(segment, lines * (pairs[at] == wanted), len(trace.segments))
    every = np.bincount(segment, lines, len(trace.segments))
    numbers = np.flatnonzero(every).tolist()
    return {number: float(found[number] / every[number]) for number in numbers}


def l2_sets(stream: ReferenceStream, target: Target) -> Int32Array:
    """The set of each line of `stream.unit_line`, counted over all channels: int32[lines].

    Computed once for each layout of sets and kept with the stream, 4 bytes per line.
    """
    from intelliperf_swizzle.cache.compiled.lines import sets_of

    channel_bits, set_bits = target.l2_channel_bits, target.l2_set_bits
    counts = target.l2_channels_per_xcd, target.l2_sets_per_channel
    layout = channel_bits, set_bits, *counts
    if layout not in stream.sets:
        masks = _masks(channel_bits), _masks(set_bits)
        stream.sets[layout] = sets_of(stream.unit_line, *masks, *counts)
    return stream.sets[layout]


def l2_parts(stream: ReferenceStream, target: Target) -> tuple[Int32Array, int]:
    """The part of the L2 of each line of `stream.unit_line`, and how many there are.

    Sets if the target does not hash them, else channels; one if it hashes these, too.
    """
    if target.l2_channel_bits is None:
        return np.zeros(len(stream.unit_line), np.int32), 1
    sets = l2_sets(stream, target)
    if target.l2_set_bits is None:
        return sets // np.int32(target.l2_sets_per_channel), target.l2_channels_per_xcd
    return sets, target.l2_channels_per_xcd * target.l2_sets_per_channel


def _masks(rule: BitRule | None) -> Int64Array:
    return np.array([sum(1 << bit for bit in bits) for bits in rule or ()], np.int64)
