# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Swizzles applied when Triton compiles a kernel: `rules` writes them, `runtime` applies them."""

from intelliperf_swizzle.frontends.triton.overlay.rules import applying, rules_of

__all__ = ["applying", "rules_of"]
