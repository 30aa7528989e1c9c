# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Compiles kernels without a GPU, in the child process of `build`."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import triton
from triton.compiler.compiler import CompiledKernel
from triton.runtime import driver

from intelliperf_swizzle.frontends.triton.ir.compile import warm_up
from intelliperf_swizzle.frontends.triton.ir.driver import StandInDriver
from intelliperf_swizzle.frontends.triton.ir.render import import_functions, render_module
from intelliperf_swizzle.records import Launch


def compile_here(
    request: tuple[Launch, str, str | int, int, Mapping[str, str]], folder: Path
) -> dict[str, Any]:
    """Compiles a launch's kernel with an edit, for a GPU."""
    launch, backend, arch, warp_size, edits = request
    driver.set_active(StandInDriver(backend, arch, warp_size))
    started = time.perf_counter()
    try:
        functions = import_functions(render_module(launch.source, folder, edits))
        compiled = warm_up(launch, functions)
        needs = _amd_needs(compiled) if "amdgcn" in compiled.asm else _nvidia_needs(compiled)
    except Exception as error:
        return {"error": _message(error)}
    return {
        **needs,
        "lds_bytes": int(compiled.metadata.shared),
        "num_warps": int(compiled.metadata.num_warps),
        "seconds": time.perf_counter() - started,
    }


def _amd_needs(compiled: CompiledKernel) -> dict[str, int]:
    """Registers from the metadata of the AMD code object (`.vgpr_count` includes AGPRs)."""
    metadata = dict(re.findall(r"^\s+\.(\w+):\s+(\d+)\s*$", compiled.asm["amdgcn"], re.M))
    return {
        "registers": int(metadata["vgpr_count"]),
        "scalar_registers": int(metadata["sgpr_count"]),
        "stack_bytes": int(metadata["private_segment_fixed_size"]),
    }


def _nvidia_needs(compiled: CompiledKernel) -> dict[str, int | None]:
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
    return {
        "registers": used.get("REG"),
        "scalar_registers": None,
        "stack_bytes": used.get("STACK"),
    }


def _message(error: BaseException) -> str:
    """Triton's message and those of its causes (an error in a helper is one); the root is last."""
    texts = [str(error).strip()]
    while error.__cause__ is not None:
        error = error.__cause__
        texts.append(str(error).strip())
    texts = [text for text in texts if text]
    return "\n".join(texts) if texts else traceback.format_exc()
