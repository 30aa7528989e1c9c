# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What programs compute on floating-point blocks, counted while they are interpreted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from intelliperf_swizzle.interpreter.blocks import Block

Counts = tuple[int, int, int]
"""Matrix products (`tl.dot`); their operations, those on 16-bit numbers once and those on 32-bit
numbers twice; and operations on the lanes of blocks, special functions as `SPECIAL` each. Adding a
product to a block is part of it. Reductions and libdevice are not counted, and that 64-bit and IEEE
32-bit products have no tensor cores on NVIDIA is not known here."""

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
def counting(builder: Any, count: Callable[[Counts], None]) -> Iterator[None]:
    """Tell `count` of every operation that a builder of the interpreter makes, for one program."""
    product: Any = None

    def multiplied(operation: Callable[..., Any]) -> Callable[..., Any]:
        def counted(left: Any, *operands: Any) -> Any:
            nonlocal product
            product = operation(left, *operands)
            bits = left.dtype.scalar.primitive_bitwidth
            count((1, 2 * math.prod(_extents(product)) * _extents(left)[-1] * bits // 16, 0))
            return product

        return counted

    def computed(operation: Callable[..., Any], weight: int) -> Callable[..., Any]:
        def counted(*operands: Any) -> Any:
            result = operation(*operands)
            lanes = math.prod(_extents(result))
            if lanes > 1:
                count((0, 0, weight * lanes))
            return result

        return counted

    def added(operation: Callable[..., Any]) -> Callable[..., Any]:
        counted = computed(operation, 1)

        def unless_product(left: Any, right: Any) -> Any:
            if product is not None and (left is product or right is product):
                return operation(left, right)
            return counted(left, right)

        return unless_product

    own: dict[str, Callable[..., Any]]
    own = {f"create_{name}": partial(computed, weight=weight) for name, weight in _WEIGHTS.items()}
    own |= {"create_fadd": added, "create_dot": multiplied, "create_dot_scaled": multiplied}
    replaced = [name for name in own if hasattr(builder, name)]
    for name in replaced:
        setattr(builder, name, own[name](getattr(builder, name)))
    try:
        yield
    finally:
        for name in replaced:
            delattr(builder, name)


def _extents(handle: Any) -> tuple[int, ...]:
    """Of one program's block; a handle that Triton made is of one program."""
    return tuple(handle.shape if isinstance(handle, Block) else handle.data.shape)
