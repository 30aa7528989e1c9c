# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The loop of the SwizzlePerf paper: ask, prove, screen, measure, report the outcome, repeat."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from intelliperf_swizzle import errors, formulas, rank, readers
from intelliperf_swizzle.context import HardwareContext
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import CandidateBatch, Problem, Proposer, ProposerReport
from intelliperf_swizzle.propose.llm import prompt
from intelliperf_swizzle.propose.llm.feedback import answers, leader_of, not_judged
from intelliperf_swizzle.propose.offline import ENOUGH, nearby
from intelliperf_swizzle.records import Attempt, Usage

Ask: TypeAlias = Callable[[prompt.Question, int, float], prompt.Reply]
"""Asks a language model: a question, the number of the sample, and the seconds it may take.
Raises ModelError."""

SCREEN_SLACK = 0.1
"""How far (rate) below the unmodified kernel a candidate may be screened and still be measured: its
report teaches the model more than a refusal, but what is hopeless costs no time on the GPU."""


TUNING_ROUNDS = 4
MOST_NEAR = 24
"""Steps that the best member of a family is bettered by, and candidates of each: those of four
parameters."""


class ConversationOverError(Exception):
    """The model is asked no further, and the best so far stands; the message says why."""


@dataclass
class LanguageModelProposer:
    """Asks a language model for one swizzle after the other and reports the outcome of each.

    Attributes:
        formula: what it is shown and what it may cost.
        ask: reaches the model.
        progress: receives each iteration.
        samples: answers a call; all are screened, the best is measured.
        tunes: whether the best member of a family is bettered by values near its own.
        fallback: searches if the model answers no proposal in time; None = that is an error.
        clock: seconds, for the budget.
    """

    formula: formulas.Formula
    ask: Ask
    progress: Progress
    samples: int = 1
    tunes: bool = False
    fallback: Proposer | None = None
    clock: Callable[[], float] = time.monotonic
    name: str = "llm"
    _conversation: "_Conversation | None" = None
    _started: float | None = None
    _earlier: Usage = field(default_factory=Usage)

    @property
    def effort(self) -> ProposerReport:
        """Notes of the conversation so far, and what its calls took."""
        return self._conversation.effort if self._conversation else ProposerReport()

    def propose(self, problem: Problem) -> Iterator[CandidateBatch]:
        """The iterations that are left; those of a resumed history count.

        Raises:
            ModelError: the model could not be reached, not even once.
        """
        if self._conversation is not None:
            self._earlier += self._conversation.usage
        if self._started is None:
            self._started = self.clock()
        talk = _Conversation(self, problem, problem.context(), self._started, self._earlier)
        self._conversation = talk
        try:
            talk.analyse()
            for iteration in range(talk.first_iteration(), problem.iterations + 1):
                yield from talk.iterate(iteration)
                if talk.nothing_left():
                    talk.notes.append("the language model was asked no further: nothing is left")
                    break
        except ConversationOverError as end:
            talk.notes.append(str(end))
        except errors.ModelError as error:
            if talk.own_attempts():
                talk.notes.append(f"{error.fact}; the best so far stands")
            elif self.fallback and isinstance(error, errors.SlowModelError):
                talk.notes.append(f"{error.fact}; searched without it")
                self.progress.note(talk.notes[-1])
                yield from self.fallback.propose(problem)
            else:
                raise


def _spent(usage: Usage) -> str:
    """What the calls took, in a sentence."""
    tokens = f"{usage.input_tokens or 0:,} tokens in, {usage.output_tokens or 0:,} out"
    cost = "price not known" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
    return f"language model: {usage.calls} calls, {tokens}, {cost}, {usage.seconds:.0f} s"


class _Leader(NamedTuple):
    """The best candidate of a call, and the highest L2 hit rate that any was screened at."""

    rate: float
    attempt: Attempt
    member: prompt.FamilyMember


@dataclass
class _Conversation:
    """What is asked of a model in one run.

    Attributes:
        proposer: whose settings hold.
        problem: what is to be improved.
        context: what the model is shown of it.
        started: the run, by the proposer's clock.
        earlier: what the conversations on other kernels took.
        usage: of all calls so far, those of a resumed history included.
        memory_analysis: the answer to the first call.
        notes: sentences for the report.
    """

    proposer: LanguageModelProposer
    problem: Problem
    context: HardwareContext
    started: float
    earlier: Usage
    usage: Usage = field(default_factory=Usage)
    memory_analysis: str | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.usage = sum((a.candidate.usage or Usage() for a in self.own_attempts()), Usage())

    @property
    def effort(self) -> ProposerReport:
        """Notes, and what the calls took."""
        return ProposerReport((*self.notes, _spent(self.usage)), self.usage)

    def own_attempts(self) -> list[Attempt]:
        """The model's attempts by number."""
        return [attempt for attempt in self.problem.attempts() if attempt.candidate.origin == "llm"]

    def best(self) -> Attempt | None:
        """The best that is better and, if one is, validated, of whatever origin."""
        ranked = rank.order(self.problem.attempts(), self.proposer.formula.rank)
        better = [attempt for attempt in ranked if attempt.verdict.gains]
        return next((attempt for attempt in better if attempt.validation), next(iter(better), None))

    def first_iteration(self) -> int:
        """The iteration to go on with; 1 unless the history is a resumed one."""
        return 1 + max((a.candidate.iteration or 0 for a in self.own_attempts()), default=0)

    def nothing_left(self) -> bool:
        """Whether the best is as close to the bound as the profiler can see, and ends as one."""
        best = self.best()
        if best is None or best.measurement is None:
            return False
        even = (best.measurement.imbalance or 1.0) - 1 < rank.TIME_TOLERANCE
        reached = best.measurement.l2_hit_rate
        return even and self.problem.ceiling_l2_hit_rate - reached < rank.NOISE_BAND

    def analyse(self) -> None:
        """The first call, where the formula asks for it."""
        if self.proposer.formula.memory_analysis:
            self.proposer.progress.phase("asking the language model for a memory analysis")
            try:
                [reply] = self._ask(prompt.analysis(self.proposer.formula, self.context), 1)
                self.memory_analysis = reply.fields.get("memory_analysis")
            except errors.SlowModelError as error:
                self.notes.append(f"{error.fact}; asked for swizzles without a memory analysis")
                self.proposer.progress.note(self.notes[-1])

    def iterate(self, iteration: int) -> Iterator[CandidateBatch]:
        """Asks until an attempt is judged, or until the refusals are too many."""
        least = self.problem.baseline_l2_hit_rate - SCREEN_SLACK
        calls, progress = 1 + self.proposer.formula.budgets.refusals, self.proposer.progress
        most = readers.count(calls * self.proposer.samples, "answer")
        asking = f"asking: iteration {iteration} of {self.problem.iterations}, up to {most} each"
        for refusals in range(calls):
            progress.phase(asking + (f", {refusals} refused" if refusals else ""))
            offered = self._propose(iteration, calls - 1 - refusals)
            leader = yield from self._offer(offered, least)
            if leader is not None and leader.rate >= least:
                if self.proposer.tunes:
                    leader = yield from self._tune(leader, offered)
                best = leader.attempt
                progress.note(f"attempt {best.number}: {best.verdict.kind}, {best.verdict.reason}")
                if not not_judged(best):
                    return

    def _offer(
        self, offered: Sequence[prompt.FamilyMember], least: float
    ) -> Generator[CandidateBatch, None, _Leader | None]:
        """Has candidates judged; the best, if any is a new permutation."""
        batch = CandidateBatch([member.candidate for member in offered], evaluate_from=least)
        yield batch
        rates = [outcome.screened_l2_hit_rate for outcome in batch.outcomes]
        highest = max((rate for rate in rates if rate is not None), default=None)
        if highest is None:
            return None
        best = leader_of(batch.outcomes, self.proposer.formula.rank)
        return _Leader(highest, best, offered[batch.outcomes.index(best)])

    def _tune(
        self, leader: _Leader, offered: Sequence[prompt.FamilyMember]
    ) -> Generator[CandidateBatch, None, _Leader]:
        """Goes on from the best member of a family to values near its own, while that gains."""
        tried = [member.values for member in offered if member.family is leader.member.family]
        for _ in range(TUNING_ROUNDS):
            close = nearby(leader.member.values)
            near = [values for values in close if values not in tried][:MOST_NEAR]
            if not near:
                break
            tried += near
            siblings = [leader.member.sibling(values) for values in near]
            better = yield from self._offer(siblings, leader.rate + ENOUGH)
            if better is None or better.rate < leader.rate + ENOUGH:
                break
            leader = better
        return leader

    def _propose(self, iteration: int, again: int) -> list[prompt.FamilyMember]:
        """The candidates of one call, after which that many others may be made if it is refused."""
        formula, best = self.proposer.formula, self.best()
        attempts = self.problem.attempts()
        more = self.problem.iterations - iteration
        left = f" Answers left if this is refused: {again}. Iterations left after this: {more}."
        question = prompt.proposal(
            formula, self.context, self.memory_analysis, attempts, best, left=left
        )
        replies = self._ask(question, self.proposer.samples)
        reasons = [prompt.no_swizzle_helps(reply) for reply in replies]
        if all(reasons):
            raise ConversationOverError(
                f"the language model says that no renumbering helps: `{reasons[0]}`"
            )
        replies = [reply for reply, reason in zip(replies, reasons, strict=True) if not reason]
        earlier = len(answers(attempts, formula.rank))
        return [
            member
            for number, reply in enumerate(replies, earlier + 1)
            for member in prompt.members(prompt.candidate(reply, f"llm {number}", iteration))
        ]

    def _ask(self, question: prompt.Question, samples: int) -> list[prompt.Reply]:
        """The replies; raises EndOfTalkError before a call that no budget is left for."""
        budget, ask = self.proposer.formula.budgets, self.proposer.ask
        left = budget.seconds - (self.proposer.clock() - self.started)
        if left <= 0:
            raise ConversationOverError(f"the budget of {budget.seconds} seconds is spent")
        used = self.earlier.tokens + self.usage.tokens + prompt.estimated_tokens(question)
        if used > budget.tokens:
            raise ConversationOverError(f"the budget of {budget.tokens} tokens is spent")
        most = min(left, budget.call_seconds)
        with ThreadPoolExecutor(samples) as pool:
            replies = [*pool.map(lambda sample: ask(question, sample, most), range(samples))]
        for reply in replies:
            self.usage += reply.usage
        return replies
