# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The loop of the SwizzlePerf paper: propose, prove, screen, evaluate, remember, rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from intelliperf_swizzle.cache.drift import is_uneven, work
from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.errors import ModelError
from intelliperf_swizzle.history import History
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import Effort, Problem, Proposer
from intelliperf_swizzle.propose.axes import row_lengths
from intelliperf_swizzle.propose.offline import by_hand
from intelliperf_swizzle.records import ByHand, Measurement
from intelliperf_swizzle.search.screening import Attempts
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Edited, Evaluated, Evaluator, Guarded
from intelliperf_swizzle.search.subject import Subject, describe
from intelliperf_swizzle.stopping import ahead, spent
from intelliperf_swizzle.units import percent

SEARCH_SHARE = 0.4
"""Part of a limit (--seconds) that proposers get; the rest is for evaluation and validation."""

Guard: TypeAlias = Callable[[Evaluated], Guarded | None]
"""The last stage of a candidate, before it is validated; None of one that no patch may carry."""


def search_kernel(
    setup: Setup,
    subject: Subject,
    proposers: Sequence[Proposer],
    evaluator: Evaluator,
    history: History,
    progress: Progress,
    guard: Guard,
) -> tuple[Evaluated | None, Effort, tuple[ByHand, ...]]:
    """Poses the problem that a kernel is, and goes on where a history ends; as of `search`.

    Also what people use by hand, the unmodified kernel first; none beside a model alone.
    """
    attempts = Attempts(setup, subject, history)
    problem = pose_problem(setup, subject, evaluator, attempts)
    best, effort = search(proposers, problem, attempts, evaluator, progress, guard)
    alone = proposers[0].name == "llm"
    return best, effort, () if alone else tuple(_by_hand(problem, attempts, evaluator.baseline))


def pose_problem(
    setup: Setup, subject: Subject, evaluator: Evaluator, attempts: Attempts
) -> Problem:
    """The problem as a proposer sees it."""
    traced = subject.traced
    one = max(traced, key=lambda one: one.launch.tiles)
    taken = work(stream_of(one.trace), setup.target)[: one.launch.tiles]  # without what stays
    return Problem(
        launches=tuple(each.launch for each in traced),
        target=setup.target,
        baseline_l2_hit_rate=attempts.baseline,
        ceiling_l2_hit_rate=subject.ceiling.l2_hit_rate,
        budget=setup.options.candidates,
        context=lambda: describe(setup, replace(subject, baseline=evaluator.baseline)),
        attempts=attempts.all,
        seed=setup.options.seed,
        iterations=setup.options.num_attempts,
        row_lengths=row_lengths(one.trace),
        work=taken if is_uneven(taken) else None,
    )


def _by_hand(problem: Problem, attempts: Attempts, baseline: Measurement) -> Iterator[ByHand]:
    """Those that were evaluated, or predicted, each beside the unmodified kernel."""
    yield _row("unmodified", baseline, "", None)
    candidates = by_hand(problem)
    for name, one in zip(candidates, attempts.take(candidates.values()), strict=True):
        read = one.measurement or one.predicted
        if read is not None:
            known = one.verdict.kind if one.measurement else "modelled only"
            yield _row(name, read, known, one.number)


def _row(name: str, read: Measurement, verdict: str, number: int | None) -> ByHand:
    time_ms = read.modelled_time_ms if read.time_ms is None else read.time_ms
    return ByHand(name, read.l2_hit_rate, time_ms, verdict, number)


def search(
    proposers: Sequence[Proposer],
    problem: Problem,
    attempts: Attempts,
    evaluator: Evaluator,
    progress: Progress,
    guard: Guard,
) -> tuple[Evaluated | None, Effort]:
    """Has each proposer in turn offer candidates, and finds the best of all that holds.

    Args:
        proposers: the later ones see what the earlier ones found.
        problem: the kernel, the GPU and the budgets.
        attempts: proves, screens and edits candidates; remembers what becomes of each.
        evaluator: measures or models the best of them, and validates the winner.
        progress: told of each step.
        guard: the last stage, of the best so far.

    Returns:
        The best, or None; and what the proposers have to say.

    Raises:
        ModelError: a language model cannot be reached, and no other proposer has searched.
    """
    best, effort = None, Effort()
    for attempt in attempts.reported:
        _confirm(evaluator, attempts.edit(attempts.promising([attempt], 0.0)), guard)
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
                _confirm(evaluator, edited, guard)
                batch.outcomes = attempts.current(screened)
                if spent(SEARCH_SHARE):
                    break
        except ModelError as error:
            if proposer is proposers[0]:
                raise
            effort += Effort((f"{error.fact}; searched offline",))
        else:
            effort += proposer.effort
        always = {one.number for one in attempts.take(by_hand(problem).values() if paced else ())}
        edited = attempts.edit(evaluator.shortlist(attempts.screened, always))
        best = _confirm(evaluator, edited, guard)
    return best, effort


def _confirm(evaluator: Evaluator, edited: Sequence[Edited], guard: Guard) -> Evaluated | None:
    """The best of some that is better, guarded and found to hold; None if there is none."""
    waiting = evaluator.evaluate(edited)
    while (best := evaluator.choose(waiting)) is not None:
        counting = ahead(evaluator.count)
        guarded = guard(best)
        counting()
        if guarded is not None and (held := evaluator.settle(guarded)) is not None:
            return held
        waiting = [one for one in waiting if one.attempt.number != best.attempt.number]
    evaluator.count()
    return None


def _show_best(attempts: Attempts, problem: Problem, progress: Progress, *, paced: bool) -> None:
    """Shows how far the search is; `paced` if the budget tells how much is left of it."""
    below = 100 * max(0.0, problem.ceiling_l2_hit_rate - attempts.best)
    said = f"best {percent(attempts.best)}, {below:.1f} points below the ceiling"
    done = min(len(attempts.all()), problem.budget)
    progress.step(done, problem.budget if paced else done, said)
