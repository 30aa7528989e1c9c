# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Helpers of which the environment decides what they do, or which ones they are."""

import os

import triton
import triton.language as tl

if os.environ.get("CHAIN"):
    from aggregates import doubled as one_of_two

    @triton.jit
    def hands_on(x):
        tl.store(x + 1, tl.load(x))

else:
    from aggregates import planned as one_of_two  # noqa: F401

    @triton.jit
    def hands_on(x):
        pass


def _made(value):
    @triton.jit
    def inner(x):
        tl.store(x, value)

    return inner


made_by_a_function = _made(tl.constexpr(len(os.environ)))
