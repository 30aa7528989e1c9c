# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How many workgroups of a compiled kernel a CU holds at a time."""

from __future__ import annotations

from dataclasses import dataclass

from intelliperf_swizzle.hardware.target import Target


@dataclass(frozen=True)
class Build:
    """What a compiled kernel takes of a CU.

    Attributes:
        registers: 32-bit vector registers of a thread; None if the tool that tells is missing.
        scalar_registers: of a wave; None on NVIDIA GPUs.
        stack_bytes: scratch (AMD) or local memory (NVIDIA) of a thread, register spills most of
            all; None if the tool that tells is missing.
        lds_bytes: shared memory of a workgroup.
        num_warps: warps (wavefronts) of a workgroup.
        seconds: time to compile.
        caution: why these may not be the numbers of the application's own build; None if they are.
    """

    registers: int | None
    scalar_registers: int | None
    stack_bytes: int | None
    lds_bytes: int
    num_warps: int
    seconds: float
    caution: str | None = None


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
