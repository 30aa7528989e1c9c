# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a kernel takes of a CU, from the metadata of its code object.

Of CUDA's, what nvcc's own code takes if nvcc is here, as `cuobjdump` reads it from the program that
nvcc builds; else what ptxas says of the code that LLVM makes, which may be another.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock

from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import BuildError
from intelliperf_swizzle.frontends.cpp.code.binaries import KernelCode
from intelliperf_swizzle.frontends.cpp.code.tools import run_tool
from intelliperf_swizzle.frontends.cpp.compile.gpu_builds import (
    GPU_BUILDS,
    build_program,
    builds_for_gpu,
    gpu_environment,
)
from intelliperf_swizzle.frontends.cpp.compile.toolchain import triton_folder
from intelliperf_swizzle.frontends.cpp.record.device_code import (
    read_kernel,
    read_kernels,
    recording_of,
)
from intelliperf_swizzle.frontends.cpp.record.preparing import make_edited, recipe_of
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.hardware.target import Build
from intelliperf_swizzle.records import Launch

_CODE = re.compile(r"(?m)^Fatbin elf code:\n=+\narch = sm_(\w+)$")
_FUNCTION = re.compile(r" Function ([^\s:]+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) ")
"""What cuobjdump says of the code for a GPU, and of each kernel in it."""
_NVCC = Lock()
_FAILED: dict[Path, str] = {}
"""Recordings of programs that nvcc does not build, and why."""


def read_build(launch: Launch, target: Target, edit: Edit | None = None) -> Build:
    """What the program's own compiler has made of a kernel, with the edit if there is one.

    Raises:
        BuildError: the edited program does not build, or has another kernel.
    """
    code = read_kernel(launch).code
    found = _nvcc_code(recording_of(launch), code, target, None)
    if edit is not None and found is not None:
        found = _nvcc_code(recording_of(launch), code, target, edit)
    if edit is not None and found is None:
        kernels = read_kernels(make_edited(recording_of(launch), edit))
        if code.symbol not in kernels:
            raise BuildError(f"the swizzled program has no `{launch.kernel}` of this kind")
        found = kernels[code.symbol][1].code
    code = found or code
    x, y, z = launch.options["block"]
    return Build(
        registers=code.registers,
        scalar_registers=code.scalar_registers,
        stack_bytes=code.stack_bytes,
        lds_bytes=code.lds_bytes + launch.options["shared"],
        num_warps=-(-x * y * z // target.warp_size),
        seconds=0.0,
        caution=_FAILED.get(recording_of(launch)),
    )


def _nvcc_code(
    recording: Path, kernel: KernelCode, target: Target, edit: Edit | None
) -> KernelCode | None:
    """A kernel as nvcc compiles it; None if nvcc does not build the unmodified program here.

    Raises:
        BuildError: the edited program does not build.
    """
    recipe = recipe_of(recording)
    here = recipe.language == "CUDA" and builds_for_gpu(recipe.language, os.environ)
    if not here or recording in _FAILED:
        return None
    environment = gpu_environment(recipe, os.environ)
    with _NVCC:
        try:
            program = build_program(recipe, recording / GPU_BUILDS, environment, edit)
        except BuildError as error:
            if edit is not None:
                raise
            _FAILED[recording] = (
                f"registers and shared memory are those of LLVM's code, not of nvcc's: {error.fact}"
            )
            return None
    for file in program.code:
        used = _resources(file, target, environment)
        if kernel.symbol in used:
            registers, stack, shared = used[kernel.symbol]
            return replace(kernel, registers=registers, stack_bytes=stack, lds_bytes=shared)
    return None


def _resources(
    file: Path, target: Target, environment: Mapping[str, str]
) -> dict[str, tuple[int, int, int]]:
    """Of each kernel in a fat binary registers, bytes of stack and of static shared memory.

    PTX, which a driver would compile, is compiled by nvcc if there is no code for the target.
    Source: CUDA Binary Utilities, cuobjdump; shared memory is with what the system reserves.
    """
    ours = str(triton_folder("nvidia", "CUDA") / "bin" / "cuobjdump")
    cuobjdump = shutil.which("cuobjdump", path=environment.get("PATH")) or ours

    def run(*command: str, folder: Path) -> str:
        return run_tool(command, environment, folder).output

    with temporary_folder("resources") as folder:
        said = run(cuobjdump, "--dump-resource-usage", str(file.resolve()), folder=folder)
        parts = _CODE.split(said)[1:]
        own = [text for arch, text in zip(parts[::2], parts[1::2], strict=True)
               if arch.rstrip("a") == target.arch]  # fmt: skip
        if not own:
            run(cuobjdump, "--extract-ptx", "all", str(file.resolve()), folder=folder)
            for ptx in sorted(folder.glob("*.ptx")):
                arch = f"--gpu-architecture=sm_{target.arch}"
                run("nvcc", "--cubin", arch, "--output-file=made.cubin", ptx.name, folder=folder)
                own.append(run(cuobjdump, "--dump-resource-usage", "made.cubin", folder=folder))
    reserved = target.lds_reserved_bytes_per_workgroup
    return {
        symbol: (int(registers), int(stack), max(0, int(shared) - reserved))
        for symbol, registers, stack, shared in _FUNCTION.findall("".join(own))
    }
