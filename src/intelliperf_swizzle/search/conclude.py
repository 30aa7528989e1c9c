# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the search on one kernel comes to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from intelliperf_swizzle.disk import FolderLock
from intelliperf_swizzle.edit import Edit, apply, combine
from intelliperf_swizzle.errors import SpliceError, SwizzleError, ValidationError
from intelliperf_swizzle.history import History
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.picture import picture
from intelliperf_swizzle.propose.nest import axis_choices, row_lengths
from intelliperf_swizzle.records import Capture, KernelSummary, Picture, Run
from intelliperf_swizzle.report.files import write_application, write_files
from intelliperf_swizzle.report.words import verdict
from intelliperf_swizzle.search.plan import is_promising
from intelliperf_swizzle.search.setup import Setup, UnitTest
from intelliperf_swizzle.search.stages import Evaluator, Screened
from intelliperf_swizzle.search.subject import Subject
from intelliperf_swizzle.stopping import Interrupted


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
        others: what came of the other kernels that were searched.
        combined: the best swizzles of all of them in one edit; None if there are none.
    """

    run: Run
    edit: Edit | None
    file: str
    initial: str
    folder: Path
    lock: FolderLock = field(repr=False, compare=False)
    interrupted: Interrupted | None = None
    others: tuple[Outcome, ...] = ()
    combined: Edit | None = None

    @property
    def optimized(self) -> str | None:
        """The file's text with the best swizzle."""
        return self.edit.files.get(self.file, self.initial) if self.edit else None


def conclude(
    setup: Setup,
    recorded: Capture,
    subject: Subject,
    proposer: str,
    evaluator: Evaluator,
    history: History,
) -> Run:
    """The run as a record; the best, the picture, the usage and the other kernels are left out.

    Args:
        setup: what it worked with.
        recorded: what the application launched.
        subject: the kernel.
        proposer: who offered candidates.
        evaluator: who judged them.
        history: the attempts.
    """
    largest = subject.traced[0].launch
    hopeless = not (subject.refusal or is_promising(setup, subject))
    untested = setup.options.unittest_command and setup.options.compute == "never"
    untested_note = "the unit test was not run, as `--compute never` forbids it"
    anyway = (f"not searched; `-k {subject.kernel}`, or --all, searches it",) if hopeless else ()
    return Run(
        kernel=subject.kernel, kernels=(replace(subject, baseline=evaluator.baseline).summary,),
        formula=setup.formula.name, target=setup.target.name, profiler=evaluator.baseline.profiler,
        proposer=proposer, seed=setup.options.seed, grid=largest.grid, constants=largest.constants,
        launches=len(subject.launches), baseline=evaluator.baseline, ceiling=subject.ceiling,
        best=None, attempts=history.attempts, nothing_to_gain=hopeless,
        notes=(*anyway, *recorded.notes, *subject.notes, *((untested_note,) if untested else ())),
        history=str(history.path), invocation=setup.invocation, file=largest.source.entry.file,
        predicted=evaluator.predicted if subject.is_traced else None, cautions=subject.cautions,
        domain_name=setup.target.domain_name, accuracy=subject.accuracy(setup.target),
    )  # fmt: skip


Result: TypeAlias = "Outcome | SwizzleError | Interrupted | None"
"""What came of a kernel: an outcome, a failure, a signal before its search, or no search."""


def gather(
    results: Sequence[tuple[Subject, Result]],
    rows: Sequence[KernelSummary],
    interrupted: Interrupted | None,
    setup: Setup,
) -> Outcome:
    """The outcome for the kernel that saves most time, with those of the others in it.

    Args:
        results: all kernels that could be edited, with what came of each; at least one outcome.
        rows: of the kernels that could not.
        interrupted: the signal that ended the run; None if it came to its end.
        setup: of the run.
    """
    table = _table(results, setup)
    ranked = sorted(zip(table, results, strict=True), key=lambda pair: -(pair[0].time_saved or 0))
    kernels = (*(row for row, _ in ranked), *rows)
    outcomes = [
        replace(result, run=replace(result.run, kernels=kernels), interrupted=interrupted)
        for _, (_, result) in ranked
        if isinstance(result, Outcome)
    ]
    first, *others = outcomes
    combined, notes = combine_edits(outcomes, setup)
    run = replace(first.run, notes=(*first.run.notes, *notes))
    return replace(first, run=run, others=tuple(others), combined=combined)


def _table(results: Sequence[tuple[Subject, Result]], setup: Setup) -> list[KernelSummary]:
    """The rows; times are measured if all of them were, else modelled."""
    measured = [
        result.run.baseline.time_ms if isinstance(result, Outcome) else None
        for _, result in results
    ]
    times = [
        (ms or 0.0) * subject.untraced_factor
        for (subject, _), ms in zip(results, measured, strict=True)
    ]
    if None in measured:
        times = [subject.time_ms for subject, _ in results]
    whole = sum(times)
    return [
        kernel_row(subject, result, ms / whole if whole else None, setup)
        for (subject, result), ms in zip(results, times, strict=True)
    ]


def kernel_row(
    subject: Subject, result: Result, share: float | None, setup: Setup
) -> KernelSummary:
    """The row of a kernel; `share` is its part of the time of all recorded kernels."""
    if isinstance(result, SwizzleError):
        return replace(subject.summary, time_share=share, note=result.fact)
    if isinstance(result, Interrupted):
        return replace(subject.summary, time_share=share, note=f"not searched: {result}")
    if result is None:
        why = "too little time to save" if is_promising(setup, subject) else "nothing to gain"
        why = "not searched" if subject.refusal else why
        return replace(subject.summary, time_share=share, verdict=why)
    best, before = result.run.best, result.run.baseline.modelled_time_ms
    read = best.measurement if best else None
    ratio = read.timing.ratio.median if read and read.timing else None
    if read and before and ratio is None and result.run.claims_time:
        ratio = (read.modelled_time_ms or before) / before
    return replace(
        result.run.kernels[0],
        time_share=share,
        best_l2_hit_rate=read.l2_hit_rate if read else None,
        time_saved=None if ratio is None or share is None else share * (1 - ratio),
        verdict=verdict(result.run),
    )


def combine_edits(outcomes: Iterable[Outcome], setup: Setup) -> tuple[Edit | None, tuple[str, ...]]:
    """The edits of all outcomes in one; where that cannot be, the first alone, and why.

    If there are several, the user's own test must pass on them together.
    """
    edits = [one.edit for one in outcomes if one.edit]
    if len(edits) < 2:
        return (edits[0] if edits else None), ()
    try:
        combined = combine(edits, setup.patch_roots)
        failure = UnitTest(setup).failure(combined)
    except (SpliceError, ValidationError) as error:
        failure = error.fact
    if failure is not None:
        return edits[0], (f"the patches of the kernels cannot be one: {failure}",)
    return combined, ()


def deliver(outcome: Outcome, options: Options) -> list[str]:
    """Writes the files and applies the edits if asked for; a line for each, for people.

    Args:
        outcome: of a run, for all kernels.
        options: which name other places for the result.
    """
    attempts = options.trace_path
    for one in outcome.others:
        write_files(one, one.folder, output_file=None, attempts_directory=attempts)
    written = write_files(
        outcome, outcome.folder, output_file=options.output_file, attempts_directory=attempts
    )
    if outcome.others:
        written += write_application(outcome.folder.parent, outcome.combined)
    if options.in_place and outcome.interrupted and outcome.interrupted.exit_code:
        written.append("nothing applied: the run was interrupted")
    elif options.in_place and outcome.combined:
        backups = apply(outcome.combined)
        applied = zip(outcome.combined.files, backups, strict=True)
        written += [f"applied: {path} (before: {backup})" for path, backup in applied]
    elif options.in_place:
        written.append("nothing applied: no eligible swizzle")
    for one in (outcome, *outcome.others):
        one.lock.release()
    return written


def draw(setup: Setup, subject: Subject, best: Screened | None) -> Picture:
    """What there is to see of the kernel's largest launch, unmodified and with the best swizzle."""
    largest = subject.traced[0]
    choices = axis_choices([largest.launch], row_lengths(largest.trace))
    return picture(
        largest.launch,
        largest.trace,
        setup.target,
        occupancy=largest.occupancy,
        tile=best.proved.tiles()[0] if best else None,
        columns=next((choice[-1].extent for choice in choices if len(choice) == 2), None),
    )
