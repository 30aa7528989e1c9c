# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The search on one kernel of an application, and what it comes to."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import Proposer
from intelliperf_swizzle.records import Capture
from intelliperf_swizzle.search import plan
from intelliperf_swizzle.search.compare_alternatives import begin_alternatives, compare_alternatives
from intelliperf_swizzle.search.conclude import build_picture, conclude
from intelliperf_swizzle.search.deliver import Outcome
from intelliperf_swizzle.search.evaluators import choose_evaluator
from intelliperf_swizzle.search.examine import add_configs, check_dependences
from intelliperf_swizzle.search.loop import Found, search_kernel
from intelliperf_swizzle.search.stages import EvaluationContext
from intelliperf_swizzle.stopping import Interrupted, interruptibly


def optimize_kernel(
    planned: plan.Search,
    recorded: Capture,
    proposers: Sequence[Proposer],
    folder: Path,
    progress: Progress,
) -> Outcome:
    """Runs the loop on one kernel of a recorded application; as of `run.optimize`."""
    setup = planned.setup
    given = setup, progress
    subject = interruptibly(lambda: add_configs(check_dependences(planned.subject, *given), *given))
    folder = plan.kernel_folder(folder / planned.folder, setup, subject)
    initial = subject.read_file()
    with (
        plan.lock_folder(folder, subject) as lock,
        plan.open_history(setup, subject, proposers, folder, progress) as history,
    ):
        context = EvaluationContext(subject, setup, history.record, progress, recorded.seconds)
        evaluator = interruptibly(lambda: choose_evaluator(context, recorded.folder.parent))
        found, begun = Found(), None
        if plan.is_promising(setup, planned.subject):  # else the kernel is there to say so
            begun = begin_alternatives(setup, subject)
            found = search_kernel(context, proposers, evaluator, history)
        picture, alternatives = None, None
        try:
            if not found.interrupted:
                best = found.best
                if subject.is_traced:
                    picture = interruptibly(lambda: build_picture(setup, subject, best))
                alternatives = interruptibly(
                    lambda: compare_alternatives(setup, subject, best, progress, begun)
                )
        except Interrupted as signal:
            found = found.until(signal)
        run = conclude(context, recorded, plan.name_proposers(proposers), evaluator, history, found)
        run = replace(run, picture=picture, alternatives=alternatives)
        edit = found.best.edit if found.best else None
        return Outcome(run, edit, initial, folder, lock, found.interrupted)
