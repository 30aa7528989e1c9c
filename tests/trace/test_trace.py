# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces equal, line for line and program by program, what Triton's own interpreter touches."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from pytest_mock import MockerFixture
from zoo import TRITON, Case, add, block_pointers, cases, record, route_by_score, source_of

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.tracing import trace, trace_each
from intelliperf_swizzle.records import Access, Launch, Storage, TensorArgument, Trace
from intelliperf_swizzle.trace import sharing
from intelliperf_swizzle.trace.shapes import touched_lines

ZOO = cases()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zoo")
    for interpreted in ("1", "0"):
        subprocess.run(
            [sys.executable, str(Path(__file__).with_name("zoo_child.py")), str(folder)],
            env={**os.environ, "TRITON_INTERPRET": interpreted},
            check=True,
        )
    return folder


def read(file: Path) -> Trace:
    found: Trace = pickle.loads(file.read_bytes())
    return found


@pytest.mark.parametrize("name", ZOO)
def test_a_trace_has_the_arithmetic_of_programs_run_one_by_one(runs: Path, name: str) -> None:
    found = read(runs / f"{name}.pickle").tile_arithmetic
    alone = np.array(json.loads((runs / "arithmetic.json").read_text())[name])
    if found is None:
        assert not alone.any()
    else:
        assert found.tolist() == alone.tolist()


def test_arithmetic_counted_by_hand(runs: Path) -> None:
    """Products of 32 x 32 x 32, one for each 32 of K; of causal attention the later the more."""
    gemm = read(runs / "gemm.pickle").tile_arithmetic
    assert gemm is not None
    assert gemm.tolist() == [[4, 4 * 2 * 32 * 32 * 32, 0]] * 64
    causal = read(runs / "causal_attention.pickle").tile_arithmetic
    assert causal is not None
    assert causal[:8, 0].tolist() == [2 * (block + 1) for block in range(8)]
    softmax = read(runs / "softmax.pickle").tile_arithmetic
    assert softmax is not None
    row = 512 * (1 + 16 + 16)  # a difference, an exponential and a quotient
    rows = [len(range(program, 301, 37)) for program in range(37)]
    assert softmax[:, 2].tolist() == [row * count for count in rows]


def test_made_up_launches_that_reach_outside_of_every_tensor_are_given_up(tmp_path: Path) -> None:
    names = ("add", "outside", "outside_one_by_one")
    launches = [record(ZOO[name], tmp_path / name) for name in names]
    assert trace(launches[1]).elements_outside > 0
    assert [made is None for made in trace_each(launches)] == [False, True, True]


def accesses(found: Trace, tile: int) -> list[Any]:
    """Kind, lines and sectors of each access of a tile."""
    listed = []
    for access in range(found.tile_offset[tile], found.tile_offset[tile + 1]):
        shape = found.access_shape[access]
        inside = slice(found.shape_offset[shape], found.shape_offset[shape + 1])
        lines = found.access_base[access] + found.shape_line[inside]
        listed.append(
            [int(found.shape_kind[shape]), lines.tolist(), found.shape_sectors[inside].tolist()]
        )
    return listed


@pytest.mark.parametrize("name", ZOO)
def test_a_trace_is_what_the_plain_interpreter_touches(runs: Path, name: str) -> None:
    found = read(runs / f"{name}.pickle")
    alone = json.loads((runs / f"{name}.alone.json").read_text())
    plain = runs / f"{name}.json"
    expected = json.loads(plain.read_text()) if plain.exists() else alone
    assert expected == alone
    assert found.tiles == len(expected) == np.prod(ZOO[name].grid)
    assert sum(len(program) for program in expected) > 0
    for tile in range(found.tiles):
        assert accesses(found, tile) == expected[tile]
        flat = [line for _, lines, _ in expected[tile] for line in lines]
        assert found.lines(tile).tolist() == flat


@pytest.mark.parametrize("name", ZOO)
def test_a_trace_records_its_method_and_what_programs_share(runs: Path, name: str) -> None:
    found = read(runs / f"{name}.pickle")
    case = ZOO[name]
    assert found.method == case.method
    assert found.waits == case.waits
    assert found.shared_writes == case.shared_writes
    assert found.order_matters == case.order_matters
    assert bool(found.notes) == (case.method == "sequential" or case.waits)
    assert (found.tiles_outside, found.elements_outside) == case.outside


def test_too_many_sectors_to_look_at_count_as_shared(runs: Path, mocker: MockerFixture) -> None:
    found = read(runs / "halo_cut_off.pickle")
    mocker.patch.object(sharing, "MOST_SECTORS", 1)
    assert sharing.shared_tensors(found, (), pytest.fail)[0] == ("o",)
    untouched = read(runs / "gemm.pickle")
    assert sharing.shared_tensors(untouched, (), pytest.fail)[0] == ()


def test_shapes_are_shared_and_normal(runs: Path) -> None:
    found = read(runs / "gemm.pickle")
    assert len(found.shape_kind) < 10
    assert (found.shape_line[found.shape_offset[:-1]] == 0).all()
    assert set(found.shape_kind) == {Access.READ, Access.WRITE}


def test_unaligned_accesses_take_several_instructions(runs: Path) -> None:
    """Tile 3 loads bytes 366 to 493: eight lanes, 16 bytes, are a thread's, two bytes at a time."""
    found = read(runs / "halo_of_halves.pickle")
    loads = [found.access_shape[found.tile_offset[tile]] for tile in (0, 3)]
    aligned, unaligned = (slice(*found.shape_offset[shape : shape + 2]) for shape in loads)
    assert found.shape_passes[aligned].tolist() == [1]
    assert found.shape_passes[unaligned].tolist() == [8, 8]
    assert found.shape_late[aligned].tolist() == [0]
    assert found.shape_late[unaligned].tolist() == [0, 0b1000]  # bytes 480 on: lane 57 is second


@pytest.mark.parametrize(
    ("first_byte", "item_bytes", "passes"), [(32, 2, 1), (36, 2, 4), (40, 2, 2), (36, 4, 4)]
)
def test_instructions_follow_from_alignment(first_byte: int, item_bytes: int, passes: int) -> None:
    addresses = first_byte + item_bytes * np.arange(8, dtype=np.int64)[None]
    _, _, mark = touched_lines(addresses, np.ones_like(addresses, np.bool_), item_bytes)
    assert 1 << (mark[0] >> 8) == passes


def test_lanes_that_lie_apart_are_separate_threads() -> None:
    addresses = 1000 * np.arange(8, dtype=np.int64)[None] + 6
    _, line, mark = touched_lines(addresses, np.ones_like(addresses, np.bool_), 2)
    assert len(line) == 8
    assert (mark < 16).all()


def test_storages_lie_apart_and_large_ones_at_two_mebibytes(tmp_path: Path) -> None:
    launch = replace(
        record(ZOO["add"], tmp_path),
        storages={0: Storage(3 << 20), 1: Storage(4000), 2: Storage(1 << 20)},
    )
    segments = trace(launch).segments
    assert [segment.names for segment in segments] == [("x",), ("y",), ("o",)]
    ends = [segment.first_line * 128 + segment.bytes for segment in segments]
    assert segments[0].first_line * 128 % (2 << 20) == 0
    assert segments[1].first_line * 128 % 512 == 0
    assert segments[2].first_line * 128 % (2 << 20) == 0
    assert all(segments[i + 1].first_line * 128 >= ends[i] for i in range(2))


def test_views_of_one_storage_share_its_lines(tmp_path: Path) -> None:
    launch = record(ZOO["add"], tmp_path)
    second = TensorArgument(0, "fp32", (1000,), (1,), offset_bytes=4096)
    launch = replace(
        launch,
        arguments={**launch.arguments, "y": second},
        storages={0: Storage(8192), 2: launch.storages[2]},
    )
    found = trace(launch)
    assert found.segments[0].names == ("x", "y")
    first_x, first_y = (int(accesses(found, 0)[i][1][0]) for i in (0, 1))
    assert first_y - first_x == 4096 // 128


def test_large_tensors_need_no_memory_and_no_contents(tmp_path: Path) -> None:
    size = 1 << 37
    launch = record(ZOO["add"], tmp_path)
    big = TensorArgument(0, "fp32", (size // 4,), (1,), size - 4096)
    launch = replace(
        launch,
        arguments={**launch.arguments, "x": big},
        storages={**launch.storages, 0: Storage(size)},
    )
    found = trace(launch)
    assert found.method == "batched"
    assert found.access_base.max() > 1 << 29
    assert found.line_accesses == trace(record(ZOO["add"], tmp_path)).line_accesses


def test_more_bytes_than_lines_can_be_numbered_are_refused(tmp_path: Path) -> None:
    launch = record(ZOO["add"], tmp_path)
    launch = replace(launch, storages={**launch.storages, 0: Storage(1 << 38)})
    with pytest.raises(TraceError, match="take more than 256 GiB"):
        trace(launch)


def test_addresses_that_hang_on_unrecorded_floats_are_refused(tmp_path: Path) -> None:
    case = replace(ZOO["route_by_score"], unrecorded=("scores",))
    with pytest.raises(TraceError, match="contents of scores were not recorded"):
        trace(record(case, tmp_path))


@triton.jit
def takes_minutes(x, times, BLOCK: tl.constexpr):  # noqa: N803
    for number in range(times):
        tl.store(x + tl.arange(0, BLOCK), number)


def test_a_kernel_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    arguments = {"x": np.zeros(16, np.int32), "times": 10**7, "BLOCK": 16}
    launch = record(Case(takes_minutes, (4, 1, 1), arguments), tmp_path)
    with pytest.raises(TraceError, match=r"took longer than 0\.2 s"):
        trace(launch, timeout_seconds=0.2)


@triton.jit
def waits_for_nobody(x, flag, BLOCK: tl.constexpr):  # noqa: N803
    while tl.load(flag, volatile=True) != 77:
        pass
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def test_a_program_that_waits_for_no_other_is_refused(tmp_path: Path) -> None:
    arguments = {"x": np.zeros(16, np.float32), "flag": np.zeros(1, np.int32), "BLOCK": 16}
    with pytest.raises(TraceError, match="waits, and no program is left"):
        trace(record(Case(waits_for_nobody, (4, 1, 1), arguments), tmp_path))


@triton.jit
def raises(x, BLOCK: tl.constexpr):  # noqa: N803
    tl.store(x + tl.arange(0, BLOCK), tl.arange(0, 2 * BLOCK))


def test_a_kernel_with_a_mistake_is_refused_with_the_compilers_words(tmp_path: Path) -> None:
    arguments = {"x": np.zeros(16, np.float32), "BLOCK": 16}
    with pytest.raises(TraceError, match=r"raises cannot be compiled: .*shape"):
        trace(record(Case(raises, (4, 1, 1), arguments), tmp_path))


def test_the_zoo_is_rendered_from_its_text(tmp_path: Path) -> None:
    assert set(source_of(add).functions) == {"add"}
    launch: Launch = record(ZOO["stream_k"], tmp_path)
    assert set(launch.source.functions) == {"stream_k", "_stream_k_tile"}
    assert route_by_score.fn.__name__ == ZOO["route_by_score"].kernel.fn.__name__


@pytest.mark.skipif(TRITON < (3, 9), reason="this Triton has block pointers")
def test_block_pointers_that_triton_has_removed_are_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"cannot be compiled: .*block"):
        trace(record(block_pointers(), tmp_path))
