# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether a swizzled kernel does what the original does: same tree, proved mapping, same bytes."""

from __future__ import annotations

from intelliperf_swizzle.frontends.triton.validate.compare import difference_of_text, validate
from intelliperf_swizzle.frontends.triton.validate.tree import same_tree

__all__ = ["difference_of_text", "same_tree", "validate"]
