# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The profiler without a GPU: the cache model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from intelliperf_swizzle.cache import Run, Screen, replay
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
            Run(one.trace, proof.tile, one.launch.count, one.occupancy)
            for one, proof in zip(launches, proofs, strict=True)
        ]
        return replay(runs, self._target)


class ModelScreen:
    """The fast, coarser model that sorts candidates before they are measured."""

    def __init__(self, launches: Sequence[TracedLaunch], target: Target):
        self._screens = [Screen(one.trace, target, one.occupancy) for one in launches]
        weights = [one.trace.line_accesses * one.launch.count for one in launches]
        self._weights = np.asarray(weights, float) / max(1, sum(weights))
        self._identity = [np.arange(one.trace.tiles) for one in launches]

    def hit_rate(self, tiles: Sequence[Int64Array]) -> float:
        """L2 hit rate of a mapping per launch, over all launches by their traffic."""
        rates = [screen.hit_rate(tile) for screen, tile in zip(self._screens, tiles, strict=True)]
        return float(np.dot(self._weights, rates))

    def baseline(self) -> float:
        """The L2 hit rate of the unchanged kernel."""
        return self.hit_rate(self._identity)
