# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The kernels that the tests of `kernel` splice are the ones validated here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "kernel"))
