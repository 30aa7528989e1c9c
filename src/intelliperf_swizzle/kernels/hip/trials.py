# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Edits of a HIP or CUDA kernel on the GPU, in the application's own process.

The program is built by the vendor's compiler and started with `runtime/trial_shim.cpp` preloaded,
which loads the device code of edited builds beside the original's at the recorded launches.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from os import cpu_count
from pathlib import Path
from typing import Any

from intelliperf_swizzle.children import Child
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import SwizzleError, ValidationError
from intelliperf_swizzle.hardware import Device, Target
from intelliperf_swizzle.kernels.base import GpuOutcome, RecordRequest
from intelliperf_swizzle.kernels.hip.device_code import read_kernel, recording_of
from intelliperf_swizzle.kernels.hip.gpu_builds import (
    GpuProgram,
    build_edited,
    build_program,
    build_shim,
    gpu_environment,
)
from intelliperf_swizzle.kernels.hip.preparing import recipe_of
from intelliperf_swizzle.kernels.hip.record_program import KEYS, LAUNCHES, LOG, last_lines
from intelliperf_swizzle.kernels.trials.journal import Journal
from intelliperf_swizzle.kernels.trials.outcomes import RACE_SECONDS, outcome_of
from intelliperf_swizzle.kernels.trials.processes import Known, Limits, Process, try_out
from intelliperf_swizzle.kernels.trials.trial import Trial
from intelliperf_swizzle.records import Access, Launch, Padding, TensorArgument, Timing, Trace
from intelliperf_swizzle.trace.touched import touched_storages

RUN_SECONDS = 20.0
"""What a candidate may take in any case; more if the original is slow."""
_WORD = 16
"""Hexadecimal digits of a pointer."""


@dataclass(frozen=True)
class RecordedCall:
    """A recorded launch as a process with a GPU makes it again.

    Attributes:
        launch: it.
        index: of the launches of this kernel with this grid, block and shared memory.
        values: bytes of each argument as hexadecimal; of what is a pointer, dots.
        trace: what it touches.
    """

    launch: Launch
    index: int
    values: tuple[str, ...]
    trace: Trace

    def lines(self) -> list[str]:
        """What the preloaded library is told of it, a line each."""
        code, launch = read_kernel(self.launch).code, self.launch
        shape = (*launch.grid, *launch.options["block"], launch.options["shared"], self.index)
        found = [f"task {code.symbol} {launch.kernel} {' '.join(map(str, shape))}"]
        read = touched_storages(launch, self.trace, (Access.READ, Access.ATOMIC))
        written = touched_storages(launch, self.trace, (Access.WRITE, Access.ATOMIC))
        atomic = touched_storages(launch, self.trace, (Access.ATOMIC,))
        summed = atomic if self.trace.order_matters else frozenset()
        for parameter, value in zip(code.parameters, self.values, strict=True):
            tensor = launch.arguments.get(parameter.name)
            element, kind, fresh = 0, "-", 0
            if isinstance(tensor, TensorArgument):
                digits = "".join(filter(str.isdigit, tensor.dtype))
                element = max(1, int(digits or 8) // 8)
                kind = tensor.dtype if tensor.storage in summed and tensor.dtype in FLOATS else "-"
                if tensor.storage in written - read:
                    fresh = launch.storages[tensor.storage].bytes
            row = (parameter.bytes, element, parameter.name or "-", kind, fresh, value or "-")
            found.append("parameter " + " ".join(map(str, row)))
        return found


FLOATS = ("fp16", "bf16", "fp32", "fp64")


def recorded_calls(traced: Sequence[tuple[Launch, Trace]]) -> tuple[RecordedCall, ...]:
    """How the recorded launches of a kernel are found again."""
    recording = recording_of(traced[0][0])
    keys = json.loads((recording / KEYS).read_text("utf-8"))
    events: dict[str, dict[str, Any]] = {}
    indices: dict[str, int] = {}
    seen: Counter[object] = Counter()
    for line in (recording / LAUNCHES).read_text("utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == "new":
            events[event["id"]] = event
        elif event["event"] == "ran":
            new = events[event["id"]]
            process = event["id"].split("-")[0]
            form = (process, new["kernel"], *new["grid"], *new["block"], new["shared"])
            indices.setdefault(new["key"], seen[form])
            seen[form] += 1
    by_key = {event["key"]: event for event in reversed(events.values())}
    found = []
    for launch, trace in traced:
        key = keys[launch.ordinal]
        values = tuple(_masked(one, by_key[key]["buffers"]) for one in by_key[key]["arguments"])
        found.append(RecordedCall(launch, indices[key], values, trace))
    return tuple(found)


def _masked(value: str, buffers: Sequence[tuple[int, int, str]]) -> str:
    """Bytes of an argument, with dots for addresses, which are others on a GPU."""
    words = [value[at : at + _WORD] for at in range(0, len(value), _WORD)]
    for place, word in enumerate(words):
        address = int.from_bytes(bytes.fromhex(word), "little")
        if len(word) == _WORD and any(at <= address <= at + size for at, size, _ in buffers):
            words[place] = "." * _WORD
    return "".join(words)


class CppOnGpu:
    """Validates and times edits of one kernel in its program, on the GPU.

    Args:
        request: how the program is started; its folder is for builds and journals.
        gpu: that it runs on.
        traced: launches at which the kernel is compared and timed, and what they touch.
        tolerance: absolute and relative, for floats that atomics add up in any order.
    """

    def __init__(
        self,
        request: RecordRequest,
        gpu: tuple[Device, Target],
        traced: Sequence[tuple[Launch, Trace]],
        tolerance: float,
    ):
        self._request = request
        self._device, self._target = gpu
        self._traced = traced
        self._tolerance = tolerance
        self._recipe = replace(
            recipe_of(recording_of(traced[0][0])),
            command=tuple(request.command),
            project=str(request.cwd.resolve()),
            build_command=request.build_command,
        )
        self._folder = Path(request.folder).resolve() / "gpu"
        self._environment = gpu_environment(self._recipe.language, request.variables)
        self._journal: Path | None = None

    def validate_and_time(self, edits: Mapping[int, Edit]) -> dict[int, GpuOutcome]:
        """Builds each edit, compares it with the unmodified kernel, and times those that agree.

        Raises:
            ValidationError: the program does not build or fails, or never launches the kernel.
        """
        code, refused = self._build(edits)
        tiles = [one.launch.tiles for one in self._calls]
        trials = self._try_out(code, checked=False) if code else {}
        outcomes = {n: outcome_of(one, tiles, self._tolerance) for n, one in trials.items()}
        return {**refused, **{n: self._explain(one) for n, one in outcomes.items()}}

    def time(self, edits: Mapping[int, Edit]) -> dict[int, Timing | None]:
        """Times edits that agree once more, against the unmodified kernel and each other."""
        code, refused = self._build(edits)
        trials = self._try_out(code, checked=True) if code else {}
        return {**dict.fromkeys(refused), **{n: one.timing for n, one in trials.items()}}

    def time_padded(self, padding: Padding, edit: Edit | None) -> GpuOutcome:
        """Refuses: rows of C++ are not lengthened."""
        return GpuOutcome(("not measured", "longer rows are tried on Triton kernels alone"))

    @cached_property
    def _calls(self) -> tuple[RecordedCall, ...]:
        return recorded_calls(self._traced)

    @cached_property
    def _program(self) -> GpuProgram:
        """The unmodified program."""
        return build_program(self._recipe, self._folder / "original", self._environment)

    @cached_property
    def _shim(self) -> Path:
        return build_shim(self._recipe.language, self._folder, self._environment)

    def _build(
        self, edits: Mapping[int, Edit]
    ) -> tuple[dict[int, tuple[Path, ...]], dict[int, GpuOutcome]]:
        """The device code of each edit, and those that do not build."""
        try:
            _ = self._program, self._shim
        except SwizzleError as error:
            raise ValidationError(error.fact, hint=error.hint, details=error.details) from None

        def build(edit: Edit) -> tuple[Path, ...] | GpuOutcome:
            try:
                return build_edited(self._recipe, self._folder, self._environment, edit)
            except SwizzleError as error:
                return GpuOutcome(("does not build", error.fact))

        unique = {edit.diff: edit for edit in edits.values()}
        with ThreadPoolExecutor(cpu_count() or 1) as pool:
            built = dict(zip(unique, pool.map(build, unique.values()), strict=True))
        found = {number: built[edit.diff] for number, edit in edits.items()}
        return (
            {n: one for n, one in found.items() if not isinstance(one, GpuOutcome)},
            {n: one for n, one in found.items() if isinstance(one, GpuOutcome)},
        )

    def _try_out(self, code: Mapping[int, Sequence[Path]], *, checked: bool) -> dict[int, Trial]:
        counts = [one.launch.count for one in self._calls]
        limits = Limits(self._device.product, self._request.limit_seconds)
        return try_out(
            lambda known: self._start(code, known), counts, code, limits, checked=checked
        )

    def _start(self, code: Mapping[int, Sequence[Path]], known: Known) -> Process:
        """The program with what is to be tried, in a fresh folder."""
        number = 1
        while (folder := self._folder / f"trial-{number}").exists():
            number += 1
        folder.mkdir()
        self._journal = folder
        (folder / "order.txt").write_text("\n".join(self._order(folder, code, known)), "utf-8")
        preloaded = (str(self._shim), self._environment.get("LD_PRELOAD"))
        environment = {
            **self._environment,
            "LD_PRELOAD": ":".join(filter(None, preloaded)),
            "SWIZZLE_TRIAL_FOLDER": str(folder),
        }
        program = self._program
        try:
            with (folder / LOG).open("wb") as log:
                child = Child(
                    program.command, cwd=program.folder, environment=environment, output=log
                )
        except OSError as error:
            raise ValidationError(f"`{program.command[0]}` cannot be started: {error}") from error
        return Process(child, Journal(folder).unread, lambda: last_lines(folder))

    def _order(self, folder: Path, code: Mapping[int, Sequence[Path]], known: Known) -> list[str]:
        target = self._target
        caches = target.num_xcds * target.l2_bytes_per_xcd + (target.llc_bytes or 0)
        lines = [
            f"race_seconds {RACE_SECONDS}", f"run_seconds {RUN_SECONDS}",
            f"tolerance {self._tolerance!r}", f"cache_bytes {caches}",
            *(line for one in self._calls for line in one.lines()),
            *(f"checked {task} {candidate}" for task, candidate in sorted(known.checked)),
            *(f"failed {candidate}" for candidate in sorted(known.failed)),
            *(f"raced {task}" for task in sorted(known.raced)),
        ]  # fmt: skip
        for candidate, files in code.items():
            names = [f"{candidate}-{number}.code" for number in range(len(files))]
            for name, file in zip(names, files, strict=True):
                (folder / name).symlink_to(file)
            lines.append(f"candidate {candidate} {' '.join(names)}")
        return [*lines, ""]

    def _explain(self, outcome: GpuOutcome) -> GpuOutcome:
        """The outcome with a reason why launches did not come again, as far as one is known."""
        if outcome.refusal is None or not outcome.refusal[1].endswith("did not come again"):
            return outcome
        kind, text = outcome.refusal
        return replace(outcome, refusal=(kind, f"{text}: {self._absence()}"))

    def _absence(self) -> str:
        """What the last process launched instead."""
        events = Journal(self._journal).unread() if self._journal else []
        for event in reversed(events):
            if event["event"] == "note":
                return str(event["text"])
            if event["event"] == "seen":
                return f"launched were {', '.join(event['launched'][:6]) or 'none'}"
        if events:
            return "the program has ended before"
        return (
            "nothing was launched through a shared runtime (nvcc links one with -cudart shared, "
            "CMake with CMAKE_CUDA_RUNTIME_LIBRARY=Shared)"
        )


def on_gpu(
    request: RecordRequest,
    gpu: tuple[Device, Target],
    traced: Sequence[tuple[Launch, Trace]],
    *,
    tolerance: float,
) -> CppOnGpu:
    """Runs edits in the program's own process, beside the unmodified kernel."""
    return CppOnGpu(request, gpu, traced, tolerance)
