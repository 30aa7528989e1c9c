# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The compiled inner loops of the cache model. Everything here imports numba, so import it late.

A *domain's tiles* are those of the workgroups that land on one L2, in launch order. What the arrays
hold is said in `stream.ReferenceStream` and `drift.Drift`.
"""

from __future__ import annotations

import numpy as np

from intelliperf_swizzle.jit import Integer, jit


@jit
def mix(value: Integer) -> np.uint64:
    """A 64-bit finaliser (splitmix64), after Steele, Lea and Flood, OOPSLA 2014."""
    x = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
