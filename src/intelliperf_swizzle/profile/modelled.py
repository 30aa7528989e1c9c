# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Hit rates by the cache model: with full physics, and a fast screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from intelliperf_swizzle.cache import (
    Physics,
    ReplayedLaunch,
    Screen,
    add_division_time,
    replay,
    requests,
)
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import Swizzle, serial_divisions
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.records import Int64Array, Launch, Measurement


def model_launches(
    launches: Sequence[TracedLaunch],
    tiles: Sequence[Int64Array],
    target: Target,
    *,
    causes: bool = True,
) -> Measurement:
    """Replays launches with full physics, each as often as it was seen; every number is modelled.

    Args:
        launches: of one kernel.
        tiles: int64[programs] of each: program -> tile, a permutation.
        target: the GPU.
        causes: also find out why requests miss; nothing else depends on it.
    """
    runs = [
        ReplayedLaunch(one.trace, tile, one.launch.count, one.occupancy)
        for one, tile in zip(launches, tiles, strict=True)
    ]
    return replay(runs, target, causes=causes)


def model_swizzle(
    swizzle: Swizzle,
    launches: Sequence[TracedLaunch],
    tiles: Sequence[Int64Array],
    target: Target,
    *,
    causes: bool = False,
) -> Measurement:
    """`model_launches`, with the time that the swizzle itself takes."""
    measured = model_launches(launches, tiles, target, causes=causes)
    return add_swizzle_time(measured, swizzle, launches, target)


def add_swizzle_time(
    measured: Measurement, swizzle: Swizzle, launches: Sequence[TracedLaunch], target: Target
) -> Measurement:
    """A measurement of launches, with the time of the swizzle's own divisions."""
    divisions = divisions_of(swizzle, launches[0].launch, target)
    resident = [one.occupancy * target.cus for one in launches]
    rounds = sum(
        one.launch.tiles * one.launch.count / at_once
        for one, at_once in zip(launches, resident, strict=True)
    )
    return add_division_time(measured, divisions, rounds, target)


def divisions_of(swizzle: Swizzle, launch: Launch, target: Target) -> int:
    """The number of divisions on a swizzle's longest dependence chain in this launch's kernel."""
    axes = max((axis for axis, extent in enumerate(launch.numbers, 1) if extent > 1), default=1)
    return serial_divisions(
        swizzle,
        axes=axes,
        num_xcds=target.num_xcds,
        cus_per_xcd=target.cus_per_xcd,
        literals=launch.constexprs,
    )


FULL_PHYSICS_LINES = 3_000_000
"""Line accesses of one L2 up to which a screen can afford full physics (some 30 ms)."""

ONE_DOMAIN = Physics(llc=False, domains=1)
"""Full physics up to the L2, on one domain."""


FIRST_TURNS = Physics(turns=4)
"""Full physics for the first tiles of each program. Chosen on a persistent GEMM 8192 x 8192 x 4096
of an H100, where programs drift apart over 31 tiles: of GROUP_M 1 to 32 it finds 8 and 16 the best,
as a replay of all tiles does in ten times as long; `cache.Screen`, without a clock, finds 32."""


class ModelScreen:
    """The fast model that sorts candidates before they are measured.

    Small launches are replayed with full physics on one L2, large ones by `cache.Screen`, or if
    programs take several tiles on a GPU that is replayed by time, by their first tiles.
    """

    def __init__(self, launches: Sequence[TracedLaunch], target: Target):
        self._raters = [_rater(one, target) for one in launches]
        weights = [requests(one.trace, target) * one.launch.count for one in launches]
        self._weights = np.asarray(weights, float) / max(1, sum(weights))

    def hit_rate(self, tiles: Sequence[Int64Array]) -> float:
        """L2 hit rate of a mapping per launch, over all launches by their L2 requests."""
        rates = [rate(tile) for rate, tile in zip(self._raters, tiles, strict=True)]
        return float(np.dot(self._weights, rates))


def _rater(one: TracedLaunch, target: Target) -> Callable[[Int64Array], float]:
    physics = ONE_DOMAIN
    if one.trace.line_accesses > FULL_PHYSICS_LINES * target.num_xcds:
        if one.trace.program is None or not target.l2_copies_remote_lines:
            return Screen(one.trace, target, one.occupancy).hit_rate
        physics = FIRST_TURNS

    def rate(tile: Int64Array) -> float:
        run = ReplayedLaunch(one.trace, tile, occupancy=one.occupancy)
        return replay([run], target, physics).l2_hit_rate

    return rate
