# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the tools return. Rates are from 0 to 1; null is what is not known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProvedSwizzle:
    """Whether a swizzle is a permutation of a grid's tiles.

    Attributes:
        holds: whether each tile is computed exactly once.
        tiles: of the grid.
        extent: for which values of all that it reads: `every size`, `under a condition`, or `the
            recorded sizes`, here those that were given; null where it does not hold.
        condition: under which it holds for all values; null = none is needed, or known.
        witness: where it does not hold: who collides, which tiles nobody computes.
    """

    holds: bool
    tiles: int
    extent: str | None
    condition: str | None
    witness: list[str]


@dataclass(frozen=True)
class SourceVerdict:
    """Whether one launch of a kernel computes each of its tiles exactly once.

    Attributes:
        kernel: its name.
        grid: of the launch.
        kind: `permutation`, `not a permutation`, or `not told` where that cannot be decided.
        reason: in one sentence.
        evidence: what was found; the witness.
    """

    kernel: str
    grid: list[int]
    kind: str
    reason: str
    evidence: list[str]


@dataclass(frozen=True)
class ProvedSource:
    """A verdict for each distinct launch, and whether all are permutations."""

    holds: bool
    launches: list[SourceVerdict]


@dataclass(frozen=True)
class Numbers:
    """What a profiler read, or the cache model computed, for one order of the workgroups.

    Attributes:
        source: `modelled` or `measured`; a modelled number is not a measurement.
        device: the GPU.
        l2_hit_rate: of all L2 requests.
        llc_hit_rate: of the last-level cache.
        memory_bytes: from memory.
        time_ms: measured; null where it was modelled.
        why: why requests miss, by cause and by tensor; always modelled.
    """

    source: str
    device: str
    l2_hit_rate: float
    llc_hit_rate: float | None
    memory_bytes: int | None
    time_ms: float | None
    why: str | None


@dataclass(frozen=True)
class Scored:
    """One swizzle on one kernel.

    Attributes:
        kernel: its name.
        verdict: `better`, `not a permutation`, …
        reason: in one sentence.
        witness: where it is no permutation.
        before: the unchanged kernel.
        after: with the swizzle; null where it was refused.
        ceiling_l2_hit_rate: no permutation exceeds it.
        cautions: what makes these numbers doubtful.
    """

    kernel: str
    verdict: str
    reason: str
    witness: list[str]
    before: Numbers
    after: Numbers | None
    ceiling_l2_hit_rate: float
    cautions: list[str]


@dataclass(frozen=True)
class Explained:
    """What is known of the kernel and the GPU: section -> Markdown."""

    sections: dict[str, str]


@dataclass(frozen=True)
class Optimized:
    """A finished run.

    Attributes:
        success: whether an eligible swizzle was found that is better.
        message: what came of it, for people; begins with `Modelled:` where it is.
        kernel: the kernel that was worked on.
        swizzle: the best swizzle's text; null where there is none.
        diff: the patch that carries it into the sources (`git apply`); null where there is none.
        before: the unchanged kernel.
        after: with the best swizzle.
        ceiling_l2_hit_rate: no permutation exceeds it.
        attempts: how many candidates were tried.
        result_file: JSON; `report` shows it again.
        notes: what one should know of these numbers.
        cures: what would help, the recommended first; all but the patch is advice, and all numbers
            are modelled but those that are called measured.
    """

    success: bool
    message: str
    kernel: str
    swizzle: str | None
    diff: str | None
    before: Numbers
    after: Numbers | None
    ceiling_l2_hit_rate: float
    attempts: int
    result_file: str
    notes: list[str]
    cures: list[str]


@dataclass(frozen=True)
class Reported:
    """An earlier run as Markdown."""

    markdown: str
