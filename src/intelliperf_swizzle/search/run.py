# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One run on an application: record it, choose the kernel, search, conclude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.edit import read_exactly
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose import Effort, Proposer
from intelliperf_swizzle.records import Capture
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.baseline import choose_evaluator
from intelliperf_swizzle.search.conclude import Kernels, Outcome, conclude, draw, is_promising
from intelliperf_swizzle.search.loop import pose_problem, search
from intelliperf_swizzle.search.recorded import choose_kernel, record_application
from intelliperf_swizzle.search.run_folder import lock_folder, name_proposers, open_history
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.stopping import Interrupted, apart, hold


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
        lock_folder(folder, subject) as lock,
        open_history(setup, subject, proposers, folder, progress) as history,
    ):
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
            conclude(setup, recorded, kernels, name_proposers(proposers), evaluator, history),
            best=best.attempt if best else None,
            picture=seen,
            interrupted=interrupted is not None,
            usage=effort.usage,
        )
        run = replace(run, notes=(*run.notes, *effort.notes, *_not_edited(setup)))
        edit = best.edit if best and setup.language.edits else None
        return Outcome(run, edit, file, initial, folder, lock, interrupted)


def _not_edited(setup: Setup) -> tuple[str, ...]:
    """Says so if the language's sources are not edited yet."""
    if setup.language.edits:
        return ()
    name = setup.language.name
    return (f"{name} sources are not edited yet: nothing was validated, no patch written",)
