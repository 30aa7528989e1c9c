# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Attempts in order of merit; pure.

The objective is the L2 hit rate, behind a guard: an order whose time is worse than the baseline's
is not eligible, however high its hit rate. Source: HipKittens (arXiv 2511.08083) Table 4, where
the order with the highest L2 hit rate (79 %) is slower than row-major (55 %). Where time is known
better it comes first, see `order` and `docs/decisions/0004-time-first.md`.
"""

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from intelliperf_swizzle.language.grammar import MAX_CHARACTERS, bound_divisors
from intelliperf_swizzle.readers import milliseconds
from intelliperf_swizzle.records import Attempt, Candidate, Measurement, Timing, Verdict

NOISE_BAND = 0.005
"""L2 hit rates closer than this are equal: modelled rates of one mapping differ by up to 0.4
points between seeds, measured ones by 0.2 points on most kernels."""

TIME_TOLERANCE = 0.01
"""Relative loss of time that is still no loss; modelled times move by less between seeds."""

MODEL_ERROR = 0.02
"""Modelled times of an AMD GPU that differ by less are equal to the model, which cannot put such
pairs in order; on NVIDIA, where the replay times all levels, `TIME_TOLERANCE` is enough."""

MODEL_RATE_ERROR = 0.023
"""Mean error of modelled L2 hit rates (docs/model-accuracy.md)."""

SAME_SCREEN = 2e-5
"""Screened L2 hit rates closer than this are of one order, but for programs that run together:
replayed whole, such finalists of a GEMM and of a transpose are within 0.01 points."""

NO_CLAIM = ", no claim about time"

TIMING_NOISE = 0.005
"""Two runs of one and the same kernel, timed against each other, differ by up to this ratio
(`docs/gpu.md`)."""


def judge(
    measured: Measurement, baseline: Measurement, launch_ms: float = 0.0, *, tells_time: bool = True
) -> Verdict:
    """Compares a measurement with the baseline's; both from the same profiler and device.

    Where a GPU has timed both, its time decides, whatever the hit rate: hits that save no time are
    no gain. A modelled time below `launch_ms`, what launching takes, is none either. Where the
    model's record does not show that it `tells_time`, hits decide, and how even the work is, unless
    modelled time grows, or arithmetic bounds the kernel.
    """
    gain = measured.l2_hit_rate - baseline.l2_hit_rate
    source = "modelled " if measured.profiler == "model" and measured.timing else ""
    change = (
        f"{source}L2 hit rate {100 * baseline.l2_hit_rate:.1f} % → "
        f"{100 * measured.l2_hit_rate:.1f} %"
    )
    if measured.timing is not None:
        return _judge_timed(measured.timing, gain, change)
    slower = _relative_loss(measured, baseline)
    if measured.time_ms is None and measured.profiler == "model" and slower is not None:
        evener = (measured.imbalance or 1.0) < (1 - TIME_TOLERANCE) * (baseline.imbalance or 1.0)
        if not tells_time and not evener and slower <= TIME_TOLERANCE:
            return _judge_rate(baseline, gain, change, launch_ms)
        short = (baseline.modelled_time_ms or 0.0) < launch_ms
        verdict = _judge_modelled(measured, slower, gain, change, short=short)
        if verdict.kind != "better" or tells_time:
            return verdict
        hits = gain > MODEL_RATE_ERROR
        return Verdict("fewer L2 misses" if hits else "less imbalance", f"{change}{NO_CLAIM}")
    if slower is not None and slower > TIME_TOLERANCE:
        return _slower(change, gain, f"time grows by {100 * slower:.1f} %")
    if abs(gain) < NOISE_BAND:
        return Verdict("no difference" if measured.profiler == "model" else "within noise", change)
    if gain > 0:
        return Verdict("fewer L2 misses" if slower is None else "better", change)
    return Verdict("worse", change)


def _judge_modelled(
    measured: Measurement, slower: float, gain: float, change: str, *, short: bool
) -> Verdict:
    """By modelled time, the larger of memory and arithmetic, and the model's accuracy."""
    if slower > TIME_TOLERANCE:
        return _slower(change, gain, f"modelled time grows by {100 * slower:.1f} %")
    if slower < -least_gain(measured):
        falls = f"modelled time falls by {-100 * slower:.1f} %, {change}"
        if short:
            now = milliseconds(measured.modelled_time_ms)
            return Verdict("no difference", f"{falls}; {now} is less than launching takes")
        return Verdict("better", falls)
    if gain <= -NOISE_BAND:
        return Verdict("worse", change)
    change_of_time = f"modelled time {100 * slower:+.1f} %: no difference that the model can tell"
    return Verdict("no difference", f"{change}, {change_of_time}")


def _judge_rate(before: Measurement, gain: float, change: str, launch_ms: float) -> Verdict:
    """By hits alone, as far as they may save time."""
    if gain <= -NOISE_BAND:
        return Verdict("worse", change)
    now, doubt = before.modelled_time_ms or 0.0, ""
    if gain <= MODEL_RATE_ERROR:
        doubt = ": no difference that the model can tell"
    elif before.bound_by_arithmetic:
        doubt = "; the kernel is bound by arithmetic"
    elif now < launch_ms:
        doubt = f"; {milliseconds(now)} is less than launching takes"
    return Verdict("no difference" if doubt else "fewer L2 misses", f"{change}{doubt or NO_CLAIM}")


def least_gain(measured: Measurement) -> float:
    """Part of the modelled time by which it must fall to count as a difference."""
    return TIME_TOLERANCE if _replays_all_levels(measured) else MODEL_ERROR


def _replays_all_levels(measured: Measurement) -> bool:
    """Whether modelled times are of a timed replay of all levels, as on NVIDIA."""
    return bool(measured.overlapped_time_ms) and measured.fabric_bytes is not None


def shortest(attempts: Sequence[Attempt]) -> Attempt:
    """Of attempts, best first, the shortest text of those that nothing distinguishes from the best.

    That is the model, by rate and time, or, of timed ones, their intervals. A named pattern comes
    before what the search has found; a guard does not count, so that a resumed run chooses the
    same.
    """
    best = attempts[0]
    equals = [a for a in attempts if a is best or _alike(a.measurement, best.measurement)]
    return min(equals, key=lambda equal: (_merit(equal, "length"), equals.index(equal)))


def _alike(read: Measurement | None, best: Measurement | None) -> bool:
    if read is None or best is None:
        return False
    if read.timing and best.timing:
        return read.timing.ratio.low <= best.timing.ratio.high
    loss, modelled = _relative_loss(read, best), read.time_ms is None and best.time_ms is None
    near = best.l2_hit_rate - read.l2_hit_rate <= MODEL_RATE_ERROR
    return modelled and near and loss is not None and loss <= least_gain(best)


def _judge_timed(timing: Timing, gain: float, change: str) -> Verdict:
    ratio = timing.ratio
    spread = f"{ratio.median - 1:+.1%} ({ratio.low - 1:+.1%} to {ratio.high - 1:+.1%})"
    if ratio.low > 1 + TIMING_NOISE:
        return _slower(change, gain, f"time {spread}")
    if ratio.high < 1 - TIMING_NOISE:
        return Verdict("better", f"time {spread}, {change}")
    return Verdict("within noise", f"{change}, time within noise: {spread}")


def _slower(change: str, gain: float, by: str) -> Verdict:
    return Verdict("slower", f"{change}, {'but' if gain > 0 else 'and'} {by}")


NOISE = {
    "l2_hit_rate": NOISE_BAND,
    "memory_bytes": TIME_TOLERANCE,
    "time": TIME_TOLERANCE,
    "length": 0.0,
}
"""By how much attempts must differ in a criterion to be distinguished by it; relative for bytes and
times."""

RANK = tuple(NOISE)
"""By what attempts are put in order, first criterion first."""

NAMES = {
    "l2_hit_rate": "higher L2 hit rate",
    "memory_bytes": "fewer bytes from memory",
    "time": "less time",
    "length": "a named pattern, then the shorter text",
}
"""What people call the criteria."""


def order(attempts: Sequence[Attempt], rank: Sequence[str] = RANK) -> list[Attempt]:
    """The eligible attempts, best first; `rank` names the criteria of `RANK`, first one first.

    Where a GPU has timed all of them, or workgroups differ in work, time is the first criterion
    whatever the rank: which workgroup ends last does not show in a hit rate. So it is where the
    modelled time of all levels is known, if the rank has time at all. Hits and
    bytes from memory do not count if by the model the fastest waits for the L2 itself: a hit saves
    none of its time.
    Attempts that one criterion cannot separate from the best one left are ordered by the next.
    """
    eligible = _eligible(attempts)
    return _order(sorted(eligible, key=lambda attempt: attempt.number), _criteria(eligible, rank))


def beats(latest: Attempt, earlier: Sequence[Attempt], rank: Sequence[str] = RANK) -> bool:
    """Whether an attempt is ahead of all earlier ones in what is measured, by more than noise.

    A shorter text only breaks a tie.
    """
    measured = [criterion for criterion in rank if criterion != "length"]
    return order([*earlier, latest], measured)[:1] == [latest]


def describe_rank(attempts: Sequence[Attempt], rank: Sequence[str] = RANK) -> str:
    """By what `order` ranks these attempts, as text."""
    criteria = _criteria(_eligible(attempts), rank)
    return ", then ".join(f"{NAMES[name]}{_tolerance(name, noise)}" for name, noise in criteria)


def _tolerance(criterion: str, noise: float) -> str:
    if criterion == "l2_hit_rate":
        return f" (within {100 * noise:g} points counts as equal)"
    return f" (within {100 * noise:g} %)" if noise else ""


def _eligible(attempts: Sequence[Attempt]) -> list[Attempt]:
    return [a for a in attempts if a.measurement is not None and a.verdict.eligible]


def _criteria(eligible: Sequence[Attempt], rank: Sequence[str]) -> list[tuple[str, float]]:
    """By what these are distinguished, first criterion first, each with its noise."""
    noise: Mapping[str, float] = NOISE
    measured = [attempt.measurement for attempt in eligible if attempt.measurement]
    timed = bool(measured) and all(read.timing for read in measured)
    overlapped = "time" in rank and all(map(_replays_all_levels, measured))
    if timed or (measured and (overlapped or all(read.imbalance for read in measured))):
        rank = ("time", *(criterion for criterion in rank if criterion != "time"))
    if overlapped and not timed and _wait_for_l2(measured):
        rank = [criterion for criterion in rank if criterion not in ("l2_hit_rate", "memory_bytes")]
    if timed:
        noise = {**NOISE, "time": TIMING_NOISE}
    return [(criterion, noise[criterion]) for criterion in rank]


def _wait_for_l2(measured: Sequence[Measurement]) -> bool:
    """Whether the fastest of them does, by the model."""
    fastest = min(measured, key=lambda read: read.modelled_time_ms or math.inf, default=None)
    return fastest is not None and fastest.longest == "L2"


def _order(attempts: list[Attempt], criteria: Sequence[tuple[str, float]]) -> list[Attempt]:
    if not criteria or len(attempts) < 2:
        return attempts
    (criterion, noise), *others = criteria
    merits = {attempt.number: _merit(attempt, criterion) for attempt in attempts}
    waiting = sorted(attempts, key=lambda attempt: merits[attempt.number])
    ordered: list[Attempt] = []
    while waiting:
        limit = merits[waiting[0].number] + noise
        peers = [attempt for attempt in waiting if merits[attempt.number] <= limit]
        ordered += _order(sorted(peers, key=lambda peer: peer.number), others)
        waiting = waiting[len(peers) :]
    return ordered


def distinct(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Of each family's attempts that the screen takes for one order the first.

    For kernels whose programs all take the same time: there it does not matter which of two that
    run together comes first. Of 26 finalists of a GEMM 8192³ twelve of one family agreed in all
    digits.
    """
    kept: dict[str, list[Attempt]] = {}
    for attempt in by_screen(attempts):
        family = kept.setdefault(_family(attempt.candidate), [])
        above = family[-1].screened_l2_hit_rate if family else None
        if above is None or above - (attempt.screened_l2_hit_rate or 0.0) > SAME_SCREEN:
            family.append(attempt)
    return [attempt for family in kept.values() for attempt in family]


def could_still_win(
    waiting: Sequence[Attempt],
    measured: Sequence[Attempt],
    rank: Sequence[str] = RANK,
    needed: float | None = None,
) -> list[Attempt]:
    """Those of the screened attempts that can turn out better than all that are measured.

    A replay may exceed the screened rate by as much as one has so far. All of them if none is
    measured, or the hit rate does not come first. Where none that is measured is better than the
    baseline, those that can reach the hit rate that is `needed` for that; None = that is no matter
    of the hit rate.
    """
    better = [a.measurement.l2_hit_rate for a in measured if a.measurement and a.verdict.gains]
    by_hits = not better or _criteria(_eligible(measured), rank)[0][0] == "l2_hit_rate"
    if not (measured and by_hits and (better or needed)):
        return list(waiting)
    excess = [
        attempt.measurement.l2_hit_rate - attempt.screened_l2_hit_rate
        for attempt in measured
        if attempt.measurement and attempt.screened_l2_hit_rate is not None
    ]
    least = (max(better) + NOISE_BAND if better else needed or 0.0) - max([0.0, *excess])
    return [attempt for attempt in waiting if (attempt.screened_l2_hit_rate or 0.0) >= least]


def by_screen(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The screened ones, highest rate first, then by number."""
    screened = [attempt for attempt in attempts if attempt.screened_l2_hit_rate is not None]
    return sorted(screened, key=lambda a: (-(a.screened_l2_hit_rate or 0), a.number))


def finalists(attempts: Sequence[Attempt], places: int) -> list[Attempt]:
    """The screened attempts worth measuring: the best, and the best of each family.

    Half of the places go by screened hit rate alone. The other half go round the families (a
    pattern, or the nests with one way to place the domains), because orders of one family tend to
    fail together: those with the highest L2 hit rates may all ruin the last-level cache. Orders
    that start the heaviest tiles first come before the others: the screen knows no time.
    """
    screened = by_screen(attempts)
    chosen = screened[: (places + 1) // 2]
    left = sorted(screened[len(chosen) :], key=lambda a: " down " not in a.candidate.name)
    return [*chosen, *_round(left, _family)[: places - len(chosen)]]


def contenders(
    attempts: Sequence[Attempt], baseline: Measurement, places: int, by_hand: Collection[int] = ()
) -> list[Attempt]:
    """The attempts worth a place on the hardware: those predicted best, and of all kinds.

    Half of the places go to those predicted to be better, round the kinds, and then to the best of
    the others; the other half, whatever is predicted, to what people try by hand and then to the
    best of each kind by the screen: a model is only a model.

    Args:
        attempts: screened, some of them predicted.
        baseline: the prediction for the unmodified kernel.
        places: how many there are.
        by_hand: numbers of what people try by hand.
    """
    judged = [
        replace(attempt, measurement=attempt.predicted, verdict=judge(attempt.predicted, baseline))
        for attempt in attempts
        if attempt.predicted is not None
    ]
    likely = [attempt for attempt in judged if attempt.verdict.gains]
    unlikely = [attempt for attempt in judged if not attempt.verdict.gains]
    best = (*_round(order(likely), kind_of), *_round(order(unlikely), kind_of))
    chosen = [attempt.number for attempt in best][: (places + 1) // 2]
    others = [attempt for attempt in by_screen(attempts) if attempt.number not in chosen]
    rest = sorted(_round(others, kind_of), key=lambda attempt: attempt.number not in by_hand)
    chosen += [attempt.number for attempt in rest][: places - len(chosen)]
    originals = {attempt.number: attempt for attempt in attempts}
    return [originals[number] for number in chosen]


def _round(attempts: Sequence[Attempt], kind: Callable[[Candidate], str]) -> list[Attempt]:
    """The first of each kind, then the second of each, and so on."""
    kinds: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        kinds.setdefault(kind(attempt.candidate), []).append(attempt)
    turns = itertools.zip_longest(*kinds.values())
    return [attempt for turn in turns for attempt in turn if attempt is not None]


def kind_of(candidate: Candidate) -> str:
    """A pattern; or the nests that place the domains in one way, whatever the sizes."""
    words = [word for word in candidate.name.split() if not word.isdigit()]
    return f"nest {words[-1]}" if candidate.origin == "search" else words[0]


def _family(candidate: Candidate) -> str:
    words = candidate.name.split()
    return " ".join(words[-2:]) if candidate.origin == "search" else words[0]


def text_length(candidate: Candidate) -> int:
    """Characters of a swizzle, its guard left out; a search's is longer than all others."""
    bare = "\n".join(line for line in candidate.text.splitlines() if "own_" not in line)
    return len(bound_divisors(bare)) + (MAX_CHARACTERS if candidate.origin == "search" else 0)


def _merit(attempt: Attempt, criterion: str) -> float:
    """The smaller the better; logarithms where noise is relative."""
    measured = attempt.measurement
    if measured is None:
        return math.inf
    if criterion == "l2_hit_rate":
        return -measured.l2_hit_rate
    if criterion == "length":
        return text_length(attempt.candidate)
    value: float | None = measured.memory_bytes
    if criterion == "time":
        modelled = measured.modelled_time_ms
        value = measured.time_ms if measured.time_ms is not None else modelled
        if measured.timing is not None:
            value = measured.timing.ratio.median
    return math.inf if not value else math.log(value)


def _relative_loss(measured: Measurement, baseline: Measurement) -> float | None:
    """How much longer it takes, relative to the baseline; None if no time is known."""
    now, before = measured.time_ms, baseline.time_ms
    if now is None or not before:
        now, before = measured.modelled_time_ms, baseline.modelled_time_ms
    return now / before - 1 if now is not None and before else None
