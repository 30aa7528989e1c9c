# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the cache model says of launches, and the fast model that sorts candidates."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from intelliperf_swizzle import cache, records
from intelliperf_swizzle.children import call
from intelliperf_swizzle.frontends.emit import serial_divisions
from intelliperf_swizzle.hardware import NvidiaGpu, Target
from intelliperf_swizzle.language import Swizzle
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.records import Int64Array, Launch, Measurement, launched_axes
from intelliperf_swizzle.stopping import ahead


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
        cache.ReplayedLaunch(traced.trace, tile, traced.launch.count, traced.occupancy)
        for traced, tile in zip(launches, tiles, strict=True)
    ]
    return cache.replay(runs, target, causes=causes)


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
    rounds = sum(t.launch.tiles * t.launch.count / (t.occupancy * target.cus) for t in launches)
    return cache.add_division_time(measured, divisions, rounds, target)


def divisions_of(swizzle: Swizzle, launch: Launch, target: Target) -> int:
    """The number of divisions on a swizzle's longest dependence chain in this launch's kernel."""
    axes = launched_axes(launch.numbers)
    return serial_divisions(swizzle, axes=axes, literals=launch.constexprs, **target.inputs)


FULL_PHYSICS_LINES = 3_000_000
"""Line accesses of one L2 up to which a screen can afford full physics (some 30 ms)."""

ONE_DOMAIN = cache.Physics(llc=False, domains=1)
"""Full physics up to the L2, on one domain."""


FIRST_TURNS = cache.Physics(turns=4)
"""Full physics for the first tiles of each program. Chosen on a persistent GEMM 8192 x 8192 x 4096
of an H100, where programs drift apart over 31 tiles: of GROUP_M 1 to 32 it finds 8 and 16 the best,
as a replay of all tiles does in ten times as long; `cache.Screen`, without a clock, finds 32."""


class ModelScreen:
    """The fast model that sorts candidates before they are measured.

    Small launches are replayed with full physics on one L2, large ones by `cache.Screen`, or if
    programs take several tiles on a GPU that is replayed by time, by their first tiles.
    """

    def __init__(self, launches: Sequence[TracedLaunch], target: Target):
        self._raters = [_rater(launch, target) for launch in launches]
        weights = [cache.requests(t.trace, target) * t.launch.count for t in launches]
        self._weights = np.asarray(weights, float) / max(1, sum(weights))

    def hit_rate(self, tiles: Sequence[Int64Array]) -> float:
        """L2 hit rate of a mapping per launch, over all launches by their L2 requests."""
        rates = [rate(tile) for rate, tile in zip(self._raters, tiles, strict=True)]
        return float(np.dot(self._weights, rates))


def load_model(target: Target, folder: Path | None = None) -> None:
    """Has the model's functions loaded, or compiled where they never were, by a launch of a tile.

    Costs a second, on a new machine half a minute; there a child, which has a folder, compiles
    what bounds and screens meanwhile.
    """
    from intelliperf_swizzle.jit import IS_NEW

    kinds = np.array([records.Access.READ, records.Access.WRITE], np.uint8)
    two, every = np.arange(2, dtype=np.int32), np.full(4, 15, np.uint8)
    lines = two, np.array([0, 2, 4]), np.tile(two, 2), every, kinds
    segment = records.Segment(("x",), 0, 4)
    tile = records.Trace((1, 1, 1), np.array([0, 2]), 2 * two, *lines, (segment,), "batched")
    if folder is None:
        if IS_NEW:
            ahead(lambda: call(f"{__name__}:load_model", target, limit_seconds=300.0))
        cache.replay([cache.ReplayedLaunch(tile, np.arange(1))], target, causes=True)
    cache.ceiling([tile], target, [1])
    cache.Screen(tile, target, 1).hit_rate(np.arange(1))


def _rater(traced: TracedLaunch, target: Target) -> Callable[[Int64Array], float]:
    physics = ONE_DOMAIN
    if traced.trace.line_accesses > FULL_PHYSICS_LINES * target.num_xcds:
        if traced.trace.program is None or not isinstance(target, NvidiaGpu):
            return cache.Screen(traced.trace, target, traced.occupancy).hit_rate
        physics = FIRST_TURNS

    def rate(tile: Int64Array) -> float:
        run = cache.ReplayedLaunch(traced.trace, tile, occupancy=traced.occupancy)
        return cache.replay([run], target, physics).l2_hit_rate

    return rate
