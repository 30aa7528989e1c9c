# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The loop of the SwizzlePerf paper: propose, prove, screen, evaluate, remember, rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from intelliperf_swizzle.cache.balance import is_uneven, work
from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.errors import ModelError
from intelliperf_swizzle.history import History
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import Effort, Problem, Proposer
from intelliperf_swizzle.propose.axes import row_lengths
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.draw import draw
from intelliperf_swizzle.search.evaluator import Evaluator
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Evaluated
from intelliperf_swizzle.search.subject import Subject, describe
from intelliperf_swizzle.units import percent


def search_kernel(
    setup: Setup,
    subject: Subject,
    proposers: Sequence[Proposer],
    evaluator: Evaluator,
    history: History,
    progress: Progress,
) -> tuple[Evaluated | None, Effort]:
    """Poses the problem that a kernel is, and goes on where a history ends; as of `search`."""
    attempts = Attempts(setup, subject, history)
    problem = pose_problem(setup, subject, evaluator, attempts)
    return search(proposers, problem, attempts, evaluator, progress)


def search(
    proposers: Sequence[Proposer],
    problem: Problem,
    attempts: Attempts,
    evaluator: Evaluator,
    progress: Progress,
) -> tuple[Evaluated | None, Effort]:
    """Has each proposer in turn offer candidates, and finds the best of all that holds.

    Args:
        proposers: the later ones see what the earlier ones found.
        problem: the kernel, the GPU and the budgets.
        attempts: proves, screens and edits candidates; remembers what becomes of each.
        evaluator: measures or models the best of them, and validates the winner.
        progress: told of each step.

    Returns:
        The best, or None; and what the proposers have to say.

    Raises:
        ModelError: a language model cannot be reached, and no other proposer has searched.
    """
    best, effort = None, Effort()
    for attempt in attempts.reported:
        evaluator.confirm(evaluator.evaluate(attempts.edit(attempts.promising([attempt], 0.0))))
    for proposer in proposers:
        paced = proposer.name != "llm"  # a model's answers say for themselves how many there are
        if paced:
            progress.phase(f"searching ({proposer.name}, up to {problem.budget} candidates)")
        try:
            for batch in proposer.propose(problem):
                proved = attempts.prove(batch.candidates)
                screened = attempts.screen(batch.candidates, proved)
                _show_best(attempts, problem, progress, paced=paced)
                edited = attempts.edit(attempts.promising(screened, batch.evaluate_from))
                evaluator.confirm(evaluator.evaluate(edited))
                batch.outcomes = attempts.current(screened)
        except ModelError as error:
            if proposer is proposers[0]:
                raise
            effort += Effort((f"{error.fact}; searched offline",))
        else:
            effort += proposer.effort
        edited = attempts.edit(evaluator.shortlist(attempts.screened))
        best = evaluator.confirm(evaluator.evaluate(edited))
    return best, effort


def _show_best(attempts: Attempts, problem: Problem, progress: Progress, *, paced: bool) -> None:
    """Shows how far the search is; `paced` if the budget tells how much is left of it."""
    below = 100 * max(0.0, problem.ceiling_l2_hit_rate - attempts.best)
    done = min(len(attempts.all()), problem.budget)
    said = f"best {percent(attempts.best)}, {below:.1f} points below the ceiling"
    progress.step(done, problem.budget if paced else done, said)


def pose_problem(
    setup: Setup, subject: Subject, evaluator: Evaluator, attempts: Attempts
) -> Problem:
    """The problem as a proposer sees it."""
    traced = subject.traced
    largest = max(traced, key=lambda one: one.launch.tiles).trace
    taken = work(stream_of(largest), setup.target)
    return Problem(
        launches=tuple(one.launch for one in traced),
        target=setup.target,
        baseline_l2_hit_rate=attempts.baseline,
        ceiling_l2_hit_rate=subject.ceiling.l2_hit_rate,
        budget=setup.options.candidates,
        context=lambda: describe(setup, replace(subject, baseline=evaluator.baseline)),
        attempts=attempts.all,
        picture=lambda best: draw(setup, subject, attempts.screened_as(best)),
        seed=setup.options.seed,
        iterations=setup.options.num_attempts,
        row_lengths=row_lengths(largest),
        work=taken if is_uneven(taken) else None,
    )
