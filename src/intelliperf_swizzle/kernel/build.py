# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Compiles a recorded kernel for a GPU that need not be there, and reads what it needs of it."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intelliperf_swizzle.children import run_child
from intelliperf_swizzle.codec import decode, loads
from intelliperf_swizzle.errors import BuildError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.interpreter.render import render_module
from intelliperf_swizzle.records import Launch

BUILD_SECONDS = 300.0
"""After this a compilation is taken to hang. Triton needs 1 to 2 s for a GEMM."""


@dataclass(frozen=True)
class Build:
    """What a compiled kernel takes of a CU.

    Attributes:
        registers: 32-bit vector registers of a thread; None where the tool that tells is missing.
        scalar_registers: of a wave; None on NVIDIA GPUs.
        stack_bytes: that a thread has in memory, for registers that do not suffice most of all;
            None where the tool that tells is missing.
        lds_bytes: shared memory of a workgroup.
        num_warps: warps (wavefronts) of a workgroup.
        seconds: time to compile.
    """

    registers: int | None
    scalar_registers: int | None
    stack_bytes: int | None
    lds_bytes: int
    num_warps: int
    seconds: float


def build(launch: Launch, target: Target, edits: Mapping[str, str] = {}) -> Build:
    """Compiles a launch's kernel, edited or not, for a target; 2 to 4 s.

    Args:
        launch: gives the types, constexprs and options to compile for.
        target: the GPU to compile for.
        edits: function key -> its other text.

    Raises:
        BuildError: with Triton's message.
    """
    outcome = build_all(launch, target, [edits])[0]
    if isinstance(outcome, BuildError):
        raise outcome
    return outcome


def build_all(
    launch: Launch, target: Target, edits: Sequence[Mapping[str, str]]
) -> tuple[Build | BuildError, ...]:
    """Compiles several edits of one kernel in one child process, which saves its start of 1 s.

    Raises:
        BuildError: if the child dies or hangs; an edit that does not compile is in the outcomes.
    """
    with tempfile.TemporaryDirectory(prefix="swizzle-build-") as name:
        folder = Path(name)
        modules = [render_module(launch.source, folder, edit) for edit in edits]
        request = (launch, target.backend, target.arch, target.warp_size, modules)
        (folder / "request.pickle").write_bytes(pickle.dumps(request))
        _run_child(launch, folder)
        outcomes = loads((folder / "builds.json").read_bytes())
    return tuple(_outcome(launch, target, outcome) for outcome in outcomes)


def _run_child(launch: Launch, folder: Path) -> None:
    child = run_child(
        "intelliperf_swizzle.kernel.compile_child",
        folder,
        environment={k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"},
        limit_seconds=BUILD_SECONDS,
    )
    if child is None:
        raise BuildError(f"compiling `{launch.kernel}` took more than {BUILD_SECONDS:.0f} s")
    if child.returncode or not (folder / "builds.json").exists():
        raise BuildError(
            f"the compiler of `{launch.kernel}` ended with exit code {child.returncode}",
            details=tuple(child.stderr.splitlines()[-8:]),
        )


def _outcome(launch: Launch, target: Target, outcome: dict[str, Any]) -> Build | BuildError:
    if "error" not in outcome:
        return decode(Build, outcome)
    lines = str(outcome["error"]).splitlines() or ["no message"]
    return BuildError(
        f"`{launch.kernel}` does not compile for {target.name}: {lines[-1].strip()}",
        details=tuple(lines[-12:]),
    )


def occupancy(build: Build, target: Target) -> int:
    """Workgroups of a kernel that are resident on one CU at a time, at least 1.

    The least of what waves, registers, shared memory and the limit of workgroups allow; a register
    count that is not known limits nothing.

    Source: LLVM, AMDGPUBaseInfo.cpp (waves per EU by VGPRs and SGPRs); CUDA occupancy calculator.
    """
    waves_per_simd = target.max_waves_per_simd
    if build.registers:
        lanes_registers = _round_up(build.registers, target.register_granule) * target.warp_size
        waves_per_simd = min(waves_per_simd, target.registers_per_simd // lanes_registers)
    if build.scalar_registers and build.scalar_registers > AMD_SGPRS_AT_8_WAVES:
        waves_per_simd = min(waves_per_simd, 7)
    # One-wave workgroups need no barrier, so the limit of workgroups does not hold for them (AMD).
    unlimited = target.backend == "hip" and build.num_warps == 1
    limits = [
        target.max_waves_per_cu if unlimited else target.max_workgroups_per_cu,
        waves_per_simd * target.simds_per_cu // build.num_warps,
    ]
    lds = build.lds_bytes + target.lds_reserved_bytes_per_workgroup
    if lds:
        limits.append(target.lds_bytes_per_cu // _round_up(lds, target.lds_granule_bytes))
    return max(1, min(limits))


AMD_SGPRS_AT_8_WAVES = 100
"""More scalar registers than this leave 7 waves a SIMD (800 of them). Source: LLVM, as above."""


def _round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
