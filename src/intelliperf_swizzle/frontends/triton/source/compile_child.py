# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Compiles kernels without a GPU, in the child process of `build`."""

import re
import subprocess
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import triton
from triton.compiler.compiler import CompiledKernel
from triton.runtime import driver
from triton.runtime.cache import triton_key

from intelliperf_swizzle.errors import BuildError
from intelliperf_swizzle.frontends.triton.ir.compile import warm_up
from intelliperf_swizzle.frontends.triton.ir.driver import StandInDriver
from intelliperf_swizzle.frontends.triton.ir.render import live_functions
from intelliperf_swizzle.hardware.target import Build, Target
from intelliperf_swizzle.records import Launch

triton_key()  # Triton reads all of itself for it, once; else each fork of this process does


def compile_here(request: tuple[Launch, Target, Mapping[str, str]], folder: Path) -> Build:
    """Compiles a launch's kernel with an edit, for a GPU; raises BuildError with Triton's words."""
    launch, target, edits = request
    driver.set_active(StandInDriver(target.backend, target.arch, target.warp_size))
    started = time.perf_counter()
    try:
        compiled = warm_up(launch, live_functions(launch.source, folder, edits))
        needs = _amd_needs(compiled) if "amdgcn" in compiled.asm else _nvidia_needs(compiled)
    except Exception as error:
        lines = _lines(error) or traceback.format_exc().splitlines()
        what = f"`{launch.kernel}` does not compile for {target.name}"
        raise BuildError(f"{what}: {lines[-1].strip()}", details=tuple(lines[-12:])) from None
    needed = int(compiled.metadata.shared), int(compiled.metadata.num_warps)
    return Build(*needs, *needed, time.perf_counter() - started)


_Needs: TypeAlias = tuple[int | None, int | None, int | None]
"""Registers, scalar registers and bytes of stack; see `Build`."""


def _amd_needs(compiled: CompiledKernel) -> _Needs:
    """From the metadata of the AMD code object (`.vgpr_count` includes AGPRs)."""
    metadata = dict(re.findall(r"^\s+\.(\w+):\s+(\d+)\s*$", compiled.asm["amdgcn"], re.M))
    names = ("vgpr_count", "sgpr_count", "private_segment_fixed_size")
    registers, scalar_registers, stack_bytes = (int(metadata[name]) for name in names)
    return registers, scalar_registers, stack_bytes


def _nvidia_needs(compiled: CompiledKernel) -> _Needs:
    """As `cuobjdump` reads them in the machine code; unknown where it cannot be run."""
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "kernel.cubin"
        binary.write_bytes(compiled.asm["cubin"])
        command = [triton.knobs.nvidia.cuobjdump.path, "-res-usage", str(binary)]
        try:
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            printed = ""
    used = {name: int(number) for name, number in re.findall(r"\b(REG|STACK):(\d+)", printed)}
    return used.get("REG"), None, used.get("STACK")


def _lines(error: BaseException | None) -> list[str]:
    """Triton's message and those of its causes (an error in a helper is one); the root is last."""
    return [*str(error).strip().splitlines(), *_lines(error.__cause__)] if error else []
