# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""HIP and CUDA C++ behind the seam of `frontends.ports`: recorded, traced, executed on the CPU."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.frontends.cpp.compile.building import TOOLCHAINS, names_program, sources
from intelliperf_swizzle.frontends.cpp.compile.gpu_builds import build_copy, builds_for_gpu
from intelliperf_swizzle.frontends.cpp.gpu_trials import CppOnGpu
from intelliperf_swizzle.frontends.cpp.record.preparing import read_build
from intelliperf_swizzle.frontends.cpp.record.record_program import capture
from intelliperf_swizzle.frontends.cpp.shadowing import splice
from intelliperf_swizzle.frontends.cpp.trace import find_dependences, resize, trace, trace_each
from intelliperf_swizzle.frontends.cpp.validate import validate
from intelliperf_swizzle.frontends.ports import Compiler, RecordRequest
from intelliperf_swizzle.hardware import Backend, torch_build
from intelliperf_swizzle.records import Capture

CUDA_TEXT = re.compile(r"<<<|cuda_runtime|\bcuda\.h\b")
HIP_TEXT = re.compile(r"hip/hip_runtime|\bhip[A-Z]\w*(?=\s*\()")
ALIAS = re.compile(r"(?m)^[ \t]*#[ \t]*define[ \t]+(hip[A-Z]\w*)")
"""A name of HIP's that a program itself gives a meaning."""


class Cpp:
    """Kernels of HIP or CUDA C++; as of `frontends.ports.KernelLanguage`.

    Args:
        name: `HIP` or `CUDA`.
    """

    build_copy = staticmethod(build_copy)
    trace = staticmethod(trace)
    trace_each = staticmethod(trace_each)
    resize = staticmethod(resize)
    find_dependences = staticmethod(find_dependences)
    build = staticmethod(read_build)
    edit = staticmethod(splice)
    validate = staticmethod(validate)
    on_gpu = CppOnGpu

    def __init__(self, name: str):
        self.name, self.tools = name, TOOLCHAINS[name]
        self.default_target, self.backend = self.tools.default_target, self.tools.backend

    @property
    def measures(self) -> bool:
        """Whether the vendor's own compiler is here, which builds programs for a GPU."""
        return builds_for_gpu(self.name, os.environ)

    def compiler(self, environment: Mapping[str, str]) -> Compiler:
        """The clang++ that is found, tried on ten lines."""
        try:
            toolchain = self.tools.find(environment)
            return Compiler(str(toolchain), toolchain.gap(environment), toolchain.install)
        except SwizzleError as error:
            return Compiler(None, error.fact, error.hint)

    def names_program(self, command: Sequence[str], project: Path) -> bool:
        """Whether a word is a program with a fat binary, or Python that builds an extension."""
        torch = self.backend == (torch_build() or "cuda")
        return names_program(command, project, self.name, torch=torch)

    def builds_program(self, project: Path, command: str, backend: Backend | None) -> bool:
        """Whether sources have a kernel, and the backend or what they include is of this kind.

        Where they include both, what the command calls.
        """
        text = "\n".join(text for _, text in sources(project))
        hip = {*HIP_TEXT.findall(text)}.difference(ALIAS.findall(text))
        named = not hip or re.search(r"\b(?:nvcc|cuda)\b", command) is not None
        kind = backend or ("cuda" if named and CUDA_TEXT.search(text) else "hip")
        return kind == self.backend and "__global__" in text

    def has_kernel(self, kernel: str, project: Path) -> bool:
        """Whether a source of CUDA, or of HIP, alone has a kernel of that name."""
        pattern = re.compile(rf"__global__[^;{{}}]*\b{re.escape(kernel)}\s*\(")
        return any(pattern.search(text) for _, text in sources(project, self.tools.sources))

    def record(self, request: RecordRequest) -> Capture:
        """Builds and runs a program on the stand-in."""
        return capture(request, self.tools)


HIP, CUDA = map(Cpp, TOOLCHAINS)
