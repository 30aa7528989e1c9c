# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The replay of two L2s that copy each other's lines, in the order of time (NVIDIA).

Every line has its home in one of the two domains. A read is looked up in the domain next to the
CU; a line at home on the other side is copied when it misses, so that both domains hold what both
read. What is counted as hit or miss is the lookup next to the CU, in 32-byte sectors.

Time decides what is in flight. The workgroups of a CU share its L1, unless what they load goes into
shared memory, and queue for it: it looks up a line per clock, and again for every instruction of an
access that is not aligned. A workgroup issues its accesses one after the other, no faster than its
share of the CU allows, and waits for data where too many are outstanding. Up to four requests of
one GPC for a line that is under way to it become one to the L2; requests of others hit, and wait.
Each GPC has an equal share of what the L2 and memory can give. So workgroups of a GPC that share
data fall into step where they wait for it, and those of a GPC with more CUs fall behind the others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.cache.stream import NO_TENSORS, ReferenceStream, Tensors
from intelliperf_swizzle.cache.traffic import Physics, Traffic
from intelliperf_swizzle.hardware import NvidiaGpu
from intelliperf_swizzle.records import LINE_BYTES, SECTOR_BYTES, Access, Int64Array

if TYPE_CHECKING:
    from intelliperf_swizzle.cache.compiled.chip import Rules
    from intelliperf_swizzle.cache.compiled.sectors import L2, Crowding, Rows

_FILLING_WAVES = 16
"""So many waves keep the four schedulers of an SM busy whose instructions each wait four clocks for
the one before. Source: CUDA C++ programming guide, multiprocessor level utilization."""
MOST_WRITERS = 1.5
"""Where tiles write a sector more often than this on average, each writes a part of it. What that
costs is not modelled and is more than rows are: a transpose of 8 x 64 tiles takes 0.51 to 0.99 ms
on an H200 under orders that it opens 6.0 to 4.1 million rows under."""


def nvidia_replay(
    stream: ReferenceStream,
    tile: Int64Array,
    target: NvidiaGpu,
    occupancy: int,
    physics: Physics,
    tensors: Tensors = NO_TENSORS,
) -> Traffic:
    """Replay one launch from cold.

    Cost: 0.1 to 0.3 microseconds per reference to a unit, on one core. Memory: 40 bytes per unit, 8
    per line.
    """
    from intelliperf_swizzle.cache.compiled import timed

    refs = timed.TimedReferences(
        stream.tile_offset,
        stream.ref_unit,
        stream.ref_code,
        stream.ref_issue,
        *pace(stream, target),
    )
    places = timed.Places(*slots(target, occupancy))
    rules = _rules(target, physics, stream)
    l2, crowding = _l2(stream, target, sets=physics.sets)
    chip, clocks = timed.replay(
        tile.astype(np.int32), refs, places, rules, l2, crowding, tensors, physics.seed
    )
    l1_hits, remote, remote_missed, fetched, written, activated = chip.counts.tolist()
    return Traffic(
        requests=chip.requests, misses=chip.misses,
        l2_bytes=int(chip.requests.sum()) * SECTOR_BYTES,
        l1_hit_lines=l1_hits * SECTOR_BYTES // LINE_BYTES,
        fill_lines=fetched * SECTOR_BYTES // LINE_BYTES, llc_hit_lines=0,
        written_bytes=written * SECTOR_BYTES, distinct_lines=len(stream.unit_line),
        crossed_bytes=remote * SECTOR_BYTES, crossed_misses=remote_missed,
        row_activations=activated, clocks=clocks, causes=chip.causes.counted,
    )  # fmt: skip


def _rules(target: NvidiaGpu, physics: Physics, stream: ReferenceStream) -> Rules:
    from intelliperf_swizzle.cache.compiled.chip import Rules

    groups = len(target.gpc_cus)
    return Rules(
        l2_hit=target.clocks_l2_hit,
        l2_remote=target.clocks_l2_remote,
        memory=target.clocks_memory,
        start=target.clocks_workgroup_start,
        l2_bytes=target.l2_gb_s / (target.clock_ghz or 1) / groups,
        memory_bytes=target.bytes_per_clock_memory / groups,
        cu_bytes=target.bytes_per_clock_cu,
        randomness=target.arbitration_randomness if physics.drift else 0.0,
        places=max(1, _FILLING_WAVES // stream.waves) if stream.waves else 0,
        in_flight=target.accesses_in_flight,
        l1_lines=target.l1_bytes // LINE_BYTES if physics.l1 and not stream.multiplies else 0,
        granule=target.l2_fill_bytes // SECTOR_BYTES,
        writes_hit=target.l2_writes_always_hit,
    )


def _l2(stream: ReferenceStream, target: NvidiaGpu, *, sets: bool) -> tuple[L2, Crowding]:
    """The empty L2 of both domains, and how crowded its sets are."""
    from intelliperf_swizzle.cache.compiled import nothing_held, sectors

    capacity = target.l2_lines_per_xcd
    lines = sectors.lines_at_home(stream.unit_offset, stream.unit_line)
    l2 = sectors.L2(
        lines=lines,
        sectors=np.zeros((stream.units, 2, 4), np.uint8),
        quarters=nothing_held(lines.reshape(-1), 8, 0),
        written=np.zeros(1, np.int64),
        rows=_rows(stream, target),
    )
    block_lines = capacity // target.l2_ways
    unit, block, share = sectors.sampled_blocks(stream.unit_offset, stream.unit_line, block_lines)
    uneven = np.array(unevenness(target.l2_ways) if sets else (0.0,) * 4)
    return l2, sectors.Crowding(unit, block, share, block_lines, capacity, uneven)


def _rows(stream: ReferenceStream, target: NvidiaGpu) -> Rows:
    """The rows of memory, none open; none counted where sectors are written in parts."""
    from intelliperf_swizzle.cache.compiled import sectors

    banks = target.memory_channels * target.memory_banks_per_channel
    row_lines = target.memory_row_bytes // LINE_BYTES
    found = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)
    if row_lines and (row_lines, banks) not in stream.rows:
        if _writers(stream) <= MOST_WRITERS:
            found = sectors.rows_of(stream.unit_offset, stream.unit_line, row_lines, banks)
        stream.rows[row_lines, banks] = found
    found = stream.rows.get((row_lines, banks), found)
    opened = np.full(banks if len(found[1]) else 0, -1, np.int64)
    return sectors.Rows(*found, opened, np.zeros(1, np.int64))


def _writers(stream: ReferenceStream) -> float:
    """How often a sector that is written at all is written, on average; 0 if none is."""
    stores = stream.ref_code >> 4 == Access.WRITE
    units, codes = stream.plain_units[stores], stream.ref_code[stores]
    bins = [np.bincount(units[codes >> k & 1 == 1], minlength=stream.units) for k in range(4)]
    writes, distinct = (int((np.array(n) @ stream.unit_lines).sum()) for n in (bins, np.sign(bins)))
    return writes / distinct if distinct else 0.0


def pace(stream: ReferenceStream, target: NvidiaGpu) -> tuple[npt.NDArray[np.float64], Int64Array]:
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
    if not (flops and lanes) or stream.tile_arithmetic is None:
        return np.zeros(stream.tiles), ahead
    accesses = np.maximum(stream.tile_accesses, 1)
    products, product_flops, vector = stream.tile_arithmetic.T
    work = (product_flops / flops + vector / lanes) / accesses
    buffers = np.where(accesses >= 2 * products, 3, 2)
    issued = np.clip(buffers * accesses // np.maximum(products, 1), 1, ahead)
    return work, np.where(products > 0, issued, ahead)


@lru_cache
def unevenness(ways: int) -> tuple[float, ...]:
    """How much longer than on average lines stay where a hash draws their sets at random.

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


def slots(target: NvidiaGpu, occupancy: int) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Places for workgroups in the order in which dispatch fills them: their CU, GPC and domain.

    All CUs get one workgroup, GPC after GPC, before any gets its second one.
    """
    group = np.repeat(np.arange(len(target.gpc_cus)), target.gpc_cus)
    domain = np.asarray(target.gpc_domains)[group]
    cu = np.tile(np.arange(len(group)), occupancy)
    return cu, group[cu], domain[cu]
