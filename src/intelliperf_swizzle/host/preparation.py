# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a run under the host works with: its profiler if that can measure, else ours."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import ProfileError, UsageError
from intelliperf_swizzle.hardware import devices
from intelliperf_swizzle.host.profiler import IntelliPerfProfiler, why_not
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile import Profiler, TracedLaunch
from intelliperf_swizzle.profile.tools import PROFILERS
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Measurement
from intelliperf_swizzle.search.setup import (
    Setup,
    choose_device,
    invocation,
    prepare,
    with_hardware,
)
from intelliperf_swizzle.search.user_commands import run_build

NAME = "intelliperf"


def prepare_with_host(options: Options, command: tuple[str, ...], progress: Progress) -> Setup:
    """What a run without the host would take, but that the host's profiler measures if it can.

    Raises:
        UsageError: there is no profiler of that name.
        ProfileError: the profiler that is asked for cannot measure.
    """
    known = (*PROFILERS, IntelliPerfProfiler.name)
    if options.profiler not in known:
        raise UsageError(
            f"there is no profiler `{options.profiler}`", hint=f"one of: {', '.join(known)}"
        )
    own = options.profiler not in ("auto", IntelliPerfProfiler.name)
    asked = options if own else replace(options, profiler="model")
    setup = prepare(asked, command, progress, invocation=invocation(NAME, sys.argv[1:]))
    run_build(setup)
    return setup if own else _with_host_profiler(replace(setup, options=options), progress)


def _with_host_profiler(setup: Setup, progress: Progress) -> Setup:
    """The setup with the GPU and the host's profiler; if that cannot measure, with another."""
    options, target = setup.options, setup.target
    device = choose_device(options, target)
    reason = why_not(target, device or next(iter(devices()), None))
    if options.profiler == IntelliPerfProfiler.name:
        if reason is not None:
            raise ProfileError(
                f"IntelliPerf cannot measure here: {reason}", hint="--profiler model needs no GPU"
            )
        setup = replace(setup, device=device)
        return replace(setup, profiler=IntelliPerfProfiler(setup))
    if reason is None and device is None:
        reason = f"the GPU here is not known as {target.name}"
    setup = with_hardware(setup, progress if reason else Silent())
    if reason is not None:
        progress.note(cannot_measure(reason, setup.profiler))
        return setup
    measures: Profiler = IntelliPerfProfiler(setup)
    if setup.profiler is not None:
        measures = FirstThatMeasures(measures, setup.profiler, progress)
    return replace(setup, profiler=measures)


class FirstThatMeasures:
    """IntelliPerf's profiler, or another from when the first profile has failed.

    Args:
        first: IntelliPerf's.
        second: what measures without IntelliPerf.
        progress: told why the second one does.
    """

    def __init__(self, first: Profiler, second: Profiler, progress: Progress):
        self.name, self.device = first.name, first.device
        self._profiler, self._second = first, second
        self._progress = progress

    def measure(self, launches: Sequence[TracedLaunch], edit: Edit | None = None) -> Measurement:
        """As the profiler that measures; raises ProfileError."""
        try:
            return self._profiler.measure(launches, edit)
        except ProfileError as error:
            if edit is not None or self._profiler is self._second:
                raise
            self._progress.note(cannot_measure(error, self._second))
            self._profiler = self._second
            self.name, self.device = self._second.name, self._second.device
            return self._profiler.measure(launches, edit)


def cannot_measure(reason: ProfileError | str, instead: Profiler | None) -> str:
    """Why IntelliPerf does not measure, and what does, in a line."""
    if isinstance(reason, ProfileError):
        reason = ": ".join((reason.fact, *reason.details[-1:]))
    other = f"{instead.name} does" if instead else "hit rates are modelled"
    return f"IntelliPerf cannot measure here ({reason}): {other}"
