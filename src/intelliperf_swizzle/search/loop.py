# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The loop of the SwizzlePerf paper: propose, prove, screen, evaluate, remember, rank.

And its attempts: candidates that were proved and screened, each permutation once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeAlias

from intelliperf_swizzle import stopping
from intelliperf_swizzle.cache.amd_replay import is_uneven, work
from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.children import cores
from intelliperf_swizzle.errors import ModelError
from intelliperf_swizzle.history import History
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import Effort, Problem, Proposer
from intelliperf_swizzle.propose.nest import row_lengths
from intelliperf_swizzle.propose.offline import by_hand
from intelliperf_swizzle.rank import NOISE_BAND, text_length
from intelliperf_swizzle.records import Attempt, ByHand, Candidate, Measurement, Verdict
from intelliperf_swizzle.search import stages
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Edited, Evaluated, Evaluator, Guarded
from intelliperf_swizzle.search.subject import Subject, describe, prepare_screen, with_causes
from intelliperf_swizzle.stopping import ahead, spent
from intelliperf_swizzle.units import percent

MOST_TIED = 3
"""Candidates of a batch that are evaluated if the screen cannot tell them apart: of 64 members of a
family for a grouped GEMM it gave 82.5 to 82.7 % what full physics gave 75.6 to 77.1 %."""


class Attempts:
    """Takes candidates through the cheap stages, and appends what becomes of each to the history.

    Those of a resumed history are proved anew: what a file says is not believed.

    Args:
        setup: of the run.
        subject: the kernel.
        history: of the run.
    """

    def __init__(self, setup: Setup, subject: Subject, history: History):
        self._setup = setup
        self._subject = subject
        self._history = history
        self._rate_of = prepare_screen(subject.traced, setup.target)
        self._pool = ThreadPoolExecutor(cores())
        self._screened: dict[str, stages.Screened] = {}
        self.baseline = self._rate_of(parse("pid = pid"))
        """The unmodified kernel's L2 hit rate as the fast model sees it, from 0 to 1."""
        self.best = self.baseline
        """The highest such rate so far."""
        self.reported: list[Attempt] = []
        """Attempts of which an earlier run has told a language model the numbers."""
        self._take_over(history.attempts)

    @property
    def screened(self) -> list[stages.Screened]:
        """Every permutation so far with its attempt as it stands now, by number."""
        current = [
            replace(one, attempt=self._history.current(one.attempt))
            for one in self._screened.values()
        ]
        return sorted(current, key=lambda one: one.attempt.number)

    def promising(self, attempts: Sequence[Attempt], least: float | None) -> list[stages.Screened]:
        """The best of these attempts, and others that the screen cannot tell from it.

        The others lie as far from those chosen before as they can, in the order of `attempts`: of a
        family, with other values.

        Args:
            attempts: of one batch.
            least: none that was screened lower is taken; None = none at all.
        """
        rates = [one.screened_l2_hit_rate for one in attempts]
        highest = max((rate for rate in rates if rate is not None), default=-1.0)
        if least is None or highest < least:
            return []
        limit = max(least, highest - NOISE_BAND)
        tied = [at for at, rate in enumerate(rates) if rate is not None and rate >= limit]
        chosen = [rates.index(highest)]
        while len(chosen) < min(MOST_TIED, len(tied)):
            chosen.append(max(tied, key=lambda at: min(abs(at - one) for one in chosen)))
        return [
            replace(self._screened[one.fingerprint or ""], attempt=self._history.current(one))
            for one in (attempts[at] for at in chosen)
        ]

    def explained(self, attempt: Attempt) -> Attempt:
        """The attempt with the causes of its misses, if the model has measured it; a replay."""
        if (known := self._screened.get(attempt.fingerprint or "")) is None:
            return attempt
        return with_causes(attempt, known.proved.swizzle, self._subject.traced, self._setup.target)

    def all(self) -> Sequence[Attempt]:
        """All attempts by number, refused ones included."""
        return self._history.attempts

    def current(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        """The attempts as they stand now."""
        return [self._history.current(one) for one in attempts]

    def prove(self, candidates: Sequence[Candidate]) -> list[stages.Proved | Verdict]:
        """Proves candidates on all cores."""
        return list(self._pool.map(self._prove, candidates))

    def screen(
        self, candidates: Sequence[Candidate], proved: Sequence[stages.Proved | Verdict]
    ) -> list[Attempt]:
        """Rates what was proved by the fast model; an attempt each, in order.

        A permutation that is known already gives the attempt that it was first; a language
        model's becomes an attempt of its own, refused as repeated unless a search had it and has
        not evaluated it, or its text is shorter than that of one that stands.
        """
        rates = self._rate(proved)
        return [
            self._attempt(self._history.next_number(), candidate, outcome, rate)
            for candidate, outcome, rate in zip(candidates, proved, rates, strict=True)
        ]

    def take(self, candidates: Iterable[Candidate]) -> list[Attempt]:
        """Proves and screens candidates, in order; those that are known as what they are now."""
        chosen = list(candidates)
        return self.current(self.screen(chosen, self.prove(chosen)))

    def edit(self, screened: Iterable[stages.Screened]) -> list[stages.Edited]:
        """Those that can be put into the kernel's source; the others are refused."""
        edited = []
        for one in screened:
            outcome = stages.edit_source(one, self._setup)
            if isinstance(outcome, Verdict):
                self._history.record(replace(one.attempt, verdict=outcome))
            else:
                edited.append(outcome)
        return edited

    def _prove(self, candidate: Candidate) -> stages.Proved | Verdict:
        stopping.check()
        return stages.prove_candidate(candidate, self._subject, self._setup.target)

    def _rate(self, proved: Sequence[stages.Proved | Verdict]) -> list[float | None]:
        """The screened hit rate of each that is proved and new, else None."""

        def rate(one: stages.Proved | Verdict) -> float | None:
            stopping.check()
            if isinstance(one, Verdict) or one.fingerprint in self._screened:
                return None
            return self._rate_of(one.swizzle)

        return list(self._pool.map(rate, proved))

    def _attempt(
        self,
        number: int,
        candidate: Candidate,
        outcome: stages.Proved | Verdict,
        rate: float | None,
    ) -> Attempt:
        if isinstance(outcome, Verdict):
            return self._history.record(Attempt(number, candidate, outcome))
        known = self._screened.get(outcome.fingerprint)
        if known is not None:
            first = self._history.current(known.attempt)
            if candidate.origin != "llm":
                return first
            by_search = first.candidate.origin != "llm" and first.verdict.kind == "screened out"
            if not (by_search or (first.verdict.eligible and _is_shorter(outcome, known.proved))):
                return self._repeated(number, candidate, first)
            rate = first.screened_l2_hit_rate  # this text is shorter, or may hold at more sizes
        if candidate.origin == "llm" and outcome.unchanged:
            unchanged = Verdict("no difference", "this is the unmodified mapping, `pid = pid`")
            return self._history.record(
                Attempt(number, candidate, unchanged, fingerprint=outcome.fingerprint)
            )
        assert rate is not None
        one = stages.screen_candidate(outcome, number, rate, self.baseline)
        self._screened[outcome.fingerprint] = one
        self.best = max(self.best, rate)
        return self._history.record(one.attempt)

    def _repeated(self, number: int, candidate: Candidate, known: Attempt) -> Attempt:
        """A language model is told that it repeats a permutation, however it has written it."""
        kind = known.verdict.kind
        told = "not evaluated" if kind == "screened out" else f"{kind}, {known.verdict.reason}"
        reason = f"the same permutation as attempt {known.number} ({known.candidate.name}): {told}"
        return self._history.record(
            Attempt(number, candidate, Verdict("repeated", reason), fingerprint=known.fingerprint)
        )

    def _take_over(self, resumed: Sequence[Attempt]) -> None:
        """Proves and screens anew what an earlier run tried: nothing of its file is believed."""
        proved = self.prove([one.candidate for one in resumed])
        rates = self._rate(proved)
        for one, outcome, rate in zip(resumed, proved, rates, strict=True):
            again = self._attempt(one.number, one.candidate, outcome, rate)
            if one.candidate.origin == "llm" and one.measurement is not None:
                self.reported.append(again)


def _is_shorter(one: stages.Proved, known: stages.Proved) -> bool:
    """Whether a text of a permutation is shorter than the known one and holds at as many sizes."""
    if text_length(one.candidate) >= text_length(known.candidate):
        return False
    new, old = one.certify(), known.certify()
    return new.extent == "every size" or (
        new.condition == old.condition and new.extent == old.extent
    )


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
        launches=tuple(each.launch for each in traced), target=setup.target,
        baseline_l2_hit_rate=attempts.baseline, ceiling_l2_hit_rate=subject.ceiling.l2_hit_rate,
        budget=setup.options.candidates,
        context=lambda: describe(setup, replace(subject, baseline=evaluator.baseline)),
        attempts=attempts.all, seed=setup.options.seed, iterations=setup.options.num_attempts,
        row_lengths=row_lengths(one.trace), work=taken if is_uneven(taken) else None,
    )  # fmt: skip


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
    said = f"best {percent(attempts.best)}, {below:.1f} points below the ceiling" * (
        attempts.best > 0
    )
    done = min(len(attempts.all()), problem.budget)
    progress.step(done, problem.budget if paced else done, said)
