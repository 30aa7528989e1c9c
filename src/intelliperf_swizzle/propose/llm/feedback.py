# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What became of earlier attempts, as the next prompt tells it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

from intelliperf_swizzle.context import readings
from intelliperf_swizzle.rank import NOISE_BAND
from intelliperf_swizzle.records import Attempt
from intelliperf_swizzle.units import points

IDLE_ITERATIONS = 2
"""Iterations in a row without gain after which the prompt asks for another family."""

LONGEST_TEXT = 1500
"""Characters of a swizzle that are shown again; a remap has a few hundred."""

LONGEST_REASON = 400

_SCREENED = (
    "Rates at which attempts were screened are of a fast model that only sorts them. They are not"
    " to be compared with the rates of a report, only with the unmodified kernel's beside them."
)


def remembered(
    attempts: Sequence[Attempt], best: Attempt | None, counters: Collection[str], budget: int
) -> str:
    """The history: the one to beat, the last, all ideas, then the refused, newest first.

    Args:
        attempts: the model's, by number.
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
    """A line for each attempt that has an idea of its own."""
    lines: dict[str, str] = {}
    for attempt in attempts:
        idea = attempt.candidate.idea
        if idea and attempt.verdict.kind != "repeated":
            lines.setdefault(idea, f"{attempt.number}: {_clipped(idea, LONGEST_REASON)}")
    return list(lines.values())


def _parts(
    attempts: Sequence[Attempt], best: Attempt | None, counters: Collection[str]
) -> Iterator[str]:
    last = attempts[-1] if attempts else None
    if best is not None:
        yield "The one to beat:\n" + _whole(best, counters, best)
    else:
        yield "No attempt is better than the unmodified kernel yet."
    counters = [one for one in counters if one != "causes"]
    if last is not None and last != best:
        yield "The last attempt:\n" + _whole(last, counters, best)
    lines = [_line(attempt) for attempt in attempts]
    if lines:
        yield "All your attempts:\n" + "\n".join(lines)
    if any(one.measurement is None and one.screened_l2_hit_rate is not None for one in attempts):
        yield _SCREENED
    for attempt in reversed(attempts):
        if attempt not in (best, last):
            yield _whole(attempt, counters, best)


def _whole(attempt: Attempt, counters: Collection[str], best: Attempt | None) -> str:
    lines = [f"Attempt {attempt.number}. {_verdict(attempt)}{_beside(attempt, best)}"]
    if attempt.candidate.idea:
        lines.append(f"Idea: {_clipped(attempt.candidate.idea, LONGEST_REASON)}")
    if attempt.measurement is not None:
        read = [f"{name} {value}" for name, value in readings(attempt.measurement, counters)]
        lines.append(f"Report: {', '.join(read)}")
    text = _clipped(attempt.candidate.text.strip(), LONGEST_TEXT)
    return "\n".join([*lines, *(f"    {line}" for line in text.splitlines())])


def _line(attempt: Attempt) -> str:
    idea = _clipped(attempt.candidate.idea or attempt.candidate.name, 160)
    return f"- {attempt.number} [{attempt.verdict.kind}{_percent(attempt)}]: {idea}"


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
