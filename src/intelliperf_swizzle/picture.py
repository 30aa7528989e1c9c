# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the pictures of a run are drawn from: tiles and tensors, counted down to a few cells.

A picture of every tenth tile would lie: dealt out by eights, tiles 0, 8, 16, … all lie on one XCD.
So a cell of a large grid is all of its tiles, with the domain that runs most of them and how many
that are; beside it the first tiles are drawn one by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from intelliperf_swizzle.cache.stream import one_of_each, shared_lines, stream_of
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import (
    LINE_BYTES,
    SECTOR_BYTES,
    Access,
    DescriptorArgument,
    Int32Array,
    Int64Array,
    Launch,
    Picture,
    Placement,
    Raster,
    Segment,
    TensorAccess,
    TensorArgument,
    TensorPicture,
    TilePicture,
    Trace,
)

MOST_CELLS = 64
"""Cells across and down of a picture: 4 kB of result file each, and still some pixels a cell."""

DETAIL_TILES = 16
"""Tiles across and down that are drawn one by one where a cell is more than a tile."""

TENSOR_CELLS = 32
"""Cells across and down of a tensor's map."""

MOST_SLICES = 4
MOST_TENSORS = 24

MOST_LINES = 8_000_000
"""Lines that the maps of tensors are counted from; of more, one of each k of a large tensor."""

WHOLE_LINES = 100_000
"""Lines of a tensor that is never sampled: 100 a cell."""

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
NOTHING = "."


def picture(
    launch: Launch,
    trace: Trace,
    target: Target,
    *,
    occupancy: int,
    tile: Int64Array | None,
    columns: int | None = None,
) -> Picture:
    """Counts what there is to see of a launch, before and after.

    Args:
        launch: the kernel's largest launch.
        trace: of that launch.
        target: the GPU.
        occupancy: workgroups on one CU.
        tile: int64[programs]; launch index -> tile of the best swizzle, None where there is none.
        columns: how many tiles of a flat grid lie in a row, where that can be guessed.

    Cost: linear in tiles and, up to `cache.stream.MOST_REFERENCES`, in references.
    """
    unchanged = np.arange(trace.tiles)
    slices = _slices(launch, trace, columns)
    workgroups = target.cus_per_xcd * occupancy
    orders = [
        _Schedule.of(trace, one, target, workgroups)
        for one in ([unchanged] if tile is None else [unchanged, tile])
    ]
    return Picture(
        domains=target.num_xcds,
        workgroups_per_domain=workgroups,
        l2_bytes_per_domain=target.l2_bytes_per_xcd,
        tiles=tuple(
            shown for slice_ in slices for shown in _tile_pictures(slice_, orders, target.num_xcds)
        ),
        tensors=_tensor_pictures(launch, trace, orders, target.num_xcds, slices[0]),
        sampled=stream_of(trace).touches.step > 1,
    )


@dataclass(frozen=True)
class _Schedule:
    """Where and when each tile runs.

    Attributes:
        index: int64[tiles]; its launch index, or when its program in a loop comes to it.
        domain: int64[tiles].
        first_wave: bool[tiles]; whether it is among the first workgroups resident on domain 0.
    """

    index: Int64Array
    domain: Int64Array
    first_wave: NDArray[np.bool_]

    @classmethod
    def of(cls, trace: Trace, tile: Int64Array, target: Target, workgroups: int) -> _Schedule:
        index, domain = np.empty(len(tile), np.int64), np.empty(len(tile), np.int64)
        in_turn = tile[trace.rounds]
        index[in_turn] = np.arange(len(tile))
        domain[tile] = target.domain_of(trace.runs_in)
        first_wave = np.zeros(len(tile), np.bool_)
        first_wave[in_turn[domain[in_turn] == 0][:workgroups]] = True
        return cls(index, domain, first_wave)


# --- where tiles are drawn ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Slice:
    """A rectangle of tiles, and the number of the tile at each place (-1 = none): int64[y, x].

    `neighbours`: whether rows and columns mean something to the kernel.
    """

    title: str
    tile: Int64Array
    neighbours: bool = True


def _slices(launch: Launch, trace: Trace, columns: int | None) -> list[_Slice]:
    x, y, z = launch.grid
    numbers = np.arange(trace.tiles)
    if y == z == 1:
        return [_flat(launch, trace, columns)]
    if z == 1:
        return [_Slice("pid_0 across, pid_1 down", numbers.reshape(y, x))]
    if y == 1:
        return [_Slice("pid_0 across, pid_2 down", numbers.reshape(z, x))]
    chosen = sorted({round(i * (z - 1) / (MOST_SLICES - 1)) for i in range(MOST_SLICES)})
    cube = numbers.reshape(z, y, x)
    return [_Slice(f"pid_0 across, pid_1 down, pid_2 = {k}", cube[k]) for k in chosen]


def _flat(launch: Launch, trace: Trace, columns: int | None) -> _Slice:
    """A flat grid: each tile where it writes, if that fills a rectangle, else row after row."""
    placed = _placed_by_writes(launch, trace)
    if placed is not None:
        return placed
    across = columns or math.isqrt(trace.tiles - 1) + 1
    down = -(-trace.tiles // across)
    tile = np.full(down * across, -1, np.int64)
    tile[: trace.tiles] = np.arange(trace.tiles)
    return _Slice(f"by number, {across} in a row", tile.reshape(down, across), neighbours=False)


def _placed_by_writes(launch: Launch, trace: Trace) -> _Slice | None:
    """Tiles by the row and column of all that each writes in a tensor of rows.

    A place for every store, with the program that makes it, as persistent kernels make several.
    Where that is no rectangle, by the first that each makes.
    """
    writes = np.flatnonzero(trace.shape_kind[trace.access_shape] == Access.WRITE)
    tile = np.searchsorted(trace.tile_offset, writes, side="right") - 1
    _, first = np.unique(tile, return_index=True)
    if len(first) != trace.tiles:
        return None
    return _placed(launch, trace, tile, writes) or _placed(
        launch, trace, tile[first], writes[first]
    )


def _placed(launch: Launch, trace: Trace, tile: Int64Array, writes: Int64Array) -> _Slice | None:
    """Each tile where it makes these writes; None unless they fill a rectangle."""
    line = trace.access_base[writes].astype(np.int64)
    segments = np.unique(trace.segment_of(line))
    if len(segments) != 1:
        return None
    segment = trace.segments[int(segments[0])]
    row_bytes = _row_bytes(launch, segment)
    if row_bytes is None:
        return None
    sectors = trace.shape_sectors[trace.shape_offset[trace.access_shape[writes]]].astype(np.int64)
    begin = SECTOR_BYTES * np.round(np.log2(np.maximum(sectors & -sectors, 1))).astype(np.int64)
    row, column = np.divmod((line - segment.first_line) * LINE_BYTES + begin, row_bytes)
    rows, row = np.unique(row, return_inverse=True)
    columns, column = np.unique(column, return_inverse=True)
    across, neighbours = len(columns), True
    if len(rows) * across != len(tile):
        return None
    title = f"each tile where it writes {' '.join(segment.names)}"
    if min(len(rows), across) == 1:
        across, neighbours = min(MOST_CELLS, len(tile)), False
        title += f", {across} in a row"
    placed = np.full((-(-len(tile) // across), across), -1, np.int64)
    place = row * len(columns) + column
    placed.flat[place] = tile
    if len(np.unique(place)) != len(tile):
        return None
    return _Slice(title, placed, neighbours)


# --- pictures of tiles --------------------------------------------------------------------------


def _tile_pictures(
    slice_: _Slice, orders: Sequence[_Schedule], num_domains: int
) -> list[TilePicture]:
    """The whole slice, and the first tiles one by one where its cells are more than a tile."""
    down, across = slice_.tile.shape
    cell = (-(-across // MOST_CELLS), -(-down // MOST_CELLS))
    shown = [(slice_, cell)]
    if cell != (1, 1):
        detail = slice_.tile[:DETAIL_TILES, :DETAIL_TILES]
        shown.append((_Slice(f"{slice_.title}: the first tiles one by one", detail), (1, 1)))
    return [
        TilePicture(
            title=one.title,
            tiles=(one.tile.shape[1], one.tile.shape[0]),
            tiles_per_cell=size,
            before=_placement(one.tile, size, orders[0], num_domains),
            after=None if len(orders) == 1 else _placement(one.tile, size, orders[1], num_domains),
        )
        for one, size in shown
    ]


def _placement(
    tile: Int64Array, tiles_per_cell: tuple[int, int], order: _Schedule, num_domains: int
) -> Placement:
    width, height = tiles_per_cell
    shape = (-(-tile.shape[0] // height), -(-tile.shape[1] // width))
    rows, columns = np.arange(tile.shape[0]) // height, np.arange(tile.shape[1]) // width
    cell = (rows[:, None] * shape[1] + columns)[tile >= 0]
    present = tile[tile >= 0]
    cells = shape[0] * shape[1]
    counts = np.bincount(
        cell * num_domains + order.domain[present], minlength=cells * num_domains
    ).reshape(cells, num_domains)
    tiles = counts.sum(axis=1)
    index = order.index[present]
    mean_index = np.bincount(cell, index, cells) / np.maximum(tiles, 1)
    time = (mean_index - index.min()) / max(1, index.max() - index.min())
    share = counts.max(axis=1) / np.maximum(tiles, 1)
    nothing = tiles == 0
    return Placement(
        domain=_raster(counts.argmax(axis=1), nothing, shape),
        share=_raster(np.rint(35 * share), nothing, shape),
        time=_raster(np.rint(35 * time), nothing, shape),
        neighbours_together=(_together(tile, order.domain, 1), _together(tile, order.domain, 0)),
    )


def _together(tile: Int64Array, domain: Int64Array, axis: int) -> float | None:
    """Of the tiles that are neighbours along an axis, the share that run on one domain."""
    one, other = (tile[:, :-1], tile[:, 1:]) if axis else (tile[:-1], tile[1:])
    pairs = (one >= 0) & (other >= 0)
    if not pairs.any():
        return None
    return float((domain[one[pairs]] == domain[other[pairs]]).mean())


def _raster(
    values: NDArray[np.generic], nothing: NDArray[np.bool_], shape: tuple[int, int]
) -> Raster:
    alphabet = np.array(list(DIGITS + NOTHING))
    digits = np.where(nothing, len(DIGITS), np.minimum(values.astype(np.int64), len(DIGITS) - 1))
    return tuple("".join(row) for row in alphabet[digits].reshape(shape).tolist())


# --- pictures of tensors ------------------------------------------------------------------------


def _tensor_pictures(
    launch: Launch, trace: Trace, orders: Sequence[_Schedule], num_domains: int, shown: _Slice
) -> tuple[TensorPicture, ...]:
    lines = _lines(trace, orders, num_domains)
    segment_of = trace.segment_of(lines.line)
    numbers = np.bincount(segment_of, minlength=len(trace.segments))
    largest = np.argsort(-numbers, kind="stable")[:MOST_TENSORS]
    shared = [_shared(trace, shown.tile, axis) if shown.neighbours else {} for axis in (1, 0)]
    return tuple(
        replace(
            _tensor_picture(launch, trace.segments[number], lines.only(segment_of == number)),
            shared=(shared[0].get(number), shared[1].get(number)),
        )
        for number in largest.tolist()
        if numbers[number]
    )


def _shared(trace: Trace, place: Int64Array, axis: int) -> dict[int, float]:
    """By segment, the share of a tile's lines that the next one along an axis touches, too."""
    one, other = (place[:, :-1], place[:, 1:]) if axis else (place[:-1], place[1:])
    both = (one >= 0) & (other >= 0)
    after = np.full(trace.tiles, -1, np.int64)
    after[one[both]] = other[both]
    return shared_lines(trace, after)


@dataclass(frozen=True)
class _UsedLines:
    """The lines that are drawn, an entry each.

    Where the touches are sampled, a line has those of the last sampled unit before it.

    Attributes:
        step: of how many lines of a large tensor one is drawn.
        line: int32[lines]; numbers.
        tiles: int64[lines]; how many tiles use it.
        read: bool[lines].
        written: bool[lines].
        reach: of each order, int64[lines]: on how many domains it is used.
        wave: of each order, bool[lines]: whether the first wave of domain 0 uses it.
    """

    step: int
    line: Int32Array
    tiles: Int64Array
    read: NDArray[np.bool_]
    written: NDArray[np.bool_]
    reach: tuple[Int64Array, ...]
    wave: tuple[NDArray[np.bool_], ...]

    def only(self, chosen: NDArray[np.bool_]) -> _UsedLines:
        return _UsedLines(
            self.step,
            self.line[chosen],
            self.tiles[chosen],
            self.read[chosen],
            self.written[chosen],
            tuple(reach[chosen] for reach in self.reach),
            tuple(wave[chosen] for wave in self.wave),
        )


def _lines(trace: Trace, orders: Sequence[_Schedule], num_domains: int) -> _UsedLines:
    stream = stream_of(trace)
    touches = stream.touches
    line = stream.unit_line
    step = -(-len(line) // MOST_LINES) or 1
    chosen = one_of_each(step, line)
    for segment in trace.segments if step > 1 else ():
        if _is_whole(segment):
            end = segment.first_line + -(-segment.bytes // LINE_BYTES)
            chosen |= (line >= segment.first_line) & (line < end)
    unit = np.repeat(np.arange(stream.units, dtype=np.int32), stream.unit_lines)[chosen]
    sampled = np.unique(touches.unit)
    at = sampled[np.maximum(np.searchsorted(sampled, unit, side="right") - 1, 0)]

    def touched(where: NDArray[np.bool_]) -> NDArray[np.bool_]:
        units = np.zeros(stream.units, np.bool_)
        units[touches.unit[where]] = True
        return units

    def reach(domain: Int64Array) -> Int64Array:
        units = np.zeros(stream.units, np.int64)
        for number in range(num_domains):
            units += touched(domain == number)
        return units

    return _UsedLines(
        step=step,
        line=line[chosen],
        tiles=np.bincount(touches.unit, minlength=stream.units)[at],
        read=(touches.kinds[:, [Access.READ, Access.ATOMIC]].sum(axis=1) > 0)[unit],
        written=(touches.kinds[:, [Access.WRITE, Access.ATOMIC]].sum(axis=1) > 0)[unit],
        reach=tuple(reach(order.domain[touches.tile])[at] for order in orders),
        wave=tuple(touched(order.first_wave[touches.tile])[at] for order in orders),
    )


def _is_whole(segment: Segment) -> bool:
    return segment.bytes <= WHOLE_LINES * LINE_BYTES


def _tensor_picture(launch: Launch, segment: Segment, lines: _UsedLines) -> TensorPicture:
    read, written = bool(lines.read.any()), bool(lines.written.any())
    before, *after = (
        _access(launch, segment, lines, reach, wave)
        for reach, wave in zip(lines.reach, lines.wave, strict=True)
    )
    return TensorPicture(
        names=segment.names,
        shape=_shape(launch, segment),
        bytes=segment.bytes,
        use="read and written" if read and written else "written" if written else "read",
        tiles_per_line=float(lines.tiles.mean()),
        before=before,
        after=after[0] if after else None,
    )


def _access(
    launch: Launch, segment: Segment, lines: _UsedLines, reach: Int64Array, wave: NDArray[np.bool_]
) -> TensorAccess:
    all_lines = -(-segment.bytes // LINE_BYTES)
    per_row = -(-(_row_bytes(launch, segment) or 0) // LINE_BYTES)
    if not 1 < per_row < all_lines:
        per_row = math.isqrt(max(0, all_lines - 1)) + 1
    row, column = np.divmod(lines.line.astype(np.int64) - segment.first_line, per_row)
    rows = -(-all_lines // per_row)
    shape = (min(rows, TENSOR_CELLS), min(per_row, TENSOR_CELLS))
    cell = row * shape[0] // rows * shape[1] + column * shape[1] // per_row
    used = np.bincount(cell, minlength=shape[0] * shape[1])

    def means(values: NDArray[np.generic]) -> NDArray[np.float64]:
        return np.bincount(cell, values, len(used)) / np.maximum(used, 1)

    return TensorAccess(
        domains_per_line=float(reach.mean()),
        wave_bytes=int(wave.sum()) * (1 if _is_whole(segment) else lines.step) * LINE_BYTES,
        domains=_raster(np.rint(means(reach)), used == 0, shape),
        wave=_raster(np.rint(35 * means(wave)), used == 0, shape),
    )


# --- tensors ------------------------------------------------------------------------------------


def _tensor(launch: Launch, segment: Segment) -> TensorArgument | None:
    """The first of the arguments that lie in a segment."""
    for name in segment.names:
        argument = launch.arguments.get(name)
        if isinstance(argument, DescriptorArgument):
            return argument.base
        if isinstance(argument, TensorArgument):
            return argument
    return None


def _row_bytes(launch: Launch, segment: Segment) -> int | None:
    """Bytes from one row of a tensor to the next; None where it has no rows."""
    tensor = _tensor(launch, segment)
    if tensor is None:
        return None
    strides = sorted({stride for stride, size in zip(tensor.strides, tensor.shape, strict=True)
                      if size > 1 and stride > 1})  # fmt: skip
    bits = re.search(r"\d+", tensor.dtype)
    return strides[0] * max(1, int(bits[0]) // 8) if strides and bits else None


def _shape(launch: Launch, segment: Segment) -> str:
    tensor = _tensor(launch, segment)
    return f"{' × '.join(map(str, tensor.shape))} {tensor.dtype}" if tensor else ""
