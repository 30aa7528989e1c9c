# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces a launch by executing its kernel's IR, in the child process of `trace`."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Literal

from intelliperf_swizzle.dependence import touched_storages
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir import flow, kernel_of
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.frontends.triton.source.reads import find_uncompiled
from intelliperf_swizzle.frontends.triton.walk import running
from intelliperf_swizzle.frontends.triton.walk.accesses import Noticed
from intelliperf_swizzle.frontends.triton.walk.blocks import NotKnownError
from intelliperf_swizzle.records import LINE_BYTES, Access, Launch, Trace
from intelliperf_swizzle.trace.assembling import TraceRecorder
from intelliperf_swizzle.trace.sharing import ByteWatch, reads_what_is_written, with_sharing

MOST_BYTES = LINE_BYTES << 31
"""What 32-bit line numbers reach."""
_WAITING_NOTE = "programs wait for each other; every wait is assumed to end"
_FALSE_NOTE = "{}: `tl.assume` is false, so the kernel's behaviour is undefined"


def trace_here(launch: Launch, folder: Path, *, inside: bool = False) -> Trace:
    """Trace a launch in this process; see `trace.trace`.

    Args:
        launch: any.
        folder: for what is written down.
        inside: whether an access outside of every tensor ends it.

    Raises:
        TraceError: the kernel cannot be compiled, or what decides an access is not known.
    """
    kernel = kernel_of(launch)
    live = running.make_live(launch, kernel, whole=False)
    if live.memory.end.size and live.memory.end[-1] > MOST_BYTES:
        raise TraceError(f"the tensors of {launch.kernel} take more than {MOST_BYTES >> 30} GiB")
    try:
        trace, recorder = record_accesses(launch, live, inside=inside)
        shared = with_sharing(
            trace, recorder,
            lambda it: running.run_together(running.make_live(launch, kernel, whole=False), it),
        )  # fmt: skip
        return live.memory.side_by_side(shared)
    except NotKnownError as error:
        reason = str(error)
    if "were not recorded" in reason:
        raise TraceError(
            f"{reason}, in {launch.kernel}",
            hint="record the launch with the contents of its tensors",
        )
    if launch.loop:
        raise TraceError(f"the tiles of {launch.kernel} cannot be distinguished: {reason}")
    caution = f"traced program by program: {reason}"
    return live.memory.side_by_side(_one_by_one(launch, kernel, caution, inside))


def record_accesses(
    launch: Launch, live: running.Live, *, inside: bool
) -> tuple[Trace, TraceRecorder]:
    """Execute all programs in batches and note what they touch, not yet who else touches it.

    Raises:
        NotKnownError: what decides an access is not known, or the launch itself writes it.
    """
    recorder = _recorder(launch, live, inside)
    run = running.run_together(live, recorder)
    trace = _trace(launch, live, recorder, run, "batched", _WAITING_NOTE * run.waits)
    trace = replace(trace, immaterial=live.immaterial(launch, run.control))
    if reads_what_is_written(trace, run.control, recorder.value_loads):
        raise NotKnownError("what a program does depends on what the launch itself writes")
    return trace, recorder


def _recorder(launch: Launch, live: running.Live, inside: bool) -> TraceRecorder:
    return TraceRecorder(
        live.memory.begin, live.memory.end, lambda: live.now.update, loop=launch.loop,
        where=lambda: live.now.where(live.plan.kernel), inside=inside,
    )  # fmt: skip


def _trace(
    launch: Launch, live: running.Live, recorder: TraceRecorder, run: Noticed,
    method: Literal["batched", "sequential"], note: str,
) -> Trace:  # fmt: skip
    trace = recorder.trace(
        launch.grid, live.memory.segments, method=method, arithmetic=run.arithmetic,
        notes=(note,) if note else (), waits=run.waits,
    )  # fmt: skip
    kernel, meeting = live.plan.kernel, live.plan.meeting
    accessed = flow.accessed_by(kernel, meeting)
    atomics = (op for op in kernel.every() if accessed.hands_over and "tt.atomic" in op.name)
    places: dict[Op | tuple[Op, int], str] = {
        op: kernel.line(op) for op in (*flow.conflicting(kernel, meeting), *atomics)
    }
    changed = touched_storages(launch, trace, Access.WRITE, Access.ATOMIC)
    placed = live.storages(flow.placed_by_contents(kernel)) & live.storages(accessed.changed)
    rows = {n for _, view in launch.tensors() if view.storage in changed for n in view.strides if n}
    for op, sides in flow.folds(kernel, meeting).items():  # what a tensor has in a row stays in it
        places |= {(op, side): f"{kernel.line(op)}: {op.name} {side}"
                   for side, of in enumerate(sides or (0,)) if of not in rows}  # fmt: skip
    unresolved = (f"{place} reaches outside of every tensor" for place in recorder.unresolved)
    numbers = {name: (name,) for name in live.deciding_numbers(launch)}
    false = (_FALSE_NOTE.format(kernel.line(op)) for op in live.false_assumptions(launch))
    floats = chain(*map(live.memory.names, live.storages(flow.deciding_floats(kernel))))
    unseen = frozenset(place for key, place in places.items() if key not in live.now.made)
    return replace(
        trace, hands_over=accessed.hands_over, notes=(*trace.notes, *false),
        placed=accessed.hands_over or trace.waits or bool(placed), floats=tuple(floats),
        seen=frozenset(places.values()) - unseen, unseen=unseen, unresolved=tuple(unresolved),
        uncompiled=find_uncompiled(launch, {*chain(*map(kernel.places, kernel.every()))}) | numbers,
    )  # fmt: skip


def _one_by_one(launch: Launch, kernel: Kernel, note: str, inside: bool) -> Trace:
    live = running.make_live(launch, kernel, whole=True)
    recorder = _recorder(launch, live, inside)
    try:
        run = running.run_one_by_one(live, observer=recorder)
    except (NotKnownError, running.DeadlockError) as error:
        raise TraceError(f"{launch.kernel}: {error}", details=(note,)) from error
    recorder.finish_single()

    def again(watch: ByteWatch) -> object:
        return running.run_one_by_one(running.make_live(launch, kernel, whole=True), observer=watch)

    return with_sharing(_trace(launch, live, recorder, run, "sequential", note), recorder, again)
