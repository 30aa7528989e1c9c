# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The host's profiler, `Application.profile`, behind our Protocol.

Whether a host has what we need is asked of its behaviour: it has no version to go by.

The host keeps its profiles under fixed names in one directory, never ends a child that hangs and
leaves the process where something fails. So each profile is taken in a child process with a time
limit, on a copy of the project, with a copy of GT's directory, all of it in a temporary folder.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.util
import inspect
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intelliperf_swizzle.children import CallError, call
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import ProfileError, UsageError
from intelliperf_swizzle.frontends.ports import Builder
from intelliperf_swizzle.hardware import Device, Target
from intelliperf_swizzle.profile import Application, TracedLaunch
from intelliperf_swizzle.profile.application import carrying, check_edited, profiling_environment
from intelliperf_swizzle.profile.installed import misfit
from intelliperf_swizzle.profile.readings import plain_name
from intelliperf_swizzle.records import Measurement
from intelliperf_swizzle.search.setup import Setup

TESTED = ("6bd1939", "a8ffd40", "172b698")
"""Commits of github.com/AMDResearch/intelliperf that this was tested with."""

OPTIONS = (
    "accordo_absolute_tolerance",
    "build_command",
    "in_place",
    "instrument_command",
    "kernel",
    "num_attempts",
    "output_file",
    "project_directory",
    "remaining",
    "top_n",
    "trace_path",
    "unittest_command",
)
"""What we read of the host's command line."""

APPLICATION = (
    "name",
    "build_command",
    "instrument_command",
    "project_directory",
    "app_cmd",
    "unittest_command",
)
"""What we say of an application."""

METHODS = {
    "Application": {"build": (), "profile": ("top_n",)},
    "Logger": {
        "record": ("event_type", "data"),
        "save_iteration_code": ("kernel_name", "iteration_num", "code_content"),
        "flush": ("output_file",),
    },
}


class DriftError(UsageError):
    """The host is not as we know it."""

    def __init__(self, missing: tuple[str, ...]):
        super().__init__(
            "this IntelliPerf is not one that the swizzle formula knows",
            details=missing,
            hint=(
                f"it was tested with a checkout (pip install -e) at {', '.join(TESTED)}; "
                "`intelliperf-swizzle` takes the same command line and needs no IntelliPerf"
            ),
        )


@dataclass(frozen=True)
class Host:
    """The parts of the host that we use: its classes `Application` and `Logger`."""

    application: Any
    logger: Any


def probe(options: argparse.Namespace | None = None) -> Host:
    """The host's parts.

    Args:
        options: as the host's parser gave them, None where its command line is not used.

    Raises:
        DriftError: something is not there, or cannot be called as we call it; names all of it.
    """
    missing = [f"option --{name}" for name in OPTIONS if options and not hasattr(options, name)]
    application = _class("intelliperf.core.application", "Application", missing)
    logger = _class("intelliperf.core.logger", "Logger", missing)
    if application is not None:
        _check(application, "Application()", APPLICATION, missing)
    if logger is not None:
        _check(logger, "Logger()", ("run_name",), missing)
    if missing:
        raise DriftError(tuple(missing))
    return Host(application, logger)


def _class(module: str, name: str, missing: list[str]) -> Any:
    """The class of a module with the methods we call, None where it cannot be had."""
    try:
        found = getattr(importlib.import_module(module), name, None)
    except (Exception, SystemExit) as error:
        missing.append(f"module {module}: {type(error).__name__}: {error}")
        return None
    if found is None:
        missing.append(f"class {module}.{name}")
        return None
    for method, arguments in METHODS[name].items():
        if not hasattr(found, method):
            missing.append(f"method {name}.{method}")
        else:
            _check(getattr(found, method), f"{name}.{method}()", ("self", *arguments), missing)
    return found


def _check(callee: Any, called: str, arguments: tuple[str, ...], missing: list[str]) -> None:
    """Notes it where a callable does not take these arguments, by name."""
    try:
        inspect.signature(callee).bind(**dict.fromkeys(arguments))
    except TypeError as error:
        missing.append(f"{called}: {error}")


@dataclass(frozen=True)
class KernelReading:
    """What was measured of one kernel. None = not collected.

    Attributes:
        kernel: its plain name.
        time_ns: mean over its dispatches.
        l2_hit_rate: 0 to 1.
    """

    kernel: str
    time_ns: float | None
    l2_hit_rate: float | None


def readings(profiled: object) -> tuple[KernelReading, ...]:
    """The kernels of a profile, in its order.

    Args:
        profiled: a list of report cards (GT), or an object with `kernels`: the host's
            `KernelMetrics`, or what Metrix itself returns.

    Raises:
        ProfileError: it is neither.
    """
    if isinstance(profiled, Sequence) and not isinstance(profiled, str):
        return tuple(_card(card) for card in profiled)
    kernels = getattr(profiled, "kernels", None)
    if kernels is None:
        raise ProfileError(f"IntelliPerf's profile is no report: {type(profiled).__name__}")
    return tuple(_metrics(kernel) for kernel in kernels)


def reading_of(kernel: str, profile: Sequence[KernelReading]) -> KernelReading:
    """The kernel's reading; of several launched under its name the one that takes longest.

    Raises:
        ProfileError: the kernel is not in the profile.
    """
    found = [reading for reading in profile if reading.kernel == kernel]
    if not found:
        names = ", ".join(reading.kernel for reading in profile) or "no kernel"
        raise ProfileError(f"the profile does not show `{kernel}`", details=(f"it shows: {names}",))
    return max(found, key=lambda reading: reading.time_ns or 0.0)


def _card(card: object) -> KernelReading:
    if not isinstance(card, Mapping) or "kernel" not in card:
        raise ProfileError("IntelliPerf's report card names no kernel")
    return KernelReading(
        kernel=plain_name(card["kernel"]),
        time_ns=_number((card.get("durations") or {}).get("ns")),
        l2_hit_rate=_rate((card.get("l2") or {}).get("hr")),
    )


def _metrics(kernel: Any) -> KernelReading:
    if hasattr(kernel, "kernel_name"):
        return KernelReading(
            kernel=plain_name(kernel.kernel_name),
            time_ns=_number(getattr(kernel, "duration_ns", None)),
            l2_hit_rate=_rate(getattr(kernel, "l2_hit_rate", None)),
        )
    microseconds = _number(getattr(getattr(kernel, "duration_us", None), "avg", None))
    rate = getattr(kernel, "metrics", {}).get("memory.l2_hit_rate")
    return KernelReading(
        kernel=plain_name(kernel.name),
        time_ns=None if microseconds is None else 1000 * microseconds,
        l2_hit_rate=_rate(getattr(rate, "avg", None)),
    )


def _rate(percent: object) -> float | None:
    number = _number(percent)
    return None if number is None or not 0 <= number <= 100 else number / 100


def _number(value: object) -> float | None:
    """A finite number, or None: a counter that was not collected is missing, NaN or a text."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return None
    return float(value)


LIMIT_SECONDS = 3600.0
"""GT runs an application some twenty times; one that takes longer hangs."""

GT_RESULTS = ("workloads", "guided.db", "intelliperf_*", ".git", "__pycache__")
"""What a copy of GT's directory leaves out: the profiles of other runs."""


class IntelliPerfProfiler:
    """Measures with the host.

    Args:
        setup: of the run; its build command is run in each copy of the project.
    """

    name = "intelliperf"

    def __init__(self, setup: Setup):
        self.device = setup.device.product if setup.device else setup.target.product
        self._options = setup.options
        self._application = Application(
            setup.command, setup.project, setup.language, setup.device, LIMIT_SECONDS
        )
        self._baseline: tuple[KernelReading, ...] = ()

    def measure(self, launches: Sequence[TracedLaunch], edit: Edit | None = None) -> Measurement:
        """The kernel's hit rate and mean time in a run of the application that carries the edit.

        Raises:
            ProfileError: the run failed, or its profile lacks the kernel or its hit rate.
        """
        kernel = launches[0].launch.kernel
        reading = reading_of(kernel, self._profile(kernel, edit))
        if reading.l2_hit_rate is None:
            raise ProfileError(f"IntelliPerf collected no L2 hit rate of `{reading.kernel}`")
        return Measurement(
            profiler=self.name,
            device=self.device,
            l2_hit_rate=reading.l2_hit_rate,
            time_ms=None if reading.time_ns is None else reading.time_ns / 1e6,
            l2_before="warm",
        )

    def _profile(self, kernel: str, edit: Edit | None) -> tuple[KernelReading, ...]:
        """A profile shows all kernels, so that of the unmodified application is taken once."""
        if edit is not None:
            return self._run(kernel, edit)
        self._baseline = self._baseline or self._run(kernel, None)
        return self._baseline

    def _run(self, kernel: str, edit: Edit | None) -> tuple[KernelReading, ...]:
        application, build = self._application, self._options.build_command
        with temporary_folder("profile") as folder:
            copy, cache = folder / "project", folder / "triton"
            carrier = carrying(application, copy, edit)
            request = {
                "name": f"swizzle-{os.getpid()}",
                "build_command": build and ["sh", "-c", build],
                "project_directory": str(carrier.cwd),
                "app_cmd": carrier.command,
                "top_n": self._options.top_n,
            }
            environment = {
                **profiling_environment(application, carrier, copy, cache),
                "TRITON_INTERPRET": "0",
            }
            profile = _ask_child(request, folder, environment, application.limit_seconds)
            if edit is not None and not isinstance(application.language, Builder):
                check_edited(edit, kernel, carrier.original, copy, cache)
            return profile


def why_not(target: Target, device: Device | None) -> str | None:
    """Why the host cannot measure a target on this machine, in a few words; None if it may.

    Args:
        target: what is to be measured.
        device: the GPU that the application runs on.
    """
    try:
        ctypes.CDLL("libamdhip64.so")
    except OSError:
        return "no ROCm: libamdhip64.so is missing"
    directory = _gt_directory()
    if directory is None and not importlib.util.find_spec("metrix"):
        return "Metrix is not installed"
    if directory is not None and not (directory / "bin" / "gt").is_file():
        return f"no GT in {directory}"
    unfit = misfit("IntelliPerf", "hip", target, device)
    return unfit.fact if unfit else None


def _gt_directory() -> Path | None:
    """Where the host looks for GT; None if it does not."""
    find = getattr(importlib.import_module("intelliperf.utils.env"), "get_guided_tuning_path", None)
    return Path(find()) if find else None


def _ask_child(
    request: Mapping[str, object],
    folder: Path,
    environment: Mapping[str, str],
    limit_seconds: float,
) -> tuple[KernelReading, ...]:
    own = {"TMPDIR": str(folder)}
    directory = _gt_directory()
    if directory is not None:
        own["GT_TUNING"] = str(folder / "gt")
        shutil.copytree(
            directory, folder / "gt", symlinks=True, ignore=shutil.ignore_patterns(*GT_RESULTS)
        )
        (folder / "gt" / "data").mkdir(exist_ok=True)
    try:
        profile: tuple[KernelReading, ...] = call(
            "intelliperf_swizzle.host.profiler:profile",
            request,
            environment={**environment, **own},
            limit_seconds=limit_seconds,
        )
    except CallError as error:
        if error.too_late:
            limit = f"{limit_seconds:g} s"
            raise ProfileError(f"IntelliPerf's profiler took longer than {limit}") from None
        lines = error.ended.last_lines(12)
        raise ProfileError("IntelliPerf's profiler failed", details=lines) from None
    return profile


def profile(request: Mapping[str, Any], _: Path) -> tuple[KernelReading, ...]:
    """Builds and profiles the application of the request."""
    arguments = dict(request)
    top_n = arguments.pop("top_n")
    application = probe().application(instrument_command=None, unittest_command=None, **arguments)
    built = application.build()
    if built is not None and not built[0]:
        sys.exit(f"the build command failed:\n{built[1]}")
    return readings(application.profile(top_n=top_n))
