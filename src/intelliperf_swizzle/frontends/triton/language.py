# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Triton behind the seam of `frontends.ports`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.edit import Edit, read_exactly
from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.ports import Compiler
from intelliperf_swizzle.frontends.resizing import scale_launch
from intelliperf_swizzle.frontends.triton.capture.recording import record
from intelliperf_swizzle.frontends.triton.ir.render import RULE
from intelliperf_swizzle.frontends.triton.overlay import runtime
from intelliperf_swizzle.frontends.triton.overlay.rules import applying, rules_of
from intelliperf_swizzle.frontends.triton.source import build, splice
from intelliperf_swizzle.frontends.triton.source.configs import recorded_configs
from intelliperf_swizzle.frontends.triton.source.splice import NoSwizzleError
from intelliperf_swizzle.frontends.triton.source_proofs.entry_points import (
    prove_calls,
    prove_launches,
)
from intelliperf_swizzle.frontends.triton.tile_loops import with_loops
from intelliperf_swizzle.frontends.triton.tracing import find_dependences, trace, trace_each
from intelliperf_swizzle.frontends.triton.trials import on_gpu
from intelliperf_swizzle.frontends.triton.validate import find_difference, validate
from intelliperf_swizzle.frontends.triton.versions import find_triton
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import Swizzle
from intelliperf_swizzle.records import Launch


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
    validate = staticmethod(validate)
    prove_launches = staticmethod(prove_launches)
    prove_calls = staticmethod(prove_calls)
    on_gpu = staticmethod(on_gpu)
    applying = staticmethod(applying)
    overlay_module = Path(runtime.__file__)

    def compiler(self, environment: Mapping[str, str]) -> Compiler:
        """Triton itself."""
        return find_triton()

    def names_program(self, command: Sequence[str], project: Path) -> bool:
        """Whether a word is a Python file with Triton kernels, or a model compiled to some."""
        files = (project / word for word in command if word.endswith(".py"))
        texts = [one.read_text("utf-8", "replace") for one in files if one.is_file()]
        return any("triton.jit" in one or "torch.compile" in one for one in texts)

    def edit(
        self,
        launches: Sequence[Launch],
        swizzle: Swizzle,
        target: Target,
        *,
        name: str,
        roots: Sequence[Path],
    ) -> Edit:
        """Inserts the swizzle before the first read of a program id.

        Where the text cannot carry it, or others use that text, the kernel alone changes when it is
        compiled (see `overlay`): the edit has no file and no diff.
        """
        read_exactly(Path(launches[0].source.entry.file))  # else nothing can be said of it
        most = max(launches, key=lambda one: one.programs)
        rules = rules_of(most, swizzle, target, recorded_configs(launches))
        try:
            edit = splice(
                launches[0].source, swizzle, target=target, launches=launches, name=name,
                roots=roots,
            )  # fmt: skip
        except SpliceError as error:
            if not rules or isinstance(error, NoSwizzleError):
                raise
            note = f"no patch can carry it: {error.fact}; `apply` changes the compiled kernel"
            edit = Edit({RULE: json.dumps(rules[0])}, {}, {}, "", notes=(note,))
        if most.loop:
            text = edit.functions[most.source.kernel]
            rules = rules_of(most, swizzle, target, recorded_configs(launches), text)
        return replace(edit, rules=rules)


TRITON = Triton()
