# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Edits of a HIP or CUDA kernel on the GPU, in the application's own process.

The program is built by the vendor's compiler and started with `runtime/trial_shim.cpp` preloaded,
which loads the device code of edited builds beside the original's at the recorded launches.
"""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from os import cpu_count
from pathlib import Path

from intelliperf_swizzle.dependence import summed_storages, touched_storages
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import SwizzleError, ValidationError
from intelliperf_swizzle.frontends.child_processes import start
from intelliperf_swizzle.frontends.cpp.compile import gpu_builds
from intelliperf_swizzle.frontends.cpp.record import device_code
from intelliperf_swizzle.frontends.cpp.record.preparing import recipe_of
from intelliperf_swizzle.frontends.ports import GpuOutcome, RecordRequest
from intelliperf_swizzle.frontends.trials import processes
from intelliperf_swizzle.frontends.trials.journal import Journal, Trial
from intelliperf_swizzle.hardware import Device, Target
from intelliperf_swizzle.records import Access, Launch, TensorArgument, Trace

RUN_SECONDS = 20.0
"""What a candidate may take in any case; more if the original is slow."""


@dataclass(eq=False)
class CppOnGpu:
    """Validates and times edits of one kernel in its program, on the GPU.

    Attributes:
        why_not_replayed: its launches are made in the program alone.
        request: how the program is started; its folder is for builds and journals.
        gpu: that it runs on.
        traced: launches at which the kernel is compared and timed, and what they touch.
        tolerance: absolute and relative, for floats that atomics add up in any order.
    """

    request: RecordRequest
    gpu: tuple[Device, Target]
    traced: Sequence[tuple[Launch, Trace]]
    tolerance: float
    why_not_replayed = "launches of C++ programs are not made in another process"

    def __post_init__(self) -> None:
        self._device, self._target = self.gpu
        self._recording = device_code.recording_of(self.traced[0][0])
        self._recipe = replace(
            recipe_of(self._recording),
            command=tuple(self.request.command),
            project=str(self.request.cwd.resolve()),
            build_command=self.request.build_command,
        )
        self._builds = self._recording / gpu_builds.GPU_BUILDS
        self._folder = Path(self.request.folder).resolve() / "gpu"
        self._environment = gpu_builds.gpu_environment(self._recipe, self.request.variables)
        self._journal: Path | None = None

    def validate_and_time(self, edits: Mapping[int, Edit]) -> dict[int, GpuOutcome]:
        """Builds each edit, compares it with the unmodified kernel, and times those that agree.

        Raises:
            ValidationError: the program does not build or fails, or never launches the kernel.
        """
        programs, refused = self._build(edits)
        tiles = [launch.tiles for launch, _ in self.traced]
        trials = self._try_out(programs) if programs else {}
        outcomes = {
            n: processes.outcome_of(trial, tiles, self.tolerance) for n, trial in trials.items()
        }
        return {**refused, **{n: self._explain(outcome) for n, outcome in outcomes.items()}}

    confirm = validate_and_time
    """The same once more: all is tried in the program itself."""

    @cached_property
    def _program(self) -> gpu_builds.GpuProgram:
        """The unmodified program."""
        return gpu_builds.build_program(self._recipe, self._builds, self._environment)

    def _build(
        self, edits: Mapping[int, Edit]
    ) -> tuple[dict[int, gpu_builds.GpuProgram], dict[int, GpuOutcome]]:
        """The program of each edit, and those that do not build."""
        try:
            _ = self._program
            device_code.refuse_shared_names(self._recording)
        except SwizzleError as error:
            raise ValidationError(error.fact, hint=error.hint, details=error.details) from None

        where = self._recipe, self._builds, self._environment

        def build(edit: Edit) -> gpu_builds.GpuProgram | GpuOutcome:
            try:
                return gpu_builds.build_program(*where, edit)
            except SwizzleError as error:
                return GpuOutcome(("does not build", error.fact))

        unique = {edit.diff: edit for edit in edits.values()}
        with ThreadPoolExecutor(cpu_count() or 1) as pool:
            built = dict(zip(unique, pool.map(build, unique.values()), strict=True))
        found = {number: built[edit.diff] for number, edit in edits.items()}
        return (
            {n: program for n, program in found.items() if not isinstance(program, GpuOutcome)},
            {n: program for n, program in found.items() if isinstance(program, GpuOutcome)},
        )

    def _try_out(self, programs: Mapping[int, gpu_builds.GpuProgram]) -> dict[int, Trial]:
        counts = [launch.count for launch, _ in self.traced]
        limits = processes.Limits(self._device.product, self.request.limit_seconds)
        code = {number: program.code for number, program in programs.items()}
        return processes.try_out(lambda known: self._start(code, known), counts, code, limits)

    def _start(self, code: Mapping[int, Sequence[Path]], known: processes.Known) -> processes.Begun:
        """The program with what is to be tried, in a fresh folder for what it says.

        Raises:
            ValidationError: it cannot be started.
        """
        self._journal = folder = processes.fresh_folder(self._folder)
        lines = [
            f"race_seconds {processes.RACE_SECONDS}", f"run_seconds {RUN_SECONDS}",
            f"tolerance {self.tolerance!r}",
            *(f"checked {task} {candidate}" for task, candidate in sorted(known.checked)),
            *(f"failed {candidate}" for candidate in sorted(known.failed)),
            *(f"raced {task}" for task in sorted(known.raced)),
        ]  # fmt: skip
        for candidate, files in code.items():
            names = [f"{candidate}-{number}.code" for number in range(len(files))]
            for name, file in zip(names, files, strict=True):
                (folder / name).symlink_to(file)
            lines.append(f"candidate {candidate} {' '.join(names)}")
        target, program = self._target, self._program
        caches = target.num_xcds * target.l2_bytes_per_xcd + (target.llc_bytes or 0)
        keys = json.loads((self._recording / device_code.KEYS).read_text("utf-8"))
        tasks = [line for pair in self.traced for line in _task(*pair, *keys[pair[0].ordinal][1:])]
        lines = [f"cache_bytes {caches}", *tasks, *lines, ""]
        (folder / "order.txt").write_text("\n".join(lines), "utf-8")
        given = {**self._environment, **program.variables, "SWIZZLE_TRIAL_FOLDER": str(folder)}
        variables = gpu_builds.preload(self._recipe.language, folder, given)
        try:
            return folder, start(program.command, folder, program.folder, variables)
        except OSError as error:
            raise ValidationError(f"`{program.command[0]}` cannot be started: {error}") from error

    def _explain(self, outcome: GpuOutcome) -> GpuOutcome:
        """The outcome with a reason why launches were not repeated, as far as is known."""
        if outcome.refusal is None or not outcome.refusal[1].endswith("were not repeated"):
            return outcome
        kind, text = outcome.refusal
        return replace(outcome, refusal=(kind, f"{text}: {_why_absent(self._journal)}"))


def _why_absent(folder: Path | None) -> str:
    """What a process launched instead of the recorded launches, by its folder."""
    events = Journal(folder).read_new() if folder else []
    for event in reversed(events):
        if event["event"] == "note":
            return str(event["text"])
        if event["event"] == "seen":
            return f"it launched {', '.join(event['launched'][:6]) or 'none'}"
    if events:
        return "the program ended before that"
    return (
        "nothing was launched through a shared runtime: the program may call the driver, or have "
        "been linked with the static runtime by another linker than ld"
    )


# --- the recorded launches ------------------------------------------------------------------------


_FLOATS = ("fp16", "bf16", "fp32", "fp64")


def _task(launch: Launch, trace: Trace, index: int, values: Sequence[str]) -> list[str]:
    """What the preloaded library reads of a recorded launch, a line each.

    Args:
        launch: it.
        trace: what it touches.
        index: by which it is known again, as `KEYS` has it.
        values: of its arguments; the same holds.
    """
    code = device_code.read_kernel(launch).code
    shape = (*launch.grid, *launch.options["block"], launch.options["shared"], index)
    found = [f"task {code.symbol} {launch.kernel} {' '.join(map(str, shape))}"]
    read = touched_storages(launch, trace, Access.READ, Access.ATOMIC)
    written = touched_storages(launch, trace, Access.WRITE, Access.ATOMIC)
    summed = summed_storages(launch, trace)
    for parameter, value in zip(code.parameters, values, strict=True):
        tensor = launch.arguments.get(parameter.name)
        element, kind, fresh = 0, "-", 0
        if isinstance(tensor, TensorArgument):
            element = tensor.item_bytes
            kind = tensor.dtype if tensor.storage in summed and tensor.dtype in _FLOATS else "-"
            if tensor.storage in written - read:
                fresh = launch.storages[tensor.storage].bytes
        row = (parameter.bytes, element, parameter.name or "-", kind, fresh, value or "-")
        found.append("parameter " + " ".join(map(str, row)))
    return found
