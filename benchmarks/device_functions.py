# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which device functions of CUDA and HIP the tool knows: each is called by a kernel of its own.

    python benchmarks/device_functions.py

The functions are those that clang's headers and the vendors' declare, as the preprocessor yields
them. A function is known if its kernel is traced and executed on the CPU; of others the reason is
kept. `cpp_pages.py` writes the page of the records.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.frontends.cpp.code.binaries import read_code_objects
from intelliperf_swizzle.frontends.cpp.compile.cuda_toolchain import CudaToolchain
from intelliperf_swizzle.frontends.cpp.compile.toolchain import HipToolchain, Toolchain
from intelliperf_swizzle.frontends.cpp.record.device_code import (
    PreparationRequest,
    prepare,
    read_kernels,
)

RECORDS = Path(__file__).parent / "records" / "device_functions.json"
DECLARED = re.compile(
    r"((?:(?:static|inline|__inline__|extern|\"C\"|constexpr|const|__attribute__\(\([^()]*\)\))\s+)+)"
    r"((?:unsigned |signed )?\w+(?: long| int)?(?: int)?)\s+"
    r"(?:__attribute__\(\([^()]*\)\)\s+)*(\w+)\s*\(([^(){};]*)\)\s*"
    r"(?:noexcept(?:\(true\))?\s*|__attribute__\(\([^()]*\)\)\s*|throw\(\)\s*)*[{;]"
)
INNER = re.compile(
    r"__(?:nv_|nvvm|ocml|ockl|llvm|builtin|internal|hip_(?!hc)|amdgcn|make_mantissa|cuda)|operator"
    r"|tex|surf|__tex|__surf|cuda|hip|make_|_|malloc|free|printf|__assert|abort|std"
)
"""What no user calls, and textures and memory, of which the pages on limits tell."""
GONE = re.compile(r"(?:__)?(?:shfl(?:_up|_down|_xor)?|all|any|ballot|uni)$|nanf?$")
"""Of CUDA: no GPU since sm_70 has them; `nan` takes text."""
COMMON = re.compile(r"__(?!nv_|nvvm|ocml|ockl|llvm|builtin|internal|make_mantissa|cuda)[a-z]")
SCALARS = {
    "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned",
    "unsigned int", "long", "unsigned long", "long long", "unsigned long long", "float", "double",
    "bool", "long long int", "unsigned long long int", "unsigned long int", "uint32_t", "uint64_t",
    "__hip_uint32_t", "__hip_uint64_t", "__half", "__half2", "__nv_bfloat16", "__nv_bfloat162",
}  # fmt: skip
VECTOR = re.compile(r"u?(?:char|short|int|long|longlong)[1-4]$|(?:float|double)[1-4]$")
CONSTANTS = {"width": "32", "__width": "32", "__segment": "32", "mask": "0xffffffff"}
BATCH = 100
"""Functions in a module."""
HEADERS = {
    "CUDA": "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n",
    "HIP": "#include <hip/hip_runtime.h>\n",
}


@dataclass(frozen=True)
class Function:
    """A device function: its name, and C++ types of its result and parameters."""

    name: str
    result: str
    parameters: tuple[str, ...]

    def kernel(self, number: int) -> str:
        """A kernel in one line that calls it with what lies in memory."""
        parts = []
        for place, kind in enumerate(self.parameters):
            at = f"p + {64 * (place + 1)} + 4096 * blockIdx.x"
            if kind.endswith("*"):
                parts.append(f"reinterpret_cast<{kind}>({at})")
            elif not kind.startswith("="):
                parts.append(f"*reinterpret_cast<{kind}*>({at})")
            else:
                parts.append(kind[1:])
        call = f"{self.name}({', '.join(parts)})"
        if self.result != "void":
            call = f"*reinterpret_cast<{self.result}*>(p + 4096 * blockIdx.x) = {call}"
        return f'extern "C" __global__ void k{number}(char* p) {{ {call}; }}\n'


def declared(text: str) -> list[Function]:
    """The device functions of preprocessed text whose parameters are numbers and pointers.

    Of overloads the first, but not of `char` and the like where there is another one.
    """
    text = re.sub(r"(?m)^#.*$", "", text)
    found: dict[str, Function] = {}
    for words, result, name, listed in DECLARED.findall(" ".join(text.split())):
        inner = INNER.match(name) and not COMMON.match(name)
        if not re.search(r"\b_*device_*\b", words) or inner:
            continue
        kinds = [_parameter(kind) for kind in listed.split(",")] if listed.strip("void ") else []
        if None in kinds or (_kind(result) is None and result != "void"):
            continue
        one = Function(name, result, tuple(map(str, kinds)))
        if name not in found or "char" in str(found[name]):
            found[name] = one
    return list(found.values())


def _parameter(text: str) -> str | None:
    value = text.partition("=")[2].strip()
    name = re.search(r"(\w+)\s*(?:=.*)?$", text.strip())
    if name and name[1].strip("_") in ("width", "segment"):
        return "=32"
    if re.fullmatch(r"\w+", value) and name and name[1].strip("_") == "mask":
        return f"={value}"
    return _kind(text.partition("=")[0])


def _kind(text: str) -> str | None:
    """The type of a parameter, without its name; None if none is made of it here."""
    text = re.sub(r"__attribute__\(\(.*?\)\)|\b(?:const|volatile|__restrict__)\b", "", text)
    stars = "*" * text.count("*")
    words = text.replace("*", " ").split()
    for count in (len(words), len(words) - 1):
        kind = " ".join(words[:count])
        if kind in SCALARS or VECTOR.match(kind):
            return kind + stars if len(stars) < 2 else None
    return None


def tried(toolchain: Toolchain, folder: Path) -> dict[str, str | None]:
    """Why each function is not known; None if it is."""
    language = toolchain.language
    environment = toolchain.build_environment(os.environ)
    head, root = HEADERS[language], toolchain.root
    source = folder / ("all.cu" if language == "CUDA" else "all.hip")
    words = ["hipcc", "--cuda-device-only", "--offload-arch=gfx942"]
    compiler = ["hipcc", "--offload-arch=gfx942", "-c"]
    if language == "CUDA":
        words = [toolchain.clang, "-x", "cuda", f"--cuda-path={root}", "-idirafter",
                 str(root / "more"), "-include", "cuda_host.h", "-isystem", str(root / "include"),
                 "--cuda-device-only", "--cuda-gpu-arch=sm_90"]  # fmt: skip
        compiler = [str(root / "bin/nvcc"), "-arch=sm_90", "-fatbin"]
    source.write_text(head)
    text = _run([*words, "-E", str(source)], environment).stdout
    known = [
        function
        for function in declared(text)
        if not (language == "CUDA" and GONE.match(function.name))
    ]
    source.write_text(head + "".join(launch.kernel(number) for number, launch in enumerate(known)))
    checked = _run([*words, "-fsyntax-only", "-ferror-limit=0", "-w", str(source)], environment)
    errors = re.findall(rf"{source.name}:(\d+):\d+: error:", checked.stderr)
    wrong = {int(row) - head.count("\n") - 1 for row in errors}  # the headers' own
    left = [function for row, function in enumerate(known) if row not in wrong]
    found: dict[str, str | None] = {}
    for begin in range(0, len(left), BATCH):
        batch = left[begin : begin + BATCH]
        found |= _traced(batch, source, compiler, toolchain)
        print(f"{language}: {begin + len(batch)} of {len(left)}", flush=True)
    return dict(sorted(found.items()))


def _traced(
    functions: Sequence[Function], source: Path, compiler: Sequence[str], toolchain: Toolchain
) -> dict[str, str | None]:
    """The same of some that compile, in one module."""
    head, built = HEADERS[toolchain.language], source.with_suffix(".built")
    source.write_text(
        head + "".join(function.kernel(number) for number, function in enumerate(functions))
    )
    environment = toolchain.build_environment(os.environ)
    ended = _run([*compiler, "-O1", "-w", str(source), "-o", str(built)], environment)
    if ended.returncode:
        sys.exit(ended.stderr[-3000:])
    objects = tuple(read_code_objects(built))
    with temporary_folder("kernels") as folder:
        prepare(PreparationRequest(objects, (), folder, (folder, folder), toolchain.clang), folder)
        kernels = {symbol: kernel for symbol, (_, kernel) in read_kernels(folder).items()}
    found: dict[str, str | None] = {}
    for number, function in enumerate(functions):
        kernel = kernels[f"k{number}"]
        why = kernel.slice.refusal or kernel.foreign
        found[function.name] = why and re.sub(r" \(\S+:\d+\)", "", why)
    return found


def _run(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def main() -> int:
    """Writes the records of the languages that are named, by default of both."""
    found = json.loads(RECORDS.read_text("utf-8")) if RECORDS.exists() else {}
    for kind in (CudaToolchain, HipToolchain):
        if kind.language in (sys.argv[1:] or ("CUDA", "HIP")):
            with temporary_folder("functions") as folder:
                found[kind.language] = tried(kind.find(), folder)
    RECORDS.write_text(json.dumps(found, indent=0) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
