# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which effects a replay takes into account, what it counts, and the times that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import LINE_BYTES, Int64Array, Level, Measurement


@dataclass(frozen=True)
class Physics:
    """Which effects a replay takes into account; each can be left out by itself.

    Attributes:
        dispatch: workgroups go to domains in the target's order; else each domain gets one run of
            launch indices (on NVIDIA: they alternate between the sides).
        occupancy: as many workgroups are resident as the build allows; else one a CU.
        drift: workgroups start and drift apart as the target says; else they start together and
            advance access by access.
        sets: lines are confined to the sets of a channel; else to any place, which a hash of all
            bits stands for.
        l1: an L1 a CU in front of the L2.
        llc: the last-level cache behind the L2, where the target has one.
        seed: of all that is random.
        domains: so many are replayed, the first ones; None = all. Hit rates, not bytes, of fewer
            stand for all: on orders of a transpose 8192² one of eight gives the same order as all
            (Kendall's τ 0.99). On NVIDIA both are always replayed.
        turns: so many tiles of each program are replayed where it takes several; None = all.
    """

    dispatch: bool = True
    occupancy: bool = True
    drift: bool = True
    sets: bool = True
    l1: bool = True
    llc: bool = True
    seed: int = 0
    domains: int | None = None
    turns: int | None = None


FULL = Physics()
"""Everything the model knows."""

ABLATIONS: Mapping[str, Physics] = {
    "dispatch order": Physics(dispatch=False),
    "occupancy": Physics(occupancy=False),
    "drift of workgroups": Physics(drift=False),
    "channels and sets": Physics(sets=False),
    "L1": Physics(l1=False),
    "last-level cache": Physics(llc=False),
}
"""Full physics without one effect, by the name of the effect."""


@dataclass(frozen=True)
class Traffic:
    """What went through the levels, summed over launches; lines and requests are exact counts.

    Attributes:
        requests: int64[domains]; L2 requests.
        misses: int64[domains]; those that missed.
        l2_bytes: bytes of these requests.
        l1_hit_lines: lines that reads found in an L1.
        fill_lines: lines that the L2s fetched for reads and atomics.
        llc_hit_lines: those of them found in the last-level cache.
        written_bytes: bytes that the L2s wrote back.
        distinct_lines: different lines touched, of each launch.
        crossed_bytes: NVIDIA: bytes that went from one side of the L2 to the other.
        crossed_misses: NVIDIA: sectors of them that were not there.
        causes: int64[tensors, 5]; of each tensor the requests, and the misses that are compulsory,
            of another domain, of capacity and of conflict. No tensor if nobody asked.
        row_activations: NVIDIA: rows of memory that were opened.
        clocks: NVIDIA: of the timed replay.
    """

    requests: Int64Array
    misses: Int64Array
    l2_bytes: int
    l1_hit_lines: int
    fill_lines: int
    llc_hit_lines: int
    written_bytes: int
    distinct_lines: int
    crossed_bytes: int = 0
    crossed_misses: int = 0
    causes: Int64Array = field(default_factory=lambda: np.zeros((0, 5), np.int64))
    row_activations: int = 0
    clocks: float = 0.0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(*(getattr(self, f) + getattr(other, f) for f in self.__dataclass_fields__))

    def __mul__(self, count: int) -> Traffic:
        return Traffic(*(getattr(self, f) * count for f in self.__dataclass_fields__))


def memory_ms(total: Traffic, target: Target, *, llc: bool) -> float:
    """Bytes over bandwidth and rows opened, summed over the levels as if none overlapped.

    Args:
        total: what went through them.
        target: the GPU.
        llc: whether there is a last-level cache.
    """
    below_l2 = total.fill_lines * LINE_BYTES + total.written_bytes
    memory = below_l2 - total.llc_hit_lines * LINE_BYTES
    seconds = total.l2_bytes / (target.l2_gb_s * 1e9) + memory / (target.memory_gb_s * 1e9)
    if llc and target.llc_gb_s:
        seconds += below_l2 / (target.llc_gb_s * 1e9)
    opening_ns = total.row_activations * (target.row_activation_ns or 0.0)
    return 1e3 * seconds + 1e-6 * opening_ns / (target.memory_channels or 1)


def replayed_ms(total: Traffic, target: Target) -> float | None:
    """When a timed replay ends; None if rounds stand for time."""
    if not total.clocks or not target.clock_ghz:
        return None
    return total.clocks / (target.clock_ghz * 1e6)


def add_division_time(
    measured: Measurement, divisions: int, rounds: float, target: Target
) -> Measurement:
    """A measurement of a swizzle with the time of its own divisions.

    A workgroup divides before its first load, and the model assumes that no other workgroup hides
    that time. On an H200 16 residents of a copy hide it (`divisions.csv` in
    `benchmarks/measured/h200_probe`); those of SpMV, a transpose and a stencil do not: one division
    costs them 96 to 104 clocks a round (`docs/results/h200.md`).

    Args:
        measured: without that time.
        divisions: on the longest chain, see `emit.serial_divisions`.
        rounds: workgroups over those that are resident at once.
        target: the GPU.
    """
    if not (divisions and measured.overlapped_time_ms and target.clocks_division):
        return measured
    clocks = divisions * rounds * target.clocks_division
    known = measured.overlapped_time_ms + clocks / ((target.clock_ghz or 1.0) * 1e6)
    return replace(measured, overlapped_time_ms=known)


def overlap_levels(measured: Measurement, target: Target) -> Measurement:
    """A launch with the time in which its L2, memory and arithmetic are at work at once, in part.

    Each takes `t` by itself; together they take `(Σ t**p) ** (1/p)`, where `p` is `target.overlap`:
    their sum for 1, the longest for infinity. Where arithmetic is the longest and all workgroups
    have the same to do, data that come late hold it up, and the timed replay says by how much.
    """
    memory, power = measured.modelled_memory_time_ms, target.overlap
    if memory is None or measured.l2_bytes is None:
        return measured
    l2 = measured.l2_bytes / (target.l2_gb_s * 1e6)
    below_l2 = max(memory - l2, 0.0)
    computing = (measured.arithmetic_time_ms or 0.0) / target.achieved_arithmetic
    if computing >= max(l2, below_l2) and measured.imbalance is None:
        computing = max(computing, measured.replayed_time_ms or 0.0)
    levels: dict[Level, float] = {"L2": l2, "memory": below_l2, "arithmetic": computing}
    longest: Level = max(levels, key=levels.__getitem__)
    total = sum(one**power for one in levels.values()) ** (1 / power)
    return replace(measured, overlapped_time_ms=total, longest=longest)
