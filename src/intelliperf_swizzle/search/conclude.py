# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the search on one kernel comes to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from intelliperf_swizzle.disk import FolderLock
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.history import History
from intelliperf_swizzle.records import Capture, Run
from intelliperf_swizzle.search.evaluator import Evaluator
from intelliperf_swizzle.search.plan import is_promising
from intelliperf_swizzle.search.setup import Setup
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
    return Run(
        kernel=subject.kernel,
        kernels=(replace(subject, baseline=evaluator.baseline).summary,),
        formula=setup.formula.name,
        target=setup.target.name,
        profiler=evaluator.profiler,
        proposer=proposer,
        seed=setup.options.seed,
        grid=largest.grid,
        constants=largest.constants,
        launches=len(subject.launches),
        baseline=evaluator.baseline,
        ceiling=subject.ceiling,
        best=None,
        attempts=history.attempts,
        nothing_to_gain=not is_promising(setup, subject),
        notes=(*recorded.notes, *subject.notes, *note_omissions(setup)),
        history=str(history.path),
        invocation=setup.invocation,
        file=largest.source.entry.file,
        predicted=evaluator.predicted,
        cautions=subject.cautions,
        domain_name=setup.target.domain_name,
    )


def note_omissions(setup: Setup) -> tuple[str, ...]:
    """Says so if the user's own test was not run."""
    if setup.options.unittest_command and setup.options.compute == "never":
        return ("the unit test was not run, as `--compute never` forbids it",)
    return ()
