# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Launch -> for each tile, the cache lines it touches."""

from intelliperf_swizzle.trace.dependence import Dependence, dependence, not_known
from intelliperf_swizzle.trace.parent import dependences, trace

__all__ = ["Dependence", "dependence", "dependences", "not_known", "trace"]
