# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What became of earlier attempts, as the next prompt tells it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from intelliperf_swizzle.context import readings
from intelliperf_swizzle.rank import NOISE_BAND, kind_of
from intelliperf_swizzle.records import Attempt
from intelliperf_swizzle.units import percent, points

IDLE_ITERATIONS = 2
"""Iterations in a row without gain after which the prompt asks for another family."""

LONGEST_TEXT = 1500
"""Characters of a swizzle that are shown again; a remap has a few hundred."""

LONGEST_REASON = 400

MOST_MEMBERS = 12
"""Of a family, best first, whose rates are told; the rest by the lowest."""

MOST_KINDS = 8
"""Of what a search has tried, best first."""

_SCREENED = (
    "Rates at which attempts were screened are of a fast model that only sorts them. They are not"
    " to be compared with the rates of a report, only with the unmodified kernel's beside them."
)

_NESTS = (
    "(`nest A:R …` lists digits of the tile's coordinates, slow to fast: axis and radix, `r` if"
    " every other pass is reversed; `chunk` says how many tiles in a row a cache gets at a time,"
    " `share` that it gets one run of them.)"
)


@dataclass(frozen=True)
class ModelAnswer:
    """What became of one answer of the model.

    Attributes:
        attempts: one, or one for each member of its family, by number.
    """

    attempts: tuple[Attempt, ...]

    @property
    def leader(self) -> Attempt:
        """The member that did best, which stands for the answer."""
        return max(
            self.attempts,
            key=lambda one: (_rate(one), one.screened_l2_hit_rate or 0.0, -one.number),
        )

    @property
    def idea(self) -> str | None:
        """The model's summary of it."""
        return self.attempts[0].candidate.idea


def answers(attempts: Sequence[Attempt]) -> list[ModelAnswer]:
    """The answers of the model among a run's attempts, in their order."""
    found: dict[str, list[Attempt]] = {}
    for one in attempts:
        if one.candidate.origin == "llm":
            found.setdefault(one.candidate.family or one.candidate.name, []).append(one)
    return [ModelAnswer(tuple(members)) for members in found.values()]


def remembered(
    attempts: Sequence[Attempt], best: Attempt | None, counters: Collection[str], budget: int
) -> str:
    """The history: the one to beat, the last, all ideas, the search's, then refusals, newest first.

    Args:
        attempts: all of the run, by number.
        best: the one to beat, of whatever origin.
        counters: readings of a measurement that are told.
        budget: characters; what comes last is left out first, and that is said.
    """
    parts = list(_parts(attempts, best, counters))
    kept: list[str] = []
    for part in parts:
        if kept and sum(map(len, kept)) + len(part) > budget:
            kept.append(f"({len(parts) - len(kept)} older entries are left out.)")
            break
        kept.append(part)
    return "\n\n".join(kept)


def stuck(attempts: Sequence[Attempt]) -> bool:
    """Whether the last iterations that offered a permutation gained nothing on those before."""
    best, idle = 0.0, 0
    permutations = [attempt for attempt in attempts if attempt.fingerprint is not None]
    for _, iteration in itertools.groupby(permutations, lambda one: one.candidate.iteration):
        reached = max(_rate(one) if one.verdict.kind == "better" else 0.0 for one in iteration)
        best, idle = (reached, 0) if reached > best + NOISE_BAND else (best, idle + 1)
    return idle >= IDLE_ITERATIONS


def ideas(attempts: Sequence[Attempt]) -> list[str]:
    """A line for each answer that has an idea of its own."""
    lines: dict[str, str] = {}
    for answer in answers(attempts):
        idea, leader = answer.idea, answer.leader
        if idea and leader.verdict.kind != "repeated":
            lines.setdefault(idea, f"{leader.number}: {_clipped(idea, LONGEST_REASON)}")
    return list(lines.values())


def _parts(
    attempts: Sequence[Attempt], best: Attempt | None, counters: Collection[str]
) -> Iterator[str]:
    own = answers(attempts)
    if best is not None:
        yield "The one to beat:\n" + _whole(_answer_of(best, own), best, counters, best)
    else:
        yield "No attempt is better than the unmodified kernel yet."
    counters = [one for one in counters if one != "causes"]
    older = [one for one in own if best not in one.attempts]
    if own and older and own[-1] is older[-1]:
        last = older.pop()
        yield "The last attempt:\n" + _whole(last, last.leader, counters, best)
    if own:
        yield "All your attempts:\n" + "\n".join(_line(answer) for answer in own)
    searched = [one for one in attempts if one.candidate.origin != "llm"]
    if searched:
        yield _searched(searched)
    if any(one.measurement is None and one.screened_l2_hit_rate is not None for one in attempts):
        yield _SCREENED
    for answer in reversed(older):
        yield _whole(answer, answer.leader, counters, best)


def _answer_of(attempt: Attempt, own: Sequence[ModelAnswer]) -> ModelAnswer:
    """The answer that an attempt belongs to; a search's stands for itself."""
    return next((one for one in own if attempt in one.attempts), ModelAnswer((attempt,)))


def _searched(attempts: Sequence[Attempt]) -> str:
    """What a search has tried: the best of each kind."""
    screened = [one for one in attempts if one.screened_l2_hit_rate is not None]
    screened.sort(key=lambda one: (-_rate(one), -(one.screened_l2_hit_rate or 0), one.number))
    kinds: dict[str, Attempt] = {}
    for one in screened:
        kinds.setdefault(kind_of(one.candidate), one)
    lines = [
        f"- {one.number} {one.candidate.name}: screened at {percent(one.screened_l2_hit_rate)}"
        + (f"; {_verdict(one)}" if one.measurement else "")
        for one in list(kinds.values())[:MOST_KINDS]
    ]
    if any(one.candidate.origin == "search" for one in list(kinds.values())[:MOST_KINDS]):
        lines.append(_NESTS)
    begun = f"A search has tried {len(attempts)} candidates before you. The best of each kind:"
    return "\n".join([begun, *lines])


def _whole(
    answer: ModelAnswer, attempt: Attempt, counters: Collection[str], best: Attempt | None
) -> str:
    lines = [f"Attempt {attempt.number}. {_verdict(attempt)}{_beside(attempt, best)}"]
    if answer.idea:
        lines.append(f"Idea: {_clipped(answer.idea, LONGEST_REASON)}")
    lines += _members(answer, attempt)
    if attempt.measurement is not None:
        read = [f"{name} {value}" for name, value in readings(attempt.measurement, counters)]
        lines.append(f"Report: {', '.join(read)}")
    text = _clipped(attempt.candidate.text.strip(), LONGEST_TEXT)
    return "\n".join([*lines, *(f"    {line}" for line in text.splitlines())])


def _members(answer: ModelAnswer, attempt: Attempt) -> list[str]:
    """Which values of a family won, and how the others stood."""
    if len(answer.attempts) == 1:
        return []
    rated = [one for one in answer.attempts if one.screened_l2_hit_rate is not None]
    rated.sort(key=lambda one: (-(one.screened_l2_hit_rate or 0), one.number))
    best = ", the best" if rated and attempt == answer.leader else ""
    lines = [f"A family, {len(answer.attempts)} members tried; this is {_values(attempt)}{best}."]
    if rated:
        told = [f"{_values(one)} {percent(one.screened_l2_hit_rate)}" for one in rated]
        if len(told) > MOST_MEMBERS:
            told = [*told[:MOST_MEMBERS], f"{len(told) - MOST_MEMBERS} more, {told[-1]} the lowest"]
        lines.append(f"Members as screened: {'; '.join(told)}")
    refused: dict[str, list[Attempt]] = {}
    for one in answer.attempts:
        if one.screened_l2_hit_rate is None:
            refused.setdefault(one.verdict.kind, []).append(one)
    for kind, ones in refused.items():
        named = _clipped("; ".join(map(_values, ones)), LONGEST_REASON)
        first = _clipped(ones[0].verdict.reason, LONGEST_REASON)
        lines.append(f"Members refused, {kind}: {named} (the first: {first})")
    return lines


def _values(attempt: Attempt) -> str:
    """The values of a member: `w=8 columns=4`."""
    return attempt.candidate.name.removeprefix(attempt.candidate.family or "").strip()


def _line(answer: ModelAnswer) -> str:
    leader = answer.leader
    idea = _clipped(answer.idea or leader.candidate.name, 160)
    members = len(answer.attempts)
    best = f" (the best of {members}: {_values(leader)})" if members > 1 else ""
    return f"- {leader.number} [{leader.verdict.kind}{_percent(leader)}]: {idea}{best}"


def _verdict(attempt: Attempt) -> str:
    kind, reason = attempt.verdict.kind, _clipped(attempt.verdict.reason, LONGEST_REASON)
    refused = attempt.measurement is None
    return f"{'Refused: ' if refused else ''}{kind}: {reason}"


def _beside(attempt: Attempt, best: Attempt | None) -> str:
    """How it stands to the best: `better` alone is better than the unmodified kernel."""
    rate, highest = _rate(attempt), _rate(best) if best else 0.0
    if not rate or not highest or best is None or attempt.number == best.number:
        return ""
    return f"; L2 hit rate {points(highest, rate)} against attempt {best.number}, the one to beat"


def _percent(attempt: Attempt) -> str:
    rate = _rate(attempt)
    return f", {100 * rate:.1f} %" if rate else ""


def _rate(attempt: Attempt) -> float:
    """The measured hit rate if the attempt may be ranked; 0 where it came to nothing."""
    measured = attempt.measurement
    return measured.l2_hit_rate if measured and attempt.verdict.eligible else 0.0


def _clipped(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} …"
