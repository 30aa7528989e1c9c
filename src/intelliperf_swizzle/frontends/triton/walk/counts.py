# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a kernel computes on floating-point blocks, for the time model."""

from __future__ import annotations

import math

import numpy as np

from intelliperf_swizzle.frontends.triton.ir.parse import Block as BasicBlock
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.frontends.triton.walk.elements import tensor_of
from intelliperf_swizzle.records import Int64Array

SPECIAL = 16
"""An SM begins 128 multiply-adds, which are two operations, or 16 special functions in a clock.
Source: CUDA C++ programming guide, throughput of native arithmetic instructions, capability 9.0."""

_PLAIN = (
    "arith.subf arith.mulf arith.negf math.absf arith.minimumf arith.minnumf arith.maximumf "
    "arith.maxnumf tt.clampf"
)
_SPECIAL = (
    "arith.divf tt.precise_divf math.exp math.exp2 math.log math.log2 math.sqrt tt.precise_sqrt "
    "math.rsqrt math.sin math.cos math.erf arith.remf"
)
_WEIGHTS = {
    "arith.addf": 1,
    "math.fma": 2,
    **dict.fromkeys(_PLAIN.split(), 1),
    **dict.fromkeys(_SPECIAL.split(), SPECIAL),
}


def arithmetic_of(kernel: Kernel, block: BasicBlock) -> Int64Array:
    """int64[3]: matrix products; their operations; and operations on the lanes of blocks.

    Those of products on 16-bit numbers count once and on 32-bit numbers twice, special functions
    as `SPECIAL`. Adding a product to a block is part of it. Reductions and libdevice are not
    counted, and that 64-bit and IEEE 32-bit products have no tensor cores on NVIDIA is not known
    here. Operations inside of inner loops and branches belong to the blocks of these.
    """
    total = np.zeros(3, np.int64)
    for op in block.ops:
        if op.name in ("tt.dot", "tt.dot_scaled"):
            element, left = tensor_of(kernel.types[op.operands[0]])
            lanes = math.prod(tensor_of(kernel.types[op.results[0]])[1])
            total += (1, 2 * lanes * left[-1] * element.bits // 16, 0)
        elif op.name in _WEIGHTS:
            lanes = math.prod(tensor_of(kernel.types[op.results[0]])[1])
            if lanes > 1 and not (op.name == "arith.addf" and _adds_product(kernel, op)):
                total[2] += _WEIGHTS[op.name] * lanes
    return total


def _adds_product(kernel: Kernel, op: Op) -> bool:
    made = (kernel.defs.get(operand) for operand in op.operands)
    return any(one is not None and one.name in ("tt.dot", "tt.dot_scaled") for one in made)
