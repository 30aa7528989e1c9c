# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Interprets a launch, in the child process of `trace`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import triton

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.interpreter.batch import EnoughError
from intelliperf_swizzle.frontends.triton.interpreter.batched import (
    BatchedRun,
    NotBatchableError,
    Origins,
    run_batched,
)
from intelliperf_swizzle.frontends.triton.interpreter.revive import (
    LiveLaunch,
    revive,
    run_sequential,
)
from intelliperf_swizzle.frontends.triton.interpreter.updates import current_update
from intelliperf_swizzle.frontends.triton.tile_loops.marks import END, listen, mark_loop, values_of
from intelliperf_swizzle.records import LINE_BYTES, Int64Array, Launch, TensorArgument, Trace
from intelliperf_swizzle.trace.overwrites import ByteWatch, with_sharing
from intelliperf_swizzle.trace.recorder import TraceRecorder
from intelliperf_swizzle.trace.sharing import reads_what_is_written

MOST_BYTES = LINE_BYTES << 31
"""What 32-bit line numbers reach."""
_WAITING_NOTE = "programs wait for each other; every wait was taken to end"


def trace_here(launch: Launch, folder: Path, *, inside_only: bool = False) -> Trace:
    """Trace a launch in this process (`TRITON_INTERPRET=1` must be set); see `trace.trace`.

    `inside_only`: give up a launch as soon as it touches anything outside of every tensor.

    Raises:
        TraceError: the kernel cannot be interpreted or needs contents that were not recorded.
    """
    edits = mark_loop(launch)
    live = revive(launch, folder, edits=edits)
    if live.memory.end.size and live.memory.end[-1] > MOST_BYTES:
        raise TraceError(f"the tensors of {launch.kernel} take more than {MOST_BYTES >> 30} GiB")
    try:
        return _batched(
            live, lambda watch: run_batched(_again(launch, folder, watch), watch), inside_only
        )
    except NotBatchableError as refusal:
        missing = sorted(
            name
            for number in refusal.storages
            if not live.memory.has_contents(number)
            for name in live.memory.names(number)
        )
        if missing:
            raise TraceError(
                f"{refusal.reason} in {launch.kernel}, and the contents of "
                f"{', '.join(missing)} were not recorded",
                hint="record the launch with the contents of its tensors",
            ) from refusal
        reason = refusal.reason
    except TraceError:
        raise
    except Exception as error:  # an operation that only the plain interpreter knows
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    if launch.loop:
        raise TraceError(f"the tiles of {launch.kernel} cannot be told apart: {reason}")
    return _sequential(
        revive(launch, folder),
        f"traced program by program: {reason}",
        lambda watch: run_sequential(revive(launch, folder), observer=watch),
        inside_only,
    )


def _again(launch: Launch, folder: Path, watch: ByteWatch) -> LiveLaunch:
    """The launch, once more; a watch is told of the tiles of its loop."""
    live = revive(launch, folder, edits=mark_loop(launch))
    listen_for_tiles(live, watch.number)
    return live


def listen_for_tiles(
    live: LiveLaunch,
    number: Callable[[Int64Array | None], object],
    also: Callable[..., None] = lambda *_: None,
) -> None:
    """Has a marked kernel tell `number` which tiles begin, None after the loop; `also` is told all.

    If `number` answers False, the batch ends there. See `tile_loops.marks`.
    """

    def watch(counter: int, *values: Any) -> None:
        integers = [values_of(value) for value in values]
        if counter == END:
            number(None)
        elif counter == 0 and number(integers[0]) is False:
            raise EnoughError
        also(counter, *integers)

    listen(live, watch)


def trace_each_here(launches: Sequence[Launch], folder: Path) -> Iterator[Trace | None]:
    """Trace made-up launches one after the other as `trace_here` does; None where it raises, and
    where a launch reaches outside of every tensor, which nobody's would."""
    for launch in launches:
        try:
            yield trace_here(launch, folder, inside_only=True)
        except TraceError:
            yield None


def record_accesses(
    live: LiveLaunch,
    origins: Origins | None = None,
    also: Callable[..., None] = lambda *_: None,
    inside_only: bool = False,
) -> tuple[Trace, BatchedRun, TraceRecorder]:
    """Runs all programs in batches and notes what they touch, not yet who else touches it.

    `also`: as of `listen_for_tiles`; `inside_only`: as of `trace_here`.

    Raises:
        NotBatchableError: what a program does is not known without computing it.
        TraceError: something outside of every tensor was touched and is not allowed.
        Exception: whatever the kernel raises.
    """
    loop = live.launch.loop
    recorder = TraceRecorder(
        live.memory.begin, live.memory.end, current_update, loop=loop, inside_only=inside_only
    )
    listen_for_tiles(live, recorder.number, also)
    run = run_batched(live, recorder, origins=origins)
    trace = recorder.trace(
        live.launch.grid,
        live.memory.segments,
        method="batched",
        arithmetic=run.arithmetic,
        notes=(_WAITING_NOTE,) if run.waits else (),
        waits=run.waits,
    )
    return trace, run, recorder


def _batched(
    live: LiveLaunch, run_again: Callable[[ByteWatch], object], inside_only: bool
) -> Trace:
    trace, run, recorder = record_accesses(live, inside_only=inside_only)
    trace = replace(trace, immaterial=_immaterial(live, run))
    if reads_what_is_written(trace, run.control, recorder.value_loads):
        raise NotBatchableError("what a program does depends on what the launch itself writes")
    return with_sharing(trace, recorder, run_again)


def _immaterial(live: LiveLaunch, run: BatchedRun) -> tuple[str, ...]:
    """The arguments that decided nothing."""
    numbers = enumerate(live.memory.numbers)
    undecided = [number for place, number in numbers if not run.control >> place + 1 & 1]
    tensors = [name for number in undecided for name in live.memory.names(number)]
    plain = [n for n in tensors if isinstance(live.launch.arguments.get(n), TensorArgument)]
    return (*plain, *(name for name, bit in run.scalars.items() if not run.control & bit))


def _sequential(
    live: LiveLaunch, note: str, run_again: Callable[[ByteWatch], object], inside_only: bool
) -> Trace:
    recorder = TraceRecorder(
        live.memory.begin, live.memory.end, current_update, inside_only=inside_only
    )
    try:
        run = run_sequential(live, observer=recorder)
    except TraceError:
        raise
    except Exception as error:
        if isinstance(error, NotImplementedError) and "block pointer" in str(error).lower():
            raise TraceError(
                f"{live.launch.kernel} makes block pointers, which Triton {triton.__version__} no "
                "longer has, on a GPU either",
                hint="use tl.make_tensor_descriptor, or an older Triton: pip install 'triton<3.9'",
            ) from error
        raise TraceError(
            f"{live.launch.kernel} cannot be interpreted: {' '.join(str(error).split())[:500]}",
            details=(note,),
        ) from error
    recorder.finish_single()
    trace = recorder.trace(
        live.launch.grid,
        live.memory.segments,
        method="sequential",
        arithmetic=run.arithmetic,
        notes=(note,),
        waits=run.waits or run.locks,
    )
    return with_sharing(trace, recorder, run_again)
