# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The remap that a kernel already has: recorded launches in, verdicts out."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle.children import CallError, call
from intelliperf_swizzle.codec import load_arrays
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.kernels.triton.capture import capture
from intelliperf_swizzle.kernels.triton.source_proofs.judge import (
    RemapVerdict,
    SizesTried,
    judge,
    summarise,
)
from intelliperf_swizzle.kernels.triton.source_proofs.observation import Observation
from intelliperf_swizzle.kernels.triton.source_proofs.sizes import scale_launch
from intelliperf_swizzle.launch_files import save_launch
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Grid, Launch


def prove_source(
    command: Sequence[str],
    source: Path,
    *,
    kernel: str | None = None,
    folder: Path = Path(),
    target: Target | None = None,
    quiet_seconds: float = 10.0,
    limit_seconds: float = 300.0,
    sweep: bool = False,
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
        sweep: also look at each launch at other sizes, for `RemapVerdict.sizes`; some seconds each.
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
    with temporary_folder("source") as records:
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
        return prove_launches(launches, sweep=sweep)


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
    with temporary_folder("source") as place:
        launches: list[Launch] = []
        for grid in grids:
            extents = _three(grid)
            given = arguments(extents) if callable(arguments) else arguments
            launches.append(_record_call(kernel, extents, given, place, len(launches)))
        if not launches:
            raise UsageError("there is no grid to prove it on", hint="grids=range(1, 65)")
        return prove_launches(launches)


def _three(grid: int | Sequence[int]) -> Grid:
    extents = (grid,) if isinstance(grid, int) else tuple(grid)
    if not 1 <= len(extents) <= 3 or min(extents) < 1:
        raise UsageError(f"`{grid}` is not a grid", hint="4096, or (64, 64)")
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def _record_call(
    kernel: object, grid: Grid, given: Mapping[str, object], folder: Path, number: int
) -> Launch:
    """One call as a launch, with the bytes of its tensors in files of the folder."""
    from intelliperf_swizzle.kernels.triton.capture.calls import Call
    from intelliperf_swizzle.kernels.triton.capture.describe import describe
    from intelliperf_swizzle.kernels.triton.capture.sources import (
        UnreadableKernelError,
        is_jit_function,
    )

    function = kernel
    while not is_jit_function(function) and hasattr(function, "fn"):
        function = function.fn
    if not is_jit_function(function):
        raise UsageError(f"{kernel!r} is not a jit function", hint="decorate it with @triton.jit")
    try:
        live = describe(Call(function, (), dict(given), grid))
    except (TypeError, UnreadableKernelError) as error:
        raise UsageError(f"the kernel cannot be called so: {error}") from error
    unknown = sorted(set(given) - set(live.launch.arguments) - set(live.launch.options))
    if unknown:
        raise UsageError(f"the kernel has no argument `{unknown[0]}`")
    storages = {}
    for place, storage in live.launch.storages.items():
        path = folder / f"{number}-{place}.npy"
        np.save(path, live.contents(place))
        storages[place] = replace(storage, contents=str(path))
    return replace(live.launch, storages=storages)


def prove_launches(
    launches: Sequence[Launch], *, sweep: bool = False, timeout_seconds: float = 600.0
) -> tuple[RemapVerdict, ...]:
    """For each launch, whether its own source computes each of its tiles exactly once.

    Costs a child process of about a second, and then some tenths of a second a launch; more where
    outputs are large. A launch at which the child process dies is tried once more in its own.

    Args:
        launches: as recorded.
        sweep: also look at each launch at other sizes.
        timeout_seconds: for all of them.
    """
    seen = _observe(launches, timeout_seconds)
    verdicts = [_verdict(*pair) for pair in zip(launches, seen, strict=True)]
    if sweep:
        tried = [_try_sizes(*pair, timeout_seconds) for pair in zip(launches, seen, strict=True)]
        verdicts = [replace(one, sizes=sizes) for one, sizes in zip(verdicts, tried, strict=True)]
    return tuple(verdicts)


def _try_sizes(launch: Launch, seen: Observation | _Unseen, timeout_seconds: float) -> SizesTried:
    """The verdicts on a launch at other sizes; as `not_tried` says, where there are none."""
    if isinstance(seen, _Unseen) or seen.places_loaded:
        return SizesTried(not_tried="what a program does depends on what its tensors hold")
    made = scale_launch(launch)
    if not made:
        return SizesTried(not_tried="the grid does not follow from the sizes that are passed")
    found = [
        _verdict(one, sight)
        for one, sight in zip(made, _observe(made, timeout_seconds), strict=True)
        if isinstance(sight, Observation)
    ]
    same = [one.kind for one in found if one.grid == launch.grid]
    if same != [_verdict(launch, seen).kind]:
        return SizesTried(not_tried="the launch cannot be made anew from its sizes")
    return summarise(found)


@dataclass(frozen=True)
class _Unseen:
    """Why a launch could not be observed."""

    reason: str


def _observe(
    launches: Sequence[Launch], timeout_seconds: float
) -> tuple[Observation | _Unseen, ...]:
    with temporary_folder("source") as place:
        folders = [place / "all" / f"{number:06}" for number in range(len(launches))]
        for launch, folder in zip(launches, folders, strict=True):
            folder.mkdir(parents=True)
            save_launch(launch, folder / "launch.json")
        died = _watch(place / "all", timeout_seconds)
        seen = []
        for folder in folders:
            why = died
            if died and len(launches) > 1 and not _is_done(folder):
                alone = place / folder.name
                alone.mkdir()
                why = _watch(folder.rename(alone / "0").parent, timeout_seconds)
                folder = alone / "0"
            seen.append(_read(folder, why))
        return tuple(seen)


def _watch(folder: Path, limit_seconds: float) -> str | None:
    """Run the child process; why it died, or None."""
    try:
        call(
            "intelliperf_swizzle.kernels.triton.source_proofs.child:watch",
            folder,
            environment={"TRITON_INTERPRET": "1"},
            limit_seconds=limit_seconds,
        )
    except CallError as error:
        if error.too_late:
            return f"it took longer than {limit_seconds:g} s"
        return f"the interpreter {error.how}: {' '.join(error.ended.last_lines(1))}"
    return None


def _is_done(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("observation.npz", "refusal.txt"))


def _read(folder: Path, died: str | None) -> Observation | _Unseen:
    if (folder / "observation.npz").exists():
        return load_arrays(Observation, folder / "observation.npz")
    refusal = folder / "refusal.txt"
    return _Unseen(refusal.read_text() if refusal.exists() else died or "nothing was seen of it")


def _verdict(launch: Launch, seen: Observation | _Unseen) -> RemapVerdict:
    if isinstance(seen, Observation):
        return judge(seen, launch.kernel, launch.grid, launch.count)
    return RemapVerdict(launch.kernel, launch.grid, "not told", seen.reason, (), launch.count)


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
