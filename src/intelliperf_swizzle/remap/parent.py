# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The remap that a kernel already has: recorded launches in, verdicts out."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from intelliperf_swizzle.capture import capture
from intelliperf_swizzle.children import run_child
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.launches import save_launch
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Launch
from intelliperf_swizzle.remap.judge import RemapVerdict, judge
from intelliperf_swizzle.remap.observation import load_observation


def prove_source(
    command: Sequence[str],
    source: Path,
    *,
    kernel: str | None = None,
    folder: Path = Path(),
    target: Target | None = None,
    quiet_seconds: float = 10.0,
    limit_seconds: float = 300.0,
    progress: Progress | None = None,
) -> tuple[RemapVerdict, ...]:
    """For each launch of a file's kernels, whether its source computes each tile exactly once.

    Args:
        command: the application, as the user starts it.
        source: the file that the kernel, or a jit function that it calls, is written in.
        kernel: only this one.
        folder: where the application is started.
        target: the GPU that the application is told of, by default an MI300X.
        quiet_seconds: recording ends so long after the last new launch.
        limit_seconds: recording ends at the latest.
        progress: told of each step.

    Raises:
        UsageError: there is no such file, or no kernel of it was launched.
        CaptureError: the application launched no kernel.
    """
    if not source.is_file():
        raise UsageError(f"there is no file {source}", hint="--source names the kernel's file")
    if not folder.is_dir():
        raise UsageError(f"there is no directory {folder}", hint="-p names the project directory")
    progress = progress or Silent()
    with tempfile.TemporaryDirectory(prefix="swizzle-remap-") as records:
        progress.phase(f"recording {shlex.join(command)}")
        captured = capture(
            command,
            folder=records,
            cwd=folder,
            quiet_seconds=quiet_seconds,
            limit_seconds=limit_seconds,
            target=target,
        )
        launches = launches_of(captured.launches, source, kernel)
        noun = "launch" if len(launches) == 1 else "launches"
        progress.phase(f"looking at {len(launches)} {noun}")
        return prove_launches(launches)


def prove_launches(
    launches: Sequence[Launch], *, timeout_seconds: float = 600.0
) -> tuple[RemapVerdict, ...]:
    """For each launch, whether its own source computes each of its tiles exactly once.

    Costs a child process each, two at a time: a second or two, and more for large outputs.
    """
    with ThreadPoolExecutor(2) as pool:  # they wait for child processes
        return tuple(pool.map(lambda one: prove_launch(one, timeout_seconds), launches))


def prove_launch(launch: Launch, timeout_seconds: float = 600.0) -> RemapVerdict:
    """As `prove_launches`, for one."""

    def not_told(reason: str, evidence: Sequence[str] = ()) -> RemapVerdict:
        return RemapVerdict(
            launch.kernel, launch.grid, "not told", reason, tuple(evidence), launch.count
        )

    with tempfile.TemporaryDirectory(prefix="swizzle-remap-") as name:
        folder = Path(name)
        save_launch(launch, folder / "launch.json")
        child = run_child(
            "intelliperf_swizzle.remap.child",
            folder,
            environment={**os.environ, "TRITON_INTERPRET": "1"},
            limit_seconds=timeout_seconds,
        )
        if child is None:
            return not_told(f"it took longer than {timeout_seconds:g} s")
        if child.returncode != 0:
            return not_told("the interpreter crashed", child.stderr.splitlines()[-8:])
        refusal = folder / "refusal.txt"
        if refusal.exists():
            return not_told(refusal.read_text())
        observation = load_observation(folder / "observation.npz")
    return judge(observation, launch.kernel, launch.grid, launch.count)


def launches_of(
    launches: Sequence[Launch], source: Path, kernel: str | None = None
) -> tuple[Launch, ...]:
    """The launches of kernels that are written in a file, or call a jit function of it.

    Raises:
        UsageError: there is none.
    """
    file = source.resolve()
    named = [one for one in launches if kernel in (None, one.kernel)]
    if not named:
        found = sorted({one.kernel for one in launches})
        raise UsageError(
            f"the application launched no kernel `{kernel}`",
            hint=f"it launched: {', '.join(found)}",
        )
    chosen = tuple(one for one in named if file in _files(one))
    if not chosen:
        found = sorted({str(path) for one in named for path in _files(one)})
        raise UsageError(
            f"no kernel that was launched is written in {source}",
            hint=f"they are in: {', '.join(found)}",
        )
    return chosen


def _files(launch: Launch) -> set[Path]:
    return {Path(function.file).resolve() for function in launch.source.functions.values()}
