# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The orders of `../h200`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from h200.mappings import mappings

__all__ = ["mappings"]
