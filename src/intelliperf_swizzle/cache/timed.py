# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The replay of two L2s that copy each other's lines, in the order of time (NVIDIA).

Every line has its home in one of the two domains. A read is looked up in the domain next to the
CU; a line at home on the other side is copied when it misses, so that both domains hold what both
read. What is counted as hit or miss is the lookup next to the CU, in 32-byte sectors.

Time decides what is in flight. The workgroups of a CU queue for its L1, which looks up a line a
clock, and again for every instruction of an access that is not aligned. A workgroup issues its
accesses one after the other, no faster than its share of the CU allows, and waits for data where
too many are outstanding. Requests of one GPC for a line that is under way to it are merged and
never reach the L2; requests of others hit, and wait. So workgroups that share data fall into step
where memory is slow, and drift apart where it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.cache.stream import Stream
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import LINE_BYTES, SECTOR_BYTES, Int64Array


@dataclass(frozen=True)
class Switches:
    """Effects of the timed replay that can be left out, one by one.

    Attributes:
        dispatch: workgroups fill one GPC after the other; else they alternate between domains.
        drift: lots are drawn for what residents of a CU share; else they have turns.
        copies: a domain keeps copies of the other's lines; else they are read at their home.
        in_flight: requests for what is under way are merged or wait; else data are there at once.
        instructions: accesses that are not aligned take several, one after the other; else one.
        write_policy: writes hit, as the counter has it; else they miss where a sector is absent.
        sectors: a miss brings `l2_fill_bytes`; else whole lines.
        l1: workgroups have an L1.
        sets: lines fall into the sets of the L2 by a hash; else it is fully associative.
        arithmetic: takes its time, and loads are issued so far ahead of it; else data alone do.
    """

    dispatch: bool = True
    drift: bool = True
    copies: bool = True
    in_flight: bool = True
    instructions: bool = True
    write_policy: bool = True
    sectors: bool = True
    l1: bool = True
    sets: bool = True
    arithmetic: bool = True


@dataclass(frozen=True)
class TimedTraffic:
    """What the counters of both domains read, in sectors of 32 bytes.

    Attributes:
        requests: int64[2]; by the domain next to the CU.
        misses: int64[2].
        l1_hits: that workgroups found in their L1.
        merged: that never reached the L2, because another CU of the GPC had just asked.
        remote: that went from one domain to the other.
        remote_missed: those of them that were not in the L2 there either.
        fetched: that came from memory.
        written: that were written back, by the end.
        clocks: until the last workgroup was done.
    """

    requests: Int64Array
    misses: Int64Array
    l1_hits: int
    merged: int
    remote: int
    remote_missed: int
    fetched: int
    written: int
    clocks: float


def replay_timed(
    stream: Stream,
    tile: Int64Array,
    target: Target,
    occupancy: int,
    switches: Switches,
    seed: int = 0,
) -> TimedTraffic:
    """Replay one launch from cold.

    Cost: 0.1 to 0.3 microseconds a reference to a unit, on one core. Memory: 40 bytes a unit.
    """
    from intelliperf_swizzle.cache import timed_kernels as kernels

    cu, group, domain = slots(target, occupancy, gpc_by_gpc=switches.dispatch)
    units = stream.units
    parts = np.empty((units, 2, 4), np.int32)
    parts[:, kernels.PLACE] = -1
    parts[:, kernels.LINES] = kernels.lines_at_home(stream.unit_offset, stream.unit_line)
    l2 = kernels.L2(
        parts=parts,
        sectors=np.zeros((units, 2, 4), np.uint8),
        log=np.empty((8, max(1 << 14, 2 * target.l2_lines_per_xcd)), np.int32),
        marks=np.zeros((8, 5), np.int64),
    )
    block_lines = target.l2_lines_per_xcd // target.l2_ways
    unit, block, share = kernels.sampled_blocks(stream.unit_offset, stream.unit_line, block_lines)
    uneven = unevenness(target.l2_ways) if switches.sets else (0.0,) * 4
    crowding = kernels.Crowding(
        unit, block, share, block_lines, target.l2_lines_per_xcd, np.array(uneven)
    )
    groups = len(target.gpc_cus)
    flight = kernels.Flight(
        domains=np.full((2, kernels.UNDER_WAY, 4), -1.0),
        groups=np.full((groups, kernels.MERGED, 3), -1.0),
    )
    clocks = kernels.Clocks(*(float(number or 0) for number in target.timing))
    if not switches.drift:
        clocks = clocks._replace(randomness=0.0)
    work, ahead = pace(stream, target, arithmetic=switches.arithmetic)
    counted = kernels.replay_timed(
        tile.astype(np.int32),
        stream.tile_offset,
        stream.ref_unit,
        stream.ref_code,
        stream.ref_issue if switches.instructions else stream.ref_issue[:0],
        cu,
        group,
        domain,
        l2,
        crowding,
        flight,
        clocks,
        work,
        ahead,
        target.l1_bytes // LINE_BYTES // occupancy if switches.l1 else 0,
        (target.l2_fill_bytes if switches.sectors else LINE_BYTES) // SECTOR_BYTES,
        switches.copies,
        switches.in_flight,
        switches.write_policy and target.l2_writes_always_hit,
        seed,
    )
    return TimedTraffic(*counted)


def pace(
    stream: Stream, target: Target, *, arithmetic: bool = True
) -> tuple[npt.NDArray[np.float64], Int64Array]:
    """How arithmetic holds tiles up.

    Returns:
        Of each tile the clocks of a CU that an access's share of the arithmetic takes, and how many
        accesses are issued before the first of them must be there, at most `accesses_in_flight`.
        With three stages, Triton's default and the only ones known here, a GEMM, which loads two
        operands for each matrix product, has three buffers of both, and attention, which loads one
        for each, two of each. (So much shared memory do they take.)
    """
    ahead = np.full(stream.tiles, target.accesses_in_flight, np.int64)
    flops, lanes = target.flops_per_clock_cu, target.lanes_per_clock_cu
    if not (arithmetic and flops and lanes) or stream.tile_arithmetic is None:
        return np.zeros(stream.tiles), ahead
    accesses = np.maximum(stream.tile_accesses, 1)
    products, product_flops, vector = stream.tile_arithmetic.T
    work = (product_flops / flops + vector / lanes) / accesses
    buffers = np.where(accesses >= 2 * products, 3, 2)
    issued = np.clip(buffers * accesses // np.maximum(products, 1), 1, ahead)
    return work, np.where(products > 0, issued, ahead)


@lru_cache
def unevenness(ways: int) -> tuple[float, ...]:
    """How much longer than on average lines stay where a hash draws their sets by lot.

    In LRU sets a line is driven out by the `ways`-th other line of its set. Of lines touched since,
    a Poisson number falls into the set, so how many have been touched by then is a gamma variate of
    shape `ways`.

    Returns:
        Of each quarter of all sets the mean of that number, as a part of the lines that the cache
        holds, less 1; ascending. For 16 ways -0.30, -0.10, 0.06 and 0.33.
    """
    touched = np.linspace(0, 4, 100_001)[1:]
    density = np.exp((ways - 1) * np.log(touched) - ways * (touched - 1))
    quarter = (4 * np.cumsum(density) / density.sum() * (1 - 1e-9)).astype(np.int64)
    means = np.bincount(quarter, density * touched) / np.bincount(quarter, density)
    return tuple(float(mean) - 1 for mean in means)


def slots(
    target: Target, occupancy: int, *, gpc_by_gpc: bool = True
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Places for workgroups in the order in which dispatch fills them: their CU, GPC and domain.

    All CUs get one workgroup, GPC after GPC, before any gets its second one.
    """
    group = np.repeat(np.arange(len(target.gpc_cus)), target.gpc_cus)
    domain = np.asarray(target.gpc_domains)[group]
    cu = np.arange(len(group))
    if not gpc_by_gpc:
        nth = np.empty(len(group), np.int64)
        for one in range(target.num_xcds):
            nth[domain == one] = np.arange(target.cus_per_xcd)
        cu = np.lexsort((domain, nth))
    cu = np.tile(cu, occupancy)
    return cu, group[cu], domain[cu]
