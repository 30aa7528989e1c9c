# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From an application, or from calls of a jit function, to launches whose remap is proved."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle.children import call_each
from intelliperf_swizzle.disk import DiskCache, temporary_folder, user_cache
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.frontends.resizing import scale_launch
from intelliperf_swizzle.frontends.triton.capture import sources
from intelliperf_swizzle.frontends.triton.capture.calls import Call
from intelliperf_swizzle.frontends.triton.capture.describe import describe
from intelliperf_swizzle.frontends.triton.source_proofs import judge
from intelliperf_swizzle.frontends.triton.walk import CHILD_ENVIRONMENT
from intelliperf_swizzle.readers import grid_of
from intelliperf_swizzle.records import Grid, Launch, RemapVerdict, SizesTried, as_text

LADDER = (*range(1, 26), 31, 32, 33, 40, 48, 57, 64)
"""Blocks along a size that is changed."""
MOST_BYTES = 1 << 30
"""Of the tensors of a launch that is made."""


def prove_launches(
    launches: Sequence[Launch],
    *,
    sweep: bool = False,
    timeout_seconds: float = 600.0,
    kept: DiskCache | None = None,
) -> tuple[RemapVerdict, ...]:
    """For each launch, whether its own source computes each of its tiles exactly once.

    Costs a child process of about a second, and then some tenths of a second a launch; more where
    outputs are large. A launch at which the child process dies is tried once more in its own.

    Args:
        launches: as recorded.
        sweep: also look at each launch at other sizes.
        timeout_seconds: for all of them.
        kept: verdicts of earlier runs, which take the place of new ones.
    """
    return (kept or DiskCache(None)).get_or_compute(
        "remap",
        ([(as_text(launch), launch.count) for launch in launches], sweep),
        lambda: _prove(launches, sweep, timeout_seconds),
        is_final=lambda them: not sweep and all(verdict.kind != "undecided" for verdict in them),
    )


def _prove(
    launches: Sequence[Launch], sweep: bool, timeout_seconds: float
) -> tuple[RemapVerdict, ...]:
    seen = _observe(launches, timeout_seconds)
    verdicts = [_verdict(*pair) for pair in zip(launches, seen, strict=True)]
    if sweep:
        tried = [_try_sizes(*pair, timeout_seconds) for pair in zip(launches, seen, strict=True)]
        verdicts = [replace(v, sizes=sizes) for v, sizes in zip(verdicts, tried, strict=True)]
    return tuple(verdicts)


def _try_sizes(launch: Launch, seen: judge.Observation | str, timeout_seconds: float) -> SizesTried:
    """The verdicts on a launch at other sizes; as `not_tried` says, if there are none."""
    if isinstance(seen, str) or seen.places_loaded:
        return SizesTried(not_tried="what a program does depends on the contents of its tensors")
    made = [
        resized
        for resized in scale_launch(launch, lambda count: (*LADDER, count))
        if sum(storage.bytes for storage in resized.storages.values()) <= MOST_BYTES
    ]
    if not made:
        return SizesTried(not_tried="the grid does not follow from the sizes that are passed")
    sights = zip(made, _observe(made, timeout_seconds), strict=True)
    found = [
        _verdict(other, sight) for other, sight in sights if isinstance(sight, judge.Observation)
    ]
    same = [verdict.kind for verdict in found if verdict.grid == launch.grid]
    if same != [_verdict(launch, seen).kind]:
        return SizesTried(not_tried="the launch cannot be re-created from its sizes")
    return judge.summarise(found)


def _observe(launches: Sequence[Launch], timeout_seconds: float) -> list[judge.Observation | str]:
    """What was seen of each launch, or why nothing was."""
    seen: list[judge.Observation | str]
    seen, error = call_each(
        "intelliperf_swizzle.frontends.triton.source_proofs.observe:observe_each",
        [replace(launch, loop=None) for launch in launches],
        environment=CHILD_ENVIRONMENT,
        limit_seconds=timeout_seconds,
    )
    left = launches[len(seen) :]
    if error is None or len(launches) > 1:
        return [*seen, *(_observe([launch], timeout_seconds)[0] for launch in left)]
    if error.too_late:
        return seen or [f"it took longer than {timeout_seconds:g} s"]
    return seen or [f"the interpreter {error.how}: {' '.join(error.ended.last_lines(1))}"]


def _verdict(launch: Launch, seen: judge.Observation | str) -> RemapVerdict:
    if isinstance(seen, judge.Observation):
        return judge.judge(seen, launch.kernel, launch.grid, launch.count)
    return RemapVerdict(launch.kernel, launch.grid, "undecided", seen, (), launch.count)


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
            if 0 in (extents := grid_of(grid)):
                raise UsageError(f"`{grid}` is not a grid", hint="4096, or (64, 64)")
            given = arguments(extents) if callable(arguments) else arguments
            launches.append(_record_call(kernel, extents, given, place, len(launches)))
        if not launches:
            raise UsageError("there is no grid to prove it on", hint="grids=range(1, 65)")
        return prove_launches(launches, kept=user_cache())


def _record_call(
    kernel: object, grid: Grid, given: Mapping[str, object], folder: Path, number: int
) -> Launch:
    """One call as a launch, with the bytes of its tensors in files of the folder.

    Raises:
        UsageError: it is not a jit function, or the arguments do not fit.
    """
    function = kernel
    while not sources.is_jit_function(function) and hasattr(function, "fn"):
        function = function.fn
    if not sources.is_jit_function(function):
        raise UsageError(f"{kernel!r} is not a jit function", hint="decorate it with @triton.jit")
    try:
        live = describe(Call(function, (), dict(given), grid))
    except (TypeError, sources.UnreadableKernelError) as error:
        raise UsageError(f"the kernel cannot be called with these arguments: {error}") from error
    unknown = sorted(set(given) - set(live.launch.arguments) - set(live.launch.options))
    if unknown:
        raise UsageError(f"the kernel has no argument `{unknown[0]}`")
    storages = {}
    for place, storage in live.launch.storages.items():
        path = folder / f"{number}-{place}.npy"
        np.save(path, live.contents(place))
        storages[place] = replace(storage, contents=str(path))
    return replace(live.launch, storages=storages)
