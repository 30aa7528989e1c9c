# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
# ruff: noqa: N803
"""A module of the user's beside the application."""

import triton
import triton.language as tl

SHIFT: tl.constexpr = tl.constexpr(5)


@triton.jit
def offsets(block, BLOCK: tl.constexpr):
    return block * BLOCK + tl.arange(0, BLOCK)
