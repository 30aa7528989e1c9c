# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The replay in time of loops that load ahead, on L2s that know nothing of each other (AMD).

The loads of a step are issued while the step before is computed, so data that come late hold a
workgroup up, longest where its domain has not had them yet. That decides how far workgroups drift
apart: one that finds in the L2 what others have fetched catches up with them. All CUs ask at once:
no more than a few lines of one come between those of others.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from intelliperf_swizzle.cache.balance import arithmetic
from intelliperf_swizzle.cache.physics import Physics
from intelliperf_swizzle.cache.stream import ReferenceStream
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import LINE_BYTES

if TYPE_CHECKING:
    from intelliperf_swizzle.cache.compiled.latencies import Clocks, Stages

_MOST_PRODUCTS = 3
"""Matrix products of one step of a loop, at most, that are told from those of several steps."""


def is_pipelined(stream: ReferenceStream, target: Target, physics: Physics) -> bool:
    """Whether time decides how workgroups drift apart."""
    return physics.drift and target.clocks_llc is not None and stream.multiplies


def clocks_of(target: Target) -> Clocks:
    """What takes how long on a target, in clocks of a CU."""
    from intelliperf_swizzle.cache.compiled.latencies import Clocks

    clock = target.clock_ghz or 1.0
    return Clocks(
        line=LINE_BYTES * target.cus * clock / target.l2_gb_s,
        hit=target.clocks_l2_hit or 0.0,
        first=target.clocks_memory or 0.0,
        again=target.clocks_llc or 0.0,
        start=target.clocks_workgroup_start or 0.0,
        fill=LINE_BYTES * target.num_xcds * clock / (target.llc_gb_s or target.memory_gb_s),
    )


def stages_of(stream: ReferenceStream, target: Target) -> Stages:
    """A stage is the loads of one step of the loop: two of a GEMM, for each matrix product."""
    from intelliperf_swizzle.cache.compiled.latencies import Stages

    loads, products = stream.tile_loads, stream.tile_products
    pairs, number = np.unique(np.stack((loads, products)), axis=1, return_inverse=True)
    each = [
        Fraction(*map(int, pair)).limit_denominator(_MOST_PRODUCTS) if pair[1] else Fraction(1)
        for pair in pairs.T
    ]
    stage = np.array([max(1, one.numerator) for one in each], np.int64)[number.reshape(-1)]
    clocks = arithmetic(stream, target)
    total = np.zeros(stream.tiles) if clocks is None else clocks
    return Stages(stage, total * stage / np.maximum(loads, stage))
