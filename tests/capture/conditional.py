# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A helper of which the environment decides what it does."""

import os

import triton
import triton.language as tl

if os.environ.get("CHAIN"):

    @triton.jit
    def hands_on(x):
        tl.store(x + 1, tl.load(x))

else:

    @triton.jit
    def hands_on(x):
        pass
