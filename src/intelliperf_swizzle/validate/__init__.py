# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether a swizzled kernel does what the original does: same tree, proved mapping, same bytes."""

from __future__ import annotations

from intelliperf_swizzle.validate.compare import validate
from intelliperf_swizzle.validate.order import safe_order
from intelliperf_swizzle.validate.tree import same_tree

__all__ = ["safe_order", "same_tree", "validate"]
