# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What HIP programs are built with: the user's clang, and a ROCm root if there is no ROCm.

Triton's wheel holds HIP's headers and two of the device libraries. What clang wants beside them is
small and written here: two files with a version, and modules that hold one constant each.
"""

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import ClassVar

from intelliperf_swizzle import children
from intelliperf_swizzle.disk import cache_folder, temporary_folder
from intelliperf_swizzle.errors import CaptureError
from intelliperf_swizzle.frontends.cpp.code.binaries import read_code_objects
from intelliperf_swizzle.frontends.cpp.code.llvm import MODULE_HEAD, assemble
from intelliperf_swizzle.hardware.target import Backend

APT = "sudo apt install clang-22 clang-tools-22 lld-22"
"""Debian's and Ubuntu's; https://apt.llvm.org has them for older releases."""
_OLDEST_CLANG = 18
"""ROCm 6.2's."""
RUNTIME = Path(__file__).parents[1] / "runtime"
_SWITCHES = ("daz_opt", "finite_only_opt", "unsafe_math_opt", "correctly_rounded_sqrt32")
"""Constants of libraries that clang links as `_on` or `_off`."""
_ISA_VERSIONS = {"90a": 9010, "908": 9008, "906": 9006, "942": 9402, "950": 9500}
_SONAMES = ("libamdhip64.so", "libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7")


@dataclass(frozen=True)
class Toolchain:
    """What a program is built and run with here.

    Attributes:
        clang: path of clang++.
        version: its major version.
        root: headers, device libraries, a `hipcc` or `nvcc`, and the stand-in runtime in `lib`.
        has_vendors: whether the user has a hipcc on the path, or a CUDA toolkit.
        language: `HIP` or `CUDA`.
        name_of_compiler: as a user calls it.
        backend: of the targets that its programs run on.
        default_target: if no GPU is named and none is there.
        vendors: what the vendor's own software is called.
        sources: of files that are of this language alone.
        keeping: why a build may not have kept bitcode.
        runtime: the file name of the runtime that the stand-in stands for.
        install: the command that installs clang.
    """

    clang: str
    version: int
    root: Path
    has_vendors: bool
    language: ClassVar[str]
    name_of_compiler: ClassVar[str]
    backend: ClassVar[Backend]
    default_target: ClassVar[str]
    vendors: ClassVar[str]
    sources: ClassVar[tuple[str, ...]]
    keeping: ClassVar[str]
    runtime: ClassVar[str]
    install: ClassVar[str] = APT

    @classmethod
    def find(cls, environment: Mapping[str, str] = os.environ) -> "Toolchain":
        """The user's toolchain, with a root made once per version in the cache folder.

        Raises:
            CaptureError: there is no clang that can do it, or Triton or llvmlite is missing.
        """
        clang, version = _find_clang(cls.language, environment)
        headers, has_vendors = cls._find_headers(environment)
        kind = {"HIP": "rocm", "CUDA": "cuda-toolkit"}[cls.language]
        root = cache_folder(environment) / f"{kind}-{digest_of(clang, headers)}"
        _make_once(root, lambda partial: cls._make(partial, clang, headers))
        return cls(clang, version, root, has_vendors)

    @classmethod
    def _find_headers(cls, environment: Mapping[str, str]) -> tuple[Path, bool]:
        """The folder with the language's headers, and whether the user has the vendor's software.

        Raises:
            CaptureError: there are none.
        """
        raise NotImplementedError

    @classmethod
    def _make(cls, root: Path, clang: str, headers: Path) -> None:
        """Makes a root, which is not there yet."""
        raise NotImplementedError

    def build_environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The user's environment for a build, in which bitcode is kept."""
        raise NotImplementedError

    def compiler(self, build: Mapping[str, str]) -> list[str]:
        """The compiler of such an environment, and the options that it needs."""
        raise NotImplementedError

    def gap(self, environment: Mapping[str, str]) -> str | None:
        """Why ten lines have no bitcode after a build; None if they have."""
        language, build = self.language, self.build_environment(environment)
        with temporary_folder("probe") as folder:
            program = folder / "probe"
            source = program.with_suffix(".hip" if language == "HIP" else ".cu")
            source.write_text(PROBES[language], encoding="utf-8")
            compiler = self.compiler(build)
            built = children.run(
                [*compiler, "-O2", str(source), "-o", str(program)], environment=build
            )
            if built.exit_code != 0:
                errors = [line for line in built.output.splitlines() if "error" in line]
                return f"it compiles no {language}: {(errors or ['no message'])[0].strip()}"
            if not all(code.bitcode for code in read_code_objects(program)):
                how = " with -fembed-bitcode" if language == "HIP" else ""
                return f"it keeps no device bitcode{how}"
        return None

    def run_environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The user's environment in which the stand-in is the runtime."""
        search = filter(None, (str(self.root / "lib"), environment.get("LD_LIBRARY_PATH")))
        return {**environment, "LD_LIBRARY_PATH": os.pathsep.join(search)}


class HipToolchain(Toolchain):
    """HIP's."""

    language, name_of_compiler, backend, default_target = "HIP", "hipcc", "hip", "mi300x"
    vendors, sources, runtime = "ROCm", (".hip",), "libamdhip64.so"
    keeping = (
        "CCC_OVERRIDE_OPTIONS must reach clang, which must be 18 or newer and not link device code "
        "itself (-fgpu-rdc)"
    )

    def __str__(self) -> str:
        hipcc = "the user's hipcc" if self.has_vendors else "its own hipcc, no ROCm"
        return f"clang {self.version} ({self.clang}), {hipcc}"

    def compiler(self, build: Mapping[str, str]) -> list[str]:
        """The user's hipcc, or ours, for an MI300X."""
        return [shutil.which("hipcc", path=build["PATH"]) or "hipcc", "--offload-arch=gfx942"]

    def build_environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The user's environment for a build: a hipcc is on the path, bitcode is kept."""
        added, name = {}, "HIPCC_COMPILE_FLAGS_APPEND"
        given = environment.get("CCC_OVERRIDE_OPTIONS", "").lstrip("#").strip()
        added["CCC_OVERRIDE_OPTIONS"] = f"#{given} {OVERRIDE[1:]}" if given else OVERRIDE
        added[name] = f"{environment.get(name, '')} {' '.join(FLAGS)}"
        if not self.has_vendors:
            added["PATH"] = os.pathsep.join((str(self.root / "bin"), environment.get("PATH", "")))
            added |= {"ROCM_PATH": str(self.root), "HIP_PATH": str(self.root)}
            added["HIP_CLANG"] = self.clang
        return {**environment, **added}

    @classmethod
    def _find_headers(cls, environment: Mapping[str, str]) -> tuple[Path, bool]:
        hipcc = shutil.which("hipcc", path=environment.get("PATH"))
        return triton_folder("amd", "HIP"), hipcc is not None

    @classmethod
    def _make(cls, root: Path, clang: str, headers: Path) -> None:
        for folder in ("bin", "lib", "share/hip", "amdgcn/bitcode", "include/hip", "llvm/bin"):
            (root / folder).mkdir(parents=True)
        for folder in ("include", "include/hip"):
            for header in (headers / folder).iterdir():
                if not (root / folder / header.name).exists():
                    (root / folder / header.name).symlink_to(header)
        hip = root / "include" / "hip"
        made = {header.name: header.read_text("utf-8") for header in RUNTIME.glob("hip_*.h")}
        made["hip_bf16.h"] = "#include <hip/hip_fp16.h>\n"
        for name in made.keys() - {file.name for file in hip.iterdir()}:
            (hip / name).write_text(made[name], encoding="utf-8")
        for package in ("hip-lang", "hip"):  # of CMake: its language HIP, and `find_package(hip)`
            (root / "lib" / "cmake" / package).mkdir(parents=True)
            config = root / "lib" / "cmake" / package / f"{package}-config.cmake"
            shutil.copy(RUNTIME / "hip-lang-config.cmake", config)
        for name in ("clang++", "clang"):
            (root / "llvm" / "bin" / name).symlink_to(clang)
        version = (headers / "include" / "hip" / "hip_version.h").read_text(encoding="utf-8")
        numbers = re.findall(r"#define (HIP_VERSION_(?:MAJOR|MINOR|PATCH)) (\d+)", version)
        text = "".join(f"{name}={number}\n" for name, number in numbers)
        for place in ("share/hip/version", "bin/.hipVersion"):
            (root / place).write_text(text, encoding="utf-8")
        libraries = root / "amdgcn" / "bitcode"
        for name in ("ocml", "ockl", "asanrtl"):
            (libraries / f"{name}.bc").symlink_to(headers / "lib" / f"{name}.bc")
        for name, module in _small_modules():
            (libraries / f"{name}.bc").write_bytes(module)
        for name in ("hipcc", "hipconfig"):
            shutil.copy(RUNTIME / f"{name}.sh", root / "bin" / name)
        (root / "bin" / "ar").write_text(_archiver(), encoding="utf-8")
        for name in (agents := ("rocm_agent_enumerator", "rocminfo")):
            (root / "bin" / name).write_text("#!/bin/sh\necho gfx942\n", encoding="utf-8")
        for name in ("hipcc", "hipconfig", "ar", *agents):
            (root / "bin" / name).chmod(0o755)
        flags = ["-D__HIP_PLATFORM_AMD__"]
        build_standin("HIP", clang, RUNTIME / "hip.cpp", root / "lib" / _SONAMES[-1], flags)
        for name in _SONAMES[:-1]:
            (root / "lib" / name).symlink_to(_SONAMES[-1])


FLAGS = (
    "-Xclang",
    "-fembed-bitcode=all",
    "-gline-tables-only",
    "-fno-discard-value-names",
    "--no-offload-compress",
)
"""What makes clang keep what is needed in the executable: bitcode before optimisation,
lines, names of arguments."""
OVERRIDE = "#" + " ".join(f"+{flag}" for flag in FLAGS)
"""The same for every clang that a build starts, silently. Source: clang/tools/driver/driver.cpp."""


def _find_clang(language: str, environment: Mapping[str, str]) -> tuple[str, int]:
    """ROCm's clang++, else the newest on the path.

    Raises:
        CaptureError: there is none that can do it.
    """
    rocm = environment.get("ROCM_PATH", "/opt/rocm")
    versions = (f"clang++-{number}" for number in range(30, _OLDEST_CLANG - 1, -1))
    seen: list[str] = []
    for name in (f"{rocm}/llvm/bin/clang++", *versions, "clang++"):
        path = shutil.which(name, path=environment.get("PATH"))
        if path is None:
            continue
        printed = children.run([path, "--version"]).output
        found = re.search(r"clang version (\d+)", printed)
        if found and int(found[1]) >= _OLDEST_CLANG:
            return path, int(found[1])
        seen.append(f"{path}: {printed.splitlines()[0] if printed else 'no version'}")
    raise CaptureError(
        f"{language} programs need clang {_OLDEST_CLANG} or newer (ROCm 6.2's or Debian's), "
        "and there is none",
        hint=APT,
        details=tuple(seen),
    )


def triton_folder(backend: str, language: str) -> Path:
    """The folder of Triton's wheel with the headers of a language.

    Raises:
        CaptureError: Triton is not installed, or has none.
    """
    spec = util.find_spec("triton")
    folder = Path(spec.origin).parent / "backends" / backend if spec and spec.origin else None
    if folder is None or not (folder / "include").is_dir():
        raise CaptureError(
            f"Triton, which brings {language}'s headers, is not installed",
            hint="pip install 'intelliperf-swizzle[triton]'",
        )
    return folder


def packages(*patterns: str) -> Iterator[Path]:
    """What packages of NVIDIA's bring, such as cuBLAS's and Thrust's."""
    found = util.find_spec("nvidia")
    for place in found.submodule_search_locations or () if found else ():
        for pattern in patterns:
            yield from sorted(Path(place).glob(f"*/{pattern}"))


def digest_of(tool: str, headers: Path) -> str:
    """Changes with whatever a root is made of: compiler, headers, libraries, and what makes it."""
    versions = (headers / "include" / name for name in ("hip/hip_version.h", "cuda.h"))
    makers = sorted(Path(__file__).parent.glob("*toolchain.py"))
    parts = [tool.encode(), sys.executable.encode(), *map(bytes, (headers, *packages("lib/lib*")))]
    files = filter(Path.is_file, (*makers, *versions, *sorted(RUNTIME.iterdir())))
    parts += [file.read_bytes() for file in files]
    return hashlib.blake2b(b"\0".join(parts), digest_size=8).hexdigest()


def _make_once(root: Path, make: Callable[[Path], None]) -> None:
    """Makes a root, unless it is there; beside its place first, so that it is whole.

    Raises:
        CaptureError: it cannot be written.
    """
    if root.is_dir():
        return
    root.parent.mkdir(parents=True, exist_ok=True)
    partial = root.with_name(f"{root.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        make(partial)
        partial.rename(root)
    except OSError as error:
        if not root.is_dir():  # else another process was faster
            raise CaptureError(f"{root} cannot be made: {error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _archiver() -> str:
    """An `ar` with GCC's plugin alone: an older LLVM's takes host objects with bitcode for its."""
    command = [shutil.which("cc") or "true", "-print-file-name=liblto_plugin.so"]
    plugin = children.run(command).output.strip()
    chosen = f' --plugin "{plugin}"' if Path(plugin).is_file() else ""
    return f'#!/bin/sh\nexec "{shutil.which("ar") or "ar"}"{chosen} "$@"\n'


def _small_modules() -> Iterator[tuple[str, bytes]]:
    """Name and bitcode of the device libraries that hold at most a constant."""
    for name in ("hip", "opencl"):
        yield name, assemble(MODULE_HEAD)

    def constants(name: str, **values: str) -> tuple[str, bytes]:
        rows = (f"@__oclc_{variable} = linkonce_odr hidden addrspace(4) constant {value}\n"
                for variable, value in values.items())  # fmt: skip
        return name, assemble(MODULE_HEAD + "".join(rows))

    for version in (500, 600):
        yield constants(f"oclc_abi_version_{version}", ABI_version=f"i32 {version}")
    for name, number in _ISA_VERSIONS.items():
        yield constants(f"oclc_isa_version_{name}", ISA_version=f"i32 {number}")
    for how, value, log in (("on", "i8 1", "i32 6"), ("off", "i8 0", "i32 5")):
        for switch in _SWITCHES:
            name = switch if switch == "daz_opt" else switch.removesuffix("_opt").removesuffix("32")
            yield constants(f"oclc_{name}_{how}", **{switch: value})
        size = {"wavefrontsize64": value, "wavefrontsize_log2": log}
        yield constants(f"oclc_wavefrontsize64_{how}", **size)


def build_standin(
    language: str, clang: str, source: Path, library: Path, flags: Sequence[str] = ()
) -> None:
    """The stand-in for a runtime, from the source that is shipped.

    Args:
        language: for messages.
        clang: path of clang++.
        source: of the stand-in.
        library: to be made, in a folder beside the headers' `include`.
        flags: more of clang's.

    Raises:
        CaptureError: it does not compile.
    """
    command = [
        clang, "-std=c++17", "-O2", "-fPIC", "-shared", *flags, "-Wno-unused-value",
        f"-I{library.parent.parent / 'include'}", str(source), "-ldl",
        f"-Wl,-soname,{library.name}", "-o", str(library),
    ]  # fmt: skip
    built = children.run(command)
    if built.exit_code != 0:
        raise CaptureError(
            f"the stand-in for the {language} runtime does not compile with {clang}",
            details=tuple(built.output.splitlines()[:20]),
            hint="g++ or libstdc++-dev may be missing: sudo apt install g++",
        )


PROBE = """#include <hip/hip_runtime.h>
__global__ void scale(float* x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
int main() {
  float* x = nullptr;
  if (hipMalloc(&x, 1024) != hipSuccess) return 1;
  scale<<<1, 256>>>(x, 2.0f, 256);
  return hipDeviceSynchronize() != hipSuccess;
}
"""
PROBES = {"HIP": PROBE, "CUDA": PROBE.partition("\n")[2].replace("hip", "cuda")}
