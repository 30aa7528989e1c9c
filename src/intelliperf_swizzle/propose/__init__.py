# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Who offers swizzles: the catalogue and our own search (`offline`), or a language model.

A proposer yields batches of candidates and reads the outcomes from each batch; it does not
drive the search.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from intelliperf_swizzle.context import HardwareContext
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Attempt, Candidate, Float64Array, Launch, Usage


@dataclass
class CandidateBatch:
    """Candidates to prove and screen, and their outcomes.

    Attributes:
        candidates: in the proposer's order.
        evaluate_from: evaluate the best of them, if it was screened at least so high (a hit rate
            from 0 to 1), with a few that tie with it, and validate the best that is better; None =
            screen only.
        outcomes: sent by the search before it asks for the next batch: an attempt each, in the same
            order, refusals included.
    """

    candidates: Sequence[Candidate]
    evaluate_from: float | None = None
    outcomes: Sequence[Attempt] = ()


@dataclass(frozen=True)
class ProposerReport:
    """What a proposer has to say.

    Attributes:
        notes: sentences for the report.
        usage: what its language model took, None if it has none.
    """

    notes: tuple[str, ...] = ()
    usage: Usage | None = None

    def __add__(self, other: "ProposerReport") -> "ProposerReport":
        usage = self.usage if other.usage is None else (self.usage or Usage()) + other.usage
        return ProposerReport((*self.notes, *other.notes), usage)


@dataclass(frozen=True)
class Problem:
    """What a proposer is asked to improve.

    Attributes:
        launches: the distinct launches of the kernel; a swizzle must hold on all of them.
        target: the GPU.
        baseline_l2_hit_rate: of the unmodified kernel, as the screen sees it, from 0 to 1.
        ceiling_l2_hit_rate: no permutation exceeds it.
        budget: candidates to try, repeated ones not counted.
        seed: of every random choice.
        iterations: answers of a language model that may be built and validated.
        context: what a language model is shown of kernel and GPU; computed when it is called.
        attempts: all attempts of the run by number, those of a resumed history included.
        row_lengths: tiles in a row, as `nest.row_lengths` finds them.
        work: float64[tiles] of the largest launch, what each tile takes on a CU; None if all
            take the same.
    """

    launches: tuple[Launch, ...]
    target: Target
    baseline_l2_hit_rate: float
    ceiling_l2_hit_rate: float
    budget: int
    context: Callable[[], HardwareContext]
    attempts: Callable[[], Sequence[Attempt]]
    seed: int = 0
    iterations: int = 10
    row_lengths: frozenset[int] = frozenset()
    work: Float64Array | None = None

    @property
    def linear(self) -> bool:
        """Whether the kernel reads one flat `pid` (else one `pid_k` per axis)."""
        largest = max(self.launches, key=lambda launch: launch.tiles)
        return sum(extent > 1 for extent in largest.numbers) <= 1


class Proposer(Protocol):
    """Offers candidates until the budget is spent or nothing more can be gained."""

    name: str

    @property
    def effort(self) -> ProposerReport:
        """What it has to say, so far."""

    def propose(self, problem: Problem) -> Iterator[CandidateBatch]:
        """Yields batches; each has its outcomes when the next one is asked for."""
