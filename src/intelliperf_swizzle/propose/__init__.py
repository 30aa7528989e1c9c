# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Who offers swizzles: the catalogue and our own search (`offline`), or a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Attempt, Candidate, Launch

Trial: TypeAlias = Callable[[Sequence[Candidate]], Sequence[Attempt]]
"""Proves and screens candidates; an attempt each, in the same order, refusals included."""


@dataclass(frozen=True)
class Problem:
    """What a proposer is asked to improve.

    Attributes:
        launches: the distinct launches of the kernel; a swizzle must hold on all of them.
        target: the GPU.
        baseline_l2_hit_rate: of the kernel as it is, as the screen sees it, from 0 to 1.
        ceiling_l2_hit_rate: no permutation exceeds it.
        budget: candidates to try, repeated ones not counted.
        seed: of every random choice.
    """

    launches: tuple[Launch, ...]
    target: Target
    baseline_l2_hit_rate: float
    ceiling_l2_hit_rate: float
    budget: int
    seed: int = 0


class Proposer(Protocol):
    """Offers candidates to a trial until the budget is spent or nothing more can be gained."""

    name: str

    def propose(self, problem: Problem, trial: Trial) -> None:
        """Runs to the end; what it finds is in the attempts that `trial` made."""
