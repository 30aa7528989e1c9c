# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How far the cache model lies from measured counters.

`folder` reads measurements and the kernels that they were taken of, `configuration` records and
traces those without a GPU, `order_table` replays them under the measured orders, `comparison` sets
modelled beside measured, `summary` sums it up, and `command` is the verb `validate-model`.
"""

from __future__ import annotations

from accuracy.comparison import (
    Measurements,
    ModelAccuracy,
    Pair,
    compare,
    compare_each,
)
from accuracy.folder import FolderOfMeasurements

__all__ = [
    "FolderOfMeasurements",
    "Measurements",
    "ModelAccuracy",
    "Pair",
    "compare",
    "compare_each",
]
