# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Triton behind the seam of `kernels.base`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from intelliperf_swizzle.dependence import Dependence
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.hardware import Device, Target
from intelliperf_swizzle.hardware.occupancy import Build
from intelliperf_swizzle.kernels.base import GpuRuns, RecordRequest
from intelliperf_swizzle.kernels.triton.capture import capture
from intelliperf_swizzle.kernels.triton.gpu import Rig
from intelliperf_swizzle.kernels.triton.source.build import build
from intelliperf_swizzle.kernels.triton.source.splice import splice
from intelliperf_swizzle.kernels.triton.source_proofs import prove_launches
from intelliperf_swizzle.kernels.triton.tracing import find_dependences, trace
from intelliperf_swizzle.kernels.triton.trials import TritonOnGpu
from intelliperf_swizzle.kernels.triton.validate import difference_of_text, validate
from intelliperf_swizzle.language import Swizzle
from intelliperf_swizzle.records import Capture, Launch, MappedLaunch, Trace, Validation

LOOK_SECONDS = 20.0
"""For finding out unasked whether a kernel drops tiles."""


class Triton:
    """Kernels of `triton.jit`; as of `kernels.base.KernelLanguage`."""

    name = "Triton"

    def record(self, request: RecordRequest) -> Capture:
        """Runs the application, on its GPU or on a stand-in, and records its launches."""
        device = request.device
        return capture(
            request.command,
            folder=request.folder,
            cwd=request.cwd,
            quiet_seconds=request.quiet_seconds,
            limit_seconds=request.limit_seconds,
            compute=request.compute,
            target=request.target,
            environment={**os.environ, **device.environment} if device else None,
            on_gpu=device is not None,
        )

    def trace(self, launch: Launch) -> Trace:
        """Runs the kernel's address arithmetic for all programs in Triton's interpreter."""
        return trace(launch)

    def find_dependences(
        self, launches: Sequence[Launch], *, timeout_seconds: float
    ) -> Sequence[Dependence]:
        """Traces launches one by one in one child process."""
        return find_dependences(launches, timeout_seconds=timeout_seconds)

    def build(self, launch: Launch, target: Target, edit: Edit | None = None) -> Build:
        """Compiles with the Triton that is installed."""
        return build(launch, target, edit.functions if edit else {})

    def edit(
        self,
        launches: Sequence[Launch],
        swizzle: Swizzle,
        target: Target,
        *,
        name: str,
        roots: Sequence[Path],
    ) -> Edit:
        """Inserts the swizzle before the first read of a program id."""
        source = launches[0].source
        return splice(source, swizzle, target=target, launches=launches, name=name, roots=roots)

    def find_flaw(self, mapped: Sequence[MappedLaunch], edit: Edit) -> str | None:
        """The cheap gates of `validate`."""
        return difference_of_text(mapped, edit)

    def validate(
        self, mapped: Sequence[MappedLaunch], edit: Edit, *, tolerance: float, budget_seconds: float
    ) -> Validation:
        """Same syntax tree, proved mapping, same bytes in Triton's interpreter."""
        return validate(mapped, edit, tolerance=tolerance, budget_seconds=budget_seconds)

    def on_gpu(
        self,
        request: RecordRequest,
        gpu: tuple[Device, Target],
        traced: Sequence[tuple[Launch, Trace]],
        *,
        tolerance: float,
    ) -> GpuRuns:
        """Runs edits in the application's process, beside the unmodified kernel."""
        device, target = gpu
        rig = Rig(
            command=request.command,
            cwd=request.cwd,
            folder=request.folder,
            device=device.product,
            environment={**os.environ, **device.environment},
            cache_bytes=target.num_xcds * target.l2_bytes_per_xcd + (target.llc_bytes or 0),
            limit_seconds=request.limit_seconds,
        )
        return TritonOnGpu(rig, traced, tolerance)

    def cautions(self, launches: Sequence[Launch], prove_command: str) -> tuple[str, ...]:
        """Says so if the remap that the kernel's source has already drops tiles."""
        return tuple(
            f"{launch.kernel} computes some tiles twice and others never, unmodified: "
            f"{verdict.reason}, {verdict.evidence[0]} ({prove_command})"
            for launch, verdict in zip(
                launches, prove_launches(launches, timeout_seconds=LOOK_SECONDS), strict=True
            )
            if verdict.drops_tiles
        )


TRITON = Triton()
