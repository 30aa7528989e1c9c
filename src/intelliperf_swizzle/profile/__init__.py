# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Where hit rates come from: the cache model (`profile.modelled`), or a hardware profiler.

`profile.installed` says which hardware profilers are here, and picks one. Such a profiler runs the
application in a copy of the project, with a time limit.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from intelliperf_swizzle import children, disk, errors, hardware
from intelliperf_swizzle.edit import Carrier, Edit, carry, moved_command
from intelliperf_swizzle.frontends.ports import Builder, KernelLanguage, Replay
from intelliperf_swizzle.hardware.target import Build
from intelliperf_swizzle.records import Launch, Measurement, Trace


@dataclass(frozen=True)
class TracedLaunch:
    """A launch, what it touches, how many of its workgroups per CU holds at once, and its build."""

    launch: Launch
    trace: Trace
    occupancy: int
    build: Build | None = None


class Profiler(Protocol):
    """Reads hit rates off hardware; a measurement takes a run of the application or more.

    Attributes:
        name: as `--profiler` takes it.
        device: what it measures on.
    """

    name: str
    device: str

    def measure(self, launches: Sequence[TracedLaunch], edit: Edit | None = None) -> Measurement:
        """One measurement over all launches of a kernel; raises ProfileError.

        Args:
            launches: of one kernel.
            edit: the source that renumbers them; None for the unmodified kernel.
        """

    def begin(
        self, launches: Sequence[TracedLaunch], replay: Callable[[int], Replay]
    ) -> Callable[[Sequence[Edit]], list[Measurement]]:
        """Starts to count; what measures the unmodified kernel and each of some edits.

        Args:
            launches: of one kernel.
            replay: makes them so often with each.
        """


GRACE_SECONDS = 30.0
"""After its limit a profiler is asked to end, and may take this long to write what it has."""

LAST_LINES = 12


@dataclass(frozen=True)
class Application:
    """What a hardware profiler runs.

    Attributes:
        command: as the user starts it.
        project: where it is started; each run is in a copy of this directory.
        language: of its kernels, which says what a compiled one takes of the GPU.
        device: the GPU it is to see, None for the first one.
        limit_seconds: a run is ended after this; what was measured until then counts.
        build_command: builds it in each copy; None = it needs none.
    """

    command: tuple[str, ...]
    project: Path
    language: KernelLanguage
    device: hardware.Device | None = None
    limit_seconds: float = 300.0
    build_command: str | None = None


@dataclass(frozen=True)
class Ran(children.Ended):
    """A profiler's run of the application, by what it and the application printed.

    Attributes:
        folder: where the profiler writes.
    """

    folder: Path


def failure(tool: str, kernel: str, ran: Ran, seen: Sequence[str] = ()) -> errors.ProfileError:
    """Why a run has no readings of a kernel, or none to be trusted, where the tool does not say.

    Args:
        tool: the profiler.
        kernel: what was to be measured.
        ran: the run.
        seen: other kernels that the run shows.
    """
    if ran.exit_code is None:
        fact = f"`{kernel}` was not launched under {tool} before the time limit"
        return errors.ProfileError(fact, hint="--limit_seconds", details=ran.last_lines(LAST_LINES))
    if ran.exit_code:
        fact = f"the application failed under {tool} with exit code {ran.exit_code}"
        return errors.ProfileError(fact, details=ran.last_lines(LAST_LINES))
    shown = (f"it shows: {', '.join(seen)}",) if seen else ran.last_lines(LAST_LINES)
    return errors.ProfileError(f"the profile does not show `{kernel}`", details=shown)


@contextlib.contextmanager
def run_under(
    application: Application, kernel: str, edit: Edit | None, tool: Callable[[Path], Sequence[str]]
) -> Iterator[Ran]:
    """Runs the application under a profiler, in a copy of the project that carries the edit.

    Args:
        application: what to run.
        kernel: the kernel that the edit changes.
        edit: the swizzle; None for the unmodified application.
        tool: the profiler's part of the command line, given a folder for what it writes.

    Yields:
        What it left; its files are removed at the end of the block.

    Raises:
        ProfileError: it cannot be started, or, at the end of the block, it turns out to have
            compiled another kernel than the edited one.
    """
    with disk.temporary_folder("profile") as folder:
        project, output, cache = (folder / name for name in ("project", "output", "triton"))
        output.mkdir()
        carrier = carrying(application, project, edit)
        command = [*tool(output), *carrier.command]
        environment = profiling_environment(application, carrier, project, cache)
        waited = begin_profiler(command, carrier.cwd, environment, output)
        ran = waited(application.limit_seconds)
        yield ran
        if edit is not None and not isinstance(application.language, Builder):
            check_edited(edit, kernel, carrier.original, project, cache, ran.last_lines(LAST_LINES))


def carrying(application: Application, copy: Path, edit: Edit | None) -> Carrier:
    """A copy of the application that carries an edit, and is built.

    Raises:
        ProfileError: it does not reach all files of the edit, or does not build.
    """
    language, build = application.language, application.build_command
    try:
        carrier = carry(application.project, application.command, copy, edit)
        if build and isinstance(language, Builder):
            language.build_copy(build, application.project, copy, os.environ)
    except errors.SwizzleError as error:
        raise errors.ProfileError(error.fact, hint=error.hint, details=error.details) from error
    return carrier


def profiling_environment(
    application: Application, carrier: Carrier, copy: Path, triton: Path
) -> dict[str, str]:
    """Ours, with the device, the copy's modules, and an empty cache for what Triton compiles."""
    ours = {name: text for name, text in os.environ.items() if name != "TRITON_INTERPRET"}
    if isinstance(application.language, Builder):  # what PyTorch builds itself is the copy's
        ours["TORCH_EXTENSIONS_DIR"] = str(copy / ".torch_extensions")
    moved = moved_command(ours.get("PYTHONPATH", "").split(os.pathsep), carrier.original, copy)
    return {
        **ours,
        **({"PYTHONPATH": os.pathsep.join(moved)} if "PYTHONPATH" in ours else {}),
        **(application.device.environment if application.device else {}),
        "TRITON_CACHE_DIR": str(triton),
        "TRITON_DISABLE_LINE_INFO": "0",
    }


def begin_profiler(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str], folder: Path
) -> Callable[[float], Ran]:
    """Starts a profiler; what waits for that many seconds, after which nothing of it is left."""
    log = folder / "output.txt"
    try:
        with log.open("wb") as stream:
            profiler = children.Child(command, cwd=cwd, environment=environment, output=stream)
    except OSError as error:
        raise errors.ProfileError(f"`{command[0]}` cannot be started: {error.strerror}") from error

    def wait(limit_seconds: float) -> Ran:
        exit_code = None
        try:
            exit_code = profiler.wait(limit_seconds)
        finally:
            profiler.end(GRACE_SECONDS)  # what was measured until then is written
        return Ran(exit_code, log.read_text(encoding="utf-8", errors="replace"), folder)

    return wait


def check_edited(
    edit: Edit, kernel: str, original: Path, project: Path, cache: Path, output: Sequence[str] = ()
) -> None:
    """Raises ProfileError unless Triton compiled the kernel from an edited file of the copy.

    An application may import the kernel from elsewhere, say from an installed package; its numbers
    would be those of the unmodified kernel. Each compiled kernel's text names the files it comes
    from.
    """
    root = original.resolve()
    files = [project / Path(path).resolve().relative_to(root) for path in edit.files]
    compiled = [path.read_text(errors="replace") for path in cache.glob(f"*/{kernel}.ttir")]
    if any(f'"{file}"' in text for text in compiled for file in files):
        return
    if not compiled:
        raise errors.ProfileError(
            f"the application compiled no `{kernel}`, so the swizzle was not measured",
            details=tuple(output),
        )
    raise errors.ProfileError(
        f"the application runs a different copy of `{kernel}` from the one in {original}",
        hint="set -p to the directory that it imports the kernel from",
    )
