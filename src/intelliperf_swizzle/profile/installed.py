# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which hardware profilers are installed, which version, whether they may read counters, and which
measures: the one that is asked for, or the best that works here.

Nothing here runs a GPU: a tool is only asked for its version, with a time limit.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from intelliperf_swizzle import children
from intelliperf_swizzle.errors import ProfileError, UsageError
from intelliperf_swizzle.hardware import HERE, Device, Machine, Target, devices, targets
from intelliperf_swizzle.hardware.detect import text_of
from intelliperf_swizzle.hardware.target import Backend
from intelliperf_swizzle.profile import Application, Profiler
from intelliperf_swizzle.progress import Progress, Silent

ToolName: TypeAlias = Literal["ncu", "rocprofv3"]


@dataclass(frozen=True)
class Kind:
    """A profiler that this package can use.

    Attributes:
        backend: of the GPUs that it measures.
        elsewhere: where it is installed, should `PATH` not name it; patterns, newest name last.
        version: what finds the version in what `--version` prints.
        install: the command that installs it.
    """

    backend: Backend
    elsewhere: tuple[str, ...]
    version: str
    install: str


KINDS: Mapping[ToolName, Kind] = {
    "ncu": Kind(
        "cuda",
        ("usr/local/cuda*/bin/ncu", "opt/nvidia/nsight-compute/*/ncu"),
        r"Version (\d+(?:\.\d+)+)",
        "sudo apt install nsight-compute",
    ),
    "rocprofv3": Kind(
        "hip",
        ("opt/rocm*/bin/rocprofv3",),
        r"version:?\s+v?(\d+(?:\.\d+)+)",
        "sudo apt install rocprofiler-sdk",
    ),
}
"""In the order in which `auto` prefers them."""

PROFILERS = ("auto", "model", *KINDS)
"""What `--profiler` takes."""


@dataclass(frozen=True)
class Obstacle:
    """Why a profiler cannot be used here, and the one command that mends it (None = none does)."""

    fact: str
    command: str | None = None


@dataclass(frozen=True)
class Tool:
    """A profiler as it is here.

    Attributes:
        name: as `--profiler` takes it.
        path: its executable, None if it is not installed.
        version: None if it did not say.
        problem: why it cannot be used, None if it can.
    """

    name: ToolName
    path: str | None = None
    version: str | None = None
    problem: Obstacle | None = None


def find_tool(name: ToolName, machine: Machine = HERE) -> Tool:
    """The profiler of that name, its version, and what is in the way of using it."""
    kind = KINDS[name]
    path = machine.program(name) or _elsewhere(kind.elsewhere, machine.root)
    if path is None:
        return Tool(name, problem=Obstacle(f"{name} is not installed", kind.install))
    printed = _ask([path, "--version"], machine.limit_seconds)
    if isinstance(printed, Obstacle):
        return Tool(name, path, problem=printed)
    found = re.search(kind.version, printed)
    version = found[1] if found else None
    refused = {"cuda": _no_nvidia_access, "hip": _no_amd_access}[kind.backend](machine.root)
    return Tool(name, path, version, problem=refused)


def _elsewhere(patterns: Sequence[str], root: Path) -> str | None:
    """The executable in its usual places; of several versions the last one by name."""
    for pattern in patterns:
        found = [path for path in sorted(root.glob(pattern)) if os.access(path, os.X_OK)]
        if found:
            return str(found[-1])
    return None


def _ask(command: Sequence[str], limit_seconds: float) -> str | Obstacle:
    """What a command prints, or why it did not."""
    name = Path(command[0]).name
    try:
        ran = children.run(command, limit_seconds=limit_seconds)
    except OSError as error:
        return Obstacle(f"{command[0]} cannot be started: {error.strerror}")
    if ran.exit_code is None:
        return Obstacle(f"{command[0]} does not answer within {limit_seconds:g} s")
    if ran.exit_code:
        reason = "".join(f": {line}" for line in ran.last_lines(1))
        return Obstacle(f"`{name} --version` fails with exit code {ran.exit_code}{reason}")
    return ran.output


def tool_for(
    name: ToolName, target: Target, device: Device | None, machine: Machine = HERE
) -> Tool:
    """The profiler of that name, and what is in the way of measuring this target with it."""
    tool = find_tool(name, machine)
    return replace(tool, problem=misfit(name, KINDS[name].backend, target, device) or tool.problem)


def first_usable(listed: Sequence[Tool]) -> Tool | None:
    """What `auto` takes of tools in its order; None = none, so the model."""
    return next((tool for tool in listed if tool.problem is None), None)


def misfit(name: str, backend: Backend, target: Target, device: Device | None) -> Obstacle | None:
    """Why a profiler for such GPUs cannot measure this target here, whatever is installed."""
    vendor = {"cuda": "NVIDIA", "hip": "AMD"}[backend]
    if device is None or device.backend != backend:
        present = "no GPU" if device is None else device.product
        return Obstacle(f"{name} measures {vendor} GPUs, and the GPU here is {present}")
    known = device.target
    other = known is not None and target.name in targets() and target.name != known.name
    if other or target.backend != backend or device.arch not in (None, target.arch):
        return Obstacle(f"the target is {target.name}, and the GPU here is {device.product}")
    return None


# --- counter access -----------------------------------------------------------------------------

NVIDIA_ACCESS = (
    "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | "
    "sudo tee /etc/modprobe.d/nvidia-profiling.conf && sudo reboot"
)
"""Lets every user read counters. Source: developer.nvidia.com/ERR_NVGPUCTRPERM."""

AMD_ACCESS = "sudo usermod -aG render,video $USER"
"""Lets a user open AMD GPUs, after the next login. Source: ROCm, post-installation instructions."""

_SYS_ADMIN = 21
"""The bit of CAP_SYS_ADMIN in a set of capabilities."""


def _no_nvidia_access(root: Path) -> Obstacle | None:
    if "RmProfilingAdminOnly: 1" not in (text_of(root / "proc/driver/nvidia/params") or ""):
        return None
    status = text_of(root / "proc/self/status") or ""
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.MULTILINE)
    if effective and int(effective[1], 16) >> _SYS_ADMIN & 1:
        return None
    return Obstacle(
        "the driver lets only administrators read counters (RmProfilingAdminOnly: 1)",
        NVIDIA_ACCESS,
    )


def _no_amd_access(root: Path) -> Obstacle | None:
    kfd = root / "dev/kfd"
    if not kfd.exists():
        return Obstacle(
            "there is no /dev/kfd: the amdgpu driver is not loaded", "sudo modprobe amdgpu"
        )
    if not os.access(kfd, os.R_OK | os.W_OK):
        return Obstacle("this user may not open /dev/kfd", AMD_ACCESS)
    return None


def without_counters(command: str | None = None) -> str:
    """What to do where counters cannot be read: what mends it, and how to go on without."""
    goes_on = "--profiler auto continues without it: hit rates are modelled, times are measured"
    return f"{command}\n      {goes_on}" if command else goes_on


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
        progress: receives why `auto` is the model on a machine with a GPU.
        machine: where tools are looked for.

    Raises:
        UsageError: there is no profiler of that name.
        ProfileError: it cannot work here.
    """
    from intelliperf_swizzle.profile.ncu import NcuProfiler
    from intelliperf_swizzle.profile.rocprofv3 import Rocprofv3Profiler

    classes = dict[str, Callable[..., Profiler]](ncu=NcuProfiler, rocprofv3=Rocprofv3Profiler)
    if name not in PROFILERS:
        raise UsageError(f"there is no profiler `{name}`", hint=f"one of: {', '.join(PROFILERS)}")
    if name == "model" or application is None:
        return None
    device = application.device or next(iter(devices()), None)
    backend = device.backend if device and name == "auto" else None
    names = [p for p, kind in KINDS.items() if name == p or kind.backend == backend]
    tools = [tool_for(profiler, target, device, machine) for profiler in names]
    if (usable := first_usable(tools)) is not None:
        return classes[usable.name](replace(application, device=device), target, usable)
    problem = next((tool.problem for tool in tools if tool.problem), None)
    if problem and name == "auto":
        (progress or Silent()).note(f"hit rates are modelled: {problem.fact} (`doctor` says more)")
    elif problem:
        unfit = misfit(name, KINDS[names[0]].backend, target, device)
        hint = without_counters(problem.command)
        raise ProfileError(problem.fact, hint="--profiler model needs no GPU" if unfit else hint)
    return None
