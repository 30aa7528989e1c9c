# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""HIP C++ behind the seam of `kernels.base`: recorded, traced and modelled; not edited yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import SwizzleError, ValidationError
from intelliperf_swizzle.hardware import Device, Target
from intelliperf_swizzle.hardware.occupancy import Build
from intelliperf_swizzle.kernels.base import Compiler, GpuRuns, RecordRequest
from intelliperf_swizzle.kernels.hip.building import names_device_code
from intelliperf_swizzle.kernels.hip.record_program import capture
from intelliperf_swizzle.kernels.hip.toolchain import APT, find_gap, find_toolchain
from intelliperf_swizzle.kernels.hip.tracing import build, find_dependences, trace
from intelliperf_swizzle.language import Swizzle
from intelliperf_swizzle.records import Launch, MappedLaunch, Trace, Validation

NOT_YET = "HIP sources are not edited yet"


class Hip:
    """Kernels of HIP C++; as of `kernels.base.KernelLanguage`."""

    name = "HIP"
    builds = True
    edits = False
    record = staticmethod(capture)
    trace = staticmethod(trace)
    find_dependences = staticmethod(find_dependences)
    names_program = staticmethod(names_device_code)

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

    def compiler(self, environment: Mapping[str, str]) -> Compiler:
        """The clang++ that is found, tried on ten lines: it must keep device bitcode."""
        try:
            toolchain = find_toolchain(environment)
            with temporary_folder("probe") as folder:
                gap = find_gap(toolchain, folder, environment)
        except SwizzleError as error:
            return Compiler(None, error.fact, error.hint)
        hipcc = "the user's hipcc" if toolchain.has_hipcc else "its own hipcc, no ROCm"
        return Compiler(f"clang {toolchain.version} ({toolchain.clang}), {hipcc}", gap, APT)

    def build(self, launch: Launch, target: Target, edit: Edit | None = None) -> Build:
        """What the program's own compiler has made of it."""
        return build(launch, target)

    def edit(
        self,
        launches: Sequence[Launch],
        swizzle: Swizzle,
        target: Target,
        *,
        name: str,
        roots: Sequence[Path],
    ) -> Edit:
        """Changes nothing (`edits`)."""
        return Edit(functions={}, files={}, before={}, diff="", lines_added=0)

    def find_flaw(self, mapped: Sequence[MappedLaunch], edit: Edit) -> str | None:
        """That it changes nothing."""
        return NOT_YET

    def validate(
        self, mapped: Sequence[MappedLaunch], edit: Edit, *, tolerance: float, budget_seconds: float
    ) -> Validation:
        """Raises ValidationError: there is nothing to compare."""
        raise ValidationError(NOT_YET)

    def on_gpu(
        self,
        request: RecordRequest,
        gpu: tuple[Device, Target],
        traced: Sequence[tuple[Launch, Trace]],
        *,
        tolerance: float,
    ) -> GpuRuns:
        """Raises ValidationError: there is nothing to run."""
        raise ValidationError(NOT_YET)

    def cautions(self, launches: Sequence[Launch], prove_command: str) -> tuple[str, ...]:
        """None: what a kernel's own remap does is not looked at."""
        return ()


HIP = Hip()
