# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Who offers swizzles: the catalogue and our own search (`offline`), or a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from intelliperf_swizzle.context import HardwareContext
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Attempt, Candidate, Launch, Usage


class Trial(Protocol):
    """What a proposer may have done to its candidates."""

    def __call__(self, candidates: Sequence[Candidate]) -> Sequence[Attempt]:
        """Proves and screens candidates; an attempt each, in the same order, refusals included."""

    def settle(self, attempt: Attempt) -> Attempt:
        """Measures a screened attempt and validates it if it is better; what became of it."""

    def decide(self) -> Attempt | None:
        """Measures the best screened attempts so far; the best that holds, None where none does."""

    @property
    def attempts(self) -> Sequence[Attempt]:
        """All attempts of the run by number, those of a resumed history included."""


@dataclass(frozen=True)
class Effort:
    """What a proposer has to say at the end.

    Attributes:
        notes: sentences for the report.
        usage: what its language model took, None where it has none.
    """

    notes: tuple[str, ...] = ()
    usage: Usage | None = None


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
        iterations: answers of a language model that may be built and validated.
        context: what a language model is told of kernel and GPU; computed when it is called.
    """

    launches: tuple[Launch, ...]
    target: Target
    baseline_l2_hit_rate: float
    ceiling_l2_hit_rate: float
    budget: int
    seed: int = 0
    iterations: int = 10
    context: Callable[[], HardwareContext] | None = None


class Proposer(Protocol):
    """Offers candidates to a trial until the budget is spent or nothing more can be gained."""

    name: str

    def propose(self, problem: Problem, trial: Trial) -> Effort:
        """Runs to the end; what it finds is in the attempts that `trial` made."""
