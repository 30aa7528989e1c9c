# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An edited kernel is the original with other numbers, or the first difference is reported."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from launches_by_hand import (
    CONTIGUOUS,
    gemm_launch,
    helper_launch,
    launch_of,
    transpose_launch,
    write_kernel,
)
from printed import compiled

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir.flow import asks_where_it_runs, check
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel
from intelliperf_swizzle.frontends.triton.ir.same import Renumbering, compare
from intelliperf_swizzle.frontends.triton.source import splice
from intelliperf_swizzle.frontends.triton.walk.scalars import Scalars
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import evaluate as evaluate_swizzle
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.records import Launch

TARGET = load_target("mi300x")
GUARDED = """
first = pid // (8 * cdiv(N, BLOCK)) * 8
pid = pid + 0 * first if num_pids % 3 == 0 else num_pids - 1 - pid
"""
TWICE = """
@triton.jit(noinline=True)
def apart(x, at):
    return tl.load(x + at + tl.program_id(0))


@triton.jit
def twice(x, y, n):
    row = tl.program_id(0)
    tl.store(y + row, apart(x, row) + apart(x, n))
"""


def kernels(launch: Launch, edits: Mapping[str, str]) -> tuple[Kernel, Kernel]:
    first, second = map(Kernel.parse, compiled([launch], {}, edits, raw=True))
    return first, second


@pytest.mark.parametrize("swizzle", [CONTIGUOUS, "pid = num_pids - 1 - pid", GUARDED])
def test_what_stands_for_a_number_computes_the_mapping(tmp_path: Path, swizzle: str) -> None:
    launch = gemm_launch(tmp_path)
    edit = splice(launch.source, parse(swizzle), target=TARGET, launches=[launch])
    original, edited = kernels(launch, edit.functions)
    found = compare(original, edited)
    assert isinstance(found, Renumbering), found
    [one] = found.stands
    programs = np.arange(launch.programs)
    computed = Scalars(launch, edited).value(one.value, programs)
    mapping = evaluate_swizzle(
        parse(swizzle), launch.grid, launch.constants, num_xcds=8, cus_per_xcd=38
    )
    assert np.array_equal(computed, mapping)


def test_a_number_has_32_bits_if_an_argument_has_64(tmp_path: Path) -> None:
    launch = gemm_launch(tmp_path)
    launch = replace(launch, arguments={**launch.arguments, "N": 1 << 33})
    turned = parse("pid = (pid + N) % num_pids")
    edit = splice(launch.source, turned, target=TARGET, launches=[launch])
    found = compare(*kernels(launch, edit.functions))
    assert isinstance(found, Renumbering), found


def test_each_axis_and_each_function_has_its_own(tmp_path: Path) -> None:
    launch = transpose_launch(tmp_path)
    edit = splice(launch.source, parse(CONTIGUOUS), target=TARGET, launches=[launch])
    found = compare(*kernels(launch, edit.functions))
    assert isinstance(found, Renumbering), found
    assert sorted(place.number for place in found.stands) == [0, 1]
    launch = helper_launch(tmp_path)
    edit = splice(launch.source, parse(CONTIGUOUS), target=TARGET, launches=[launch])
    original, edited = kernels(launch, edit.functions)
    found = compare(original, edited)
    assert isinstance(found, Renumbering), found
    [one] = found.stands
    assert one.function is not edited.entry


def test_functions_that_are_not_inlined_are_compared_too(tmp_path: Path) -> None:
    arguments = {"x": ("fp32", (16,)), "y": ("fp32", (16,)), "n": 7}
    launch = launch_of(write_kernel(tmp_path, TWICE), "twice", (4,), arguments)
    edit = splice(
        launch.source, parse("pid = num_pids - 1 - pid"), target=TARGET, launches=[launch]
    )
    found = compare(*kernels(launch, edit.functions))
    assert isinstance(found, Renumbering), found
    assert len(found.stands) == len(edit.functions) == 2
    [helper] = [key for key in edit.functions if key != launch.source.kernel]
    wrong = {**edit.functions, helper: edit.functions[helper].replace("x + at", "x + at + 1")}
    assert "`tt.addptr`" in str(compare(*kernels(launch, wrong)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    rows = pid_m", "    n = pid_n * BLOCK + tl.arange(0, BLOCK)\n    rows = pid_m"),
        ("group = GROUP", "seven, one = 7, 1.0\n    group = GROUP"),
        ("k = tl.arange", "ahead = rows[:, None] * K\n    k = tl.arange"),
    ],
)
def test_neither_the_order_of_what_computes_values_nor_its_block_is_a_difference(
    tmp_path: Path, old: str, new: str
) -> None:
    launch = gemm_launch(tmp_path)
    key, text = launch.source.kernel, launch.source.entry.text
    assert old in text
    other = text.replace(old, new)
    if "ahead = " in other:
        other = other.replace("a_ptr + rows[:, None] * K", "a_ptr + ahead")
    original, edited = kernels(launch, {key: other})
    found = compare(original, edited)
    assert isinstance(found, Renumbering), found
    [one] = found.stands
    [read] = [op for op in edited.ops() if op.name == "tt.get_program_id"]
    assert one.value in read.results


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("other=0.0", "other=1.0"),
        ("other=0.0", 'other=0.0, eviction_policy="evict_last"'),
        ("range(0, tl.cdiv", "range(1, tl.cdiv"),
        ("rows[:, None] < M) & (inner", "rows[:, None] < N) & (inner"),
        ("accumulator.to(tl.float16), mask", "-accumulator.to(tl.float16), mask"),
        ("tl.dot(a, b, acc", "tl.dot(a, a, acc"),
        ("pid_n = (pid %", "pid_n = (tl.program_id(0) %"),
        ("pid_m = first", "tl.debug_barrier()\n    pid_m = first"),
    ],
)
def test_any_other_change_is_a_difference(tmp_path: Path, old: str, new: str) -> None:
    launch = gemm_launch(tmp_path)
    edit = splice(launch.source, parse(CONTIGUOUS), target=TARGET, launches=[launch])
    [key] = edit.functions
    assert old in edit.functions[key]
    wrong = {key: edit.functions[key].replace(old, new)}
    assert isinstance(compare(*kernels(launch, wrong)), str)


@pytest.mark.parametrize(
    ("path", "symbol", "asks"),
    [("", "__nv_expf", False), ("", "__ockl_get_group_id", True), ("/of/mine.bc", "plain", True)],
)
def test_what_a_library_of_the_users_reads_is_not_known(path: str, symbol: str, asks: bool) -> None:
    kernel = Kernel.parse(f"""module {{
  tt.func public @k(%x: i32) {{
    %0 = tt.extern_elementwise %x {{libname = "", libpath = "{path}", pure = true, symbol = "{symbol}"}} : (i32) -> i32
    tt.return
  }}
}}""")  # noqa: E501
    assert any(map(asks_where_it_runs, kernel.ops())) == asks


@pytest.mark.parametrize(
    ("text", "asks", "accesses"),
    [
        ("s_mov_b32 $0, s6", True, False),
        ("v_mov_b32 $0, s[4:5]", True, False),
        ("mov.u32 $0, %ctaid.x;", True, False),
        ("cvt.f32.s32 $0, $1;", False, False),
        ("v_mbcnt_lo_u32_b32 $0, $1, $2", False, False),
        ("v_pk_fma_f32 $0, $1, $1, v[2:3] op_sel:[0,1,0]", False, False),
        ("ds_bpermute_b32 $0, $1, $1", False, False),
        ("ld.global.b32 $0,\\09[$1];", False, True),
        ("red.global.add.s32 [$1+4], 1;", False, True),
        ("flat_load_dword $0, $1", False, True),
        ("s_buffer_load_dword $0, s[4:7], 0x0", True, True),
        ("ds_read_b32 $0, $1", False, True),
    ],
)
def test_assembly_may_read_where_the_program_runs_or_memory(
    text: str, asks: bool, accesses: bool
) -> None:
    kernel = Kernel.parse(f"""module {{
  tt.func public @k(%x: i32) {{
    %0 = tt.elementwise_inline_asm "{text}" {{constraints = "=s,s", packed_element = 1 : i32, pure = false}} %x : i32 -> i32
    tt.return
  }}
}}""")  # noqa: E501
    assert any(map(asks_where_it_runs, kernel.ops())) == asks
    with pytest.raises(TraceError) if accesses else nullcontext():
        check(kernel)
