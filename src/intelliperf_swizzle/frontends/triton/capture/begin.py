# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: the agent that writes launches down (`Settings.agent`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.frontends.triton.capture import inductor, tuning
from intelliperf_swizzle.frontends.triton.capture.calls import (
    around_each_launch,
    before_each_launch,
)
from intelliperf_swizzle.frontends.triton.capture.settings import OTHER_CONFIGS, Settings
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

    recorder = InterpretedRecorder(folder, settings, uses)
    if not settings.all_configs:
        around_each_launch(recorder.launch)
        return
    aside = InterpretedRecorder(folder / OTHER_CONFIGS, replace(settings, compute="never"), uses)
    around_each_launch(
        lambda *launch: (aside if tuning.is_other_config() else recorder).launch(*launch)
    )
    tuning.watch_all()
