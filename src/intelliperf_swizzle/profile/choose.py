# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which profiler measures: the one that is asked for, or the best that works here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from intelliperf_swizzle.errors import ProfileError, UsageError
from intelliperf_swizzle.hardware import Target, devices
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
    machine: installed.Machine = installed.HERE,
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
    application = _with_device(application)
    if name == "auto":
        return _best(target, application, progress or Silent(), machine)
    return _made(name, target, application, machine)  # type: ignore[arg-type]


def _with_device(application: Application) -> Application:
    if application.device is not None:
        return application
    return replace(application, device=next(iter(devices()), None))


def _best(
    target: Target, application: Application, progress: Progress, machine: installed.Machine
) -> Profiler | None:
    """The first hardware profiler that works, else the model."""
    device = application.device
    seen = []
    for name, kind in installed.KINDS.items():
        if device is not None and kind.backend == device.backend:
            seen.append(installed.tool_for(name, target, device, machine))
            if (usable := first_usable(seen)) is not None:
                return _CLASSES[name](application, target, usable)
    for problem in [tool.problem for tool in seen if tool.problem][:1]:
        progress.note(f"hit rates are modelled: {problem.fact} (`doctor` says more)")
    return None


def first_usable(listed: Sequence[installed.Tool]) -> installed.Tool | None:
    """What `auto` takes of tools in its order; None = none, so the model."""
    return next((tool for tool in listed if tool.problem is None), None)


def _made(
    name: installed.ToolName, target: Target, application: Application, machine: installed.Machine
) -> Profiler:
    """Raises ProfileError where it cannot work here."""
    unfit = installed.misfit(name, installed.KINDS[name].backend, target, application.device)
    if unfit is not None:
        raise ProfileError(unfit.fact, hint="--profiler model needs no GPU")
    tool = installed.find_tool(name, machine)
    if tool.problem is not None:
        raise ProfileError(tool.problem.fact, hint=installed.without_counters(tool.problem.command))
    return _CLASSES[name](application, target, tool)
