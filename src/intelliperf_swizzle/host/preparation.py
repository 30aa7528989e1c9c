# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a run under the host works with: its profiler if that can measure, else ours."""

from __future__ import annotations

import sys
from dataclasses import replace

from intelliperf_swizzle.errors import ProfileError, UsageError
from intelliperf_swizzle.host.profiler import IntelliPerfProfiler, why_not
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile.tools import PROFILERS
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.search.setup import Setup, invocation, prepare, with_hardware
from intelliperf_swizzle.search.user_commands import run_build

NAME = "intelliperf"


def prepare_with_host(options: Options, command: tuple[str, ...], progress: Progress) -> Setup:
    """The host's profiler if it can measure, else what a run without the host would take.

    The target then has the number of XCDs that the host's profiler saw.

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
    run_build(options.build_command, setup.project)
    if own:
        return setup
    setup = replace(setup, options=options)
    reason = why_not()
    if reason is None:
        progress.phase("profiling the unmodified application (intelliperf)")
        profiler = IntelliPerfProfiler(setup)
        try:
            return replace(setup, target=profiler.begin(), profiler=profiler)
        except ProfileError as error:
            if options.profiler == IntelliPerfProfiler.name:
                raise
            reason = ": ".join((error.fact, *error.details[-1:]))
    elif options.profiler == IntelliPerfProfiler.name:
        raise ProfileError(
            f"IntelliPerf cannot measure here: {reason}",
            hint="--profiler model needs no GPU",
        )
    setup = with_hardware(setup, progress)
    instead = f"{setup.profiler.name} does" if setup.profiler else "hit rates are modelled"
    progress.note(f"IntelliPerf cannot measure here ({reason}): {instead}")
    return setup
