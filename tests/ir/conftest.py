# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Launches are written by hand as the tests of `kernel` do."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "kernel"))
