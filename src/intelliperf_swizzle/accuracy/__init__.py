# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How far the cache model lies from measured counters.

`folder` reads measurements and the kernels that they were taken of, `configuration` records and
traces those without a GPU, `table` replays them under the measured orders, `compare` sets modelled
beside measured, and `statistics` sums it up.
"""

from __future__ import annotations

from intelliperf_swizzle.accuracy.comparison import (
    Measurements,
    ModelAccuracy,
    Pair,
    compare,
    compare_each,
)
from intelliperf_swizzle.accuracy.folder import FolderOfMeasurements

__all__ = [
    "FolderOfMeasurements",
    "Measurements",
    "ModelAccuracy",
    "Pair",
    "compare",
    "compare_each",
]
