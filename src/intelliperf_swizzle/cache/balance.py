# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""When the last workgroup ends, if some have more to do than others."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from intelliperf_swizzle.cache.stream import ReferenceStream
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import LINE_BYTES, Float64Array

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
    if not any(is_uneven(one[0]) for one in runs):
        return None
    ends = earliest = 0.0
    for taken, launches, occupancy in runs:
        queues = [taken]
        if not target.l2_copies_remote_lines:
            domain = target.domain_of(np.arange(len(taken)))
            queues = [taken[domain == one] for one in range(target.num_xcds)]
        slots = occupancy * target.cus // len(queues)
        ends += launches * max(_last_end(queue, slots) for queue in queues)
        together = float(taken.sum()) / (occupancy * target.cus)
        earliest += launches * max(together, float(taken.max()))
    return ends / earliest


def _last_end(work: Float64Array, slots: int) -> float:
    """When the last of some workgroups ends that start in this order."""
    free = sorted(work[:slots].tolist())
    for one in work[slots:].tolist():
        heapq.heapreplace(free, free[0] + one)
    return max(free, default=0.0)
