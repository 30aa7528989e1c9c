# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The profiler without a GPU: the cache model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from intelliperf_swizzle.cache import MappedLaunch, Physics, Screen, replay, requests
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.kernel.edit import Edit
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.records import Int64Array, Measurement, Proof


class ModelProfiler:
    """Replays the traces with full physics; every number it gives is modelled."""

    name = "model"
    runs_application = False

    def __init__(self, target: Target):
        self._target = target
        self.device = target.name

    def measure(
        self,
        launches: Sequence[TracedLaunch],
        proofs: Sequence[Proof],
        edit: Edit | None = None,
    ) -> Measurement:
        """One measurement over all launches, each as often as it was seen."""
        runs = [
            MappedLaunch(one.trace, proof.tile, one.launch.count, one.occupancy)
            for one, proof in zip(launches, proofs, strict=True)
        ]
        return replay(runs, self._target)


FULL_PHYSICS_LINES = 3_000_000
"""Line accesses of one L2 up to which a screen can afford full physics (some 30 ms)."""

ONE_DOMAIN = Physics(llc=False, domains=1)
"""Full physics up to the L2, on one domain."""


class ModelScreen:
    """The fast model that sorts candidates before they are measured.

    Small launches are replayed with full physics on one L2, large ones by `cache.Screen`.
    """

    def __init__(self, launches: Sequence[TracedLaunch], target: Target):
        self._raters = [_rater(one, target) for one in launches]
        weights = [requests(one.trace, target) * one.launch.count for one in launches]
        self._weights = np.asarray(weights, float) / max(1, sum(weights))
        self._identity = [np.arange(one.trace.tiles) for one in launches]

    def hit_rate(self, tiles: Sequence[Int64Array]) -> float:
        """L2 hit rate of a mapping per launch, over all launches by their L2 requests."""
        rates = [rate(tile) for rate, tile in zip(self._raters, tiles, strict=True)]
        return float(np.dot(self._weights, rates))

    def baseline(self) -> float:
        """The L2 hit rate of the unchanged kernel."""
        return self.hit_rate(self._identity)


def _rater(one: TracedLaunch, target: Target) -> Callable[[Int64Array], float]:
    if one.trace.line_accesses > FULL_PHYSICS_LINES * target.num_xcds:
        return Screen(one.trace, target, one.occupancy).hit_rate

    def rate(tile: Int64Array) -> float:
        run = MappedLaunch(one.trace, tile, occupancy=one.occupancy)
        return replay([run], target, ONE_DOMAIN).l2_hit_rate

    return rate
