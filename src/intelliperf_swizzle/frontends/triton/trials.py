# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Edits of a Triton kernel on the GPU: what is asked of `gpu.Rig`, and what its trials mean."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from intelliperf_swizzle.dependence import summed_storages, touched_storages
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import ValidationError
from intelliperf_swizzle.frontends.ports import GpuOutcome, RecordRequest, Replay
from intelliperf_swizzle.frontends.trials.processes import RACE_SECONDS, Begun, outcome_of
from intelliperf_swizzle.frontends.triton.gpu import Rig, Task, Trial
from intelliperf_swizzle.hardware import Device, Target
from intelliperf_swizzle.records import Access, Launch, Trace


def on_gpu(
    request: RecordRequest,
    gpu: tuple[Device, Target],
    traced: Sequence[tuple[Launch, Trace]],
    *,
    tolerance: float,
) -> "TritonOnGpu":
    """Runs edits in the application's process, beside the unmodified kernel."""
    return TritonOnGpu(_rig(request, gpu), traced, tolerance)


def make_ready(request: RecordRequest, device: Device, target: Target) -> None:
    """Starts the process that will be the first to make launches of a run again: it imports what it
    needs, and starts the GPU, while they are traced; it ends with the run's folder."""
    rig = _rig(request, (device, target))
    _ready[request.folder] = _replaying(rig).begin()


_ready: dict[Path, Begun] = {}  # by the folder of a run, a process that is not in use yet


def _replaying(rig: Rig) -> Rig:
    return replace(rig, request=replace(rig.request, command=()), goodbye_seconds=0.1)


def _rig(request: RecordRequest, gpu: tuple[Device, Target]) -> Rig:
    device, target = gpu
    caches = target.num_xcds * target.l2_bytes_per_xcd + (target.llc_bytes or 0)
    return Rig(request, device.product, caches)


class TritonOnGpu:
    """Validates and times edits of one kernel in its application, on the GPU.

    Args:
        rig: how the application is started.
        traced: launches at which the kernel is compared and timed, and what they touch.
        tolerance: absolute and relative, for floats that atomics add up in any order.
    """

    def __init__(self, rig: Rig, traced: Sequence[tuple[Launch, Trace]], tolerance: float):
        self._rig = rig
        self.why_not_replayed = why_not_replayed(launch for launch, _ in traced)
        """Why trials run in the application; None if they run in a separate process."""
        self._tasks = tuple(task_of(launch, trace) for launch, trace in traced)
        self._tolerance = tolerance
        self.replay: Callable[[int], Replay] = partial(rig.replay, self._tasks)
        self._replaying, self._begun = _replaying(rig), list[Begun]()
        if self.why_not_replayed is None:
            ready = _ready.pop(rig.request.folder, None)
            self._begun += [ready or self._replaying.begin()]
        self._confirming: list[Begun] = []

    def validate_and_time(self, edits: Mapping[int, Edit]) -> dict[int, GpuOutcome]:
        """Compares each edit with the unmodified kernel, and times those that agree.

        Raises:
            ValidationError: the application failed before anything was tried, or at the original.
        """
        tiles = [task.launch.tiles for task in self._tasks]
        trials = self._try_out({number: edit.functions for number, edit in edits.items()})
        gains = (trial.timing and trial.timing.ratio.high < 1 for trial in trials.values())
        if self.why_not_replayed is None and not self._confirming and any(gains):
            self._confirming = [self._rig.begin()]  # it imports what it needs until then
        return {number: outcome_of(t, tiles, self._tolerance) for number, t in trials.items()}

    def confirm(self, edits: Mapping[int, Edit]) -> dict[int, GpuOutcome]:
        """Compares and times edits in the application itself, on what its tensors hold."""
        known, self.why_not_replayed = self.why_not_replayed, "to confirm"
        try:
            return self.validate_and_time(edits)
        finally:
            self.why_not_replayed = known

    def _try_out(self, functions: Mapping[int, Mapping[str, str]]) -> dict[int, Trial]:
        """In a separate process; in the application, if a launch cannot be tried there."""
        given = self._tasks, functions, self._tolerance, RACE_SECONDS
        if self.why_not_replayed is None:
            try:
                trials = self._replaying.try_out(*given, self._begun)
                failures = [trial.failure for trial in trials.values()]
                lost = [f.text for f in failures if f and f.kind == "not validated"]
                if len(lost) < len(trials):
                    return trials
                self.why_not_replayed = lost[0]
            except ValidationError as error:
                self.why_not_replayed = error.fact
        return self._rig.try_out(*given, self._confirming)


def task_of(launch: Launch, trace: Trace) -> Task:
    """What a launch reads and writes by its trace; without one, all of its memory."""
    every = frozenset(launch.storages)
    if trace.is_unknown:
        return Task(launch, read=every, written=every)
    read = touched_storages(launch, trace, Access.READ, Access.ATOMIC)
    written = touched_storages(launch, trace, Access.WRITE, Access.ATOMIC)
    return Task(launch, read, written, summed_storages(launch, trace))


def why_not_replayed(launches: Iterable[Launch]) -> str | None:
    """Why launches can only be made in their application; None if they can be made again."""
    for launch in launches:
        types = launch.element_types
        for number, storage in launch.storages.items():
            if storage.address is not None:
                return "memory holds addresses, or begins on no boundary of 16 bytes"
            if storage.contents is None and not types.get(number, "").startswith(("fp", "bf")):
                return "integers in memory were not recorded"
    return None
