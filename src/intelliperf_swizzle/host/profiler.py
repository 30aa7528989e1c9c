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
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from intelliperf_swizzle.codec import decode, dumps, loads
from intelliperf_swizzle.errors import ProfileError, SpliceError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.host.cards import Reading, reading_of
from intelliperf_swizzle.kernel.copy import copy_project, moved_command
from intelliperf_swizzle.kernel.edit import Edit
from intelliperf_swizzle.loop import Settings
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.records import Measurement, Proof

LIMIT_SECONDS = 3600.0
"""GT runs an application some twenty times; one that takes longer hangs."""

GT_RESULTS = ("workloads", "guided.db", "intelliperf_*", ".git", "__pycache__")
"""What a copy of GT's directory leaves out: the profiles of other runs."""


class IntelliPerfProfiler:
    """Measures with the host; `begin` takes the profile of the application as it is.

    Args:
        settings: of the run.
        target: the GPU.
        build_command: run in each copy of the project, None where nothing is built.
    """

    name = "intelliperf"
    runs_application = True

    def __init__(self, settings: Settings, target: Target, build_command: str | None = None):
        self.device = target.name
        self._settings = settings
        self._target = target
        self._build_command = build_command
        self._baseline: tuple[Reading, ...] = ()

    def begin(self) -> Target:
        """Profiles the unchanged application; the target with the XCDs that the device showed.

        Raises:
            ProfileError: the host could not profile it.
        """
        self._baseline = self._profile(None)
        counts = {reading.num_xcds for reading in self._baseline} - {None}
        if len(counts) != 1:
            return self._target
        (count,) = counts
        assert count is not None
        domains = self._target.dispatch_domains
        if count != self._target.num_xcds:
            domains = tuple(range(count))
        return dataclasses.replace(self._target, num_xcds=count, dispatch_domains=domains)

    def measure(
        self,
        launches: Sequence[TracedLaunch],
        proofs: Sequence[Proof],
        edit: Edit | None = None,
    ) -> Measurement:
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

    def _profile(self, edit: Edit | None) -> tuple[Reading, ...]:
        project = self._settings.project_directory
        with tempfile.TemporaryDirectory(prefix="swizzle-profile-") as folder:
            copy = Path(folder) / "project"
            try:
                copy_project(project, copy, edit)
            except SpliceError as error:
                raise ProfileError(error.fact, hint=error.hint) from error
            request = {
                "name": f"swizzle-{os.getpid()}",
                "build_command": shlex.split(self._build_command or "") or None,
                "project_directory": str(copy),
                "app_cmd": moved_command(self._settings.command, project, copy),
                "top_n": self._settings.top_n,
            }
            return _ask_child(request, Path(folder))


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


def _ask_child(request: Mapping[str, object], folder: Path) -> tuple[Reading, ...]:
    reply = folder / "reply.json"
    environment = {**os.environ, "TMPDIR": str(folder)}
    directory = _gt_directory()
    if directory is not None:
        environment["GT_TUNING"] = str(folder / "gt")
        shutil.copytree(
            directory, folder / "gt", symlinks=True, ignore=shutil.ignore_patterns(*GT_RESULTS)
        )
        (folder / "gt" / "data").mkdir(exist_ok=True)
    child = subprocess.Popen(
        [sys.executable, "-m", "intelliperf_swizzle.host.profile_child", str(reply)],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = child.communicate(dumps(request), timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        raise ProfileError(f"IntelliPerf's profiler took longer than {LIMIT_SECONDS:g} s") from None
    finally:
        _end_group(child)
    if child.returncode or not reply.is_file():
        raise ProfileError(
            "IntelliPerf's profiler failed", details=tuple(said.strip().splitlines()[-12:])
        )
    return decode(tuple[Reading, ...], loads(reply.read_bytes()))


def _end_group(child: subprocess.Popen[str]) -> None:
    """Ends the child and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
