# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The seam for kernel languages: what one must be able to do so that its kernels can be swizzled.

Whatever runs a user's code does so in a child process with a time limit. Nothing above this seam
knows how a kernel is written, compiled or executed.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from intelliperf_swizzle import dependence, disk, errors, records
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.hardware import Device, Target
from intelliperf_swizzle.hardware.target import Backend, Build
from intelliperf_swizzle.language import Swizzle

GROUP = "intelliperf_swizzle.frontends"
"""The entry points of front ends: name of a language -> its `KernelLanguage`."""


@dataclass(frozen=True)
class RecordRequest:
    """An application whose launches are to be recorded.

    Attributes:
        command: as the user would type it.
        cwd: where it runs.
        folder: for the records; not shared with another recording.
        target: the GPU that it sees, if it runs without one.
        device: the GPU that it runs on; None = it runs without one.
        limit_seconds: recording ends at the latest.
        compute: whether launches are also executed, if there is no GPU.
        environment: of the command.
        build_command: builds it, for a language that builds a copy itself.
    """

    command: Sequence[str]
    cwd: Path
    folder: Path
    target: Target | None = None
    device: Device | None = None
    limit_seconds: float = 300.0
    compute: Literal["auto", "always", "never"] = "auto"
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    build_command: str | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment, in which the device is the only GPU that shows."""
        return {**self.environment, **self.device.environment} if self.device else self.environment


@dataclass(frozen=True)
class GpuOutcome:
    """What came of an edited kernel on the GPU.

    Attributes:
        refusal: kind and reason if it may not be ranked; None if it may.
        validation: what was compared; None if nothing was.
        timing: None if it was refused.
    """

    refusal: tuple[Literal["does not build", "not validated", "not measured", "output differs"],
                   str] | None  # fmt: skip
    validation: records.Validation | None = None
    timing: records.Timing | None = None


@dataclass(frozen=True)
class Compiler:
    """The user's compiler of a language.

    Attributes:
        found: which it is; None if there is none.
        gap: why it cannot be used; None if it can, or there is none.
        command: installs what is missing.
    """

    found: str | None
    gap: str | None = None
    command: str | None = None


# --- what every language has ----------------------------------------------------------------------


class Recorder(Protocol):
    """Knows the programs of a language, and records what they launch.

    Attributes:
        name: as people call the language.
        default_target: the GPU if none is named and none is there; None = that of the options.
    """

    name: str
    default_target: str | None

    def compiler(self, environment: Mapping[str, str]) -> Compiler:
        """The user's compiler, tried where that is cheap."""

    def names_program(self, command: Sequence[str], project: Path) -> bool:
        """Whether a word is a program, or a file, with kernels of this language."""

    def record(self, request: RecordRequest) -> records.Capture:
        """Runs the application and records its launches; raises CaptureError."""


class Tracer(Protocol):
    """Tells what launches touch."""

    def trace(self, launch: records.Launch) -> records.Trace:
        """The cache lines that each tile of a launch touches; raises TraceError."""

    def find_dependences(
        self, launches: Sequence[records.Launch], *, timeout_seconds: float
    ) -> Sequence[dependence.Dependence]:
        """Which programs of each launch depend on each other; no trace is kept."""


class Editor(Protocol):
    """Puts swizzles into kernels, and compiles them."""

    def build(self, launch: records.Launch, target: Target, edit: Edit | None = None) -> Build:
        """Compiles the kernel of a launch for a GPU that need not be there; raises BuildError."""

    def edit(
        self,
        launches: Sequence[records.Launch],
        swizzle: Swizzle,
        target: Target,
        *,
        name: str,
        roots: Sequence[Path],
    ) -> Edit:
        """Puts a swizzle into the kernel's source; raises SpliceError.

        Args:
            launches: all of one kernel.
            swizzle: what to put in.
            target: the GPU whose numbers become literals.
            name: what a comment calls the swizzle.
            roots: folders that the patch may be made for; the first that fits.
        """


class Validator(Protocol):
    """Tells whether an edited kernel does what the unmodified one does."""

    def validate(
        self,
        mapped: Sequence[records.MappedLaunch],
        edit: Edit,
        *,
        tolerance: float,
        budget_seconds: float,
    ) -> records.Validation:
        """Compares the outputs of the edited with those of the unmodified kernel, on the CPU.

        Raises:
            ValidationError: the unmodified kernel cannot be run.
        """


class KernelLanguage(Recorder, Tracer, Editor, Validator, Protocol):
    """A front end; what else it can do, it says by what follows."""


# --- what some have -------------------------------------------------------------------------------


@runtime_checkable
class Builder(Protocol):
    """Its programs are built by a command of the user's, in a copy of the project.

    Attributes:
        backend: of the targets that they run on.
    """

    backend: Backend

    def builds_program(self, project: Path, command: str, backend: Backend | None) -> bool:
        """Whether a command builds kernels of this language from a project's sources.

        For a backend if it is known. Costs a look at every source.
        """

    def has_kernel(self, kernel: str, project: Path) -> bool:
        """Whether a source that is of this language alone has a kernel of that name."""

    def build_copy(
        self, command: str, project: Path, copy: Path, environment: Mapping[str, str]
    ) -> None:
        """Builds a copy of a project for the GPU that is here; raises SwizzleError.

        Args:
            command: the user's.
            project: what is copied.
            copy: of it, with an edit or without.
            environment: of the command.
        """


@runtime_checkable
class TileLoops(Protocol):
    """Renumbers tiles that programs take in a loop."""

    def with_loops(
        self, launches: Sequence[records.Launch], name: str | None, *, alike: bool = True
    ) -> tuple[tuple[records.Launch, ...], tuple[str, ...]]:
        """The launches of a kernel with the loop whose tiles are renumbered, if there is one.

        Args:
            launches: all of one kernel.
            name: of the variable that holds the number of a tile; None = any.
            alike: whether all get the same loop or none; else each its own.

        Returns:
            The launches, and in sentences why other loops are not.
        """


@runtime_checkable
class CodeComparer(Protocol):
    """Compares the code of edited kernels with that of the unmodified ones, for all launches."""

    def find_difference(
        self, placed: Sequence[tuple[records.Launch, records.Int64Array]], edit: Edit
    ) -> str | None:
        """Where an edited kernel is another than the unmodified one with the proved tiles.

        Configurations of a tuner that no launch has must keep their order.

        Args:
            placed: all launches of a kernel, with the proved mapping of each.
            edit: of it.

        Raises:
            ValidationError: the code of the unmodified kernel cannot be had.
        """


@runtime_checkable
class Resizer(Protocol):
    """Makes launches that the application does not."""

    def trace_each(
        self, launches: Sequence[records.Launch], *, timeout_seconds: float = 600.0
    ) -> Sequence[records.Trace | None]:
        """As `trace`, of several; None for what cannot be traced, or reaches outside of every
        tensor."""

    def resize(
        self, launch: records.Launch, counts: Callable[[int], Iterable[int]]
    ) -> Sequence[records.Launch]:
        """A launch at other problem sizes, the smallest first; empty if none can be made.

        Args:
            launch: as recorded.
            counts: how many tiles to have along a size that has that many.
        """


@runtime_checkable
class SourceExaminer(Recorder, Protocol):
    """Looks at what a kernel's own source does with its program ids."""

    def prove_launches(
        self,
        launches: Sequence[records.Launch],
        *,
        sweep: bool = False,
        timeout_seconds: float = 600.0,
        kept: disk.DiskCache | None = None,
    ) -> tuple[records.RemapVerdict, ...]:
        """For each launch, whether its own source computes each of its tiles exactly once.

        Args:
            launches: as recorded.
            sweep: also look at each launch at other sizes.
            timeout_seconds: for all of them.
            kept: verdicts of earlier runs, which take the place of new ones.
        """

    def prove_calls(
        self,
        kernel: object,
        grids: Iterable[int | Sequence[int]],
        arguments: Mapping[str, object] | Callable[[records.Grid], Mapping[str, object]],
    ) -> tuple[records.RemapVerdict, ...]:
        """The same of calls of a kernel on some grids; nothing is launched."""


@runtime_checkable
class Overlay(Protocol):
    """Applies swizzles when kernels are compiled, with no source touched.

    Attributes:
        overlay_module: the file that does so; it needs nothing of this package, and may be copied.
    """

    overlay_module: Path

    def applying(self, swizzles: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """The environment in which an application's kernels get the swizzles of a file."""


class GpuRuns(Protocol):
    """Runs edited kernels in their application on the GPU, beside the unmodified kernel."""

    def validate_and_time(self, edits: Mapping[int, Edit]) -> Mapping[int, GpuOutcome]:
        """Compares each edit byte for byte and times those that agree, in interleaved rounds.

        Raises:
            ValidationError: the application failed before anything was tried, or at the original.
        """

    def confirm(self, edits: Mapping[int, Edit]) -> Mapping[int, GpuOutcome]:
        """The same in the application itself, if that is elsewhere."""


@dataclass(frozen=True)
class Replay:
    """A process that makes a kernel's launches in turn, each unmodified and then with each of some
    edits; each of these several times.

    Attributes:
        command: of it.
        environment: of it.
        folder: an empty one, for what it and a profiler write.
        go: sends it the edits; until then it does nothing on its GPU.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    go: Callable[[Sequence[Edit]], None]


@runtime_checkable
class ReplayedRuns(Protocol):
    """Makes recorded launches again in a process of our own.

    Attributes:
        why_not_replayed: why it does not; None if it does.
    """

    why_not_replayed: str | None

    def replay(self, repeats: int) -> Replay:
        """For a profiler; each launch is made so often with each edit."""


@runtime_checkable
class GpuLanguage(Protocol):
    """Tries edits on a GPU."""

    @property
    def measures(self) -> bool:
        """Whether it can here; if not, edits are modelled."""

    def on_gpu(
        self,
        request: RecordRequest,
        gpu: tuple[Device, Target],
        traced: Sequence[tuple[records.Launch, records.Trace]],
        *,
        tolerance: float,
    ) -> GpuRuns:
        """What runs the kernel's edits on a GPU."""


@runtime_checkable
class ReplayingLanguage(Protocol):
    """Has a separate process make recorded launches again."""

    def make_ready(self, request: RecordRequest, device: Device, target: Target) -> None:
        """Starts the first such process, before it is known what it is to try."""


_loaded: dict[str, KernelLanguage] = {}


def frontends() -> tuple[KernelLanguage, ...]:
    """The front ends that are installed: first those whose programs are built; the default last.

    Raises:
        UsageError: there are none.
    """
    for entry in entry_points(group=GROUP):
        if entry.name not in _loaded:
            try:
                _loaded[entry.name] = entry.load()
            except ModuleNotFoundError as error:  # it, or what it needs, is left out
                gone = error.name or ""
                if gone.startswith("intelliperf_swizzle") and not entry.module.startswith(gone):
                    raise
    if not _loaded:
        raise errors.UsageError(
            "no front end of a kernel language is installed",
            hint="an older installation lies here: pip install it again (-e . in a checkout)",
        )
    found = sorted(_loaded.items(), key=lambda item: (not isinstance(item[1], Builder), item[0]))
    return tuple(language for _, language in found)


def examiner() -> SourceExaminer:
    """The front end that looks at what a kernel's own source does; raises UsageError."""
    for frontend in frontends():
        if isinstance(frontend, SourceExaminer):
            return frontend
    raise errors.UsageError("no installed front end proves the remap of a source file")
