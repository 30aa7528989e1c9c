# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which kernels of an application are searched, in what order, and what each search may cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.rank import MODEL_RATE_ERROR
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject

LEAST_GAIN = 0.01
"""Headroom (rate) below which a kernel is not searched: what repeated measurements differ by."""

LEAST_SAVED = 0.05
"""Part of its modelled time that a kernel must be able to save, to be searched where the model's
error (`MODEL_RATE_ERROR`) is more than what is left below the ceiling."""

LEAST_SHARE = 0.005
"""Part of the time of all recorded kernels that a kernel must be able to save, to be searched
beside others."""

FEWEST_CANDIDATES = 64
"""For a kernel that is searched at all: the patterns and a few steps of the search."""


@dataclass(frozen=True, eq=False)
class Search:
    """A kernel that is to be searched.

    Attributes:
        subject: the kernel.
        setup: of the run, with what this search may cost.
        folder: name of its folder in the output folder.
    """

    subject: Subject
    setup: Setup
    folder: str


def plan_searches(subjects: Sequence[Subject], setup: Setup) -> list[Search]:
    """The kernels that are searched, the one that could save most time first.

    Each gets candidates in proportion to the time that it could save, at most `--candidates` and
    together about `--budget`. If none is worth a search, the first alone is there to say so.

    Args:
        subjects: all kernels that can be edited.
        setup: of the run.
    """
    ranked = rank_subjects(subjects, setup.target)
    total = sum(one.time_ms for one in ranked)
    worth = [one for one in ranked if is_promising(setup, one)]
    if len(subjects) > 1 and total and not setup.options.all:
        worth = [one for one in worth if _could_save(one, setup) >= LEAST_SHARE * total]
    chosen = worth or ranked[:1]
    savings = sum(_could_save(one, setup) for one in chosen)
    searches: list[Search] = []
    names: Counter[str] = Counter()
    for one in chosen:
        part = _could_save(one, setup) / savings if savings else 1 / len(chosen)
        names[one.kernel] += 1
        number = f"-{names[one.kernel]}" if names[one.kernel] > 1 else ""
        own = _within_budget(setup, part)
        if searches and setup.options.history:
            history = _beside(Path(setup.options.history), one.kernel + number)
            own = replace(own, options=replace(own.options, history=history))
        searches.append(Search(one, own, one.kernel + number))
    return searches


def rank_subjects(subjects: Sequence[Subject], target: Target) -> list[Subject]:
    """The kernels in the order of the time that they could save, then of the hits to gain."""
    return sorted(subjects, key=lambda s: (-could_save_ms(s, target), -s.to_gain, s.kernel))


def could_save_ms(subject: Subject, target: Target) -> float:
    """Modelled time of all launches that no permutation can save more of.

    What lies below the L2s is moved once for each miss, and at the ceiling of the hit rate there
    are fewer misses. What moves between L1 and L2 stays, and so does arithmetic. Without imbalance
    the last workgroup ends with all others.
    """
    rate, read = subject.baseline.l2_hit_rate, subject.baseline
    if read.modelled_memory_time_ms is None or read.l2_bytes is None or rate >= 1:
        return 0.0
    below_l2 = read.modelled_memory_time_ms - read.l2_bytes / (target.l2_gb_s * 1e6)
    moved = max(0.0, below_l2) * subject.headroom / (1 - rate)
    moved = min(moved, (read.modelled_time_ms or 0.0) - (read.arithmetic_time_ms or 0.0))
    return (moved + _uneven(subject) * (read.modelled_time_ms or 0.0)) * subject.untraced_factor


def is_promising(setup: Setup, subject: Subject) -> bool:
    """Whether a search may find anything, by the model; always, if the kernel is asked for.

    Not where all misses are compulsory, or the hit rate is at its ceiling; without a GPU, where
    its time is not known, not where arithmetic takes clearly longer than memory either, unless the
    formula does not rank by time. A kernel whose work is uneven may gain in any case.
    """
    if setup.options.all or setup.options.kernel or _uneven(subject) >= LEAST_GAIN:
        return True
    read, headroom = subject.baseline, subject.headroom
    bound = read.bound_by_arithmetic and "time" in setup.formula.rank
    saved_ms = could_save_ms(subject, setup.target) / subject.untraced_factor
    little = bound or saved_ms < LEAST_SAVED * (read.modelled_time_ms or 0.0)
    if headroom < LEAST_GAIN or (headroom < MODEL_RATE_ERROR and little) or read.only_compulsory:
        return False
    return setup.device is not None or not bound


def _uneven(subject: Subject) -> float:
    """The part of the time that an even spread of the work would save."""
    return 1 - 1 / (subject.baseline.imbalance or 1.0)


def _could_save(subject: Subject, setup: Setup) -> float:
    """On a GPU all of a kernel's time is in play, see `is_promising`."""
    return subject.time_ms if setup.device else could_save_ms(subject, setup.target)


def _beside(history: Path, kernel: str) -> str:
    """The history of a further kernel, where the run's is named: beside it."""
    return str(history.with_name(f"{history.stem}.{kernel}{history.suffix}"))


def _within_budget(setup: Setup, part: float) -> Setup:
    """The setup of a search that gets this part of the run's budget."""
    options = setup.options
    allowed = max(FEWEST_CANDIDATES, round(options.budget * part))
    candidates = min(options.candidates, allowed)
    return replace(
        setup,
        options=replace(options, candidates=candidates),
        share=setup.share * candidates / options.candidates,
    )
