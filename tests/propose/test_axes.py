# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the tiles of a launch may look like, guessed from its own sizes."""

from __future__ import annotations

from math import prod

import numpy as np

from intelliperf_swizzle.propose.nest import axis_choices, column_expressions, row_lengths
from intelliperf_swizzle.records import KernelSource, Launch, Segment, SourceFunction, Trace


def launch(grid: tuple[int, int, int], **constants: int) -> Launch:
    source = KernelSource("k", {"k": SourceFunction("k", "/k.py", 1, "def k(): pass")})
    constexprs = tuple(name for name in constants if name.startswith(("BLOCK", "GROUP")))
    return Launch("k", source, grid, constants, constexprs, {}, {})


GEMM = {"M": 4096, "N": 2048, "K": 8192, "BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64}


def test_a_flat_gemm_has_the_columns_of_its_sizes() -> None:
    square = {**GEMM, "N": 4096, "BLOCK_N": 128}
    assert [axis.expression for axis in column_expressions([launch((1024, 1, 1), **square)])] == [
        "cdiv(N, BLOCK_N)"
    ]


def test_each_choice_has_as_many_tiles_as_programs_and_the_last_is_flat() -> None:
    choices = axis_choices([launch((1024, 1, 1), **GEMM, GROUP_M=8)])
    assert len(choices) > 2
    for axes in choices:
        assert prod(axis.extent for axis in axes) == 1024
    assert [axis.expression for axis in choices[-1]] == ["num_pids"]


def test_a_group_constant_of_the_kernel_is_a_separate_axis() -> None:
    first = axis_choices([launch((1024, 1, 1), **GEMM, GROUP_M=8)])[0]
    assert [axis.extent for axis in first] == [4, 32, 8]


def test_the_programs_of_a_persistent_kernel_are_split_by_its_group_constant() -> None:
    stream_k = {"M": 8192, "N": 8192, "K": 8192, "BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 64}
    first = axis_choices([launch((304, 1, 1), **stream_k, GROUP_M=8)])[0]
    assert [(axis.expression, axis.extent) for axis in first] == [
        ("num_pids // GROUP_M", 38),
        ("GROUP_M", 8),
    ]


def test_a_grid_with_several_axes_stays_unchanged_slow_axis_first() -> None:
    [axes] = axis_choices([launch((16, 1, 3), **GEMM)])
    assert [(axis.expression, axis.extent) for axis in axes] == [("grid_2", 3), ("grid_0", 16)]


def test_the_largest_launch_decides() -> None:
    small, large = launch((8, 1, 1)), launch((8, 8, 1))
    assert len(axis_choices([small, large])[0]) == 2


def test_without_sizes_only_the_flat_grid_is_left() -> None:
    assert [len(axes) for axes in axis_choices([launch((1000, 1, 1), BLOCK=64)])] == [1]
    assert column_expressions([launch((1000, 1, 1), BLOCK=64)]) == []


def test_the_length_of_a_row_comes_from_the_trace_where_sizes_leave_a_choice() -> None:
    """20 rows of 4: a row's tiles read one line of A, a column's one of B, each writes its own."""
    moe = launch((80, 1, 1), num_n=4, N=512, K=640, BLOCK_N=128, BLOCK_K=64)
    assert [axis.extent for axis in column_expressions([moe])] == [10, 8]
    tile = np.arange(80)
    flat = np.stack((tile // 4, 100 + tile % 4, 200 + tile), axis=1).astype(np.int32).ravel()
    trace = Trace(
        grid=moe.grid,
        tile_offset=np.arange(81) * 3,
        access_base=flat,
        access_shape=(flat >= 200).astype(np.int32),
        shape_offset=np.array([0, 1, 2]),
        shape_line=np.zeros(2, np.int32),
        shape_sectors=np.full(2, 15, np.uint8),
        shape_kind=np.array([0, 1], np.uint8),
        segments=tuple(
            Segment((name,), at, 12800) for name, at in zip("abc", (0, 100, 200), strict=True)
        ),
        method="batched",
    )
    assert row_lengths(trace) == {4}
    assert [axis.extent for axis in column_expressions([moe], {4})] == [4]
    assert len(column_expressions([moe], {7})) == 2
