# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: the agent that writes launches down (`Settings.agent`)."""

from __future__ import annotations

from pathlib import Path

from intelliperf_swizzle.frontends.triton.capture import inductor, tuning
from intelliperf_swizzle.frontends.triton.capture.calls import (
    around_each_launch,
    before_each_launch,
)
from intelliperf_swizzle.frontends.triton.capture.settings import Settings
from intelliperf_swizzle.frontends.triton.capture.uses import Uses


def install(folder: Path, settings: Settings) -> None:
    """Record whatever Triton launches in this process, on its GPU or under its interpreter."""
    uses = Uses(folder)
    uses.watch()
    tuning.watch()
    if settings.gpu is None:
        from intelliperf_swizzle.frontends.triton.capture.compiled import CompiledRecorder

        compiled = CompiledRecorder(folder, uses)
        before_each_launch(compiled.launch, interpreted=False)
        inductor.watch(compiled.launch, compiled.caution)
        return

    from intelliperf_swizzle.frontends.triton.capture.interpreted import InterpretedRecorder

    around_each_launch(InterpretedRecorder(folder, settings, uses).launch)
