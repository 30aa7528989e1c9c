# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The remap that a kernel already has: recorded launches in, verdicts out."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from intelliperf_swizzle.capture import capture
from intelliperf_swizzle.children import run_child
from intelliperf_swizzle.codec import load_arrays
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.launches import save_launch
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Launch
from intelliperf_swizzle.remap.judge import RemapVerdict, judge
from intelliperf_swizzle.remap.observation import Observation


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

    Costs a child process of about a second, and then some tenths of a second a launch; more where
    outputs are large. A launch at which the child process dies is tried once more in its own.
    """
    with tempfile.TemporaryDirectory(prefix="swizzle-remap-") as name:
        folders = [Path(name) / "all" / f"{number:06}" for number in range(len(launches))]
        for launch, folder in zip(launches, folders, strict=True):
            folder.mkdir(parents=True)
            save_launch(launch, folder / "launch.json")
        died = _watch(Path(name) / "all", timeout_seconds)
        verdicts = []
        for launch, folder in zip(launches, folders, strict=True):
            why = died
            if died and len(launches) > 1 and not _is_done(folder):
                alone = Path(name) / folder.name
                alone.mkdir()
                why = _watch(folder.rename(alone / "0").parent, timeout_seconds)
                folder = alone / "0"
            verdicts.append(_verdict(launch, folder, why))
        return tuple(verdicts)


def _watch(folder: Path, limit_seconds: float) -> str | None:
    """Run the child process; why it died, or None."""
    child = run_child(
        "intelliperf_swizzle.remap.child",
        folder,
        environment={**os.environ, "TRITON_INTERPRET": "1"},
        limit_seconds=limit_seconds,
    )
    if child is None:
        return f"it took longer than {limit_seconds:g} s"
    if child.returncode != 0:
        last = " ".join(child.stderr.splitlines()[-1:])
        return f"the interpreter ended with exit code {child.returncode}: {last}"
    return None


def _is_done(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("observation.npz", "refusal.txt"))


def _verdict(launch: Launch, folder: Path, died: str | None) -> RemapVerdict:
    refusal = folder / "refusal.txt"
    if (folder / "observation.npz").exists():
        seen = load_arrays(Observation, folder / "observation.npz")
        return judge(seen, launch.kernel, launch.grid, launch.count)
    reason = refusal.read_text() if refusal.exists() else died or "nothing was seen of it"
    return RemapVerdict(launch.kernel, launch.grid, "not told", reason, (), launch.count)


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
