# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What programs compute on floating-point blocks, counted while they are interpreted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from intelliperf_swizzle.frontends.triton.interpreter.blocks import Block

Counts = tuple[int, int, int]
"""Matrix products (`tl.dot`); their operations, those on 16-bit numbers once and those on 32-bit
numbers twice; and operations on the lanes of blocks, special functions as `SPECIAL` each. Adding a
product to a block is part of it. Reductions and libdevice are not counted, and that 64-bit and IEEE
32-bit products have no tensor cores on NVIDIA is not known here."""

Operation: TypeAlias = Callable[..., TensorHandle]

SPECIAL = 16
"""An SM begins 128 multiply-adds, which are two operations, or 16 special functions in a clock.
Source: CUDA C++ programming guide, throughput of native arithmetic instructions, capability 9.0."""

_PLAIN = "fsub fmul fneg fabs minimumf minnumf maximumf maxnumf clampf"
_SPECIAL = (
    "fdiv precise_divf approx_divf exp exp2 log log2 sqrt precise_sqrt rsqrt sin cos erf frem"
)
_WEIGHTS = {
    "fma": 2,
    **dict.fromkeys(_PLAIN.split(), 1),
    **dict.fromkeys(_SPECIAL.split(), SPECIAL),
}


@contextmanager
def counting(builder: InterpreterBuilder, count: Callable[[Counts], None]) -> Iterator[None]:
    """Tell `count` of every operation that a builder of the interpreter makes, for one program."""
    product: TensorHandle | None = None

    def count_product(operation: Operation) -> Operation:
        def multiply(left: TensorHandle, *operands: object) -> TensorHandle:
            nonlocal product
            product = operation(left, *operands)
            bits = left.dtype.scalar.primitive_bitwidth
            count((1, 2 * math.prod(_extents(product)) * _extents(left)[-1] * bits // 16, 0))
            return product

        return multiply

    def count_lanes(operation: Operation, weight: int) -> Operation:
        def compute(*operands: object) -> TensorHandle:
            result = operation(*operands)
            lanes = math.prod(_extents(result))
            if lanes > 1:
                count((0, 0, weight * lanes))
            return result

        return compute

    def count_sum(operation: Operation) -> Operation:
        add_and_count = count_lanes(operation, 1)

        def add(left: TensorHandle, right: TensorHandle) -> TensorHandle:
            if product is not None and (left is product or right is product):
                return operation(left, right)
            return add_and_count(left, right)

        return add

    own: dict[str, Callable[[Operation], Operation]] = {
        **{f"create_{n}": partial(count_lanes, weight=w) for n, w in _WEIGHTS.items()},
        "create_fadd": count_sum,
        **dict.fromkeys(("create_dot", "create_dot_scaled"), count_product),
    }
    replaced = [name for name in own if hasattr(builder, name)]
    for name in replaced:
        setattr(builder, name, own[name](getattr(builder, name)))
    try:
        yield
    finally:
        for name in replaced:
            delattr(builder, name)


def _extents(handle: TensorHandle) -> tuple[int, ...]:
    """Of one program's block; a handle that Triton made is of one program."""
    return tuple(handle.shape if isinstance(handle, Block) else handle.data.shape)
