# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What CUDA programs are built with: an `nvcc` and a `clang++` of our own, with CUDA's headers.

The headers and libdevice are those of the user's CUDA toolkit, else of Triton's wheel; nvcc itself
is not needed, as it keeps no bitcode. The runtime is a stand-in, also where a program asks for the
static library.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from intelliperf_swizzle import children
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.errors import CaptureError
from intelliperf_swizzle.frontends.cpp.code import llvm
from intelliperf_swizzle.frontends.cpp.code.binaries import KernelCode, Parameter
from intelliperf_swizzle.frontends.cpp.code.memory_operands import size_of
from intelliperf_swizzle.frontends.cpp.compile import toolchain


class CudaToolchain(toolchain.Toolchain):
    """CUDA's."""

    language, name_of_compiler, backend, default_target = "CUDA", "nvcc", "cuda", "h200"
    vendors, sources, runtime = "the CUDA toolkit", (".cu", ".cuh"), "libcudart.so"
    keeping = (
        "the build must call `nvcc` by this name or as $CUDA_PATH/bin/nvcc, not by another path, "
        "so that it finds ours"
    )

    def __str__(self) -> str:
        whose = "the user's" if self.has_vendors else "Triton's"
        version = (self.root / "version").read_text(encoding="utf-8")
        return f"clang {self.version} ({self.clang}), {whose} headers of CUDA {version}"

    def compiler(self, _: Mapping[str, str]) -> list[str]:
        """Our nvcc."""
        return [str(self.root / "bin" / "nvcc")]

    def build_environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The user's environment for a build, in which our nvcc is the first."""
        root = str(self.root)
        headers = map(str, toolchain.packages("include", "include/cccl"))
        path = {
            name: os.pathsep.join(filter(None, (ours, environment.get(name))))
            for name, ours in (
                ("PATH", f"{root}/bin"),
                ("CPATH", os.pathsep.join((f"{root}/include", *headers))),
                ("LIBRARY_PATH", f"{root}/lib"),
            )
        }  # fmt: skip
        own = dict.fromkeys(("CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDAToolkit_ROOT"), root)
        return {**environment, **path, **own, "CUDACXX": f"{root}/bin/nvcc"}

    @classmethod
    def _find_headers(cls, environment: Mapping[str, str]) -> tuple[Path, bool]:
        toolkit = next(_toolkits(environment), None)
        return toolkit or toolchain.triton_folder("nvidia", "CUDA"), toolkit is not None

    @classmethod
    def _make(cls, root: Path, clang: str, headers: Path) -> None:
        for folder in ("bin", "lib", "llvm", "nvvm/libdevice", "more"):
            (root / folder).mkdir(parents=True)
        (root / "llvm" / "clang++").symlink_to(clang)
        (root / "include").symlink_to(headers / "include")
        (root / "lib64").symlink_to("lib")
        if library := _libdevice(headers):
            (root / "nvvm" / "libdevice" / library.name).symlink_to(library)
        # clang includes it in every CUDA source, and cuRAND brings it; empty if that is not
        (root / "more" / "curand_mtgp32_kernel.h").touch()
        shutil.copy(toolchain.RUNTIME / "cuda_host.h", root / "more")
        text = (toolchain.RUNTIME / "nvcc.py").read_text(encoding="utf-8")
        (root / "bin" / "nvcc").write_text(f"#!{sys.executable} -SE\n{text}", encoding="utf-8")
        (root / "bin" / "nvcc").chmod(0o755)
        for name in {"clang++", Path(clang).name}:
            (root / "bin" / name).symlink_to("nvcc")
        text = (root / "include" / "cuda.h").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"#define CUDA_VERSION (\d+)", text)
        digits = int(found[1]) if found else 0
        number = f"{digits // 1000}.{digits % 1000 // 10}"
        (root / "version").write_text(number, encoding="utf-8")
        major = "11.0" if number.startswith("11.") else number.partition(".")[0]
        soname = f"libcudart.so.{major}"
        toolchain.build_standin(
            "CUDA", clang, toolchain.RUNTIME / "cuda.cpp", root / "lib" / soname
        )
        links = dict.fromkeys(("libcudart.so", "libcuda.so", "libcuda.so.1"), Path(soname))
        libraries = [f for f in toolchain.packages("lib/lib*.so.*") if "cudart" not in f.name]
        links |= {f"{file.name.partition('.so')[0]}.so": file for file in libraries}
        for name, library in (links | {file.name: file for file in libraries}).items():
            (root / "lib" / name).symlink_to(library)
        (root / "lib" / "libcudart_static.a").write_text("INPUT(-lcudart)\n", encoding="utf-8")
        (root / "lib" / "libcudadevrt.a").write_bytes(b"!<arch>\n")


def _toolkits(environment: Mapping[str, str]) -> Iterator[Path]:
    """The user's CUDA toolkits that have headers."""
    named = [environment.get(name) for name in ("CUDA_PATH", "CUDA_HOME")]
    nvcc = shutil.which("nvcc", path=environment.get("PATH"))
    folders = [*named, str(Path(nvcc).resolve().parents[1]) if nvcc else None, "/usr/local/cuda"]
    for folder in filter(None, folders):
        if (Path(folder) / "include" / "cuda_runtime.h").is_file() and _libdevice(Path(folder)):
            yield Path(folder).resolve()


def _libdevice(folder: Path) -> Path | None:
    places = (folder / place / "libdevice.10.bc" for place in ("nvvm/libdevice", "lib"))
    return next((place for place in places if place.is_file()), None)


# --- what kernels take ----------------------------------------------------------------------------


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
        retargeted: the same as `nvptx.retarget` has it.

    Raises:
        CaptureError: ptxas refuses it.
    """
    module = llvm.parse(bitcode)
    machine = llvm.optimise(module, "nvptx64-nvidia-cuda", arch, level=3, features=_VERSION)
    used = _resources(machine.emit_assembly(module), arch)
    return {
        k.name: KernelCode(k.name, _parameters(k, retargeted), *used[k.name], 32)
        for k in llvm.kernels(retargeted)
    }


def _resources(text: str, arch: str) -> dict[str, tuple[int, None, int, int]]:
    """Registers, scalar registers (none), bytes of stack and of static shared memory."""
    assembler = str(toolchain.triton_folder("nvidia", "CUDA") / "bin" / "ptxas")
    with temporary_folder("ptx") as folder:
        (folder / "kernels.ptx").write_text(text, "utf-8")
        words = ["--verbose", f"--gpu-name={arch}", "kernels.ptx", "--output-file=kernels.cubin"]
        ended = children.run([assembler, *words], cwd=folder)
    printed = ended.output
    if ended.exit_code != 0:
        raise CaptureError(
            f"ptxas cannot assemble the kernels for {arch}",
            hint="compile them for another GPU: -arch=sm_90",
            details=tuple(printed.splitlines()[:8]),
        )
    found = {}
    for symbol, stack, registers, rest in _REPORT.findall(printed):
        shared = re.search(r"(\d+) bytes smem", rest)
        found[symbol] = (int(registers), None, int(stack), int(shared[1]) if shared else 0)
    return found


def _parameters(kernel: llvm.Function, module: llvm.Module) -> tuple[Parameter, ...]:
    layout = llvm.binding().create_target_data(module.data_layout)
    structures = {struct_type.name: struct_type for struct_type in module.struct_types}
    found: list[Parameter] = []
    for argument in kernel.arguments:
        by_value = re.search(r"byref\((.*?)\)(?= |$)", b" ".join(argument.attributes).decode())
        kind = by_value[1] if by_value else ""
        sized = structures.get(kind.strip('%"')) if by_value else argument.type
        size = size_of(kind) if sized is None else int(layout.get_abi_size(sized))
        name = argument.name.removesuffix(".in").removesuffix(".coerce")
        found.append(Parameter(name or f"arg{len(found)}", size))
    return tuple(found)
