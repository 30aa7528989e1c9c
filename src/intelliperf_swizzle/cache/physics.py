# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which effects a replay takes into account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
        write_policy: a write that allocates a line counts as the target's counter counts it; else
            each of its requests is a miss.
        sectors: parts of lines are requested, filled and counted by themselves; else whole lines.
        l1: an L1 a CU in front of the L2.
        copies: NVIDIA: each side of the L2 keeps copies of lines at home on the other side.
        in_flight: NVIDIA: requests for a line that is under way are merged, or wait for it.
        instructions: NVIDIA: accesses that are not aligned take several instructions; else one.
        arithmetic: NVIDIA: takes its time; else data alone do.
        llc: the last-level cache behind the L2, where the target has one.
        cold: caches are empty at the start of every launch; else the same launch has just run.
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
    write_policy: bool = True
    sectors: bool = True
    l1: bool = True
    copies: bool = True
    in_flight: bool = True
    instructions: bool = True
    arithmetic: bool = True
    llc: bool = True
    cold: bool = True
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
    "write policy": Physics(write_policy=False),
    "sectors and partial lines": Physics(sectors=False),
    "L1": Physics(l1=False),
    "copies of the other side's lines": Physics(copies=False),
    "requests in flight": Physics(in_flight=False),
    "instructions of a load": Physics(instructions=False),
    "arithmetic": Physics(arithmetic=False),
    "last-level cache": Physics(llc=False),
    "cold start": Physics(cold=False),
}
"""Full physics without one effect, by the name of the effect."""
