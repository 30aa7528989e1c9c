# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The search: all patterns, then better and better orders, the same ones for the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
import pytest

from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.propose import Problem
from intelliperf_swizzle.propose.offline import OfflineProposer, pattern_candidates
from intelliperf_swizzle.records import Attempt, Candidate, KernelSource, Launch, Verdict
from intelliperf_swizzle.records import SourceFunction as Function

MI300X = load_target("mi300x")
SOURCE = KernelSource("k", {"k": Function("k", "/k.py", 1, "def k(): pass")})
GRID = (32, 24, 1)


def problem(budget: int = 300, ceiling: float = 1.0, seed: int = 0) -> Problem:
    launch = Launch("k", SOURCE, GRID, {}, (), {}, {})
    callbacks = (no_context, lambda: ())
    return Problem((launch,), MI300X, 0.0, ceiling, budget, *callbacks, seed)


def no_context() -> NoReturn:
    raise AssertionError("the search asks for no context")


class Neighbourly:
    """Screens: the rate is high if tiles of one domain that follow each other are close."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self._seen: dict[bytes, Attempt] = {}

    def screen(self, candidates: Sequence[Candidate]) -> list[Attempt]:
        return [self._attempt(candidate) for candidate in candidates]

    def follow(self, proposer: OfflineProposer, problem: Problem) -> None:
        """Tells the proposer what becomes of each batch, until it has no more to offer."""
        for batch in proposer.propose(problem):
            batch.outcomes = self.screen(batch.candidates)

    def _attempt(self, candidate: Candidate) -> Attempt:
        tile = evaluate(parse(candidate.text), GRID, {}, num_xcds=8, cus_per_xcd=38)
        known = self._seen.get(tile.tobytes())
        if known:
            return known
        row, col = tile // GRID[0], tile % GRID[0]
        near = (np.abs(row[8:] - row[:-8]) + np.abs(col[8:] - col[:-8])) == 1
        attempt = Attempt(
            len(self.attempts) + 1,
            candidate,
            Verdict("screened out", ""),
            screened_l2_hit_rate=float(near.mean()),
        )
        self._seen[tile.tobytes()] = attempt
        self.attempts.append(attempt)
        return attempt

    @property
    def best(self) -> float:
        return max(attempt.screened_l2_hit_rate or 0.0 for attempt in self.attempts)


def test_the_search_is_better_than_every_pattern_and_keeps_to_its_budget() -> None:
    patterns, searched = Neighbourly(), Neighbourly()
    patterns.screen(list(pattern_candidates(problem())))
    searched.follow(OfflineProposer(), problem())
    assert searched.best > patterns.best
    assert len(searched.attempts) <= 300
    few = Neighbourly()
    few.follow(OfflineProposer(), problem(budget=20))
    assert len(few.attempts) <= 20


def test_the_same_seed_tries_the_same_candidates_in_the_same_order() -> None:
    def tried(seed: int) -> list[str]:
        trial = Neighbourly()
        trial.follow(OfflineProposer(), problem(seed=seed))
        return [attempt.candidate.text for attempt in trial.attempts]

    assert tried(1) == tried(1)
    assert tried(1) != tried(2)


def test_the_search_stops_when_the_headroom_is_used() -> None:
    trial = Neighbourly()
    trial.follow(OfflineProposer(), problem(budget=5000, ceiling=0.5))
    assert trial.best >= 0.49
    assert len(trial.attempts) < 1000


@pytest.mark.long
def test_a_long_search_does_not_run_dry() -> None:
    trial = Neighbourly()
    trial.follow(OfflineProposer(patience=10_000), problem(budget=1500, ceiling=2.0))
    assert len(trial.attempts) == 1500
