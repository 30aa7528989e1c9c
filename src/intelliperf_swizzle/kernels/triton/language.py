# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Triton behind the seam of `kernels.base`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.hardware.occupancy import Build
from intelliperf_swizzle.kept import Kept
from intelliperf_swizzle.kernels.triton.capture.again import record
from intelliperf_swizzle.kernels.triton.source.build import build
from intelliperf_swizzle.kernels.triton.source.splice import splice
from intelliperf_swizzle.kernels.triton.source_proofs import prove_launches
from intelliperf_swizzle.kernels.triton.source_proofs.other_sizes import scale_launch
from intelliperf_swizzle.kernels.triton.tile_loops import with_loops
from intelliperf_swizzle.kernels.triton.tracing import find_dependences, trace, trace_each
from intelliperf_swizzle.kernels.triton.trials import on_gpu
from intelliperf_swizzle.kernels.triton.validate import difference_of_text, validate
from intelliperf_swizzle.language import Swizzle
from intelliperf_swizzle.records import Launch

LOOK_SECONDS = 20.0
"""For finding out unasked whether a kernel drops tiles."""


class Triton:
    """Kernels of `triton.jit`; as of `kernels.base.KernelLanguage`."""

    name = "Triton"
    builds = False
    measures = True
    record = staticmethod(record)
    with_loops = staticmethod(with_loops)
    trace = staticmethod(trace)
    trace_each = staticmethod(trace_each)
    resize = staticmethod(scale_launch)
    find_dependences = staticmethod(find_dependences)
    find_flaw = staticmethod(difference_of_text)
    validate = staticmethod(validate)
    on_gpu = staticmethod(on_gpu)

    def compiler(self, environment: Mapping[str, str]) -> None:
        """None: Triton brings its own."""

    def names_program(self, command: Sequence[str], project: Path) -> bool:
        """No: a Python program is that of any language."""
        return False

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

    def cautions(
        self, launches: Sequence[Launch], prove_command: str, kept: Kept
    ) -> tuple[str, ...]:
        """Says so if the remap that the kernel's source has already drops tiles."""
        verdicts = prove_launches(launches, timeout_seconds=LOOK_SECONDS, kept=kept)
        return tuple(
            f"{launch.kernel} computes some tiles twice and others never, unmodified: "
            f"{verdict.reason}, {verdict.evidence[0]} ({prove_command})"
            for launch, verdict in zip(launches, verdicts, strict=True)
            if verdict.drops_tiles
        )


TRITON = Triton()
