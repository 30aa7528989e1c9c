# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How a swizzle does at other problem sizes than the recorded one."""

from __future__ import annotations

from dataclasses import dataclass

from intelliperf_swizzle.records.quantities import Grid, Rate


@dataclass(frozen=True)
class OtherSize:
    """The kernel at another size, modelled without the swizzle and with it, unguarded.

    Attributes:
        grid: of its launch.
        before: L2 hit rate of the unmodified kernel.
        after: with the swizzle; None where it is no permutation of this grid.
        time_ratio: modelled memory time with the swizzle by that without; None as for `after`.
        loses: whether the unmodified kernel is better.
    """

    grid: Grid
    before: Rate
    after: Rate | None
    time_ratio: float | None
    loses: bool


@dataclass(frozen=True)
class Sizes:
    """What the model says of the best swizzle at other sizes.

    Attributes:
        others: those at which it renumbers, from the smallest grid to the largest.
        guard: the condition under which the patch renumbers at all; None = always.
    """

    others: tuple[OtherSize, ...]
    guard: str | None = None
