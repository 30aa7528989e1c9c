# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One run on an application: record it, choose the kernel, search, conclude."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from intelliperf_swizzle import __version__
from intelliperf_swizzle.context import HardwareContext, hardware_context
from intelliperf_swizzle.disk import FolderLock, remove_partial, temporary_folder
from intelliperf_swizzle.edit import Edit, read_exactly
from intelliperf_swizzle.errors import ProfileError, UsageError
from intelliperf_swizzle.history import History
from intelliperf_swizzle.picture import picture
from intelliperf_swizzle.profile import Profiler
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose import Effort, Problem, Proposer
from intelliperf_swizzle.propose.axes import axis_choices
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Capture,
    KernelSummary,
    Measurement,
    Picture,
    Run,
    Trace,
)
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.evaluator import Evaluator, Setting
from intelliperf_swizzle.search.loop import search
from intelliperf_swizzle.search.on_gpu import OnGpu
from intelliperf_swizzle.search.on_model import OnModel
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Evaluated
from intelliperf_swizzle.search.subject import Subject, choose_kernel
from intelliperf_swizzle.stopping import Interrupted, apart, hold

Kernels: TypeAlias = tuple[Subject, Sequence[KernelSummary]]
"""The kernel that is worked on, and the rows of the others."""

LEAST_GAIN = 0.01
"""Headroom (rate) below which a run ends at once: what repeated measurements differ by."""


@dataclass(frozen=True)
class Outcome:
    """A run, the edit that carries its best swizzle, and the user's file as it was.

    Attributes:
        run: what was tried and what came of it.
        edit: carries the best swizzle; None if there is none.
        file: the user's file that holds the kernel.
        initial: its text.
        folder: for files, the kernel's own.
        lock: keeps other runs from that folder until the files are written.
        interrupted: the signal that ended the search; None if it came to its end.
    """

    run: Run
    edit: Edit | None
    file: str
    initial: str
    folder: Path
    lock: FolderLock = field(repr=False, compare=False)
    interrupted: Interrupted | None = None

    @property
    def optimized(self) -> str | None:
        """The file's text with the best swizzle."""
        return self.edit.files.get(self.file, self.initial) if self.edit else None


def optimize(
    setup: Setup, proposers: Sequence[Proposer], folder: Path, progress: Progress | None = None
) -> Outcome:
    """Runs the loop once on the kernel with the most to gain.

    If a signal interrupts the search (see `stopping`), the outcome is the best so far.

    Args:
        setup: what the run works with.
        proposers: who offers candidates, one after the other.
        folder: for files, in a folder of the kernel's name.
        progress: told of each step.

    Raises:
        SwizzleError: the application, the recording or a tool failed, or the input is wrong.
        Interrupted: a signal came before the search.
    """
    progress = progress or Silent()
    with record_application(setup, progress) as recorded:
        kernels = apart(lambda: choose_kernel(recorded, setup, progress, to_edit=True))
        return optimize_kernel(setup, recorded, kernels, proposers, folder, progress)


def optimize_kernel(
    setup: Setup,
    recorded: Capture,
    kernels: Kernels,
    proposers: Sequence[Proposer],
    folder: Path,
    progress: Progress,
) -> Outcome:
    """Runs the loop on one kernel of a recorded application; as of `optimize`."""
    subject, _ = kernels
    folder = folder / subject.kernel
    file = subject.launches[0].source.entry.file
    initial = read_exactly(Path(file))
    with (
        lock_folder(folder) as lock,
        open_history(setup, subject, proposers, folder, progress) as history,
    ):
        for function in subject.launches[0].source.functions.values():
            remove_partial(Path(function.file))
        scratch = recorded.folder.parent
        evaluator = apart(lambda: choose_evaluator(setup, subject, history, scratch, progress))
        best, effort, interrupted, seen = None, Effort(), None, None
        try:
            if is_promising(setup, subject):
                attempts = apart(lambda: Attempts(setup, subject, history))
                problem = pose_problem(setup, subject, evaluator, attempts)
                best, effort = apart(
                    lambda: search(proposers, problem, attempts, evaluator, progress)
                )
            seen = apart(lambda: draw(setup, subject, best))
            hold()
        except Interrupted as signal:
            best, interrupted = best or evaluator.confirmed, signal
            efforts = [proposer.effort for proposer in proposers]
            effort = sum(efforts, Effort((f"{signal}; --resume goes on",)))
        run = replace(
            conclude(setup, recorded, kernels, proposers, evaluator, history),
            best=best.attempt if best else None,
            picture=seen,
            interrupted=interrupted is not None,
            usage=effort.usage,
        )
        run = replace(run, notes=(*run.notes, *effort.notes))
        edit = best.edit if best else None
        return Outcome(run, edit, file, initial, folder, lock, interrupted)


@contextmanager
def lock_folder(folder: Path) -> Iterator[FolderLock]:
    """Keeps other runs from an output folder, also after the block if nothing fails in it.

    Raises:
        UsageError: another run is writing there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FolderLock(folder)
    except BlockingIOError:
        raise UsageError(
            f"another run is writing to {folder}", hint="name another folder with --report_dir"
        ) from None
    try:
        yield lock
    except BaseException:
        lock.release()
        raise


def explain(setup: Setup, progress: Progress | None = None) -> HardwareContext:
    """What a language model would be told of the application's kernel; nothing is tried."""
    progress = progress or Silent()
    with record_application(setup, progress) as recorded:
        return apart(lambda: _explain(setup, recorded, progress))


def _explain(setup: Setup, recorded: Capture, progress: Progress) -> HardwareContext:
    subject, _ = choose_kernel(recorded, setup, progress)
    baseline, _ = profile_baseline(setup, subject, progress)
    for caution in subject.cautions:
        progress.note(caution)
    return describe(setup, replace(subject, baseline=baseline))


def score(
    candidate: Candidate, setup: Setup, progress: Progress | None = None
) -> tuple[Subject, Attempt]:
    """Proves and evaluates one candidate on the application's kernel; no file is changed."""
    progress = progress or Silent()
    with (
        record_application(setup, progress) as recorded,
        temporary_folder("score") as folder,
    ):
        return apart(lambda: _score(candidate, setup, recorded, folder, progress))


def _score(
    candidate: Candidate, setup: Setup, recorded: Capture, folder: Path, progress: Progress
) -> tuple[Subject, Attempt]:
    subject, _ = choose_kernel(recorded, setup, progress)
    history = History(folder / "history.jsonl", {})
    evaluator = choose_evaluator(setup, subject, history, recorded.folder.parent, progress)
    attempts = Attempts(setup, subject, history)
    screened = attempts.screen([candidate], attempts.prove([candidate]))
    evaluator.evaluate(attempts.edit(attempts.promising(screened, least=0.0)))
    [attempt] = attempts.current(screened)
    history.close()
    return replace(subject, baseline=evaluator.baseline), attempt


def is_promising(setup: Setup, subject: Subject) -> bool:
    """Whether a search may find anything.

    On a GPU always: a mapping may gain time without hits, as column-major does 1.20× on an H200 for
    a kernel that only writes.
    """
    return setup.device is not None or subject.headroom >= LEAST_GAIN


def choose_evaluator(
    setup: Setup, subject: Subject, history: History, folder: Path, progress: Progress
) -> Evaluator:
    """The GPU if the application runs on one, else the model (or a profiler of the host).

    Args:
        setup: of the run.
        subject: the kernel.
        history: remembers what becomes of attempts.
        folder: for what the application's process is told and tells on a GPU.
        progress: told of each step.
    """
    options = setup.options
    baseline, profiler = profile_baseline(setup, subject, progress)
    setting = Setting(
        subject=subject,
        target=setup.target,
        language=setup.language,
        profiler=profiler,
        remember=history.record,
        progress=progress,
        rank=setup.formula.rank,
        num_attempts=options.num_attempts,
        tolerance=options.accordo_absolute_tolerance,
        validation_seconds=options.validation_seconds,
        unittest_command=options.unittest_command,
        project_directory=setup.project,
    )
    if setup.device is None:
        return OnModel(setting)
    runs = setup.language.on_gpu(
        setup.record_request(folder),
        [(one.launch, one.trace) for one in subject.traced],
        tolerance=options.accordo_absolute_tolerance,
    )
    return OnGpu(setting, runs, setup.device, baseline, options.measure)


def profile_baseline(
    setup: Setup, subject: Subject, progress: Progress
) -> tuple[Measurement, Profiler | None]:
    """The unmodified kernel's hit rate as the GPU's profiler reads it, and the profiler.

    Without a GPU the subject's own; also if the profiler turns out not to work and was not asked
    for by name.

    Raises:
        ProfileError: it reads none, and is the one that is asked for.
    """
    if setup.device is None or setup.profiler is None:
        return subject.baseline, setup.profiler
    progress.phase(f"profiling {subject.kernel} unmodified ({setup.profiler.name})")
    try:
        read = setup.profiler.measure(subject.traced)
    except ProfileError as error:
        if setup.options.profiler != "auto":
            raise
        progress.note(f"hit rates are modelled, times measured: {error}")
        return subject.baseline, None
    return replace(read, time_ms=None), setup.profiler  # a profiler's own times are not compared


def pose_problem(
    setup: Setup, subject: Subject, evaluator: Evaluator, attempts: Attempts
) -> Problem:
    """The problem as a proposer sees it."""
    return Problem(
        launches=tuple(one.launch for one in subject.traced),
        target=setup.target,
        baseline_l2_hit_rate=attempts.baseline,
        ceiling_l2_hit_rate=subject.ceiling.l2_hit_rate,
        budget=setup.options.candidates,
        context=lambda: describe(setup, replace(subject, baseline=evaluator.baseline)),
        attempts=attempts.all,
        seed=setup.options.seed,
        iterations=setup.options.num_attempts,
    )


def describe(setup: Setup, subject: Subject) -> HardwareContext:
    """Kernel and GPU as a language model is told of them; by the largest launch."""
    largest = subject.traced[0]
    return hardware_context(
        largest.launch,
        largest.trace,
        setup.target,
        occupancy=largest.occupancy,
        baseline=subject.baseline,
        ceiling=subject.ceiling,
        launches=subject.launches,
    )


def conclude(
    setup: Setup,
    recorded: Capture,
    kernels: Kernels,
    proposers: Sequence[Proposer],
    evaluator: Evaluator,
    history: History,
) -> Run:
    """The run as a record, with the best, the picture and the usage left out.

    Args:
        setup: what it worked with.
        recorded: what the application launched.
        kernels: the kernel that was worked on, and the rows of the others.
        proposers: who offered candidates.
        evaluator: who judged them.
        history: the attempts.
    """
    subject, others = kernels
    largest = subject.traced[0].launch
    return Run(
        kernel=subject.kernel,
        kernels=(replace(subject, baseline=evaluator.baseline).summary, *others),
        formula=setup.formula.name,
        target=setup.target.name,
        profiler=evaluator.profiler,
        proposer=name_proposers(proposers),
        seed=setup.options.seed,
        grid=largest.grid,
        constants=largest.constants,
        launches=len(subject.launches),
        baseline=evaluator.baseline,
        ceiling=subject.ceiling,
        best=None,
        attempts=history.attempts,
        nothing_to_gain=not is_promising(setup, subject),
        notes=(*recorded.notes, *subject.notes, *note_unit_test(setup, subject)),
        history=str(history.path),
        invocation=setup.invocation,
        file=largest.source.entry.file,
        predicted=evaluator.predicted,
        cautions=subject.cautions,
        domain_name=setup.target.domain_name,
    )


def name_proposers(proposers: Sequence[Proposer]) -> str:
    """As `--proposer` takes it."""
    return proposers[0].name if len(proposers) == 1 else "both"


def draw(setup: Setup, subject: Subject, best: Evaluated | None) -> Picture:
    """What there is to see of the kernel's largest launch, unmodified and with the best swizzle."""
    largest = subject.traced[0]
    choices = axis_choices([largest.launch])
    return picture(
        largest.launch,
        largest.trace,
        setup.target,
        occupancy=largest.occupancy,
        tile=best.proved.tiles()[0] if best else None,
        columns=next((choice[-1].extent for choice in choices if len(choice) == 2), None),
    )


def note_unit_test(setup: Setup, subject: Subject) -> tuple[str, ...]:
    """Says that the user's own test could not be run, if that is so."""
    if not setup.options.unittest_command or subject.computed:
        return ()
    return (
        "the unit test was not run: launches were recorded and not computed "
        "(--compute always executes them)",
    )


@contextmanager
def record_application(setup: Setup, progress: Progress) -> Iterator[Capture]:
    """Records the application's launches; the records are removed at the end."""
    with temporary_folder("run") as folder:
        where = f" on {setup.device.product}" if setup.device else ""
        progress.phase(f"recording {' '.join(setup.command)}{where}")
        yield setup.language.record(setup.record_request(folder / "capture"))


@contextmanager
def open_history(
    setup: Setup,
    subject: Subject,
    proposers: Sequence[Proposer],
    folder: Path,
    progress: Progress,
) -> Iterator[History]:
    """The run's history file, new or resumed; closed at the end."""
    options = setup.options
    path = Path(options.history or folder / "history.jsonl")
    resumable = path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    history = History(path, _identity(setup, subject, proposers), resume=options.resume)
    if options.resume:
        progress.note(_resumed(history) if resumable else f"nothing to resume: there is no {path}")
    try:
        yield history
    finally:
        history.close()


def _resumed(history: History) -> str:
    count = len(history.attempts)
    return f"resuming {history.path}: {count} attempt{'' if count == 1 else 's'} taken over"


def _identity(setup: Setup, subject: Subject, proposers: Sequence[Proposer]) -> dict[str, Any]:
    """All that an attempt's numbers and verdict follow from: with another, none can be resumed."""
    source = subject.launches[0].source.functions.values()
    return {
        "version": __version__,
        "kernel": subject.kernel,
        "source": _digest("".join(one.text for one in source).encode()),
        "launches": [[*one.grid, *map(list, one.constants.items())] for one in subject.launches],
        "accesses": [_digest_accesses(one.trace) for one in subject.traced],
        "target": [setup.target.name, _digest(repr(setup.target).encode())],
        "profiler": setup.profiler.name if setup.profiler else "model",
        "device": setup.device.product if setup.device else None,
        "proposer": name_proposers(proposers),
        "formula": setup.formula.name,
        "tolerance": setup.options.accordo_absolute_tolerance,
        "unittest_command": setup.options.unittest_command,
        "seed": setup.options.seed,
    }


def _digest_accesses(trace: Trace) -> str:
    """What a launch touches; it follows from strides, dtypes and data too."""
    arrays = (trace.tile_offset, trace.access_base, trace.access_shape, trace.shape_offset,
              trace.shape_line, trace.shape_sectors, trace.shape_kind)  # fmt: skip
    return _digest(*(array.tobytes() for array in arrays))


def _digest(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
