# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The loop of the SwizzlePerf paper: context, propose, prove, screen, measure, validate, rank."""

from __future__ import annotations

import hashlib
import os
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from intelliperf_swizzle import __version__
from intelliperf_swizzle.capture import capture
from intelliperf_swizzle.context import HardwareContext, hardware_context
from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.gpu import Rig
from intelliperf_swizzle.hardware import Device, Target, targets
from intelliperf_swizzle.history import History
from intelliperf_swizzle.kernel.edit import Edit, read_exactly
from intelliperf_swizzle.kernel.splice import splice
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.picture import picture
from intelliperf_swizzle.profile import Profiler
from intelliperf_swizzle.profile.model import ModelProfiler
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose import Effort, Problem, Proposer
from intelliperf_swizzle.propose.axes import axis_choices
from intelliperf_swizzle.rank import RANK
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Capture,
    KernelSummary,
    Launch,
    Picture,
    Run,
    Trace,
)
from intelliperf_swizzle.subject import (
    IDENTITY,
    Subject,
    checked,
    doubted,
    examine,
    measured,
)
from intelliperf_swizzle.testbed import Testbed
from intelliperf_swizzle.trials import Trials
from intelliperf_swizzle.workbench import Workbench

LEAST_GAIN = 0.01
"""Headroom (rate) below which a run ends at once: what repeated measurements differ by."""


@dataclass(frozen=True)
class Settings:
    """What a run is asked to do.

    Attributes:
        command: the application, as the user starts it.
        project_directory: where it is started.
        output_directory: for history and report, given the kernel's name.
        kernel: work on this one; None = the one with the most to gain.
        top_n: kernels that are looked at.
        candidates: how many the proposer may try.
        num_attempts: how many may be built and validated.
        tolerance: absolute, for outputs that atomics add up in any order.
        seed: of every random choice.
        formula: the optimization target.
        rank: by what attempts are put in order.
        history: path of the history file; None = in the output directory.
        resume: go on with the history's attempts.
        quiet_seconds: recording ends so long after the last new launch.
        limit_seconds: recording ends at the latest.
        compute: whether recorded launches are executed.
        validation_seconds: budget of one validation that executes every tile.
        unittest_command: must pass with the swizzled kernel; run where launches are computed.
        device: the GPU that the application runs on, for real; None: it is recorded without one.
        measured: how many candidates may be tried out there.
        fall_back: model the hit rates where the profiler turns out not to work.
        invocation: shell text that repeats the run, for its report; empty where there is none.
    """

    command: tuple[str, ...]
    project_directory: Path
    output_directory: Path
    kernel: str | None = None
    top_n: int = 10
    candidates: int = 400
    num_attempts: int = 10
    tolerance: float = 1e-6
    seed: int = 0
    formula: str = "swizzle"
    rank: tuple[str, ...] = RANK
    history: Path | None = None
    resume: bool = False
    quiet_seconds: float = 10.0
    limit_seconds: float = 300.0
    compute: Literal["auto", "always", "never"] = "auto"
    validation_seconds: float = 10.0
    unittest_command: str | None = None
    device: Device | None = None
    measured: int = 16
    fall_back: bool = False
    invocation: str = ""


@dataclass(frozen=True)
class Outcome:
    """A run, the edit that carries its best swizzle, and the user's file as it was.

    Attributes:
        run: what was tried and what came of it.
        edit: carries the best swizzle; None where there is none.
        file: the user's file that holds the kernel.
        initial: its text.
    """

    run: Run
    edit: Edit | None
    file: str
    initial: str

    @property
    def optimized(self) -> str | None:
        """The file's text with the best swizzle."""
        return self.edit.files.get(self.file, self.initial) if self.edit else None


def optimize(
    settings: Settings,
    target: Target,
    profiler: Profiler,
    proposer: Proposer,
    progress: Progress | None = None,
) -> Outcome:
    """Runs the loop once.

    Raises:
        SwizzleError: the application, the capture or a tool failed, or the input is wrong.
    """
    progress = progress or Silent()
    with recorded(settings, target, progress) as captured:
        subject, others = choose(captured, settings, target, profiler, progress, to_edit=True)
        subject, profiler = counted(subject, settings, target, profiler, progress)
        file = subject.launches[0].source.entry.file
        initial = read_exactly(Path(file))
        with opened_history(settings, subject, target, profiler, proposer, progress) as history:
            bench = workbench(subject, settings, target, profiler, history, captured)
            best, effort = None, Effort()
            if promising(settings, subject):
                trials = tried(settings, bench, progress)
                progress.phase(
                    f"searching ({proposer.name}, up to {settings.candidates} candidates)"
                )
                effort = proposer.propose(pose(settings, bench), trials)
                best = trials.decide()
            run = conclude(settings, captured, bench, others, proposer, best, effort)
            edit = bench.edit(best) if best else None
            return Outcome(run, edit, file, initial)


def promising(settings: Settings, subject: Subject) -> bool:
    """Whether a search may find anything.

    On a GPU always: an order may gain time without hits, as column-major does 1.20× on an H200 for
    a kernel that only writes.
    """
    return settings.device is not None or subject.headroom >= LEAST_GAIN


def explain(
    settings: Settings, target: Target, profiler: Profiler, progress: Progress | None = None
) -> HardwareContext:
    """What a language model would be told of the application's kernel; nothing is tried."""
    progress = progress or Silent()
    with recorded(settings, target, progress) as captured:
        subject, _ = choose(captured, settings, target, profiler, progress)
        subject, _ = counted(subject, settings, target, profiler, progress)
        for caution in subject.cautions:
            progress.note(caution)
        return described(subject, target)


def score(
    candidate: Candidate,
    settings: Settings,
    target: Target,
    profiler: Profiler,
    progress: Progress | None = None,
) -> tuple[Subject, Attempt]:
    """Proves and measures one candidate on the application's kernel; nothing is edited."""
    progress = progress or Silent()
    with (
        recorded(settings, target, progress) as captured,
        tempfile.TemporaryDirectory() as folder,
    ):
        subject, _ = choose(captured, settings, target, profiler, progress)
        subject, profiler = counted(subject, settings, target, profiler, progress)
        history = History(Path(folder) / "history.jsonl", {})
        bench = workbench(subject, settings, target, profiler, history, captured)
        [attempt] = bench.screen([candidate])
        if attempt.screened_l2_hit_rate is not None:
            attempt = bench.measure(attempt)
        history.close()
        return bench.subject, attempt


def choose(
    captured: Capture,
    settings: Settings,
    target: Target,
    profiler: Profiler,
    progress: Progress,
    *,
    to_edit: bool = False,
) -> tuple[Subject, list[KernelSummary]]:
    """The kernel to work on, of those that can be edited if that is wanted; rows of the others.

    On a GPU the model chooses: a hardware profiler takes a run of the application for each kernel.
    """

    def check(launches: Sequence[Launch]) -> None:
        if to_edit:
            unchanged, roots = parse(IDENTITY), patch_roots(settings)
            splice(launches[0].source, unchanged, target=target, launches=launches, roots=roots)

    subjects, untraced = examine(
        captured,
        target,
        ModelProfiler(target) if settings.device else profiler,
        kernel=settings.kernel,
        top_n=settings.top_n,
        progress=progress,
        check=check,
    )
    subject = checked(subjects[0], progress)
    subject = doubted(subject, prove_command(settings, subject, target), progress)
    return subject, [*(other.summary for other in subjects[1:]), *untraced]


def patch_roots(settings: Settings) -> list[Path]:
    """Folders that a patch may be made for: the current one, the project, those of scripts named.

    What a link out of these leads to is not to be reached by a patch.
    """
    project = settings.project_directory
    named = [project / word for word in settings.command]
    return [Path.cwd(), project, *(path.parent for path in named if path.is_file())]


def prove_command(settings: Settings, subject: Subject, target: Target) -> str:
    """Shell text that proves the remap which the kernel's source has already."""
    directory = settings.project_directory
    place = [] if directory.resolve() == Path.cwd() else ["-p", str(directory)]
    source = ["--source", subject.launches[0].source.entry.file, "-k", subject.kernel]
    gpu = ["--target", target.name] if target.name in targets() else []
    words = ["intelliperf-swizzle", "prove", *source, *place, *gpu, "--", *settings.command]
    return shlex.join(words)


def counted(
    subject: Subject, settings: Settings, target: Target, profiler: Profiler, progress: Progress
) -> tuple[Subject, Profiler]:
    """The subject with a hit rate that was read on the GPU, and the profiler that reads it.

    Raises:
        ProfileError: it reads none, and is the one that is asked for.
    """
    if settings.device is None or not profiler.runs_application:
        return subject, profiler
    progress.phase(f"counting {subject.kernel} as it is ({profiler.name})")
    try:
        return measured(subject, target, profiler), profiler
    except ProfileError as error:
        if not settings.fall_back:
            raise
        progress.note(f"hit rates are modelled, times measured: {error}")
        return subject, ModelProfiler(target)


def workbench(
    subject: Subject,
    settings: Settings,
    target: Target,
    profiler: Profiler,
    history: History,
    captured: Capture,
) -> Workbench:
    """The bench of a run; on a GPU it comes with a testbed."""
    testbed = None
    if settings.device is not None:
        rig = Rig(
            command=settings.command,
            cwd=settings.project_directory,
            folder=captured.folder.parent,
            device=settings.device.product,
            environment={**os.environ, **settings.device.environment},
            cache_bytes=target.num_xcds * target.l2_bytes_per_xcd + (target.llc_bytes or 0),
            limit_seconds=settings.limit_seconds,
        )
        testbed = Testbed(rig, subject.traced, settings.tolerance)
    return Workbench(
        subject,
        target,
        profiler,
        history,
        settings.tolerance,
        settings.validation_seconds,
        testbed,
        patch_roots(settings),
    )


def pose(settings: Settings, bench: Workbench) -> Problem:
    """The problem as a proposer sees it."""
    return Problem(
        launches=tuple(one.launch for one in bench.subject.traced),
        target=bench.target,
        baseline_l2_hit_rate=bench.baseline_screen(),
        ceiling_l2_hit_rate=bench.subject.ceiling.l2_hit_rate,
        budget=settings.candidates,
        seed=settings.seed,
        iterations=settings.num_attempts,
        context=lambda: described(bench.subject, bench.target),
    )


def described(subject: Subject, target: Target) -> HardwareContext:
    """Kernel and GPU as a language model is told of them; by the largest launch."""
    largest = subject.traced[0]
    return hardware_context(
        largest.launch,
        largest.trace,
        target,
        occupancy=largest.occupancy,
        baseline=subject.baseline,
        ceiling=subject.ceiling,
        launches=subject.launches,
    )


def tried(settings: Settings, bench: Workbench, progress: Progress) -> Trials:
    """The bench as a proposer sees it."""
    return Trials(
        bench,
        progress,
        budget=settings.candidates,
        num_attempts=settings.num_attempts,
        measured=settings.measured,
        rank=settings.rank,
        unittest_command=settings.unittest_command,
        project_directory=settings.project_directory,
    )


def conclude(
    settings: Settings,
    captured: Capture,
    bench: Workbench,
    others: Sequence[KernelSummary],
    proposer: Proposer,
    best: Attempt | None,
    effort: Effort,
) -> Run:
    """The run as a record."""
    subject = bench.subject
    largest = subject.traced[0].launch
    return Run(
        kernel=subject.kernel,
        kernels=(subject.summary, *others),
        formula=settings.formula,
        target=bench.target.name,
        profiler=bench.profiler.name,
        proposer=proposer.name,
        seed=settings.seed,
        grid=largest.grid,
        constants=largest.constants,
        launches=len(subject.launches),
        baseline=subject.baseline,
        ceiling=subject.ceiling,
        best=best,
        attempts=bench.history.attempts,
        nothing_to_gain=not promising(settings, subject),
        notes=(*captured.notes, *subject.notes, *effort.notes, *untested(settings, subject)),
        history=str(bench.history.path),
        usage=effort.usage,
        invocation=settings.invocation,
        picture=pictured(bench, best),
        file=largest.source.entry.file,
        predicted=subject.predicted,
        cautions=subject.cautions,
        domain_name=bench.target.domain_name,
    )


def pictured(bench: Workbench, best: Attempt | None) -> Picture:
    """What there is to see of the kernel's largest launch, as it is and with the best swizzle."""
    largest = bench.subject.traced[0]
    choices = axis_choices([largest.launch])
    return picture(
        largest.launch,
        largest.trace,
        bench.target,
        occupancy=largest.occupancy,
        tile=bench.proofs(best)[0].tile if best else None,
        columns=next((choice[-1].extent for choice in choices if len(choice) == 2), None),
    )


def untested(settings: Settings, subject: Subject) -> tuple[str, ...]:
    """Says that the user's own test could not be run, where that is so."""
    if not settings.unittest_command or subject.computed:
        return ()
    return (
        "the unit test was not run: launches were recorded and not computed "
        "(--compute always executes them)",
    )


@contextmanager
def recorded(settings: Settings, target: Target, progress: Progress) -> Iterator[Capture]:
    """Captures the application; its records are removed at the end."""
    device = settings.device
    with tempfile.TemporaryDirectory(prefix="intelliperf-swizzle-") as folder:
        where = f" on {device.product}" if device else ""
        progress.phase(f"recording {' '.join(settings.command)}{where}")
        yield capture(
            settings.command,
            folder=Path(folder) / "capture",
            cwd=settings.project_directory,
            quiet_seconds=settings.quiet_seconds,
            limit_seconds=settings.limit_seconds,
            compute=settings.compute,
            target=target,
            environment={**os.environ, **device.environment} if device else None,
            on_gpu=device is not None,
        )


@contextmanager
def opened_history(
    settings: Settings,
    subject: Subject,
    target: Target,
    profiler: Profiler,
    proposer: Proposer,
    progress: Progress,
) -> Iterator[History]:
    """The run's history file, new or resumed; closed at the end."""
    path = settings.history or settings.output_directory / subject.kernel / "history.jsonl"
    resumable = path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    identity = _identity(settings, subject, target, profiler, proposer)
    history = History(path, identity, resume=settings.resume)
    if settings.resume:
        progress.note(_resumed(history) if resumable else f"nothing to resume: there is no {path}")
    try:
        yield history
    finally:
        history.close()


def _resumed(history: History) -> str:
    count = len(history.attempts)
    return f"resuming {history.path}: {count} attempt{'' if count == 1 else 's'} taken over"


def _identity(
    settings: Settings, subject: Subject, target: Target, profiler: Profiler, proposer: Proposer
) -> dict[str, Any]:
    """All that an attempt's numbers and verdict follow from: with another, none can be resumed."""
    source = subject.launches[0].source.functions.values()
    return {
        "version": __version__,
        "kernel": subject.kernel,
        "source": _digest("".join(one.text for one in source).encode()),
        "launches": [[*one.grid, *map(list, one.constants.items())] for one in subject.launches],
        "accesses": [_accesses(one.trace) for one in subject.traced],
        "target": [target.name, _digest(repr(target).encode())],
        "profiler": profiler.name,
        "device": settings.device.product if settings.device else None,
        "proposer": proposer.name,
        "formula": settings.formula,
        "tolerance": settings.tolerance,
        "unittest_command": settings.unittest_command,
        "seed": settings.seed,
    }


def _accesses(trace: Trace) -> str:
    """What a launch touches; it follows from strides, dtypes and data too."""
    arrays = (trace.tile_offset, trace.access_base, trace.access_shape, trace.shape_offset,
              trace.shape_line, trace.shape_sectors, trace.shape_kind)  # fmt: skip
    return _digest(*(array.tobytes() for array in arrays))


def _digest(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
