# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a replay counts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from intelliperf_swizzle.records import Int64Array


@dataclass(frozen=True)
class Traffic:
    """What went through the levels, summed over launches; lines and requests are exact counts.

    Attributes:
        requests: int64[domains]; L2 requests.
        misses: int64[domains]; those that missed.
        l2_bytes: bytes of these requests.
        l1_hit_lines: lines that reads found in an L1.
        fill_lines: lines that the L2s fetched for reads and atomics.
        llc_hit_lines: those of them found in the last-level cache.
        written_bytes: bytes that the L2s wrote back.
        distinct_lines: different lines touched, of each launch.
        crossed_bytes: NVIDIA: bytes that went from one side of the L2 to the other.
        crossed_misses: NVIDIA: sectors of them that were not there.
        causes: int64[tensors, 5]; of each tensor the requests, and the misses that are compulsory,
            of another domain, of capacity and of conflict. No tensor if nobody asked.
        row_activations: NVIDIA: rows of memory that were opened.
        clocks: NVIDIA: of the timed replay.
    """

    requests: Int64Array
    misses: Int64Array
    l2_bytes: int
    l1_hit_lines: int
    fill_lines: int
    llc_hit_lines: int
    written_bytes: int
    distinct_lines: int
    crossed_bytes: int = 0
    crossed_misses: int = 0
    causes: Int64Array = field(default_factory=lambda: np.zeros((0, 5), np.int64))
    row_activations: int = 0
    clocks: float = 0.0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(*(getattr(self, f) + getattr(other, f) for f in self.__dataclass_fields__))

    def __sub__(self, other: Traffic) -> Traffic:
        return self + other * -1

    def __mul__(self, count: int) -> Traffic:
        return Traffic(*(getattr(self, f) * count for f in self.__dataclass_fields__))
