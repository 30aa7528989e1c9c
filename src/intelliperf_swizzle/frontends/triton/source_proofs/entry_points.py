# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From an application, or from calls of a jit function, to launches whose remap is proved."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import record
from intelliperf_swizzle.frontends.triton.source_proofs.judge import (
    RemapVerdict,
)
from intelliperf_swizzle.frontends.triton.source_proofs.parent import prove_launches
from intelliperf_swizzle.hardware import Target, load_target
from intelliperf_swizzle.kept import Kept, kept_for_user
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Grid, Launch


def prove_source(
    command: Sequence[str],
    source: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    target: str | Target = "mi300x",
    project_directory: str | os.PathLike[str] = ".",
    quiet_seconds: float | None = None,
    limit_seconds: float = 300.0,
    sweep: bool = False,
    no_cache: bool = False,
    progress: Progress | None = None,
) -> tuple[RemapVerdict, ...]:
    """Does a kernel, with the remap that its source has, compute each tile exactly once?

    Args:
        command: the application, as an argument list.
        source: the file that the kernel, or a jit function that it calls, is written in.
        kernel: only this one of the file.
        target: the GPU that the application is told of.
        project_directory: where the application is started.
        quiet_seconds: recording ends so long after the last new launch; None = it does not.
        limit_seconds: recording ends at the latest.
        sweep: also look at each launch at other sizes, some seconds each: `RemapVerdict.sizes`.
        no_cache: look anew at launches that an earlier run has looked at.
        progress: told of each step.

    Returns:
        A verdict for each distinct launch.

    Raises:
        UsageError: there is no such file, or no kernel of it was launched.
        CaptureError: the application launched no kernel.
    """
    file, folder = _places(source, project_directory)
    gpu = load_target(target) if isinstance(target, str) else target
    progress = progress or Silent()
    kept = Kept(None) if no_cache else kept_for_user()
    with temporary_folder("source") as records:
        progress.phase(f"recording {shlex.join(command)}")
        request = RecordRequest(command, folder, records, gpu, None, quiet_seconds, limit_seconds)
        recorded = record(request)
        for note in recorded.cautions:
            progress.note(note)
        launches = launches_of(recorded.launches, file, kernel)
        noun = "launch" if len(launches) == 1 else "launches"
        progress.phase(f"looking at {len(launches)} {noun}")
        return prove_launches(launches, sweep=sweep, kept=kept)


def _places(
    source: str | os.PathLike[str], project_directory: str | os.PathLike[str]
) -> tuple[Path, Path]:
    file, folder = Path(source), Path(project_directory)
    if not file.is_file():
        raise UsageError(f"there is no file {file}", hint="--source names the kernel's file")
    if not folder.is_dir():
        raise UsageError(f"there is no directory {folder}", hint="-p names the project directory")
    return file, folder


def prove_calls(
    kernel: object,
    grids: Iterable[int | Sequence[int]],
    arguments: Mapping[str, object] | Callable[[Grid], Mapping[str, object]],
) -> tuple[RemapVerdict, ...]:
    """For each grid, whether a jit function computes each tile exactly once; without a GPU.

    Args:
        kernel: a function decorated with `triton.jit`, autotuned or not.
        grids: what it is launched on.
        arguments: those of the kernel by name, constexprs included; or what gives them for a grid,
            as three extents. Tensors may be on the CPU; what they hold is read where addresses
            depend on it.

    Raises:
        UsageError: it is no jit function, a grid is none, or the arguments do not fit.
    """
    from intelliperf_swizzle.frontends.triton.capture.record_call import record_call

    with temporary_folder("source") as place:
        launches: list[Launch] = []
        for grid in grids:
            extents = _three(grid)
            given = arguments(extents) if callable(arguments) else arguments
            launches.append(record_call(kernel, extents, given, place, len(launches)))
        if not launches:
            raise UsageError("there is no grid to prove it on", hint="grids=range(1, 65)")
        return prove_launches(launches, kept=kept_for_user())


def _three(grid: int | Sequence[int]) -> Grid:
    extents = (grid,) if isinstance(grid, int) else tuple(grid)
    if not 1 <= len(extents) <= 3 or min(extents) < 1:
        raise UsageError(f"`{grid}` is not a grid", hint="4096, or (64, 64)")
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


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
