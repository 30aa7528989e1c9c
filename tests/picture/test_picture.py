# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What pictures are drawn from, counted by hand and by brute force."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from pytest_mock import MockerFixture

from intelliperf_swizzle.cache import stream
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.picture import DETAIL_TILES, MOST_CELLS, picture
from intelliperf_swizzle.records import (
    LINE_BYTES,
    Grid,
    Int64Array,
    KernelSource,
    Launch,
    Segment,
    SourceFunction,
    TensorArgument,
    TileLoop,
    Trace,
)

TARGET = replace(load_target("mi300x"), cus_per_xcd=2)
CONTIGUOUS = parse("pid = pid % num_xcds * (num_pids // num_xcds) + pid // num_xcds")
"""Every XCD gets neighbouring tiles."""


def launch(grid: Grid, columns: int, rows: int) -> Launch:
    """A launch with an input and an output of so many lines in a row and so many rows."""
    source = KernelSource("k", {"k": SourceFunction("k", "/app.py", 1, "def k(): pass")})
    shape = (rows, columns * LINE_BYTES // 2)
    tensors = {
        name: TensorArgument(number, "fp16", shape, (shape[1], 1))
        for number, name in enumerate(("a", "c"))
    }
    return Launch("k", source, grid, tensors, (), {}, {})


def traced(grid: Grid, columns: int, rows: int, order: Int64Array) -> Trace:
    """Tile t reads a row's first line of `a` and writes line `order[t]` of `c`."""
    tiles = int(np.prod(grid))
    lines = columns * rows
    read = order // columns * columns
    return Trace(
        grid=grid,
        tile_offset=np.arange(tiles + 1) * 2,
        access_base=np.stack([read, lines + order], axis=1).ravel().astype(np.int32),
        access_shape=np.tile(np.array([0, 1], np.int32), tiles),
        shape_offset=np.array([0, 1, 2]),
        shape_line=np.zeros(2, np.int32),
        shape_sectors=np.full(2, 15, np.uint8),
        shape_kind=np.array([0, 1], np.uint8),
        segments=(
            Segment(("a",), 0, lines * LINE_BYTES),
            Segment(("c",), lines, lines * LINE_BYTES),
        ),
        method="batched",
    )


def swizzled(grid: Grid) -> Int64Array:
    return evaluate(CONTIGUOUS, grid, {}, num_xcds=8, cus_per_xcd=2)


def drawn(grid: Grid, tile: Int64Array | None = None, columns: int | None = None):
    """The picture of a launch whose tiles lie in the order of their numbers."""
    wide, high = grid[0], grid[1] * grid[2]
    tiles = wide * high
    return picture(
        launch(grid, wide, high), traced(grid, wide, high, np.arange(tiles)), TARGET,
        occupancy=1, tile=tile, columns=columns,
    )  # fmt: skip


def test_every_tile_of_a_small_grid_is_a_cell() -> None:
    grid = (16, 4, 1)
    [shown] = drawn(grid, swizzled(grid)).tiles
    assert (shown.tiles, shown.tiles_per_cell) == ((16, 4), (1, 1))
    assert shown.before.domain == ("0123456701234567",) * 4
    assert shown.after is not None
    assert shown.after.domain == (
        "0000000011111111", "2222222233333333", "4444444455555555", "6666666677777777",
    )  # fmt: skip
    assert set("".join(shown.before.share + shown.after.share)) == {"z"}
    assert shown.before.neighbours_together == (0.0, 1.0)
    assert shown.after.neighbours_together == (pytest.approx(14 / 15), 0.0)


def test_without_a_swizzle_there_is_no_after() -> None:
    made = drawn((16, 4, 1))
    assert made.tiles[0].after is None
    assert [tensor.after for tensor in made.tensors] == [None, None]


def test_a_cell_of_a_large_grid_is_all_of_its_tiles() -> None:
    grid = (300, 130, 1)
    tile = swizzled(grid)
    whole, detail = drawn(grid, tile).tiles
    width, height = whole.tiles_per_cell
    assert (width, height) == (5, 3)
    assert len(whole.before.domain) <= MOST_CELLS
    assert len(whole.before.domain[0]) <= MOST_CELLS
    index = np.empty(len(tile), np.int64)
    index[tile] = np.arange(len(tile))
    for launched, placement in ((np.arange(len(tile)), whole.before), (index, whole.after)):
        assert placement is not None
        for row, column in ((0, 0), (7, 31), (43, 59)):
            counts = Counter(
                int(launched[y * 300 + x]) % 8
                for y in range(row * height, min(130, (row + 1) * height))
                for x in range(column * width, (column + 1) * width)
            )
            most = max(counts.values())
            assert counts[int(placement.domain[row][column], 36)] == most
            assert int(placement.share[row][column], 36) == round(35 * most / counts.total())
    assert detail.tiles_per_cell == (1, 1)
    assert detail.tiles == (DETAIL_TILES, DETAIL_TILES)
    assert detail.before.domain[1] == 3 * "45670123"


@pytest.mark.long
def test_a_grid_of_millions_is_a_few_kilobytes() -> None:
    made = drawn((2048, 1024, 1), swizzled((2048, 1024, 1)))
    for shown in made.tiles:
        assert len(shown.before.domain) <= MOST_CELLS
        assert len(shown.before.domain[0]) <= MOST_CELLS


def test_of_a_grid_of_three_axes_the_first_slice_is_shown() -> None:
    [made] = drawn((8, 4, 10)).tiles
    assert (made.title[-9:], made.tiles) == ("pid_2 = 0", (8, 4))
    flat = drawn((8, 1, 10))
    assert [tile.tiles for tile in flat.tiles] == [(8, 10)]


def test_tiles_of_a_flat_grid_lie_where_they_write() -> None:
    order = np.arange(64).reshape(8, 8).T.ravel()  # down the columns
    made = picture(
        launch((64, 1, 1), 8, 8), traced((64, 1, 1), 8, 8, order), TARGET, occupancy=1, tile=None
    )
    [shown] = made.tiles
    assert shown.title == "tiles placed where they write c"
    assert shown.before.domain == tuple(str(row) * 8 for row in range(8))


@pytest.mark.parametrize(("columns", "across"), [(None, 8), (16, 16)])
def test_else_they_lie_row_by_row(columns: int | None, across: int) -> None:
    order = np.zeros(60, np.int64)  # all write one line
    made = picture(
        launch((60, 1, 1), 8, 8), traced((60, 1, 1), 8, 8, order), TARGET,
        occupancy=1, tile=None, columns=columns,
    )  # fmt: skip
    [shown] = made.tiles
    assert shown.title == f"numbered, {across} per row"
    assert "".join(shown.before.domain) == ("01234567" * 8)[:60] + "...."


def test_a_program_for_each_row_is_drawn_row_after_row() -> None:
    order = np.arange(100)
    shown = picture(
        launch((100, 1, 1), 8, 100), traced((100, 1, 1), 8, 100, 8 * order), TARGET,
        occupancy=1, tile=None, columns=4,
    )  # fmt: skip
    [tiles] = shown.tiles
    assert (tiles.title, tiles.tiles) == ("tiles placed where they write c, 64 per row", (64, 2))
    assert tiles.before.domain[0] == "01234567" * 8
    assert all(tensor.shared == (None, None) for tensor in shown.tensors)


def test_programs_that_compute_several_tiles_are_drawn_where_they_write() -> None:
    """Eight programs and 4 x 8 places: program p writes places p, p + 8, p + 16 and p + 24."""
    one = traced((32, 1, 1), 4, 8, np.arange(32).reshape(4, 8).T.ravel())
    persistent = replace(one, grid=(8, 1, 1), tile_offset=np.arange(9) * 8)
    shown = picture(launch((8, 1, 1), 4, 8), persistent, TARGET, occupancy=1, tile=None)
    [tiles] = shown.tiles
    assert tiles.tiles == (4, 8)
    assert tiles.before.domain == ("0123", "4567") * 4


def test_tiles_of_a_loop_are_drawn_by_number_on_any_grid() -> None:
    """Six programs on two axes take twenty tiles."""
    program, turn = np.arange(20, dtype=np.int32) % 6, np.arange(20, dtype=np.int32) // 6
    looped = replace(launch((3, 2, 1), 5, 4), loop=TileLoop(1, "tiles", (), program, turn))
    trace = traced((20, 1, 1), 5, 4, np.zeros(20, np.int64))
    [tiles] = picture(looped, trace, TARGET, occupancy=1, tile=None).tiles
    assert tiles.title == "numbered, 5 per row"


def test_tensors_say_on_how_many_domains_their_lines_are_used() -> None:
    grid = (16, 8, 1)
    tile = swizzled(grid)
    made = drawn(grid, tile)
    used = {tensor.names: tensor for tensor in made.tensors}
    a, c = used["a",], used["c",]
    assert (a.tiles_per_line, c.tiles_per_line) == (16, 1)
    assert (a.before.domains_per_line, c.before.domains_per_line) == (8, 1)
    assert a.after is not None
    assert a.after.domains_per_line == 1


def test_numbers_of_a_large_trace_are_estimates(mocker: MockerFixture) -> None:
    """Also where the rows are a power of two, as every second line would be every second column."""
    whole = drawn((16, 8, 1), swizzled((16, 8, 1)))
    mocker.patch.object(stream, "MOST_REFERENCES", 100)
    sampled = drawn((16, 8, 1), swizzled((16, 8, 1)))
    assert (whole.sampled, sampled.sampled) == (False, True)
    known = {tensor.names: tensor.before.domains_per_line for tensor in whole.tensors}
    assert {tensor.names: tensor.before.domains_per_line for tensor in sampled.tensors} == known


def test_tensors_say_which_neighbours_share_their_lines() -> None:
    shown = picture(
        launch((32, 1, 1), 4, 8), traced((32, 1, 1), 4, 8, np.arange(32)), TARGET,
        occupancy=1, tile=None,
    )  # fmt: skip
    assert {tensor.names: tensor.shared for tensor in shown.tensors} == {
        ("a",): (1, 0),
        ("c",): (0, 0),
    }


def test_the_first_wave_is_what_one_domain_holds_at_once() -> None:
    grid = (16, 8, 1)
    tile = swizzled(grid)
    made = drawn(grid, tile)
    assert made.workgroups_per_domain == 2
    for order, which in ((np.arange(128), "before"), (tile, "after")):
        first = [int(order[index]) for index in (0, 8)]  # launched on domain 0, in order
        for tensor in made.tensors:
            access = getattr(tensor, which)
            row_of = {shown_tile // 16 for shown_tile in first}
            lines = row_of if tensor.names == ("a",) else set(first)
            assert access.wave_bytes == len(lines) * LINE_BYTES


def test_a_kernel_that_touches_nothing_has_tiles_and_no_tensors() -> None:
    grid = (4, 4, 1)
    trace = replace(
        traced(grid, 4, 4, np.arange(16)),
        tile_offset=np.zeros(17, np.int64), access_base=np.zeros(0, np.int32),
        access_shape=np.zeros(0, np.int32), shape_offset=np.zeros(1, np.int64),
        shape_line=np.zeros(0, np.int32), shape_sectors=np.zeros(0, np.uint8),
        shape_kind=np.zeros(0, np.uint8), segments=(),
    )  # fmt: skip
    made = picture(launch(grid, 4, 4), trace, TARGET, occupancy=1, tile=None)
    assert made.tensors == ()
    assert made.tiles[0].before.domain == ("0123", "4567", "0123", "4567")
