# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces a recorded launch in a child process; what its build takes of a CU."""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle.dependence import Dependence
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.hardware.occupancy import Build
from intelliperf_swizzle.kernels.hip.device_code import read_kernel
from intelliperf_swizzle.kernels.in_child import find_dependences_in_child, trace_in_child
from intelliperf_swizzle.records import Launch, Trace


def trace(launch: Launch, *, timeout_seconds: float = 600.0) -> Trace:
    """Find the cache lines that each workgroup of a launch touches, wave by wave.

    Raises:
        TraceError: something that only the GPU knows decides an address, the contents of a buffer
            were not kept, or it takes too much time or memory.
    """
    function = "intelliperf_swizzle.kernels.hip.trace_slices:trace_here"
    return trace_in_child(function, launch, {}, timeout_seconds)


def find_dependences(launches: Sequence[Launch], *, timeout_seconds: float) -> list[Dependence]:
    """Which workgroups of each launch depend on each other; no trace is kept."""
    function = "intelliperf_swizzle.kernels.hip.trace_slices:dependences_of"
    return find_dependences_in_child(function, launches, {}, timeout_seconds)


def build(launch: Launch, target: Target) -> Build:
    """What the kernel takes of a CU, from the metadata of its code object."""
    code = read_kernel(launch).code
    x, y, z = launch.options["block"]
    return Build(
        registers=code.registers,
        scalar_registers=code.scalar_registers,
        stack_bytes=code.stack_bytes,
        lds_bytes=code.lds_bytes + launch.options["shared"],
        num_warps=-(-x * y * z // target.warp_size),
        seconds=0.0,
    )
