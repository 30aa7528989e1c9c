# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Kernels compile for GPUs that are not there; what they need decides the occupancy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from launches_by_hand import (
    CONTIGUOUS,
    GROUPED,
    descriptors_launch,
    gemm_launch,
    helper_launch,
    persistent_launch,
)

from intelliperf_swizzle.errors import BuildError
from intelliperf_swizzle.frontends.triton.source import build, splice
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.hardware.target import Build, occupancy
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.records import Launch

MI300X = load_target("mi300x")
H100 = load_target("h100")


def needs(
    registers: int | None = 32, scalar: int | None = 32, lds: int = 0, warps: int = 4
) -> Build:
    return Build(registers, scalar, 0, lds, warps, 1.0)


def test_edited_gemm_compiles_for_gfx942_and_needs_hardly_more(tmp_path: Path) -> None:
    launch = gemm_launch(tmp_path)
    before = build(launch, MI300X)
    for text in (CONTIGUOUS, GROUPED):
        edit = splice(launch.source, parse(text), target=MI300X, launches=[launch])
        built = build(launch, MI300X, edit)
        assert built.num_warps == before.num_warps == 4
        assert built.lds_bytes == before.lds_bytes
        assert built.stack_bytes == 0
        assert 0 < (built.registers or 0) <= (before.registers or 0) + 8


@pytest.mark.parametrize("make", [descriptors_launch, persistent_launch])
def test_other_arguments_compile_with_a_swizzle(
    tmp_path: Path, make: Callable[[Path], Launch]
) -> None:
    launch = make(tmp_path)
    edit = splice(launch.source, parse(CONTIGUOUS), target=MI300X, launches=[launch])
    assert (build(launch, MI300X, edit).registers or 0) > 0


def test_a_helper_is_compiled_with_its_edit(tmp_path: Path) -> None:
    launch = helper_launch(tmp_path)
    edit = splice(launch.source, parse("pid = pid"), target=H100, launches=[launch])
    (key,) = edit.functions
    broken = launch.source.functions[key].text.replace("tl.program_id(0)", "tl.no_such_thing(0)")
    fine = build(launch, H100)
    assert fine.registers
    assert fine.scalar_registers is None
    with pytest.raises(BuildError, match="`scale_rows` does not compile for h100") as wrong:
        build(launch, H100, replace(edit, functions={key: broken}))
    assert "no_such_thing" in str(wrong.value)


def test_options_of_another_vendor_are_left_out(tmp_path: Path) -> None:
    launch = gemm_launch(tmp_path)
    options = {"num_warps": 8, "waves_per_eu": 2, "matrix_instr_nonkdim": 16}
    built = build(replace(launch, options=options), H100)
    assert built.num_warps == 8


def test_a_kernel_that_does_not_compile_raises(tmp_path: Path) -> None:
    launch = gemm_launch(tmp_path)
    edit = splice(launch.source, parse(CONTIGUOUS), target=MI300X, launches=[launch])
    text = launch.source.entry.text.replace("tl.cdiv(M, BLOCK)", "no_such_name")
    with pytest.raises(BuildError, match="no_such_name"):
        build(launch, MI300X, replace(edit, functions={launch.source.kernel: text}))


@pytest.mark.parametrize(
    ("build", "workgroups"),
    [
        (needs(registers=32, warps=4), 8),  # 8 waves on each of 4 SIMDs, 4 waves a workgroup
        (needs(registers=65, warps=4), 7),  # 72 registers: 512 // 72 waves a SIMD
        (needs(registers=128, warps=8), 2),  # 4 waves a SIMD
        (needs(registers=512, warps=4), 1),
        (needs(scalar=104, warps=4), 7),
        (needs(registers=16, warps=1), 32),  # no barrier, so not the limit of 16 workgroups
        (needs(registers=16, warps=2), 16),
        (needs(lds=32768), 2),
        (needs(lds=32769), 1),
        (needs(registers=512, warps=16), 1),  # does not fit at all; something must run
        (needs(registers=None, scalar=None, lds=20000), 3),
    ],
)
def test_occupancy_on_mi300x_by_hand(build: Build, workgroups: int) -> None:
    assert occupancy(build, MI300X) == workgroups


@pytest.mark.parametrize(
    ("build", "workgroups"),
    [
        (needs(registers=32, scalar=None, warps=4), 16),  # 64 warps
        (needs(registers=128, scalar=None, warps=4), 4),  # 65536 / (128 * 128)
        (needs(registers=16, scalar=None, warps=1), 32),  # at most 32 blocks
        (needs(registers=16, scalar=None, warps=4, lds=100 * 1024), 2),  # and 1 KiB reserved each
    ],
)
def test_occupancy_on_h100_by_hand(build: Build, workgroups: int) -> None:
    assert occupancy(build, H100) == workgroups
