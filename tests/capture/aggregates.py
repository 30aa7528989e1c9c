# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Kernels that use classes below `@aggregate`.

No annotation is postponed here: Triton 3.6 wants the types of fields, not their names.
"""

import triton
import triton.language as tl
from triton.language.core import _aggregate as aggregate


@aggregate
class Width:
    tiles: tl.tensor

    @triton.constexpr_function
    def __init__(self, tiles):
        self.tiles = tiles


@aggregate
class Plan:
    width: Width

    @triton.constexpr_function
    def __init__(self, width):
        self.width = width

    @triton.jit
    def first(self):
        return tl.program_id(0) + Plan(self.width).width.tiles


@triton.jit
def planned(n):
    return Plan(Width(n)).first()


@aggregate
class Doubled:
    tiles: tl.tensor

    def __init__(self, tiles):
        self.tiles = tiles + tiles


@triton.jit
def doubled(n):
    return Doubled(n).tiles
