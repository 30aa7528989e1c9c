# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which profiler measures: the one that is asked for, or the best that works here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from intelliperf_swizzle.errors import ProfileError, UsageError
from intelliperf_swizzle.hardware import HERE, Machine, Target, devices
from intelliperf_swizzle.profile import Application, Profiler, installed
from intelliperf_swizzle.profile.ncu import NcuProfiler
from intelliperf_swizzle.profile.rocprofv3 import Rocprofv3Profiler
from intelliperf_swizzle.progress import Progress, Silent

_CLASSES: Mapping[installed.ToolName, Callable[[Application, Target, installed.Tool], Profiler]] = {
    "ncu": NcuProfiler,
    "rocprofv3": Rocprofv3Profiler,
}


def choose_profiler(
    name: str,
    target: Target,
    application: Application | None = None,
    progress: Progress | None = None,
    machine: Machine = HERE,
) -> Profiler | None:
    """The profiler of that name; `auto` is the best that works here; None = the model.

    Args:
        name: one of `PROFILERS`.
        target: the GPU that is asked for.
        application: what a hardware profiler is to run; None = there is none, so the model.
        progress: told why `auto` is the model on a machine with a GPU.
        machine: where tools are looked for.

    Raises:
        UsageError: there is no profiler of that name.
        ProfileError: it cannot work here.
    """
    if name not in installed.PROFILERS:
        raise UsageError(
            f"there is no profiler `{name}`", hint=f"one of: {', '.join(installed.PROFILERS)}"
        )
    if name == "model" or application is None:
        return None
    device = application.device or next(iter(devices()), None)
    backend = device.backend if device and name == "auto" else None
    names = [one for one, kind in installed.KINDS.items() if name == one or kind.backend == backend]
    tools = [installed.tool_for(one, target, device, machine) for one in names]
    if (usable := installed.first_usable(tools)) is not None:
        return _CLASSES[usable.name](replace(application, device=device), target, usable)
    problem = next((tool.problem for tool in tools if tool.problem), None)
    if problem and name == "auto":
        (progress or Silent()).note(f"hit rates are modelled: {problem.fact} (`doctor` says more)")
    elif problem:
        unfit = installed.misfit(name, installed.KINDS[names[0]].backend, target, device)
        hint = installed.without_counters(problem.command)
        raise ProfileError(problem.fact, hint="--profiler model needs no GPU" if unfit else hint)
    return None
