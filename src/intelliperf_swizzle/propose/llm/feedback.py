# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What became of earlier attempts, as the next prompt describes it."""

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from intelliperf_swizzle.context.sections import counter_rows
from intelliperf_swizzle.formulas import Formula
from intelliperf_swizzle.rank import beats, describe_rank, kind_of, order
from intelliperf_swizzle.readers import percent, points
from intelliperf_swizzle.records import Attempt, Certificate

IDLE_ITERATIONS = 2
"""Iterations in a row without gain after which the prompt asks for another family."""

LONGEST_TEXT = 1500
"""Characters of a swizzle that are shown again; a remap has a few hundred."""

LONGEST_REASON = 400

MOST_MEMBERS = 12
"""Of a family, best first, that are listed; the rest by the lowest."""

MOST_KINDS = 8
"""Of what a search has tried, best first."""

MOST_REFUSED = 4
"""Of a family's members that are refused for one reason, those that are named."""

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
        leader: the member that did best, which stands for the answer.
    """

    attempts: tuple[Attempt, ...]
    leader: Attempt

    @property
    def idea(self) -> str | None:
        """The model's summary of it."""
        return self.attempts[0].candidate.idea


def answers(attempts: Sequence[Attempt], rank: Sequence[str]) -> list[ModelAnswer]:
    """The answers of the model among a run's attempts, in their order."""
    found: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.candidate.origin == "llm":
            found.setdefault(attempt.candidate.family or attempt.candidate.name, []).append(attempt)
    return [ModelAnswer(tuple(members), leader_of(members, rank)) for members in found.values()]


def leader_of(members: Sequence[Attempt], rank: Sequence[str]) -> Attempt:
    """The best that may be ranked; else what was evaluated and not judged; else by the screen."""

    def screened(attempt: Attempt) -> tuple[bool, float, int]:
        return not_judged(attempt), attempt.screened_l2_hit_rate or 0.0, -attempt.number

    return next(iter(order(members, rank)), max(members, key=screened))


def not_judged(attempt: Attempt) -> bool:
    """Whether its outputs could not be compared, which says nothing of the swizzle."""
    return attempt.verdict.kind == "not validated"


def summarise(
    attempts: Sequence[Attempt], best: Attempt | None, formula: Formula, budget: int
) -> str:
    """The history: the one to beat, the last, all ideas, the search's, then refusals, newest first.

    Args:
        attempts: all of the run, by number.
        best: the one to beat, of whatever origin.
        formula: by what attempts are put in order, and which readings are shown.
        budget: characters; what comes last is left out first, and a line says so.
    """
    parts = list(_parts(attempts, best, formula))
    kept: list[str] = []
    for part in parts:
        if kept and sum(map(len, kept)) + len(part) > budget:
            kept.append(f"({len(parts) - len(kept)} older entries are left out.)")
            break
        kept.append(part)
    return "\n\n".join(kept)


def stuck(attempts: Sequence[Attempt], rank: Sequence[str]) -> bool:
    """Whether the last iterations that had a permutation judged beat nothing before them."""
    idle = 0
    earlier: list[Attempt] = []
    judged = [a for a in attempts if a.fingerprint is not None and not not_judged(a)]
    for _, iteration in itertools.groupby(judged, lambda attempt: attempt.candidate.iteration):
        better = [attempt for attempt in order(list(iteration), rank) if attempt.verdict.gains]
        idle = 0 if better and beats(better[0], earlier, rank) else idle + 1
        earlier += better
    return idle >= IDLE_ITERATIONS


def ideas(attempts: Sequence[Attempt], rank: Sequence[str]) -> list[str]:
    """A line for each answer that has a new idea and was judged."""
    lines: dict[str, str] = {}
    for answer in answers(attempts, rank):
        idea, leader = answer.idea, answer.leader
        if idea and leader.verdict.kind != "repeated" and not not_judged(leader):
            lines.setdefault(idea, f"{leader.number}: {_clip(idea, LONGEST_REASON)}")
    return list(lines.values())


def _parts(attempts: Sequence[Attempt], best: Attempt | None, formula: Formula) -> Iterator[str]:
    rank = formula.rank
    own = answers(attempts, rank)
    ranking = f"Attempts rank by {describe_rank(attempts, rank)}; each breaks earlier ties."
    if best is not None:
        whose = next((a for a in own if best in a.attempts), ModelAnswer((best,), best))
        yield f"{ranking}\n\nThe one to beat:\n" + _whole(whose, best, formula)
    else:
        ranked = f" {ranking}" if order(attempts, rank) else ""
        yield f"No attempt is better than the unmodified kernel yet.{ranked}"
    formula = replace(formula, counters=tuple(n for n in formula.counters if n != "causes"))
    older = [answer for answer in own if best not in answer.attempts]
    if own and older and own[-1] is older[-1]:
        yield "The last attempt:\n" + _whole(older.pop(), best, formula)
    if own:
        yield "All your attempts:\n" + "\n".join(_line(answer) for answer in own)
    searched = [attempt for attempt in attempts if attempt.candidate.origin != "llm"]
    if searched:
        yield _best_of_search(searched, rank)
    for answer in reversed(older):
        yield _whole(answer, best, formula)


def _best_of_search(attempts: Sequence[Attempt], rank: Sequence[str]) -> str:
    """What a search has tried: of what was evaluated, the best of each kind."""
    kinds: dict[str, Attempt] = {}
    for attempt in order(attempts, rank):
        kinds.setdefault(kind_of(attempt.candidate), attempt)
    shown = list(kinds.values())[:MOST_KINDS]
    lines = [f"- {a.number} {a.candidate.name}: {_verdict(a)}" for a in shown]
    if any(attempt.candidate.origin == "search" for attempt in shown):
        lines.append(_NESTS)
    begun = f"A search has tried {len(attempts)} candidates before you."
    return "\n".join([f"{begun} The best of each kind:" * bool(shown) or begun, *lines])


def _whole(answer: ModelAnswer, best: Attempt | None, formula: Formula) -> str:
    """All of an answer: of the one to beat that attempt, of another one its leader."""
    attempt = best if best is not None and best in answer.attempts else answer.leader
    lines = [f"Attempt {attempt.number}. {_verdict(attempt)}{_beside(attempt, best)}"]
    if answer.idea:
        lines.append(f"Idea: {_clip(answer.idea, LONGEST_REASON)}")
    lines += _members(answer, attempt, formula.rank)
    if attempt.measurement is not None:
        read = counter_rows(attempt.measurement, formula.counters)
        lines.append(f"Report: {', '.join(f'{name} {value}' for name, value in read)}")
    if elsewhere := "; ".join(_elsewhere(attempt, formula.counters)):
        lines.append(f"At other sizes: {elsewhere}")
    text = _clip(attempt.candidate.text.strip(), LONGEST_TEXT)
    return "\n".join([*lines, *(f"    {line}" for line in text.splitlines())])


def _members(answer: ModelAnswer, attempt: Attempt, rank: Sequence[str]) -> list[str]:
    """Which values of a family won, and how the others stood."""
    if len(answer.attempts) == 1:
        return []
    first = ", which ranks first" if attempt == answer.leader else ""
    lines = [f"A family, {len(answer.attempts)} members tried; this is {_values(attempt)}{first}."]
    others = [other for other in answer.attempts if other != attempt]
    evaluated = [other for other in others if other.measurement is not None]
    ranked = order(evaluated, rank)
    ranked += [a for a in evaluated if a not in ranked]
    if ranked:
        rows = [f"{_values(a)} {_evaluation(a)}" for a in ranked]
        lines.append(f"Other members evaluated: {_few(rows)}")
    rates = {a.number: a.screened_l2_hit_rate for a in answer.attempts}
    highest = max((rate for rate in rates.values() if rate is not None), default=0.0)
    below = {other.number: highest - (rates[other.number] or 0.0) for other in others}
    left = [other for other in others if other not in ranked and rates[other.number] is not None]
    if left:
        left.sort(key=lambda attempt: (below[attempt.number], attempt.number))
        rows = [f"{_values(other)} {100 * below[other.number]:.1f}" for other in left]
        lines.append(
            f"Not evaluated, points below the family's best by a quick model: {_few(rows)}"
        )
    refused: dict[str, list[Attempt]] = {}
    for member in answer.attempts:
        if member.screened_l2_hit_rate is None:
            refused.setdefault(member.verdict.kind, []).append(member)
    for kind, ones in refused.items():
        named = "; ".join(map(_values, ones[:MOST_REFUSED]))
        more = f" and {len(ones) - MOST_REFUSED} more" if len(ones) > MOST_REFUSED else ""
        first = _clip(ones[0].verdict.reason, LONGEST_REASON)
        lines.append(f"Refused, {kind}: {named}{more} (the first: {first})")
    return lines


def _elsewhere(attempt: Attempt, counters: Collection[str]) -> Iterator[str]:
    """For which sizes it is a permutation, and what it gains there, if that is known."""
    proof, sizes = attempt.proof or Certificate(), attempt.sizes
    if proof.extent == "every size":
        yield "a permutation at each"
    elif proof.condition:
        yield f"a permutation where {proof.condition}, which is tested"
    if sizes and sizes.others and "modelled_memory_time_ms" in counters:
        rows = (f"{_change(other.time_ratio)} on {math.prod(other.grid)}" for other in sizes.others)
        yield f"modelled time, by number of programs: {', '.join(rows)}"
    if sizes and sizes.guard and sizes.guard != proof.condition:
        yield f"as it loses at some, the patch renumbers only if {sizes.guard}"


def _change(ratio: float | None) -> str:
    return "no permutation" if ratio is None else f"{100 * ratio - 100:+.1f} %"


def _few(rows: Sequence[str]) -> str:
    """The first ones of a list, and the last."""
    if len(rows) > MOST_MEMBERS:
        rows = [*rows[:MOST_MEMBERS], f"{len(rows) - MOST_MEMBERS} more, {rows[-1]} the last"]
    return "; ".join(rows)


def _evaluation(attempt: Attempt) -> str:
    """The rate of a member; of one that is refused all the same, why."""
    rate = percent(attempt.measurement.l2_hit_rate if attempt.measurement else None)
    return rate if attempt.verdict.eligible else f"{rate}, {_kind(attempt)}"


def _values(attempt: Attempt) -> str:
    """The values of a member: `w=8 columns=4`."""
    return attempt.candidate.name.removeprefix(attempt.candidate.family or "").strip()


def _line(answer: ModelAnswer) -> str:
    leader = answer.leader
    rate = f", {percent(_rate(leader))}" if _rate(leader) else ""
    idea, members = _clip(answer.idea or leader.candidate.name, 160), len(answer.attempts)
    best = f" (first of {members}: {_values(leader)})" if members > 1 else ""
    return f"- {leader.number} [{_kind(leader)}{rate}]: {idea}{best}"


def _verdict(attempt: Attempt) -> str:
    kind, reason = attempt.verdict.kind, _clip(attempt.verdict.reason, LONGEST_REASON)
    if not_judged(attempt):
        return f"Not judged: outputs could not be compared ({reason}), no fault of the swizzle"
    return f"{'Refused: ' if attempt.measurement is None else ''}{kind}: {reason}"


def _kind(attempt: Attempt) -> str:
    return "not judged" if not_judged(attempt) else attempt.verdict.kind


def _beside(attempt: Attempt, best: Attempt | None) -> str:
    """How it stands to the best: `better` alone is better than the unmodified kernel."""
    rate, highest = _rate(attempt), _rate(best) if best else 0.0
    if not rate or not highest or best is None or attempt.number == best.number:
        return ""
    return f"; L2 hit rate {points(highest, rate)} against attempt {best.number}, the one to beat"


def _rate(attempt: Attempt) -> float:
    """The measured hit rate if the attempt may be ranked; 0 where it came to nothing."""
    measured = attempt.measurement
    return measured.l2_hit_rate if measured and attempt.verdict.eligible else 0.0


def _clip(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} …"
