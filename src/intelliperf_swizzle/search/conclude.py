# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the search on one kernel comes to."""

from dataclasses import replace

from intelliperf_swizzle.history import History
from intelliperf_swizzle.picture import picture
from intelliperf_swizzle.propose.nest import axis_choices, row_lengths
from intelliperf_swizzle.records import Capture, Picture, Run
from intelliperf_swizzle.search.evaluators import Evaluator
from intelliperf_swizzle.search.loop import Found
from intelliperf_swizzle.search.plan import is_promising
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.stages import EvaluationContext, Screened
from intelliperf_swizzle.search.subject import Subject


def conclude(
    context: EvaluationContext,
    recorded: Capture,
    proposer: str,
    evaluator: Evaluator,
    history: History,
    found: Found,
) -> Run:
    """The run as a record; the picture, what else could be done and other kernels are left out.

    Args:
        context: the kernel, and what it worked with.
        recorded: what the application launched.
        proposer: who offered candidates.
        evaluator: who judged them.
        history: the attempts.
        found: what the search has found.
    """
    setup, subject, best = context.setup, context.subject, found.best
    largest = subject.traced[0].launch
    hopeless = not (subject.refusal or is_promising(setup, subject))
    untested = setup.options.unittest_command and setup.options.compute == "never"
    notes = ("the unit test was not run, as `--compute never` forbids it",) if untested else ()
    anyway = (f"not searched; `-k {subject.kernel}`, or --all, searches it",) if hopeless else ()
    notes = (*notes, *found.effort.notes, *(best.edit.notes if best else ()))
    return Run(
        kernel=subject.kernel, kernels=(replace(subject, baseline=evaluator.baseline).summary,),
        formula=setup.formula.name, target=setup.target.name, profiler=evaluator.baseline.profiler,
        proposer=proposer, seed=setup.options.seed, grid=largest.grid, constants=largest.constants,
        launches=len(subject.launches), baseline=evaluator.baseline, ceiling=subject.ceiling,
        best=best.attempt if best else None, attempts=history.attempts, nothing_to_gain=hopeless,
        notes=(*anyway, *recorded.notes, *subject.notes, *notes), by_hand=found.by_hand,
        interrupted=found.interrupted is not None, usage=found.effort.usage,
        history=str(history.path), invocation=setup.invocation, file=largest.source.file,
        predicted=evaluator.predicted if subject.is_traced else None, cautions=subject.cautions,
        domain_name=setup.target.domain_name, accuracy=subject.accuracy(setup.target),
        independence=(found.independence or subject.independence) if subject.is_traced else None,
    )  # fmt: skip


def build_picture(setup: RunContext, subject: Subject, best: Screened | None) -> Picture:
    """What there is to see of the kernel's largest launch, unmodified and with the best swizzle."""
    largest = subject.traced[0]
    choices = axis_choices([largest.launch], row_lengths(largest.trace))
    return picture(
        largest.launch, largest.trace, setup.target, occupancy=largest.occupancy,
        tile=best.proved.tiles()[0] if best else None,
        columns=next((choice[-1].extent for choice in choices if len(choice) == 2), None),
    )  # fmt: skip
