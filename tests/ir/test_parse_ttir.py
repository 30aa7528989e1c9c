# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Nothing of a printed kernel is lost: each operand is defined, each value has its type."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from launches_by_hand import (
    GEMM,
    atomics_launch,
    descriptors_launch,
    gemm_launch,
    helper_launch,
    indented_launch,
    launch_of,
    persistent_launch,
    transpose_launch,
    volume_launch,
    write_kernel,
)
from printed import compiled

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.ir.flow import accessed_by, folds
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.records import Launch

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
RUNNER = Path(__file__).parents[1] / "benchmark_kernels" / "run_applications.py"
ROUNDABOUT = '''
@triton.jit
def added(a, b):
    return a + b


@triton.jit(noinline=True)
def apart(x, at):
    return tl.load(x + at) * 2


@triton.jit
def roundabout(x, y, flags, n, B: tl.constexpr):
    """Branches, loops, regions, assembly with signs that mean something in MLIR, and a call."""
    pid = tl.program_id(0)
    if pid > n:
        return
    at = tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    turn = pid
    while turn < n:
        if turn % 2 == 0:
            total += tl.load(x + at)
        else:
            total += tl.load(x + turn + at) * apart(x, turn)
        turn += tl.num_programs(0)
    first, last = total, total
    for step in range(0, n, 2):
        first, last = last + step, first
    total = tl.associative_scan(first * last, 0, added)
    shown = tl.inline_asm_elementwise(
        "v_mov_b32 $0, $1 // { %1 : i32", "=v,v", [at], dtype=tl.int32, is_pure=True, pack=1
    )
    old = tl.atomic_cas(flags, 0, 1)
    seen = tl.atomic_max(flags + 1, pid, sem="acquire")
    tl.store(y + shown, total + tl.sum(total, 0) + old + seen)
'''


def roundabout_launch(folder: Path) -> Launch:
    arguments = {"x": ("fp32", (64,)), "y": ("fp32", (64,)), "flags": ("int32", (4,)), "n": 7}
    return launch_of(
        write_kernel(folder, ROUNDABOUT), "roundabout", (5,), arguments, {"B": 16}, num_warps=1
    )


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Launch]:
    folder = tmp_path_factory.mktemp("kernels")
    makers = (
        gemm_launch, transpose_launch, volume_launch, helper_launch, indented_launch,
        persistent_launch, atomics_launch, descriptors_launch, roundabout_launch,
    )  # fmt: skip
    return [make(folder) for make in makers]


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    """The kernels of `benchmarks/`, recorded in one process; specialised and general."""
    folder = tmp_path_factory.mktemp("benchmarks")
    commands = [f"{path} --small" for path in sorted(KERNELS.glob("*.py"))]
    request = RecordRequest(
        [sys.executable, str(RUNNER), *commands], folder=folder, cwd=folder, compute="never"
    )
    launches = capture(request).launches
    assert len({launch.source.entry.file for launch in launches}) == len(commands)
    return [*compiled(launches), *compiled(launches, general=True)]


@pytest.fixture(scope="module")
def written(launches: Sequence[Launch]) -> Sequence[str]:
    return compiled(launches)


@pytest.fixture(scope="module")
def texts(written: Sequence[str], benchmarks: Sequence[str]) -> Sequence[str]:
    return [*benchmarks, *written]


def every(kernel: Kernel) -> list[Op]:
    return [*kernel.every()]


def test_every_operation_is_read_once_and_every_operand_is_defined(texts: Sequence[str]) -> None:
    for text in texts:
        kernel = Kernel.parse(text)
        known = {*kernel.defs, *kernel.owner}
        assert not [v for op in every(kernel) for v in op.operands if v not in known]
        printed = re.findall(r'^ +(?:%\S+(?:, %\S+)* = )?"?([a-z_]+\.[a-z_.]+)', text, re.M)
        assert Counter(printed) == Counter(op.name for op in every(kernel))


def test_what_folds_a_number_is_seen_in_a_function_that_is_called(tmp_path: Path) -> None:
    text = """
@triton.jit(noinline=True)
def slot():
    return tl.program_id(0) % 4096


@triton.jit
def ring(x):
    tl.store(x + slot(), tl.load(x + slot()) + 1)
"""
    launch = launch_of(write_kernel(tmp_path, text), "ring", (8,), {"x": ("int32", (4096,))})
    assert {op.name for op in folds(Kernel.parse(*compiled([launch])))} == {"arith.remsi"}


def test_a_lock_holds_no_numbers(tmp_path: Path) -> None:
    """So nothing is executed for what is left of it: no later launch computes addresses of it."""
    text = """
@triton.jit
def locked(x, lock, tickets, turn):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(x, tl.load(x) + 1)
    tl.atomic_xchg(lock, 0)
    tl.atomic_add(tickets, 1)
    tl.atomic_xchg(turn, tl.program_id(0))
"""
    given = dict.fromkeys(("x", "lock", "tickets", "turn"), ("int32", (8,)))
    launch = launch_of(write_kernel(tmp_path, text), "locked", (4,), given)
    accessed = accessed_by(Kernel.parse(*compiled([launch])))
    names = ("x", "lock", "tickets", "turn")
    assert accessed.changed == {f"%{name}" for name in names}
    assert accessed.numbered == accessed.changed - {"%lock"}


def test_what_can_only_leave_out_lanes_brings_nothing_together(tmp_path: Path) -> None:
    """Where a store is made, all of its mask is true; less than a minimum is less than both."""
    text = """
@triton.jit
def bounded(x, y, n):
    p = (tl.program_id(0) // n).to(tl.int64) * 16 + tl.arange(0, 16)
    tl.store(x + p[:, None], 1, mask=((p >= 0) & (p < 512))[:, None] & (p < n)[:, None])
    tl.store(x + p, 1, mask=p < tl.minimum(n - tl.program_id(0) * 16, 16))
    tl.store(y + p, 1, mask=tl.minimum(p, n) < tl.program_id(0) * 16)
    tl.store(y + p, 1, mask=(p - n >= 0) | (p == 5))
    tl.store(y + p + tl.where(p < 64, 0, 16), 1, mask=p < 64)
"""
    given = {"x": ("int32", (4096,)), "y": ("int32", (4096,)), "n": 4096}
    launch = launch_of(write_kernel(tmp_path, text), "bounded", (4,), given)
    found = folds(Kernel.parse(*compiled([launch])))
    compared = (op.text.split(",")[0] for op in found if op.name == "arith.cmpi")
    assert sorted(compared) == ["eq", "sge", "slt"]
    assert [op.name for op in found].count("arith.minsi") == 1


def test_a_sum_of_numbers_keeps_apart_what_their_common_divisor_does(tmp_path: Path) -> None:
    """A sum that is a multiple of 24 and of 36 is one of 12; what constants bound needs none."""
    text = """
@triton.jit
def placed(x, y):
    p = tl.program_id(0) * 24 + tl.program_id(1) * 36
    tl.store(x + (p + tl.program_id(2)), 1)
    tl.store(y + (p + tl.program_id(2) % 8), 1)
"""
    given = {"x": ("int32", (4096,)), "y": ("int32", (4096,))}
    launch = launch_of(write_kernel(tmp_path, text), "placed", (4, 4, 4), given)
    found = folds(Kernel.parse(*compiled([launch])))
    sums = sorted(sides for op, sides in found.items() if op.name == "arith.addi")
    assert sums == [(0, 0), (12, 0), (24, 36)]


def test_types_agree_wherever_the_text_has_them_twice(texts: Sequence[str]) -> None:
    compared = 0
    for text in texts:
        kernel = Kernel.parse(text)
        assert all(kernel.types[value] for value in {*kernel.defs, *kernel.owner})
        for op in every(kernel):
            given = re.match(r"\(?((?:[^()<>]|<[^()]*?>)*?)\)? (?:->|to) ", op.types)
            if not given or op.name.startswith("scf."):
                continue
            kinds = ", ".join(kernel.types[value] for value in op.operands)
            assert kinds.startswith(given[1].replace(" * ", ", "))
            compared += 1
    assert compared > 50


def test_places_are_those_of_the_users_file(
    launches: Sequence[Launch], written: Sequence[str]
) -> None:
    for launch, text in zip(launches, written, strict=True):
        kernel = Kernel.parse(text)
        for op in kernel.ops():
            if op.name == "tt.get_program_id":
                file, line = kernel.place(op) or ("", 0)
                assert "program_id" in Path(file).read_text().splitlines()[line - 1]
                assert file == launch.source.entry.file


def test_constants_names_and_roles(written: Sequence[str]) -> None:
    kernel = Kernel.parse(written[0])
    assert kernel.args[:3] == ["%a_ptr", "%b_ptr", "%c_ptr"]
    assert kernel.arg_types[0] == "!tt.ptr<f16>"
    (loop,) = [op for op in kernel.ops() if op.name == "scf.for"]
    assert [kernel.constant(value) for value in (loop.start, loop.step)] == [0, 1]
    assert len(loop.carried) == len(loop.inits) == len(loop.results) == len(loop.last().operands)
    assert kernel.owner[loop.induction] == (loop, 0)
    assert [kernel.name(op) for op in kernel.ops() if op.name == "tt.get_program_id"] == ["pid"]
    (zeros,) = {kernel.constant(value) for value in loop.inits if value in kernel.defs} - {None}
    assert zeros == 0.0


def test_sibling_regions_and_functions_keep_their_values_apart(written: Sequence[str]) -> None:
    kernel = Kernel.parse(written[-1])
    assert [
        function.symbol.split(".")[-1][:5] for function in [*kernel.functions.values()][1:]
    ] == [op.symbol.split(".")[-1][:5] for op in kernel.ops() if op.name == "tt.call"]
    defined = [value for op in every(kernel) for value in op.results]
    assert len(set(defined)) == len(defined)
    (assembly,) = [op for op in every(kernel) if op.name == "tt.elementwise_inline_asm"]
    assert len(assembly.operands) == 1


def test_a_general_kernel_keeps_arguments_that_a_specialised_one_folds(tmp_path: Path) -> None:
    arguments = {"a_ptr": ("fp16", (16, 16)), "b_ptr": ("fp16", (16, 16)),
                 "c_ptr": ("fp16", (16, 16)), "M": 16, "N": 1, "K": 16}  # fmt: skip
    launch = launch_of(
        write_kernel(tmp_path, GEMM), "gemm", (1,), arguments, {"BLOCK": 16, "GROUP_M": 1}
    )
    special, general = (
        Kernel.parse(compiled([launch], general=is_general)[0]) for is_general in (False, True)
    )
    assert "%N" not in special.args
    assert "%N" in general.args


def test_what_is_no_module_is_refused_with_its_line() -> None:
    with pytest.raises(ValueError, match="line 2"):
        Kernel.parse("module {\n  tt.func\n}")
