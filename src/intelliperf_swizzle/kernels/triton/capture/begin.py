# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: the agent that writes launches down (`Settings.agent`)."""

from __future__ import annotations

from pathlib import Path

from intelliperf_swizzle.kernels.triton.capture.calls import (
    Call,
    JitFunction,
    LaunchGrid,
    before_each_launch,
)
from intelliperf_swizzle.kernels.triton.capture.settings import Settings
from intelliperf_swizzle.kernels.triton.capture.uses import Uses


def install(folder: Path, settings: Settings) -> None:
    """Record whatever Triton launches in this process, on its GPU or under its interpreter."""
    uses = Uses(folder)
    uses.watch()
    if settings.gpu is None:
        from intelliperf_swizzle.kernels.triton.capture.compiled import CompiledRecorder

        compiled = CompiledRecorder(folder, uses)
        before_each_launch(compiled.launch, interpreted=False, passes=compiled.passes)
        return

    from triton.runtime.interpreter import InterpretedFunction

    from intelliperf_swizzle.kernels.triton.capture.interpreted import InterpretedRecorder
    from intelliperf_swizzle.kernels.triton.capture.standin_triton import Compiled

    recorder = InterpretedRecorder(folder, settings, uses)
    interpret = InterpretedFunction.run

    def run(
        self: JitFunction, *args: object, grid: LaunchGrid, warmup: bool, **kwargs: object
    ) -> Compiled:
        def execute() -> object:
            return interpret(self, *args, grid=grid, warmup=False, **kwargs)

        if not warmup:
            recorder.launch(Call(self, args, kwargs, grid), execute)
        return Compiled(self, kwargs)

    InterpretedFunction.run = run
