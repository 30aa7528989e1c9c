# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the picture of a run is drawn from: tiles, counted down to a few cells; and its tensors.

A picture of every tenth tile would lie: dealt out by eights, tiles 0, 8, 16, … all lie on one XCD.
So a cell of a large grid is all of its tiles, with the domain that runs most of them and how many
that are; beside it the first tiles are drawn one by one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from intelliperf_swizzle import records
from intelliperf_swizzle.cache.stream import ReferenceStream, shared_lines, stream_of
from intelliperf_swizzle.hardware import Target

MOST_CELLS = 64
"""Cells across and down of a picture: 4 kB of result file each, and still some pixels a cell."""

DETAIL_TILES = 24
"""Tiles across and down that are drawn one by one where a cell is more than a tile."""

MOST_TENSORS = 24

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
NOTHING = "."


def picture(
    launch: records.Launch,
    trace: records.Trace,
    target: Target,
    *,
    occupancy: int,
    tile: records.Int64Array | None,
    columns: int | None = None,
) -> records.Picture:
    """Counts what there is to see of a launch, before and after.

    Args:
        launch: the kernel's largest launch.
        trace: of that launch.
        target: the GPU.
        occupancy: workgroups on one CU.
        tile: int64[programs]; launch index -> tile of the best swizzle, None if there is none.
        columns: how many tiles of a flat grid lie in a row, where that can be guessed.

    Cost: linear in tiles and, up to `cache.stream.MOST_REFERENCES`, in references.
    """
    shown = _slice(launch, trace, columns)
    workgroups = target.cus_per_xcd * occupancy
    orders = [_Schedule.of(trace, np.arange(trace.tiles), target, workgroups)]
    orders += [] if tile is None else [_Schedule.of(trace, tile, target, workgroups)]
    return records.Picture(
        domains=target.num_xcds,
        workgroups_per_domain=workgroups,
        tiles=_tile_pictures(shown, orders, target.num_xcds),
        tensors=_tensor_pictures(trace, orders, shown),
        sampled=stream_of(trace).touches.step > 1,
    )


@dataclass(frozen=True)
class _Schedule:
    """Where each tile runs.

    Attributes:
        domain: int64[tiles].
        first_wave: bool[tiles]; whether it is among the first workgroups resident on domain 0.
    """

    domain: records.Int64Array
    first_wave: NDArray[np.bool_]

    @classmethod
    def of(
        cls, trace: records.Trace, tile: records.Int64Array, target: Target, workgroups: int
    ) -> "_Schedule":
        domain, in_turn = np.empty(len(tile), np.int64), tile[trace.rounds]
        domain[tile] = target.domain_of(trace.runs_in)
        first_wave = np.zeros(len(tile), np.bool_)
        first_wave[in_turn[domain[in_turn] == 0][:workgroups]] = True
        return cls(domain, first_wave)


# --- where tiles are drawn ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Slice:
    """A rectangle of tiles, and the number of the tile at each place (-1 = none): int64[y, x].

    `neighbours`: whether rows and columns mean something to the kernel.
    """

    title: str
    tile: records.Int64Array
    neighbours: bool = True


def _slice(launch: records.Launch, trace: records.Trace, columns: int | None) -> _Slice:
    x, y, z = launch.numbers
    numbers = np.arange(trace.tiles)
    if y == z == 1:
        return _flat(launch, trace, columns)
    if z == 1:
        return _Slice("pid_0 across, pid_1 down", numbers.reshape(y, x))
    if y == 1:
        return _Slice("pid_0 across, pid_2 down", numbers.reshape(z, x))
    return _Slice("pid_0 across, pid_1 down, pid_2 = 0", numbers.reshape(z, y, x)[0])


def _flat(launch: records.Launch, trace: records.Trace, columns: int | None) -> _Slice:
    """A flat grid: each tile where it writes, if that fills a rectangle, else row after row."""
    placed = _place_by_writes(launch, trace)
    if placed is not None:
        return placed
    across = columns or math.isqrt(trace.tiles - 1) + 1
    down = -(-trace.tiles // across)
    tile = np.full(down * across, -1, np.int64)
    tile[: trace.tiles] = np.arange(trace.tiles)
    return _Slice(f"numbered, {across} per row", tile.reshape(down, across), neighbours=False)


def _place_by_writes(launch: records.Launch, trace: records.Trace) -> _Slice | None:
    """Tiles by the row and column of all that each writes in a tensor of rows.

    A place for every store, with the program that makes it, as persistent kernels make several.
    Where that is no rectangle, by the first that each makes.
    """
    writes = np.flatnonzero(trace.shape_kind[trace.access_shape] == records.Access.WRITE)
    tile = np.searchsorted(trace.tile_offset, writes, side="right") - 1
    _, first = np.unique(tile, return_index=True)
    if len(first) != trace.tiles:
        return None
    return _place(launch, trace, tile, writes) or _place(launch, trace, tile[first], writes[first])


def _place(
    launch: records.Launch,
    trace: records.Trace,
    tile: records.Int64Array,
    writes: records.Int64Array,
) -> _Slice | None:
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
    first = np.log2(np.maximum(sectors & -sectors, 1)).astype(np.int64)
    place = (line - segment.first_line) * records.LINE_BYTES + first * records.SECTOR_BYTES
    row, column = np.divmod(place, row_bytes)
    rows, row = np.unique(row, return_inverse=True)
    columns, column = np.unique(column, return_inverse=True)
    across, neighbours = len(columns), True
    if len(rows) * across != len(tile):
        return None
    title = f"tiles placed where they write {' '.join(segment.names)}"
    if min(len(rows), across) == 1:
        across, neighbours = min(MOST_CELLS, len(tile)), False
        title += f", {across} per row"
    placed = np.full((-(-len(tile) // across), across), -1, np.int64)
    place = row * len(columns) + column
    placed.flat[place] = tile
    if len(np.unique(place)) != len(tile):
        return None
    return _Slice(title, placed, neighbours)


# --- pictures of tiles --------------------------------------------------------------------------


def _tile_pictures(
    slice_: _Slice, orders: Sequence[_Schedule], num_domains: int
) -> tuple[records.TilePicture, ...]:
    """The whole slice, and the first tiles one by one where its cells are more than a tile."""
    down, across = slice_.tile.shape
    cell = (-(-across // MOST_CELLS), -(-down // MOST_CELLS))
    shown = [(slice_, cell)]
    if cell != (1, 1):
        detail = slice_.tile[:DETAIL_TILES, :DETAIL_TILES]
        shown.append((_Slice(f"{slice_.title}; the first", detail), (1, 1)))
    return tuple(
        records.TilePicture(
            title=part.title,
            tiles=(part.tile.shape[1], part.tile.shape[0]),
            tiles_per_cell=size,
            before=_placement(part.tile, size, orders[0], num_domains),
            after=None if len(orders) == 1 else _placement(part.tile, size, orders[1], num_domains),
        )
        for part, size in shown
    )


def _placement(
    tile: records.Int64Array, tiles_per_cell: tuple[int, int], order: _Schedule, num_domains: int
) -> records.Placement:
    width, height = tiles_per_cell
    shape = (-(-tile.shape[0] // height), -(-tile.shape[1] // width))
    rows, columns = np.arange(tile.shape[0]) // height, np.arange(tile.shape[1]) // width
    cell = (rows[:, None] * shape[1] + columns)[tile >= 0]
    present = tile[tile >= 0]
    cells = shape[0] * shape[1]
    where = cell * num_domains + order.domain[present]
    counts = np.bincount(where, minlength=cells * num_domains).reshape(cells, num_domains)
    tiles = counts.sum(axis=1)
    share = counts.max(axis=1) / np.maximum(tiles, 1)
    nothing = tiles == 0
    return records.Placement(
        domain=_raster(counts.argmax(axis=1), nothing, shape),
        share=_raster(np.rint(35 * share), nothing, shape),
        neighbours_together=(_together(tile, order.domain, 1), _together(tile, order.domain, 0)),
    )


def _together(tile: records.Int64Array, domain: records.Int64Array, axis: int) -> float | None:
    """Of the tiles that are neighbours along an axis, the share that run on one domain."""
    first, second = _neighbours(tile, axis)
    return float((domain[first] == domain[second]).mean()) if len(first) else None


def _neighbours(place: records.Int64Array, axis: int) -> tuple[records.Int64Array, ...]:
    """The tiles that have a neighbour, and that: along axis 1 to the right, along 0 below."""
    first, second = (place[:, :-1], place[:, 1:]) if axis else (place[:-1], place[1:])
    both = (first >= 0) & (second >= 0)
    return first[both], second[both]


def _raster(
    values: NDArray[np.generic], nothing: NDArray[np.bool_], shape: tuple[int, int]
) -> records.Raster:
    alphabet = np.array(list(DIGITS + NOTHING))
    digits = np.where(nothing, len(DIGITS), np.minimum(values.astype(np.int64), len(DIGITS) - 1))
    return tuple("".join(row) for row in alphabet[digits].reshape(shape).tolist())


# --- pictures of tensors ------------------------------------------------------------------------


def _tensor_pictures(
    trace: records.Trace, orders: Sequence[_Schedule], shown: _Slice
) -> tuple[records.TensorPicture, ...]:
    stream = stream_of(trace)
    segment_of = trace.segment_of(stream.unit_line[stream.unit_offset[:-1]])
    touched = np.bincount(segment_of[stream.touches.unit], stream.touches.lines)
    largest = np.argsort(-touched, kind="stable")[:MOST_TENSORS]
    shared = [_sharing(trace, shown.tile, axis) if shown.neighbours else {} for axis in (1, 0)]
    return tuple(
        replace(
            _tensor_picture(trace.segments[number], stream, segment_of == number, orders),
            shared=(shared[0].get(number), shared[1].get(number)),
        )
        for number in largest.tolist()
        if touched[number]
    )


def _sharing(trace: records.Trace, place: records.Int64Array, axis: int) -> dict[int, float]:
    """By segment, the share of a tile's lines that its neighbour touches, too.

    Args:
        trace: of the launch.
        place: int64[rows, columns]; the tile that lies there, -1 = none.
        axis: 1 the neighbour to the right, 0 the one below.
    """
    first, second = _neighbours(place, axis)
    after = np.full(trace.tiles, -1, np.int64)
    after[first] = second
    return shared_lines(trace, after)


def _tensor_picture(
    segment: records.Segment,
    stream: ReferenceStream,
    units: NDArray[np.bool_],
    orders: Sequence[_Schedule],
) -> records.TensorPicture:
    touches = stream.touches.only(units)
    before, *after = (
        records.TensorAccess(
            domains_per_line=touches.domains_per_line(order.domain),
            wave_bytes=touches.distinct_lines(order.first_wave[touches.tile]) * records.LINE_BYTES,
        )
        for order in orders
    )
    return records.TensorPicture(
        names=segment.names,
        tiles_per_line=touches.tiles_per_line,
        before=before,
        after=after[0] if after else None,
    )


def _row_bytes(launch: records.Launch, segment: records.Segment) -> int | None:
    """Bytes from one row of a tensor to the next; None if it has no rows."""
    tensor = next((tensor for name, tensor in launch.tensors() if name in segment.names), None)
    if tensor is None:
        return None
    axes = zip(tensor.strides, tensor.shape, strict=True)
    strides = sorted({stride for stride, size in axes if size > 1 and stride > 1})
    return strides[0] * tensor.item_bytes if strides else None
