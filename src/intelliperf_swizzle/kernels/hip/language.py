# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""HIP C++ behind the seam of `kernels.base`: recorded, traced, edited and executed on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import BuildError, SwizzleError, ValidationError
from intelliperf_swizzle.hardware import Device, Target
from intelliperf_swizzle.hardware.occupancy import Build
from intelliperf_swizzle.kept import Kept
from intelliperf_swizzle.kernels.base import Compiler, GpuRuns, RecordRequest
from intelliperf_swizzle.kernels.hip.building import names_device_code
from intelliperf_swizzle.kernels.hip.device_code import read_kernel, read_kernels, recording_of
from intelliperf_swizzle.kernels.hip.preparing import make_edited
from intelliperf_swizzle.kernels.hip.record_program import capture
from intelliperf_swizzle.kernels.hip.splice import splice
from intelliperf_swizzle.kernels.hip.toolchain import APT, find_gap, find_toolchain
from intelliperf_swizzle.kernels.hip.tracing import build, find_dependences, trace
from intelliperf_swizzle.kernels.hip.validate import find_unsafe_order, validate
from intelliperf_swizzle.language import Swizzle
from intelliperf_swizzle.records import Launch, MappedLaunch, Trace, Validation


class Hip:
    """Kernels of HIP C++; as of `kernels.base.KernelLanguage`."""

    name = "HIP"
    builds = True
    measures = False
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
        """What the program's own compiler has made of it, with the edit if there is one."""
        if edit is None:
            return build(launch, target)
        symbol = read_kernel(launch).code.symbol
        kernels = read_kernels(make_edited(recording_of(launch), edit))
        if symbol not in kernels:
            raise BuildError(f"the swizzled program has no `{launch.kernel}` of this kind")
        options = {**launch.options, "device_kernel": str(kernels[symbol][0])}
        return build(replace(launch, options=options), target)

    def edit(
        self,
        launches: Sequence[Launch],
        swizzle: Swizzle,
        target: Target,
        *,
        name: str,
        roots: Sequence[Path],
    ) -> Edit:
        """Hides the builtin `blockIdx` by one of the kernel's own."""
        return splice(launches, swizzle, target, name=name, roots=roots)

    def find_flaw(self, mapped: Sequence[MappedLaunch], edit: Edit) -> str | None:
        """An order that programs which depend on each other forbid."""
        return find_unsafe_order(mapped)

    def validate(
        self, mapped: Sequence[MappedLaunch], edit: Edit, *, tolerance: float, budget_seconds: float
    ) -> Validation:
        """Builds the edited program; same reads, same accesses, same bytes."""
        return validate(mapped, edit, budget_seconds=budget_seconds)

    def on_gpu(
        self,
        request: RecordRequest,
        gpu: tuple[Device, Target],
        traced: Sequence[tuple[Launch, Trace]],
        *,
        tolerance: float,
    ) -> GpuRuns:
        """Raises ValidationError (`measures`)."""
        raise ValidationError("HIP programs are not run on a GPU yet")

    def cautions(
        self, launches: Sequence[Launch], prove_command: str, kept: Kept
    ) -> tuple[str, ...]:
        """None: what a kernel's own remap does is not looked at."""
        return ()


HIP = Hip()
