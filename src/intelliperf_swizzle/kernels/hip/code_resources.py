# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a kernel takes of a CU, from the metadata of its code object."""

from __future__ import annotations

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import BuildError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.hardware.occupancy import Build
from intelliperf_swizzle.kernels.hip.device_code import read_kernel, read_kernels, recording_of
from intelliperf_swizzle.kernels.hip.preparing import make_edited
from intelliperf_swizzle.records import Launch


def read_build(launch: Launch, target: Target, edit: Edit | None = None) -> Build:
    """What the program's own compiler has made of a kernel, with the edit if there is one.

    Raises:
        BuildError: the edited program does not build, or has another kernel.
    """
    code = read_kernel(launch).code
    if edit is not None:
        kernels = read_kernels(make_edited(recording_of(launch), edit))
        if code.symbol not in kernels:
            raise BuildError(f"the swizzled program has no `{launch.kernel}` of this kind")
        code = kernels[code.symbol][1].code
    x, y, z = launch.options["block"]
    return Build(
        registers=code.registers,
        scalar_registers=code.scalar_registers,
        stack_bytes=code.stack_bytes,
        lds_bytes=code.lds_bytes + launch.options["shared"],
        num_warps=-(-x * y * z // target.warp_size),
        seconds=0.0,
    )
