# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""HIP and CUDA C++ behind the seam of `frontends.ports`: recorded, traced, executed on the CPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.frontends.cpp.code_resources import read_build
from intelliperf_swizzle.frontends.cpp.compile import flavours
from intelliperf_swizzle.frontends.cpp.compile.building import names_program
from intelliperf_swizzle.frontends.cpp.compile.gpu_builds import build_copy, builds_for_gpu
from intelliperf_swizzle.frontends.cpp.gpu.gpu_trials import on_gpu
from intelliperf_swizzle.frontends.cpp.record.record_program import capture
from intelliperf_swizzle.frontends.cpp.shadowing import splice
from intelliperf_swizzle.frontends.cpp.trace.tracing import find_dependences, trace
from intelliperf_swizzle.frontends.cpp.validate.validate import find_flaw, validate
from intelliperf_swizzle.frontends.ports import Compiler, RecordRequest
from intelliperf_swizzle.kept import Kept
from intelliperf_swizzle.records import Capture, Launch, Trace


class Cpp:
    """Kernels of HIP or CUDA C++; as of `frontends.ports.KernelLanguage`.

    Args:
        flavour: which of them.
    """

    builds = True
    build_copy = staticmethod(build_copy)
    trace = staticmethod(trace)
    find_dependences = staticmethod(find_dependences)
    build = staticmethod(read_build)
    edit = staticmethod(splice)
    find_flaw = staticmethod(find_flaw)
    validate = staticmethod(validate)
    on_gpu = staticmethod(on_gpu)

    def __init__(self, flavour: flavours.Flavour):
        self._flavour = flavour
        self.name, self.default_target = flavour.name, flavour.default_target

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

    def record(self, request: RecordRequest) -> Capture:
        """Builds and runs a program on the stand-in."""
        return capture(request, self._flavour)

    def with_loops(
        self, launches: Sequence[Launch], name: str | None
    ) -> tuple[tuple[Launch, ...], tuple[str, ...]]:
        """The launches as they are: programs are renumbered."""
        return tuple(launches), ()

    def trace_each(self, launches: Sequence[Launch]) -> list[Trace | None]:
        """None for each: a launch with other arguments than the recorded ones is not made yet."""
        return [None for _ in launches]

    def resize(self, launch: Launch, counts: Callable[[int], Iterable[int]]) -> list[Launch]:
        """None, for the same reason."""
        return []

    def retile(self, launch: Launch) -> list[Launch]:
        """None: the size of a tile is not told from other numbers."""
        return []

    def cautions(
        self, launches: Sequence[Launch], prove_command: str, kept: Kept
    ) -> tuple[str, ...]:
        """None: what a kernel's own remap does is not looked at."""
        return ()


HIP = Cpp(flavours.HIP)
CUDA = Cpp(flavours.CUDA)
