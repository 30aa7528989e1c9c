# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: the agent that writes launches down (`Settings.agent`)."""

from __future__ import annotations

from pathlib import Path

from intelliperf_swizzle.frontends.triton.capture import inductor, tuning
from intelliperf_swizzle.frontends.triton.capture.calls import around_each_launch
from intelliperf_swizzle.frontends.triton.capture.recorder import Recorder
from intelliperf_swizzle.frontends.triton.capture.settings import Settings
from intelliperf_swizzle.frontends.triton.capture.uses import Uses


def install(folder: Path, settings: Settings) -> None:
    """Record whatever Triton launches in this process, on its GPU or on none."""
    uses = Uses(folder)
    uses.watch()
    tuning.watch()
    inductor.watch(timed=settings.gpu is None)
    around_each_launch(Recorder(folder, settings, uses).launch)
