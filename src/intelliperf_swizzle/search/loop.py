# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The loop of the SwizzlePerf paper: propose, prove, screen, evaluate, remember, rank."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from intelliperf_swizzle.errors import ModelError
from intelliperf_swizzle.history import History
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import Problem, Proposer, ProposerReport
from intelliperf_swizzle.propose.offline import by_hand
from intelliperf_swizzle.readers import percent
from intelliperf_swizzle.records import ByHand, Independence, Measurement
from intelliperf_swizzle.search.attempts import Attempts, pose_problem
from intelliperf_swizzle.search.evaluators import Evaluator
from intelliperf_swizzle.search.guard import SizeGuard
from intelliperf_swizzle.search.stages import Edited, Evaluated, EvaluationContext, Guarded
from intelliperf_swizzle.stopping import Interrupted, ahead, interruptibly, left, spent

SEARCH_SHARE = 0.4
"""Part of a limit (--seconds) that proposers get; the rest is for evaluation and validation."""

Guard: TypeAlias = Callable[[Evaluated], Guarded | None]
"""The last stage of a candidate, before it is validated; None of one that no patch may carry."""


LATER = (
    "validated without the condition that the patch tests, with which it is the same permutation "
    "of every recorded launch"
)


@dataclass(frozen=True)
class Found:
    """What the search on a kernel has found.

    Attributes:
        best: guarded and validated; once a signal has come maybe guarded for the recorded sizes
            alone, or still to be validated. None if nothing is better.
        effort: what the proposers have to say.
        by_hand: what people use by hand, the unmodified kernel first; none beside a model alone.
        interrupted: the signal that has ended it.
        independence: what is known of the kernel's programs; None if only recorded launches
            were looked at.
    """

    best: Edited | None = None
    effort: ProposerReport = field(default_factory=ProposerReport)
    by_hand: tuple[ByHand, ...] = ()
    interrupted: Interrupted | None = None
    independence: Independence | None = None

    def until(self, signal: Interrupted, *notes: str) -> "Found":
        """The same where a signal has come."""
        effort = ProposerReport((f"{signal}; --resume goes on", *notes)) + self.effort
        return replace(self, effort=effort, interrupted=signal)


def search_kernel(
    context: EvaluationContext,
    proposers: Sequence[Proposer],
    evaluator: Evaluator,
    history: History,
) -> Found:
    """Poses the problem that a kernel is, and goes on where a history ends; as of `search`.

    A signal ends it with the best so far.
    """
    setup, subject, progress = context.setup, context.subject, context.progress
    guard = SizeGuard(setup, subject, progress)

    def found() -> Found:
        attempts = Attempts(setup, subject, history)
        problem = pose_problem(setup, subject, evaluator, attempts)
        best, effort = search(proposers, problem, attempts, evaluator, progress, guard)
        alone = proposers[0].name == "llm"
        by_hand = () if alone else tuple(_by_hand(problem, attempts, evaluator.baseline))
        effort += ProposerReport(() if best else tuple(guard.refused))
        known = guard.variations.independence if best and not subject.has_dependences else None
        return Found(best, effort, by_hand, independence=known)

    try:
        return interruptibly(found)
    except Interrupted as signal:
        best = next(filter(None, map(guard.at_once, evaluator.confirmed)), None)
        effort = sum((proposer.effort for proposer in proposers), ProposerReport())
        later = (LATER,) if best and not isinstance(best, Evaluated) else ()
        return Found(best, effort).until(signal, *later)


def _by_hand(problem: Problem, attempts: Attempts, baseline: Measurement) -> Iterator[ByHand]:
    """Those that were evaluated, or predicted, each beside the unmodified kernel."""
    yield _row("unmodified", baseline, "", None)
    candidates = by_hand(problem)
    for name, attempt in zip(candidates, attempts.take(candidates.values()), strict=True):
        read = attempt.measurement or attempt.predicted
        if read is not None:
            known = attempt.verdict.kind if attempt.measurement else "modelled only"
            yield _row(name, read, known, attempt.number)


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
) -> tuple[Evaluated | None, ProposerReport]:
    """Has each proposer in turn offer candidates, and finds the best of all that holds.

    Args:
        proposers: the later ones see what the earlier ones found.
        problem: the kernel, the GPU and the budgets.
        attempts: proves, screens and edits candidates; remembers what becomes of each.
        evaluator: measures or models the best of them, and validates the winner.
        progress: receives each step.
        guard: the last stage, of the best so far.

    Returns:
        The best, or None; and what the proposers have to say.

    Raises:
        ModelError: a language model cannot be reached, and no other proposer has searched.
    """
    best, effort = None, ProposerReport()
    for attempt in attempts.reported:
        _confirm(evaluator, attempts.edit(attempts.promising([attempt], 0.0)), guard)
    for proposer in proposers:
        paced = proposer.name != "llm"  # a model's answers say for themselves how many there are
        if paced:
            progress.phase(f"searching ({proposer.name}, up to {problem.budget} candidates)")
        try:
            for batch in proposer.propose(problem):
                screened = attempts.screen(batch.candidates, attempts.prove(batch.candidates))
                _show_best(attempts, problem, progress)
                edited = attempts.edit(attempts.promising(screened, batch.evaluate_from))
                _confirm(evaluator, edited, guard)
                if paced and evaluator.predicted is None and left(1.0) is not None:
                    _answer_early(evaluator, attempts)
                batch.outcomes = attempts.current(screened)
                if spent(SEARCH_SHARE):
                    break
        except ModelError as error:
            if proposer is proposers[0]:
                raise
            effort += ProposerReport((f"{error.fact}; searched offline",))
        else:
            effort += proposer.effort
        always = {a.number for a in attempts.take(by_hand(problem).values() if paced else ())}
        edited = attempts.edit(evaluator.shortlist(attempts.screened, always))
        best = _confirm(evaluator, edited, guard)
    return best, effort


def _answer_early(evaluator: Evaluator, attempts: Attempts) -> None:
    """Has the best so far by the screen validated, unless one is: a limit may leave no time later.

    Other sizes are not checked.
    """
    best = max(attempts.screened, key=lambda s: s.attempt.screened_l2_hit_rate or 0.0, default=None)
    known = best is None or best.attempt.measurement or evaluator.confirmed
    edited = attempts.edit([best]) if best and not known else []
    if (first := evaluator.choose(evaluator.evaluate(edited))) is not None:
        evaluator.settle(first, evaluator.count)


def _confirm(evaluator: Evaluator, edited: Sequence[Edited], guard: Guard) -> Evaluated | None:
    """The best of some that is better, guarded and found to hold; None if there is none."""
    waiting = evaluator.evaluate(edited)
    while (best := evaluator.choose(waiting)) is not None:
        counting = ahead(evaluator.count)
        guarded = guard(best)
        held = evaluator.settle(guarded, counting) if guarded is not None else counting()
        if held is not None:
            return held
        waiting = [e for e in waiting if e.attempt.number != best.attempt.number]
    evaluator.count()
    return None


def _show_best(attempts: Attempts, problem: Problem, progress: Progress) -> None:
    """Shows how far the search is; what is left of it is unknown: most end before the budget."""
    below = 100 * max(0.0, problem.ceiling_l2_hit_rate - attempts.best)
    best = f"best {percent(attempts.best)}, {below:.1f} points below the ceiling" * (
        attempts.best > 0
    )
    done = min(len(attempts.all()), problem.budget)
    progress.step(done, done, best)
