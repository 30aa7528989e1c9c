# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The host's profiler, `Application.profile`, behind our Protocol.

The host keeps its profiles under fixed names in one directory, never ends a child that hangs and
leaves the process where something fails. So each profile is taken in a child process with a time
limit, on a copy of the project, with a copy of GT's directory, all of it in a temporary folder.
"""

from __future__ import annotations

import ctypes
import dataclasses
import importlib
import importlib.util
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.children import CallError, call
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.edit.copy import copy_project, moved_command
from intelliperf_swizzle.errors import ProfileError, SpliceError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.host.cards import KernelReading, reading_of
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.records import Measurement
from intelliperf_swizzle.search.setup import Setup

LIMIT_SECONDS = 3600.0
"""GT runs an application some twenty times; one that takes longer hangs."""

GT_RESULTS = ("workloads", "guided.db", "intelliperf_*", ".git", "__pycache__")
"""What a copy of GT's directory leaves out: the profiles of other runs."""


class IntelliPerfProfiler:
    """Measures with the host; `begin` takes the profile of the unmodified application.

    Args:
        setup: of the run; its build command is run in each copy of the project.
    """

    name = "intelliperf"

    def __init__(self, setup: Setup):
        self.device = setup.target.name
        self._setup = setup
        self._target = setup.target
        self._baseline: tuple[KernelReading, ...] = ()

    def begin(self) -> Target:
        """Profiles the unchanged application; the target with the XCDs that the device showed.

        Raises:
            ProfileError: the host could not profile it.
        """
        self._baseline = self._profile(None)
        counts = {one.num_xcds for one in self._baseline if one.num_xcds is not None}
        if len(counts) != 1:
            return self._target
        (count,) = counts
        domains = self._target.dispatch_domains
        if count != self._target.num_xcds:
            domains = tuple(range(count))
        return dataclasses.replace(self._target, num_xcds=count, dispatch_domains=domains)

    def measure(self, launches: Sequence[TracedLaunch], edit: Edit | None = None) -> Measurement:
        """The kernel's hit rate and mean time in a run of the application that carries the edit.

        Raises:
            ProfileError: the run failed, or its profile lacks the kernel or its hit rate.
        """
        profile = self._baseline if edit is None else self._profile(edit)
        reading = reading_of(launches[0].launch.kernel, profile)
        if reading.l2_hit_rate is None:
            raise ProfileError(f"IntelliPerf collected no L2 hit rate of `{reading.kernel}`")
        return Measurement(
            profiler=self.name,
            device=self.device,
            l2_hit_rate=reading.l2_hit_rate,
            time_ms=None if reading.time_ns is None else reading.time_ns / 1e6,
        )

    def _profile(self, edit: Edit | None) -> tuple[KernelReading, ...]:
        project = self._setup.project
        with temporary_folder("profile") as folder:
            copy = folder / "project"
            try:
                copy_project(project, copy, edit)
            except SpliceError as error:
                raise ProfileError(error.fact, hint=error.hint) from error
            request = {
                "name": f"swizzle-{os.getpid()}",
                "build_command": shlex.split(self._setup.options.build_command or "") or None,
                "project_directory": str(copy),
                "app_cmd": moved_command(self._setup.command, project, copy),
                "top_n": self._setup.options.top_n,
            }
            return _ask_child(request, folder)


def why_not() -> str | None:
    """Why the host cannot measure on this machine, in a few words; None if it may."""
    try:
        ctypes.CDLL("libamdhip64.so")
    except OSError:
        return "no ROCm: libamdhip64.so is missing"
    directory = _gt_directory()
    if directory is None:
        return None if importlib.util.find_spec("metrix") else "Metrix is not installed"
    if not (directory / "bin" / "gt").is_file():
        return f"no GT in {directory}"
    return None


def _gt_directory() -> Path | None:
    """Where the host looks for GT; None if it does not."""
    find = getattr(importlib.import_module("intelliperf.utils.env"), "get_guided_tuning_path", None)
    return Path(find()) if find else None


def _ask_child(request: Mapping[str, object], folder: Path) -> tuple[KernelReading, ...]:
    environment = {"TMPDIR": str(folder)}
    directory = _gt_directory()
    if directory is not None:
        environment["GT_TUNING"] = str(folder / "gt")
        shutil.copytree(
            directory, folder / "gt", symlinks=True, ignore=shutil.ignore_patterns(*GT_RESULTS)
        )
        (folder / "gt" / "data").mkdir(exist_ok=True)
    try:
        profile: tuple[KernelReading, ...] = call(
            "intelliperf_swizzle.host.profile_child:profile",
            request,
            environment=environment,
            limit_seconds=LIMIT_SECONDS,
        )
    except CallError as error:
        if error.too_late:
            limit = f"{LIMIT_SECONDS:g} s"
            raise ProfileError(f"IntelliPerf's profiler took longer than {limit}") from None
        lines = error.ended.last_lines(12)
        raise ProfileError("IntelliPerf's profiler failed", details=lines) from None
    return profile
