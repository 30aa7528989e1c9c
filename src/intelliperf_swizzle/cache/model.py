# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The full look: a launch replayed line by line through L1, L2 and the last-level cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from intelliperf_swizzle.cache.counting import bytes_per_line, misses_per_line, requests_per_line
from intelliperf_swizzle.cache.drift import drift, lockstep
from intelliperf_swizzle.cache.layout import l2_sets
from intelliperf_swizzle.cache.screen import cores
from intelliperf_swizzle.cache.stream import Stream, stream_of
from intelliperf_swizzle.cache.timed import Switches, replay_timed
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import (
    LINE_BYTES,
    SECTOR_BYTES,
    Access,
    Int32Array,
    Int64Array,
    Measurement,
    Trace,
)


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

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(*(getattr(self, f) + getattr(other, f) for f in self.__dataclass_fields__))

    def __sub__(self, other: Traffic) -> Traffic:
        return self + other * -1

    def __mul__(self, count: int) -> Traffic:
        return Traffic(*(getattr(self, f) * count for f in self.__dataclass_fields__))


class Run(NamedTuple):
    """A launch to be replayed.

    Attributes:
        trace: of the launch.
        tile: int64[programs]; launch index -> tile.
        launches: how often it was launched.
        occupancy: workgroups resident on one CU.
    """

    trace: Trace
    tile: Int64Array
    launches: int = 1
    occupancy: int = 1


def replay(
    runs: Sequence[tuple[Trace, Int64Array, int, int]], target: Target, physics: Physics = FULL
) -> Measurement:
    """Replay launches under their orders and read the modelled counters.

    Every launch starts with cold caches. Hit rates are ratios of sums over all launches.

    Args:
        runs: `Run`s, or tuples of the same fields; at least one.
        target: on which GPU.
        physics: which effects to take into account.

    Cost: 1 to 20 ns a line access on each core; see `timed.replay_timed` for NVIDIA. Memory: 9
    bytes a touched line and domain at work, 12 bytes a reference.

    Accuracy: mean error of the L2 hit rate in points: h200 1.7 (105 pairs), h200_held_out 1.2
    (85 pairs), h200_runs 4.0 (120 pairs), mi300x 2.1 (69 pairs), mi355x 1.4 (6 pairs);
    docs/model-accuracy.md.
    """
    parts = [
        traffic(stream_of(trace), tile, target, occupancy, physics) * launches
        for trace, tile, launches, occupancy in runs
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return measurement(total, target, physics)


def traffic(
    stream: Stream, tile: Int64Array, target: Target, occupancy: int, physics: Physics = FULL
) -> Traffic:
    """Replay one launch; what a launch adds to one just before it where caches are not cold."""
    if not physics.cold:
        twice = np.concatenate((tile, tile))
        first = dataclasses.replace(physics, cold=True)
        return traffic(stream, twice, target, occupancy, first) - traffic(
            stream, tile, target, occupancy, first
        )
    resident = occupancy if physics.occupancy else 1
    if target.l2_copies_remote_lines:
        return _timed_traffic(stream, tile, target, resident, physics)
    return _traffic_in_rounds(stream, tile, target, resident, physics)


def _timed_traffic(
    stream: Stream, tile: Int64Array, target: Target, occupancy: int, physics: Physics
) -> Traffic:
    switches = Switches(
        dispatch=physics.dispatch,
        drift=physics.drift,
        copies=physics.copies,
        in_flight=physics.in_flight,
        instructions=physics.instructions,
        write_policy=physics.write_policy,
        sectors=physics.sectors,
        l1=physics.l1,
        sets=physics.sets,
        arithmetic=physics.arithmetic,
    )
    timed = replay_timed(stream, tile, target, occupancy, switches, physics.seed)
    return Traffic(
        requests=timed.requests,
        misses=timed.misses,
        l2_bytes=int(timed.requests.sum()) * SECTOR_BYTES,
        l1_hit_lines=timed.l1_hits * SECTOR_BYTES // LINE_BYTES,
        fill_lines=timed.fetched * SECTOR_BYTES // LINE_BYTES,
        llc_hit_lines=0,
        written_bytes=timed.written * SECTOR_BYTES,
        distinct_lines=len(stream.unit_line),
        crossed_bytes=timed.remote * SECTOR_BYTES,
        crossed_misses=timed.remote_missed,
    )


def _traffic_in_rounds(
    stream: Stream, tile: Int64Array, target: Target, occupancy: int, physics: Physics
) -> Traffic:
    """Domains side by side, then their misses through what they share."""
    from intelliperf_swizzle.cache import kernels

    if not physics.sets:
        target = dataclasses.replace(target, l2_channel_bits=None, l2_set_bits=None)
    if not physics.sectors:
        target = dataclasses.replace(target, l2_write_request_bytes=LINE_BYTES)
    slots = target.cus_per_xcd * occupancy
    turns = lockstep(target, slots)
    if physics.drift:
        turns = drift(target, slots, stream.accesses_per_tile, physics.seed)
    sets = l2_sets(stream, target)
    index = np.arange(len(tile))
    if physics.dispatch:
        domain = target.domain_of(index)
    else:
        domain = index * target.num_xcds // max(1, len(tile))

    def one(d: int) -> Any:
        return kernels.replay_domain(
            tile[domain == d].astype(np.int32),
            stream.tile_offset,
            stream.ref_unit,
            stream.ref_code,
            stream.unit_offset,
            sets,
            target.l2_ways,
            target.l1_bytes // LINE_BYTES if physics.l1 else 0,
            target.cus_per_xcd,
            slots,
            turns.turn_offset,
            turns.turn_slot,
            turns.first_turn[d],
            turns.starts,
        )

    with ThreadPoolExecutor(cores()) as pool:
        parts = list(pool.map(one, range(physics.domains or target.num_xcds)))
    requested = np.stack([part[0] for part in parts])
    missed = np.stack([part[1] for part in parts])
    fills = missed[:, np.arange(64) >> 4 != Access.WRITE].sum()
    hits = 0
    if physics.llc and target.llc_bytes is not None:
        hits = _llc_hits([part[4] for part in parts], stream.units, target.llc_bytes)
    per_miss = misses_per_line(target) if physics.write_policy else requests_per_line(target)
    return Traffic(
        requests=requested @ requests_per_line(target),
        misses=missed @ per_miss,
        l2_bytes=int((requested @ bytes_per_line(target)).sum()),
        l1_hit_lines=sum(part[2] for part in parts),
        fill_lines=int(fills),
        llc_hit_lines=hits,
        written_bytes=sum(part[3] for part in parts) * SECTOR_BYTES,
        distinct_lines=len(stream.unit_line),
    )


def measurement(total: Traffic, target: Target, physics: Physics = FULL) -> Measurement:
    """The counters' readings of some traffic, and the memory time that follows from it."""
    requests = int(total.requests.sum())
    has_llc = physics.llc and target.llc_bytes is not None
    fill_bytes = total.fill_lines * LINE_BYTES
    below_l2 = fill_bytes + total.written_bytes
    memory = below_l2 - total.llc_hit_lines * LINE_BYTES
    per_domain = tuple(
        1 - m / r if r else 0.0
        for m, r in zip(total.misses.tolist(), total.requests.tolist(), strict=True)
    )
    seconds = total.l2_bytes / (target.l2_gb_s * 1e9) + memory / (target.memory_gb_s * 1e9)
    if has_llc and target.llc_gb_s:
        seconds += below_l2 / (target.llc_gb_s * 1e9)
    return Measurement(
        profiler="model",
        device=target.name,
        l2_hit_rate=1 - int(total.misses.sum()) / requests if requests else 0.0,
        llc_hit_rate=total.llc_hit_lines / total.fill_lines
        if has_llc and total.fill_lines
        else None,
        l2_requests=requests,
        l2_bytes=total.l2_bytes,
        llc_bytes=below_l2 if has_llc else None,
        memory_bytes=memory,
        compulsory_bytes=total.distinct_lines * LINE_BYTES,
        balance=float(total.requests.min() / total.requests.max()) if requests else None,
        l2_hit_rate_per_domain=per_domain,
        l2_requests_per_domain=tuple(total.requests.tolist()),
        modelled_memory_time_ms=1e3 * seconds,
        fabric_bytes=total.crossed_bytes if target.l2_copies_remote_lines else None,
        l2_counter_hit_rate=_all_lookups(total, target),
    )


def _all_lookups(total: Traffic, target: Target) -> float | None:
    """The quotient of NVIDIA's own counter, which lookups from the other side are part of."""
    lookups = int(total.requests.sum()) + total.crossed_bytes // SECTOR_BYTES
    if not target.l2_copies_remote_lines or lookups == 0:
        return None
    return 1 - (int(total.misses.sum()) + total.crossed_misses) / lookups


def _llc_hits(logs: Sequence[tuple[Int32Array, ...]], units: int, capacity_bytes: int) -> int:
    """Merge the domains' logs by round and run them through the shared cache."""
    from intelliperf_swizzle.cache.kernels import llc_hits

    rounds, unit, lines = (np.concatenate([log[i] for log in logs]) for i in range(3))
    order = np.argsort(rounds, kind="stable")
    return int(llc_hits(unit[order], lines[order], units, capacity_bytes // LINE_BYTES))
