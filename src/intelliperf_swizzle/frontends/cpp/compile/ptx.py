# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What CUDA's kernels take: ptxas says it of the PTX that LLVM makes of their bitcode."""

from __future__ import annotations

import re

from intelliperf_swizzle import children
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.errors import CaptureError
from intelliperf_swizzle.frontends.cpp.code import llvm
from intelliperf_swizzle.frontends.cpp.code.binaries import KernelCode, Parameter
from intelliperf_swizzle.frontends.cpp.code.memory_operands import size_of
from intelliperf_swizzle.frontends.cpp.compile.toolchain import triton_folder

_VERSION = "+ptx80"
"""Of PTX: the oldest that has all of `sm_90`; else LLVM takes a GPU's oldest, and aborts."""
_REPORT = re.compile(
    r"Compiling entry function '([^']+)'.*?(\d+) bytes stack frame.*?Used (\d+) registers([^\n]*)",
    re.DOTALL,
)
"""What ptxas says of each kernel."""


def read_kernels(bitcode: bytes, arch: str, retargeted: llvm.Module) -> dict[str, KernelCode]:
    """The kernels of a module by symbol.

    Args:
        bitcode: clang's, before optimisation.
        arch: `sm_90`.
        retargeted: the same as `nvptx.retargeted` has it.

    Raises:
        CaptureError: ptxas refuses it.
    """
    module = llvm.parse(bitcode)
    machine = llvm.optimise(module, "nvptx64-nvidia-cuda", arch, level=3, features=_VERSION)
    used = _resources(machine.emit_assembly(module), arch)
    return {
        one.name: KernelCode(one.name, _parameters(one, retargeted), *used[one.name], 32)
        for one in llvm.kernels(retargeted)
    }


def _resources(text: str, arch: str) -> dict[str, tuple[int, None, int, int]]:
    """Registers, scalar registers (none), bytes of stack and of static shared memory."""
    assembler = str(triton_folder("nvidia", "CUDA") / "bin" / "ptxas")
    with temporary_folder("ptx") as folder:
        (folder / "kernels.ptx").write_text(text, "utf-8")
        words = ["--verbose", f"--gpu-name={arch}", "kernels.ptx", "--output-file=kernels.cubin"]
        ended = children.run([assembler, *words], cwd=folder)
    said = ended.output
    if ended.exit_code != 0:
        raise CaptureError(
            f"ptxas cannot assemble the kernels for {arch}",
            hint="compile them for another GPU: -arch=sm_90",
            details=tuple(said.splitlines()[:8]),
        )
    found = {}
    for symbol, stack, registers, rest in _REPORT.findall(said):
        shared = re.search(r"(\d+) bytes smem", rest)
        found[symbol] = (int(registers), None, int(stack), int(shared[1]) if shared else 0)
    return found


def _parameters(kernel: llvm.Function, module: llvm.Module) -> tuple[Parameter, ...]:
    """As they lie in the buffer of a launch: each at a multiple of its alignment."""
    layout = llvm.binding().create_target_data(module.data_layout)
    structures = {one.name: one for one in module.struct_types}
    found: list[Parameter] = []
    end = 0
    for argument in kernel.arguments:
        words = b" ".join(argument.attributes).decode()
        by_value = re.search(r"byref\((.*?)\)(?= |$)", words)
        alignment = re.search(r"align (\d+)", words)
        if by_value is None:
            size = boundary = int(layout.get_abi_size(argument.type))
        else:
            kind = by_value[1]
            one = structures.get(kind.strip('%"'))
            size = int(layout.get_abi_size(one)) if one is not None else size_of(kind)
            boundary = int(alignment[1]) if alignment else 8
        begin = -(-end // boundary) * boundary
        pointer = str(argument.type) == "ptr" and by_value is None
        name = argument.name.removesuffix(".in").removesuffix(".coerce")
        found.append(Parameter(name or f"arg{len(found)}", begin, size, pointer))
        end = begin + size
    return tuple(found)
