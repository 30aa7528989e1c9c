# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Triton behind the seam of `frontends.ports`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.frontends.ports import Compiler
from intelliperf_swizzle.frontends.resizing import scale_launch
from intelliperf_swizzle.frontends.triton.capture.recording import record
from intelliperf_swizzle.frontends.triton.overlay.rules import OVERLAY_MODULE, applying
from intelliperf_swizzle.frontends.triton.source import build, edit
from intelliperf_swizzle.frontends.triton.source_proofs.entry_points import (
    prove_calls,
    prove_launches,
)
from intelliperf_swizzle.frontends.triton.tile_loops import with_loops
from intelliperf_swizzle.frontends.triton.tracing import find_dependences, trace, trace_each
from intelliperf_swizzle.frontends.triton.trials import make_ready, on_gpu
from intelliperf_swizzle.frontends.triton.validate.compare import find_difference, validate
from intelliperf_swizzle.frontends.triton.versions import find_triton


class Triton:
    """Kernels of `triton.jit`; as of `frontends.ports.KernelLanguage`."""

    name = "Triton"
    measures = True
    default_target = None
    record = staticmethod(record)
    with_loops = staticmethod(with_loops)
    trace = staticmethod(trace)
    trace_each = staticmethod(trace_each)
    resize = staticmethod(scale_launch)
    find_dependences = staticmethod(find_dependences)
    find_difference = staticmethod(find_difference)
    build = staticmethod(build)
    edit = staticmethod(edit)
    validate = staticmethod(validate)
    prove_launches = staticmethod(prove_launches)
    prove_calls = staticmethod(prove_calls)
    on_gpu = staticmethod(on_gpu)
    make_ready = staticmethod(make_ready)
    applying = staticmethod(applying)
    overlay_module = OVERLAY_MODULE

    def compiler(self, environment: Mapping[str, str]) -> Compiler:
        """Triton itself."""
        return find_triton()

    def names_program(self, command: Sequence[str], project: Path) -> bool:
        """Whether a word is a Python file with Triton kernels, or a model compiled to some."""
        files = (project / word for word in command if word.endswith(".py"))
        texts = [file.read_text("utf-8", "replace") for file in files if file.is_file()]
        return any("triton.jit" in text or "torch.compile" in text for text in texts)


TRITON = Triton()
