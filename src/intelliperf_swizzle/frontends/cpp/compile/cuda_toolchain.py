# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What CUDA programs are built with: an `nvcc` and a `clang++` of our own, with CUDA's headers.

The headers and libdevice are those of the user's CUDA toolkit, else of Triton's wheel; nvcc itself
is not needed, as it keeps no bitcode. The runtime is a stand-in, also where a program asks for the
static library.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import util
from pathlib import Path

from intelliperf_swizzle.disk import cache_folder
from intelliperf_swizzle.frontends.cpp.compile.toolchain import (
    RUNTIME,
    Toolchain,
    build_standin,
    digest_of,
    find_clang,
    make_once,
    triton_folder,
)

_ABSENT = ("curand_mtgp32_kernel.h",)
"""Headers that clang includes in every CUDA source, and cuRAND brings; empty where it is not."""


class CudaToolchain(Toolchain):
    """CUDA's."""

    runtime, language = "libcudart.so", "CUDA"

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
        headers = map(str, _packages("include", "include/cccl"))
        path = {
            name: os.pathsep.join(filter(None, (one, environment.get(name))))
            for name, one in (
                ("PATH", f"{root}/bin"),
                ("CPATH", os.pathsep.join((f"{root}/include", *headers))),
                ("LIBRARY_PATH", f"{root}/lib"),
            )
        }  # fmt: skip
        own = dict.fromkeys(("CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDAToolkit_ROOT"), root)
        return {**environment, **path, **own, "CUDACXX": f"{root}/bin/nvcc"}


def find_toolchain(environment: Mapping[str, str] = os.environ) -> CudaToolchain:
    """The user's toolchain, with a root made once per version in the cache folder.

    Raises:
        CaptureError: there is no clang that can do it, or Triton or llvmlite is missing.
    """
    clang, version = find_clang("CUDA", environment)
    toolkit = next(_toolkits(environment), None)
    headers = toolkit or triton_folder("nvidia", "CUDA")
    libraries = [one for one in _packages("lib/lib*.so.*") if "cudart" not in one.name]
    digest = digest_of(clang, headers, Path(__file__), *libraries)
    root = cache_folder(environment) / f"cuda-toolkit-{digest}"
    make_once(root, lambda partial: _make(partial, clang, headers, libraries))
    return CudaToolchain(clang, version, root, toolkit is not None)


def _toolkits(environment: Mapping[str, str]) -> Iterator[Path]:
    """The user's CUDA toolkits that have headers."""
    named = [environment.get(name) for name in ("CUDA_PATH", "CUDA_HOME")]
    nvcc = shutil.which("nvcc", path=environment.get("PATH"))
    folders = [*named, str(Path(nvcc).resolve().parents[1]) if nvcc else None, "/usr/local/cuda"]
    for folder in filter(None, folders):
        if (Path(folder) / "include" / "cuda_runtime.h").is_file() and _libdevice(Path(folder)):
            yield Path(folder).resolve()


def _packages(*patterns: str) -> Iterator[Path]:
    """What packages of NVIDIA's bring, such as cuBLAS's and Thrust's."""
    found = util.find_spec("nvidia")
    for place in found.submodule_search_locations or () if found else ():
        for pattern in patterns:
            yield from sorted(Path(place).glob(f"*/{pattern}"))


def _libdevice(folder: Path) -> Path | None:
    places = (folder / place / "libdevice.10.bc" for place in ("nvvm/libdevice", "lib"))
    return next((one for one in places if one.is_file()), None)


def _make(root: Path, clang: str, headers: Path, libraries: Sequence[Path]) -> None:
    for folder in ("bin", "lib", "llvm", "nvvm/libdevice", "more"):
        (root / folder).mkdir(parents=True)
    (root / "llvm" / "clang++").symlink_to(clang)
    (root / "include").symlink_to(headers / "include")
    (root / "lib64").symlink_to("lib")
    if library := _libdevice(headers):
        (root / "nvvm" / "libdevice" / library.name).symlink_to(library)
    for name in _ABSENT:
        (root / "more" / name).touch()
    shutil.copy(RUNTIME / "cuda_host.h", root / "more")
    text = (RUNTIME / "nvcc.py").read_text(encoding="utf-8")
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
    build_standin("CUDA", clang, RUNTIME / "cuda.cpp", root / "lib" / soname)
    links = dict.fromkeys(("libcudart.so", "libcuda.so", "libcuda.so.1"), Path(soname))
    links |= {f"{one.name.partition('.so')[0]}.so": one for one in libraries}
    for name, library in (links | {one.name: one for one in libraries}).items():
        (root / "lib" / name).symlink_to(library)
    (root / "lib" / "libcudart_static.a").write_text("INPUT(-lcudart)\n", encoding="utf-8")
    (root / "lib" / "libcudadevrt.a").write_bytes(b"!<arch>\n")
