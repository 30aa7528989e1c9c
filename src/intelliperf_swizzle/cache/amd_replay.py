# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The replay of L2s that know nothing of each other (AMD), and how resident workgroups advance.

Round by round, some stay behind. Loops that load ahead are replayed by time: the loads of a step
are issued while the step before is computed, so data that come late hold a workgroup up, longest
where its domain has not had them yet. That decides how far workgroups drift apart: one that finds
in the L2 what others have fetched catches up with them. All CUs ask at once: no more than a few
lines of one come between those of others.

Also when the last workgroup ends, if some have more to do than others.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.cache import traffic
from intelliperf_swizzle.cache.stream import ReferenceStream, Tensors, l2_sets
from intelliperf_swizzle.cache.traffic import Physics, Traffic, requests_per_line
from intelliperf_swizzle.children import on_all_cores
from intelliperf_swizzle.hardware import AmdGpu, NvidiaGpu, Target
from intelliperf_swizzle.records import LINE_BYTES, Float64Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from intelliperf_swizzle.cache.compiled.latencies import Clocks, Stages
    from intelliperf_swizzle.cache.compiled.lines import Domain

ROUNDS = 1024
"""Rounds of the cycle, about; twice what the longest-lived workgroups of the kernels measured take.
A multiple of `catch_up_turns` is used."""


class Drift(NamedTuple):
    """Which slots advance in each round of a repeating cycle.

    In a round every resident workgroup, in the order of its slot, has a turn, or misses it; so
    workgroups drift apart. But one that falls behind finds in the L2 what the others have fetched
    and catches up, so each misses the same number of turns in any `catch_up_turns` rounds. In a
    turn it makes `accesses_per_turn` accesses, as a program issues its loads before it waits.

    Attributes:
        turn_offset: int64[rounds + 1].
        turn_slot: int32[...]; the slots that make an access in round `r` are
            `turn_slot[turn_offset[r]:turn_offset[r + 1]]`, in this order.
        first_turn: int64[domains]; in which round of the cycle each domain begins.
        slots: of a domain.
    """

    turn_offset: Int64Array
    turn_slot: Int32Array
    first_turn: Int64Array
    slots: int


@lru_cache(maxsize=8)
def drift(target: Target, slots: int, seed: int) -> Drift:
    """The cycle for `slots` workgroups resident on each domain; same seed, same cycle.

    Args:
        target: on which GPU.
        slots: workgroups resident on a domain.
        seed: of the turns missed.
    """
    block = target.catch_up_turns
    blocks = max(1, ROUNDS // block)
    missed = round(block * target.turn_skip_fraction)
    place = np.random.default_rng(seed).random((blocks, block, slots)).argsort(axis=1)
    advances = place.argsort(axis=1).reshape(-1, slots) >= min(missed, block - 1)
    rounds, turn_slot = np.nonzero(advances)
    offset = np.searchsorted(rounds, np.arange(blocks * block + 1))
    begin = np.arange(target.num_xcds) * (blocks * block // target.num_xcds)
    accesses = target.accesses_per_turn
    bursts = np.repeat(turn_slot, accesses).astype(np.int32)
    return Drift(offset.astype(np.int64) * accesses, bursts, begin.astype(np.int64), slots)


@lru_cache(maxsize=8)
def lockstep(target: Target, slots: int) -> Drift:
    """All resident workgroups start together and make one access in every round."""
    begin = np.zeros(target.num_xcds, np.int64)
    return Drift(np.array([0, slots]), np.arange(slots, dtype=np.int32), begin, slots)


_MOST_PRODUCTS = 3
"""Matrix products of one step of a loop, at most, as opposed to several steps."""


def is_pipelined(stream: ReferenceStream, target: Target, physics: Physics) -> bool:
    """Whether time decides how workgroups drift apart."""
    in_time = isinstance(target, AmdGpu) and target.clocks_llc is not None
    return physics.drift and in_time and stream.multiplies


def clocks_of(target: AmdGpu) -> Clocks:
    """What takes how long on a target, in clocks of a CU."""
    from intelliperf_swizzle.cache.compiled.latencies import Clocks

    clock = target.clock_ghz or 1.0
    return Clocks(
        line=LINE_BYTES * target.cus * clock / target.l2_gb_s,
        hit=target.clocks_l2_hit,
        first=target.clocks_memory,
        again=target.clocks_llc or 0.0,
        start=target.clocks_workgroup_start,
        fill=LINE_BYTES * target.num_xcds * clock / (target.llc_gb_s or target.memory_gb_s),
    )


def stages_of(stream: ReferenceStream, target: Target) -> Stages:
    """A stage is the loads of one step of the loop: two of a GEMM, for each matrix product."""
    from intelliperf_swizzle.cache.compiled.latencies import Stages

    loads, products = stream.tile_loads, stream.tile_products
    pairs, number = np.unique(np.stack((loads, products)), axis=1, return_inverse=True)
    ratios = [
        Fraction(*map(int, pair)).limit_denominator(_MOST_PRODUCTS) if pair[1] else Fraction(1)
        for pair in pairs.T
    ]
    stage = np.array([max(1, ratio.numerator) for ratio in ratios], np.int64)[number.reshape(-1)]
    clocks = arithmetic(stream, target)
    total = np.zeros(stream.tiles) if clocks is None else clocks
    return Stages(stage, total * stage / np.maximum(loads, stage))


UNEVEN = 1.1
"""Where the heaviest workgroup has less than this times the mean, all count as equal: they end
with the last round of workgroups in any order."""


def arithmetic(stream: ReferenceStream, target: Target) -> Float64Array | None:
    """What each tile's operations take on a CU: float64[tiles] of clocks; None = not known."""
    flops, lanes = target.flops_per_clock_cu, target.lanes_per_clock_cu
    if stream.tile_arithmetic is None or not (flops and lanes):
        return None
    _, products, vector = stream.tile_arithmetic.T
    clocks: Float64Array = products / flops + vector / lanes
    return clocks


def work(stream: ReferenceStream, target: Target) -> Float64Array:
    """What each tile takes on a CU: float64[tiles], in clocks where the target's rates are known.

    The longer of its operations at the rates of a CU and of its lines at a CU's share of the L2's
    bandwidth.
    """
    lines = stream.tile_lines.astype(np.float64)
    computing = arithmetic(stream, target)
    if computing is None or not target.clock_ghz:
        return lines
    bytes_per_clock = target.l2_gb_s / (target.cus * target.clock_ghz)
    longer: Float64Array = np.maximum(lines * LINE_BYTES / bytes_per_clock, computing)
    return longer


def is_uneven(work: Float64Array) -> bool:
    """Whether it matters in which order workgroups with so much work start."""
    return bool(len(work) and work.max() > UNEVEN * work.mean())


def imbalance(runs: Sequence[tuple[Float64Array, int, int]], target: Target) -> float | None:
    """When the last workgroup ends, over the earliest that it may in any order; 1 or more.

    That is when all CUs would end together, or the heaviest workgroup if it takes longer.

    A slot whose workgroup has ended takes the next one of its XCD (on GPUs that do not deal them
    out to XCDs, of all), for as long as it has work, as if none slowed another one down. This is
    list scheduling (Graham, 1969).

    Args:
        runs: of each launch the work of each workgroup in launch order, how often it was launched,
            and how many workgroups are resident on a CU.
        target: the GPU.

    Returns:
        None if all workgroups are equal.
    """
    if not any(is_uneven(run[0]) for run in runs):
        return None
    ends = earliest = 0.0
    for taken, launches, occupancy in runs:
        queues = [taken]
        if not isinstance(target, NvidiaGpu):
            domain = target.domain_of(np.arange(len(taken)))
            queues = [taken[domain == number] for number in range(target.num_xcds)]
        slots = occupancy * target.cus // len(queues)
        ends += launches * max(_last_end(queue, slots) for queue in queues)
        together = float(taken.sum()) / (occupancy * target.cus)
        earliest += launches * max(together, float(taken.max()))
    return ends / earliest


def _last_end(work: Float64Array, slots: int) -> float:
    """When the last of some workgroups ends that start in this order."""
    free = sorted(work[:slots].tolist())
    for seconds in work[slots:].tolist():
        heapq.heapreplace(free, free[0] + seconds)
    return max(free, default=0.0)


def replay_in_rounds(
    stream: ReferenceStream,
    tile: Int64Array,
    target: AmdGpu,
    occupancy: int,
    physics: Physics,
    tensors: Tensors,
) -> Traffic:
    """Replay one launch from cold: domains side by side, then their misses through what they share.

    Where loops multiply matrices, loads are issued ahead, and the time that each takes decides how
    far workgroups drift apart (`latencies`); elsewhere they drift apart at random, round by round.

    Cost and memory: see `model.replay`.
    """
    target = traffic.as_stored(stream, target)
    tiles = _tiles_of_domains(tile, target, physics)
    domains, ends = _domains(stream, tiles, target, occupancy, physics, tensors)
    clocks = np.array(ends)
    if target.clocks_llc and clocks.any() and len(domains) == target.num_xcds <= len(tile):
        clocks = _wait(stream, domains, clocks, tiles, target, occupancy)
    hits = 0
    if physics.llc and target.llc_bytes is not None:
        hits = _llc_hits(domains, target.llc_bytes)
    requested = np.stack([domain.requests for domain in domains])
    missed = np.stack([domain.misses for domain in domains])
    l1_hits, written, _ = np.sum([domain.totals for domain in domains], axis=0).tolist()
    per_request, per_miss = domains[0].weights
    return Traffic(
        requests=requested @ per_request, misses=missed @ per_miss,
        l2_bytes=int((requested @ traffic.bytes_per_line(target)).sum()), l1_hit_lines=l1_hits,
        fill_lines=int(missed[:, np.arange(64) >> 4 != records.Access.WRITE].sum()),
        llc_hit_lines=hits, written_bytes=written * records.SECTOR_BYTES,
        distinct_lines=len(stream.unit_line), causes=_causes(domains, tensors),
        clocks=float(clocks.max()),
    )  # fmt: skip


def _wait(
    stream: ReferenceStream,
    domains: Sequence[Domain],
    clocks: Float64Array,
    tiles: Sequence[Int32Array],
    target: AmdGpu,
    occupancy: int,
) -> Float64Array:
    """When each domain ends if what another one fetches, too, is waited for no longer than the
    last-level cache takes: float64[domains] of clocks.

    Of workgroups that run at once the one counts that reads most of what memory alone can give.
    Neither arithmetic nor the bandwidth below the L2 takes less for it.
    """
    from intelliperf_swizzle.cache.compiled.latencies import PIECE_LINES

    unit = np.repeat(np.arange(stream.units), -(-stream.unit_lines // PIECE_LINES))
    logs = [_log(domain) for domain in domains]
    fetched = [np.bincount(unit[log[1]], minlength=stream.units) > 0 for log in logs]
    touches, alone = stream.touches, np.sum(fetched, axis=0) == 1
    read = touches.lines * (touches.kinds[touches.unit, 0] > 0)
    every = np.maximum(np.bincount(touches.tile, read, stream.tiles), 1.0)
    part = np.bincount(touches.tile, read * alone[touches.unit], stream.tiles) / every
    computing, ends = arithmetic(stream, target), []
    slots, fill = target.cus_per_xcd * occupancy, clocks_of(target).fill
    sooner = 1 - (target.clocks_llc or 0.0) / target.clocks_memory
    for end, log, of_domain in zip(clocks, logs, tiles, strict=True):
        busy = fill * int(log[2].sum())
        if computing is not None:
            turns = -(-len(of_domain) // target.cus_per_xcd)
            busy = max(busy, turns * float(computing[of_domain].mean()))
        shared = 1 - np.maximum.reduceat(part[of_domain], np.arange(0, len(of_domain), slots))
        ends.append(end - max(end - busy, 0.0) * sooner * float(shared.mean()))
    return np.array(ends)


def _causes(domains: Sequence[Domain], tensors: Tensors) -> Int64Array:
    """The causes of all domains. Of a unit's first misses, one in each domain, that of the earliest
    round is compulsory, in a round that of the first domain, and the others are another domain's.
    """
    from intelliperf_swizzle.cache.compiled import COMPULSORY, OTHER_DOMAIN

    counted: Int64Array = np.sum([domain.causes.counted for domain in domains], axis=0)
    if not tensors.number:
        return counted
    first = np.stack([domain.causes.first for domain in domains])
    missed = np.stack([domain.causes.first_requests for domain in domains])
    earliest = np.where(first < 0, np.iinfo(np.int32).max, first).argmin(axis=0)
    compulsory = missed[earliest, np.arange(len(earliest))]
    for column, misses in (
        (COMPULSORY, compulsory),
        (OTHER_DOMAIN, missed.sum(axis=0) - compulsory),
    ):
        by_tensor = np.bincount(tensors.of_unit, misses, tensors.number)
        counted[:, column] += by_tensor.astype(np.int64)
    return counted


def _tiles_of_domains(tile: Int64Array, target: AmdGpu, physics: Physics) -> list[Int32Array]:
    """The tiles of each domain's workgroups, in launch order."""
    index = np.arange(len(tile))
    domain = index * target.num_xcds // max(1, len(tile))
    if physics.dispatch:
        domain = target.domain_of(index)
    of_each = range(physics.domains or target.num_xcds)
    return [tile[domain == number].astype(np.int32) for number in of_each]


def _domains(
    stream: ReferenceStream,
    tiles: Sequence[Int32Array],
    target: AmdGpu,
    occupancy: int,
    physics: Physics,
    tensors: Tensors,
) -> tuple[list[Domain], list[float]]:
    """Each domain by itself, on all cores; and when it ends, 0 where rounds stand for time."""
    from intelliperf_swizzle.cache.compiled import watch
    from intelliperf_swizzle.cache.compiled.latencies import PIECE_LINES, replay_in_time
    from intelliperf_swizzle.cache.compiled.lines import Domain, References, replay_domain

    cus, capacity, lines = target.cus_per_xcd, target.l2_lines_per_xcd, stream.unit_lines
    slots = cus * occupancy
    turns = drift(target, slots, physics.seed) if physics.drift else lockstep(target, slots)
    refs = References(stream.tile_offset, stream.ref_unit, stream.ref_code, stream.unit_offset)
    in_time = is_pipelined(stream, target, physics)
    clocks, stages = clocks_of(target), stages_of(stream, target)
    hashed = dataclasses.replace(target, l2_channel_bits=None, l2_set_bits=None)
    set_of = l2_sets(stream, target if physics.sets else hashed)
    weights = np.stack((requests_per_line(target), traffic.misses_per_line(target)))
    l1_lines = target.l1_bytes // LINE_BYTES if physics.l1 else 0
    pieces = np.append(0, np.cumsum(-(-lines // PIECE_LINES)[stream.plain_units]))
    logged = np.diff(pieces[stream.tile_offset])

    def one(d: int) -> tuple[Domain, float]:
        domain = Domain(
            unit_lines=lines, recent=np.empty((cus, max(1, l1_lines)), np.int32),
            counts=np.zeros((cus, 2), np.int64), l1_lines=l1_lines, set_of=set_of,
            held=np.full((set_of.max(initial=0) + 1, target.l2_ways), -1, np.int64),
            weights=weights, causes=watch(*tensors, lines, 1, capacity),
            requests=np.zeros(64, np.int64), misses=np.zeros(64, np.int64),
            totals=np.zeros(3, np.int64), log=np.empty((3, logged[tiles[d]].sum()), np.int32),
        )  # fmt: skip
        if in_time:
            return domain, replay_in_time(tiles[d], slots, refs, domain, clocks, stages)
        replay_domain(tiles[d], refs, domain, turns, d)
        return domain, 0.0

    domains, ends = zip(*on_all_cores(one, range(len(tiles))), strict=True)
    return list(domains), list(ends)


def _log(domain: Domain) -> Int32Array:
    """Its read misses."""
    return domain.log[:, : domain.totals[-1]]


def _llc_hits(domains: Sequence[Domain], capacity_bytes: int) -> int:
    """Merge the domains' logs by time and run them through the shared cache."""
    from intelliperf_swizzle.cache.compiled import llc_hits

    rounds, unit, lines = np.concatenate([_log(domain) for domain in domains], axis=1)
    order = np.argsort(rounds, kind="stable")
    units = int(unit.max(initial=-1)) + 1
    return int(llc_hits(unit[order], lines[order], units, capacity_bytes // LINE_BYTES))
