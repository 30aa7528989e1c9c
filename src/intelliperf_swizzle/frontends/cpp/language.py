# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""HIP and CUDA C++ behind the seam of `frontends.ports`: recorded, traced, executed on the CPU."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.frontends.cpp.compare.validate import validate
from intelliperf_swizzle.frontends.cpp.compile import flavours
from intelliperf_swizzle.frontends.cpp.compile.building import (
    builds_program,
    has_kernel,
    names_program,
)
from intelliperf_swizzle.frontends.cpp.compile.gpu_builds import build_copy, builds_for_gpu
from intelliperf_swizzle.frontends.cpp.gpu.gpu_trials import CppOnGpu
from intelliperf_swizzle.frontends.cpp.record.preparing import read_build
from intelliperf_swizzle.frontends.cpp.record.record_program import capture
from intelliperf_swizzle.frontends.cpp.shadowing import splice
from intelliperf_swizzle.frontends.cpp.trace import find_dependences, trace, trace_each
from intelliperf_swizzle.frontends.cpp.trace.other_sizes import resize
from intelliperf_swizzle.frontends.ports import Compiler, RecordRequest
from intelliperf_swizzle.hardware.target import Backend
from intelliperf_swizzle.records import Capture


class Cpp:
    """Kernels of HIP or CUDA C++; as of `frontends.ports.KernelLanguage`.

    Args:
        flavour: which of them.
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

    def __init__(self, flavour: flavours.Flavour):
        self._flavour = flavour
        self.name, self.default_target = flavour.name, flavour.default_target
        self.backend = flavour.backend

    @property
    def measures(self) -> bool:
        """Whether the vendor's own compiler is here, which builds programs for a GPU."""
        return builds_for_gpu(self.name, os.environ)

    def compiler(self, environment: Mapping[str, str]) -> Compiler:
        """The clang++ that is found, tried on ten lines."""
        return self._flavour.find_compiler(environment)

    def names_program(self, command: Sequence[str], project: Path) -> bool:
        """Whether a word is a program with a fat binary, or Python that builds an extension."""
        return names_program(command, project, self.name)

    def builds_program(self, project: Path, backend: Backend | None) -> bool:
        """Whether sources have a kernel, and the backend or what they include is of this kind."""
        return builds_program(project, backend, self._flavour)

    def has_kernel(self, kernel: str, project: Path) -> bool:
        """Whether a source of CUDA, or of HIP, alone has a kernel of that name."""
        return has_kernel(kernel, project, self._flavour)

    def record(self, request: RecordRequest) -> Capture:
        """Builds and runs a program on the stand-in."""
        return capture(request, self._flavour)


HIP = Cpp(flavours.HIP)
CUDA = Cpp(flavours.CUDA)
