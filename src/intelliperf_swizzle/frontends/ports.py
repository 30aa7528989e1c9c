# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The seam for kernel languages: what one must be able to do so that its kernels can be swizzled.

Whatever runs a user's code does so in a child process with a time limit. Nothing above this seam
knows how a kernel is written, compiled or executed.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from intelliperf_swizzle.dependence import Dependence
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.hardware import Device, Target
from intelliperf_swizzle.hardware.occupancy import Build
from intelliperf_swizzle.kept import Kept
from intelliperf_swizzle.language import Swizzle
from intelliperf_swizzle.records import (
    Capture,
    Launch,
    MappedLaunch,
    Padding,
    Timing,
    Trace,
    Validation,
)

LANGUAGES: Mapping[str, str] = {
    "triton": "intelliperf_swizzle.frontends.triton.language:TRITON",
    "hip": "intelliperf_swizzle.frontends.cpp.language:HIP",
    "cuda": "intelliperf_swizzle.frontends.cpp.language:CUDA",
}
"""Where each language is; it is imported when it is asked for."""


@dataclass(frozen=True)
class RecordRequest:
    """An application whose launches are to be recorded.

    Attributes:
        command: as the user would type it.
        cwd: where it runs.
        folder: for the records; not shared with another recording.
        target: the GPU that it is told of, if it runs without one.
        device: the GPU that it runs on; None = it runs without one.
        quiet_seconds: recording ends so long after the last new launch; None = it does not.
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
    quiet_seconds: float | None = None
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
    validation: Validation | None = None
    timing: Timing | None = None


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


class GpuRuns(Protocol):
    """Runs edited kernels in their application on the GPU, beside the unmodified kernel."""

    def validate_and_time(self, edits: Mapping[int, Edit]) -> Mapping[int, GpuOutcome]:
        """Compares each edit byte for byte and times those that agree, in interleaved rounds.

        Raises:
            ValidationError: the application failed before anything was tried, or at the original.
        """

    def time(self, edits: Mapping[int, Edit]) -> Mapping[int, Timing | None]:
        """Times edits that agree against the unmodified kernel and each other."""

    def time_padded(self, padding: Padding, edit: Edit | None) -> GpuOutcome:
        """Compares the largest launch with longer rows, and times it if it agrees; as edits are.

        Args:
            padding: of copies of its tensors; the application's own stay.
            edit: of the kernel that is launched so; None = the unmodified one.

        Raises:
            ValidationError: the application failed before anything was tried, or at the original.
        """


class KernelLanguage(Protocol):
    """Triton, or another language.

    Attributes:
        name: as people call it.
        builds: whether `record` runs the build command, in a copy of the project.
        default_target: the GPU if none is named and none is there; None = that of the options.
    """

    name: str
    default_target: str | None
    builds: bool

    @property
    def measures(self) -> bool:
        """Whether its edits can be run on a GPU here (`on_gpu`); if not, they are modelled."""

    def compiler(self, environment: Mapping[str, str]) -> Compiler:
        """The compiler; one of C++ is tried on a few lines."""

    def names_program(self, command: Sequence[str], project: Path) -> bool:
        """Whether a word is a program, or Python, that this language is compiled into."""

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

    def record(self, request: RecordRequest) -> Capture:
        """Runs the application and records its launches; raises CaptureError."""

    def with_loops(
        self, launches: Sequence[Launch], name: str | None
    ) -> tuple[tuple[Launch, ...], tuple[str, ...]]:
        """The launches of a kernel with the loop whose tiles are renumbered, if there is one.

        Args:
            launches: all of one kernel.
            name: of the variable that holds the number of a tile; None = any.

        Returns:
            The launches, and in sentences why other loops are not.
        """

    def trace(self, launch: Launch) -> Trace:
        """The cache lines that each tile of a launch touches; raises TraceError."""

    def trace_each(self, launches: Sequence[Launch]) -> Sequence[Trace | None]:
        """The same of several that are made up; None for what cannot be traced, or reaches outside
        of every tensor."""

    def resize(self, launch: Launch, counts: Callable[[int], Iterable[int]]) -> Sequence[Launch]:
        """A launch at other problem sizes, the smallest first; empty if none can be made.

        Args:
            launch: as recorded.
            counts: how many tiles to have along a size that has so many.
        """

    def retile(self, launch: Launch) -> Sequence[Launch]:
        """A launch with other tile sizes in grids to match; whether they do the same is unknown."""

    def find_dependences(
        self, launches: Sequence[Launch], *, timeout_seconds: float
    ) -> Sequence[Dependence]:
        """Which programs of each launch depend on each other; no trace is kept."""

    def build(self, launch: Launch, target: Target, edit: Edit | None = None) -> Build:
        """Compiles the kernel of a launch for a GPU that need not be there; raises BuildError."""

    def edit(
        self,
        launches: Sequence[Launch],
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

    def find_flaw(self, mapped: Sequence[MappedLaunch], edit: Edit) -> str | None:
        """Why an edit cannot be what was proved, as far as that shows without running it."""

    def validate(
        self, mapped: Sequence[MappedLaunch], edit: Edit, *, tolerance: float, budget_seconds: float
    ) -> Validation:
        """Compares the outputs of the edited with those of the unmodified kernel, on the CPU.

        Raises:
            ValidationError: the unmodified kernel cannot be run.
        """

    def on_gpu(
        self,
        request: RecordRequest,
        gpu: tuple[Device, Target],
        traced: Sequence[tuple[Launch, Trace]],
        *,
        tolerance: float,
    ) -> GpuRuns:
        """What runs the kernel's edits on a GPU."""

    def cautions(
        self, launches: Sequence[Launch], prove_command: str, kept: Kept
    ) -> tuple[str, ...]:
        """What is doubtful about the unmodified kernel, such as tiles that it never computes."""


def load_language(name: str = "triton") -> KernelLanguage:
    """The language of a name in `LANGUAGES`."""
    module, _, attribute = LANGUAGES[name].partition(":")
    language: KernelLanguage = getattr(importlib.import_module(module), attribute)
    return language
