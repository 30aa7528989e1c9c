# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Candidates that were proved and screened, each permutation once, and the problem that they are
to solve.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from intelliperf_swizzle import children, propose, rank, readers, stopping
from intelliperf_swizzle.history import History
from intelliperf_swizzle.propose.nest import row_lengths, uneven_work
from intelliperf_swizzle.records import Attempt, Candidate, Certificate, Verdict
from intelliperf_swizzle.search import stages
from intelliperf_swizzle.search.evaluators import Evaluator
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.subject import SAME, Subject, describe, prepare_screen, with_causes

MOST_TIED = 3
"""Candidates of a batch that are evaluated if the screen cannot separate them: of 64 members of a
family for a grouped GEMM it gave 82.5 to 82.7 % what full physics gave 75.6 to 77.1 %."""


class Attempts:
    """Takes candidates through the cheap stages, and appends what becomes of each to the history.

    Those of a resumed history are proved again: what a file says is not trusted.

    Args:
        setup: of the run.
        subject: the kernel.
        history: of the run.
    """

    def __init__(self, setup: RunContext, subject: Subject, history: History):
        self._setup = setup
        self._subject = subject
        self._history = history
        self._rate_of = prepare_screen(subject.traced, setup.target)
        self._screened: dict[str, stages.Screened] = {}
        self.baseline = self._rate_of(SAME)
        """The unmodified kernel's L2 hit rate as the fast model sees it, from 0 to 1."""
        self.best = self.baseline
        """The highest such rate so far."""
        self.reported: list[Attempt] = []
        """Attempts whose numbers an earlier run has shown to a language model."""
        self._take_over(history.attempts)

    @property
    def screened(self) -> list[stages.Screened]:
        """Every permutation so far with its attempt as it stands now, by number."""
        known = self._screened.values()
        current = [replace(s, attempt=self._history.current(s.attempt)) for s in known]
        return sorted(current, key=lambda screened: screened.attempt.number)

    def promising(self, attempts: Sequence[Attempt], least: float | None) -> list[stages.Screened]:
        """The best of these attempts, and others that the screen cannot distinguish from it.

        The others lie as far from those chosen before as they can, in the order of `attempts`: of a
        family, with other values.

        Args:
            attempts: of one batch.
            least: none that was screened lower is taken; None = none at all.
        """
        rates = [attempt.screened_l2_hit_rate for attempt in attempts]
        highest = max((rate for rate in rates if rate is not None), default=-1.0)
        if least is None or highest < least:
            return []
        limit = max(least, highest - rank.NOISE_BAND)
        tied = [at for at, rate in enumerate(rates) if rate is not None and rate >= limit]
        chosen = [rates.index(highest)]
        while len(chosen) < min(MOST_TIED, len(tied)):
            chosen.append(max(tied, key=lambda at: min(abs(at - other) for other in chosen)))
        return [
            replace(self._screened[a.fingerprint or ""], attempt=self._history.current(a))
            for a in (attempts[at] for at in chosen)
        ]

    def explain(self, attempt: Attempt) -> Attempt:
        """The attempt with the causes of its misses, if the model has measured it; a replay."""
        if (known := self._screened.get(attempt.fingerprint or "")) is None:
            return attempt
        return with_causes(attempt, known.proved.swizzle, self._subject.traced, self._setup.target)

    def all(self) -> Sequence[Attempt]:
        """All attempts by number, refused ones included."""
        return self._history.attempts

    def current(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        """The attempts as they stand now."""
        return [self._history.current(attempt) for attempt in attempts]

    def prove(self, candidates: Sequence[Candidate]) -> list[stages.Proved | Verdict]:
        """Proves candidates on all cores."""
        return children.on_all_cores(self._prove, candidates)

    def screen(
        self, candidates: Sequence[Candidate], proved: Sequence[stages.Proved | Verdict]
    ) -> list[Attempt]:
        """Rates what was proved by the fast model; an attempt each, in order.

        A permutation that is known already gives the attempt that it was first; a language
        model's becomes a separate attempt, refused as repeated unless a search had it and has
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
        for candidate in screened:
            outcome = stages.edit_source(candidate, self._setup)
            if isinstance(outcome, Verdict):
                self._history.record(replace(candidate.attempt, verdict=outcome))
            else:
                edited.append(outcome)
        return edited

    def _prove(self, candidate: Candidate) -> stages.Proved | Verdict:
        stopping.check()
        return stages.prove_candidate(candidate, self._subject, self._setup.target)

    def _rate(self, proved: Sequence[stages.Proved | Verdict]) -> list[float | None]:
        """The screened hit rate of each that is proved and new, else None."""

        def rate(outcome: stages.Proved | Verdict) -> float | None:
            stopping.check()
            if isinstance(outcome, Verdict) or outcome.fingerprint in self._screened:
                return None
            return self._rate_of(outcome.swizzle)

        return children.on_all_cores(rate, proved)

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
                return self._refuse_repeat(number, candidate, first)
            rate = first.screened_l2_hit_rate  # this text is shorter, or may hold at more sizes
        if candidate.origin == "llm" and outcome.unchanged:
            unchanged = Verdict("no difference", "this is the unmodified mapping, `pid = pid`")
            return self._history.record(
                Attempt(number, candidate, unchanged, fingerprint=outcome.fingerprint)
            )
        assert rate is not None
        screened = screen_candidate(outcome, number, rate, self.baseline)
        self._screened[outcome.fingerprint] = screened
        self.best = max(self.best, rate)
        return self._history.record(screened.attempt)

    def _refuse_repeat(self, number: int, candidate: Candidate, known: Attempt) -> Attempt:
        """A language model learns that it repeats a permutation, however it has written it."""
        kind = known.verdict.kind
        what = "not evaluated" if kind == "screened out" else f"{kind}, {known.verdict.reason}"
        reason = f"the same permutation as attempt {known.number} ({known.candidate.name}): {what}"
        return self._history.record(
            Attempt(number, candidate, Verdict("repeated", reason), fingerprint=known.fingerprint)
        )

    def _take_over(self, resumed: Sequence[Attempt]) -> None:
        """Proves and screens again what an earlier run tried: nothing in its file is trusted."""
        proved = self.prove([attempt.candidate for attempt in resumed])
        for attempt, outcome, rate in zip(resumed, proved, self._rate(proved), strict=True):
            again = self._attempt(attempt.number, attempt.candidate, outcome, rate)
            if attempt.candidate.origin == "llm" and attempt.measurement is not None:
                self.reported.append(again)


def _is_shorter(proved: stages.Proved, known: stages.Proved) -> bool:
    """Whether a text of a permutation is shorter than the known one and holds at as many sizes."""
    if rank.text_length(proved.candidate) >= rank.text_length(known.candidate):
        return False
    new, old = proved.certify(), known.certify()
    return new.extent == "every size" or (new.condition, new.extent) == (old.condition, old.extent)


def pose_problem(
    setup: RunContext, subject: Subject, evaluator: Evaluator, attempts: Attempts
) -> propose.Problem:
    """The problem as a proposer sees it."""
    traced = subject.traced
    largest = max(traced, key=lambda t: t.launch.tiles)
    return propose.Problem(
        launches=tuple(t.launch for t in traced),
        target=setup.target,
        baseline_l2_hit_rate=attempts.baseline,
        ceiling_l2_hit_rate=subject.ceiling.l2_hit_rate,
        budget=setup.options.candidates,
        context=lambda: describe(setup, replace(subject, baseline=evaluator.baseline)),
        attempts=attempts.all,
        seed=setup.options.seed,
        iterations=setup.options.num_attempts,
        row_lengths=row_lengths(largest.trace),
        work=uneven_work(largest.trace, largest.launch.tiles, setup.target),
    )


def screen_candidate(
    proved: stages.Proved, number: int, rate: float, baseline: float
) -> stages.Screened:
    """The candidate as an attempt, ranked by the fast model alone until it is evaluated."""
    reason = f"{readers.points(baseline, rate)} by the screen, a quick model; not evaluated"
    reason = reason if proved.subject.is_traced else "not tried"
    attempt = Attempt(
        number=number,
        candidate=proved.candidate,
        verdict=Verdict("screened out", reason),
        fingerprint=proved.fingerprint,
        proof=Certificate(),
        screened_l2_hit_rate=rate,
    )
    return stages.Screened(proved, attempt)
