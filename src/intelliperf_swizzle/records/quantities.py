# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Types of arrays and numbers that rooms hand to each other, and the grain of memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.codec import Between

Int64Array: TypeAlias = npt.NDArray[np.int64]
Float64Array: TypeAlias = npt.NDArray[np.float64]
Int32Array: TypeAlias = npt.NDArray[np.int32]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]

Grid: TypeAlias = tuple[int, int, int]
Constants: TypeAlias = Mapping[str, int]
Rate: TypeAlias = Annotated[float, Between(0, 1)]

LINE_BYTES = 128
"""Bytes of a cache line; of every level of every supported GPU that a swizzle can matter to."""
SECTOR_BYTES = 32
"""Bytes of a sector, the quarter of a line that NVIDIA counts and the grain of partial lines."""
