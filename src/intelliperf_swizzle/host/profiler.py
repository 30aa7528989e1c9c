# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The host's profiler, `Application.profile`, behind our Protocol.

The host keeps its profiles under fixed names in one directory, never ends a child that hangs and
leaves the process where something fails. So each profile is taken in a child process with a time
limit, on a copy of the project, with a copy of GT's directory, all of it in a temporary folder.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.children import CallError, call
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.frontends.ports import Builder
from intelliperf_swizzle.hardware import Device, Target
from intelliperf_swizzle.host.cards import KernelReading, reading_of
from intelliperf_swizzle.profile import Application, TracedLaunch
from intelliperf_swizzle.profile.application import carrying, check_edited, profiling_environment
from intelliperf_swizzle.profile.tools import misfit
from intelliperf_swizzle.records import Measurement
from intelliperf_swizzle.search.setup import Setup

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
            "intelliperf_swizzle.host.profile_child:profile",
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
