# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A kernel that uses a class below `@aggregate`.

No annotation is postponed here: Triton 3.6 wants the types of fields, not their names.
"""

import triton
import triton.language as tl
from triton.language.core import _aggregate as aggregate


def planned(method):
    """A kernel whose program id is read by a method of an aggregate."""

    @aggregate
    class Plan:
        rows: tl.tensor

        @triton.constexpr_function
        def __init__(self, rows):
            self.rows = rows

        first = method

    @triton.jit
    def kernel(x, M, N, B: tl.constexpr):
        tl.store(x + Plan(M).first() * M + N, B)

    return kernel


@triton.jit
def own_number(self):
    return tl.program_id(0)


@triton.jit
def next_number(self):
    return tl.program_id(0) + 1
