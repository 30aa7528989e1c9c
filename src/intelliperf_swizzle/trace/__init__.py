# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Launch -> for each tile, the cache lines it touches."""

from intelliperf_swizzle.trace.parent import find_dependences, trace

__all__ = ["find_dependences", "trace"]
