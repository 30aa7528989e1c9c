# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The search on one kernel of a recorded application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import Effort, Proposer
from intelliperf_swizzle.records import Capture
from intelliperf_swizzle.search.baseline import choose_evaluator
from intelliperf_swizzle.search.conclude import Findings, Outcome, conclude
from intelliperf_swizzle.search.examine_kernel import look_closely
from intelliperf_swizzle.search.guard import SizeGuard, sound
from intelliperf_swizzle.search.loop import search_kernel
from intelliperf_swizzle.search.plan import Search, is_promising
from intelliperf_swizzle.search.run_folder import (
    kernel_folder,
    lock_folder,
    name_proposers,
    open_history,
)
from intelliperf_swizzle.stopping import Interrupted, apart


def optimize_kernel(
    one: Search, recorded: Capture, proposers: Sequence[Proposer], folder: Path, progress: Progress
) -> Outcome:
    """Runs the loop on one kernel of a recorded application; as of `optimize`."""
    setup = one.setup
    promising = is_promising(setup, one.subject)
    if setup.device is not None and not promising:
        setup = replace(setup, device=None, profiler=None)  # nothing is timed or counted
    subject = apart(lambda: look_closely(one.subject, setup, progress))
    folder = kernel_folder(folder / one.folder, setup, subject)
    initial = subject.read_file()
    with (
        lock_folder(folder, subject) as lock,
        open_history(setup, subject, proposers, folder, progress) as history,
    ):
        scratch = recorded.folder.parent
        evaluator = apart(lambda: choose_evaluator(setup, subject, history, scratch, progress))
        best, effort, interrupted, found = None, Effort(), None, Findings()
        guard = SizeGuard(setup, subject, progress)
        try:
            if promising:
                best, effort = apart(
                    lambda: search_kernel(
                        setup, subject, proposers, evaluator, history, progress, guard
                    )
                )
            found.collect(setup, subject, evaluator, best, progress)
        except Interrupted as signal:
            best, interrupted = best or next(filter(sound, evaluator.confirmed), None), signal
            efforts = [proposer.effort for proposer in proposers]
            effort = sum(efforts, Effort((f"{signal}; --resume goes on",)))
        run = replace(
            conclude(setup, recorded, subject, name_proposers(proposers), evaluator, history),
            best=best.attempt if best else None,
            picture=found.picture,
            cures=found.cures,
            sizes=guard.sizes_of(best),
            interrupted=interrupted is not None,
            usage=effort.usage,
        )
        run = replace(run, notes=(*found.notes, *run.notes, *effort.notes))
        edit = best.edit if best else None
        return Outcome(run, edit, subject.file, initial, folder, lock, interrupted)
