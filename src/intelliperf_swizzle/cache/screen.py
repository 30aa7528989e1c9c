# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The quick look: an L2 hit rate in milliseconds, to decide what deserves a full replay."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from intelliperf_swizzle.cache.counting import misses_per_line, requests_per_line
from intelliperf_swizzle.cache.drift import drift
from intelliperf_swizzle.cache.stream import merge, stream_of
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Int32Array, Int64Array, Trace


class Screen:
    """A launch made ready, once, for the scoring of many orders.

    The physics is that of `replay` without L1, channels, sets and last-level cache: each domain's
    L2 is one fully associative LRU cache, cold at the start.

    Args:
        trace: of the launch.
        target: on which GPU.
        occupancy: workgroups resident on one CU.
        seed: of the drift between workgroups.
        whole_units: False scores line by line; slow, for comparison.
    """

    def __init__(
        self,
        trace: Trace,
        target: Target,
        occupancy: int,
        *,
        seed: int = 0,
        whole_units: bool = True,
    ) -> None:
        self.target = target
        self.programs = trace.tiles
        self._stream = stream_of(trace) if whole_units else merge(trace, whole_units=False)
        self._slots = target.cus_per_xcd * occupancy
        self._drift = drift(self._slots, target.num_xcds, target.step_skip_probability, seed)
        self._unit_lines = self._stream.unit_lines
        lines = self._unit_lines[self._stream.plain_units]
        code = self._stream.ref_code
        self._requests = int((lines * requests_per_line(target)[code]).sum())
        self._ref_misses = (lines * misses_per_line(target)[code]).astype(np.int32)
        domain = target.domain_of(np.arange(self.programs))
        self._by_domain = np.argsort(domain, kind="stable")
        self._domain_offset = np.searchsorted(
            domain[self._by_domain], np.arange(target.num_xcds + 1)
        ).astype(np.int64)

    def hit_rate(self, tile: Int64Array) -> float:
        """The L2 hit rate of the order `tile: int64[programs]`, from 0 to 1; 0 without requests.

        Cost: 5 to 20 ns a reference; 4 ms or more for a GEMM of 4096 tiles and 1.05 M references.
        """
        from intelliperf_swizzle.cache.kernels import screen_misses

        if self._requests == 0:
            return 0.0
        tiles: Int32Array = tile[self._by_domain].astype(np.int32)
        misses = screen_misses(
            tiles,
            self._domain_offset,
            self._stream.tile_offset,
            self._stream.ref_unit,
            self._ref_misses,
            self._unit_lines,
            self._drift.turn_offset,
            self._drift.turn_slot,
            self._drift.first_turn,
            self._slots,
            self.target.l2_lines_per_xcd,
        )
        return 1.0 - float(misses) / self._requests

    def hit_rates(self, tiles: Sequence[Int64Array]) -> list[float]:
        """`hit_rate` of many orders, on all cores."""
        with ThreadPoolExecutor(cores()) as pool:
            return list(pool.map(self.hit_rate, tiles))


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
