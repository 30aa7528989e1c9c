# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Arithmetic on blocks, lane by lane: integer sums are kept apart, all else on aligned arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from intelliperf_swizzle.frontends.triton.walk.batch import Programs
from intelliperf_swizzle.frontends.triton.walk.blocks import (
    Array,
    Block,
    Element,
    align,
    decode,
    encode,
    merge,
    rounded,
    sum_is_exact,
    terms_of,
)

Function = Callable[..., Array]


def _unsigned(array: Array) -> Array:
    return array if array.dtype == np.bool_ else array.view(f"u{array.dtype.itemsize}")


def _as_unsigned(function: Function) -> Function:
    """The function on the same bits without a sign."""

    def on_bits(left: Array, right: Array) -> Array:
        found = function(_unsigned(left), _unsigned(right))
        return found if found.dtype == np.bool_ else np.asarray(found.view(left.dtype))

    return on_bits


def _divide(left: Array, right: Array) -> Array:
    """Rounds towards 0, as C does."""
    if left.size and right.size and left.min() >= 0 and right.min() > 0:
        return np.asarray(left // right)
    return np.asarray((left - np.fmod(left, right)) // right)


def _shift(function: Function) -> Function:
    """A shift by the width or more leaves nothing."""

    def shift(left: Array, right: Array) -> Array:
        if left.dtype == np.bool_:
            return left & ~right
        width = left.dtype.itemsize * 8
        return np.where(_unsigned(right) < width, function(left, right), left.dtype.type(0))

    return shift


def _high_bits(left: Array, right: Array) -> Array:
    """The upper half of an unsigned product."""
    wide = np.uint64 if left.dtype.itemsize <= 4 else np.dtype(object)
    product = _unsigned(left).astype(wide) * _unsigned(right).astype(wide)
    bits = left.dtype.itemsize * 8
    return (
        np.asarray(product >> wide(bits) if wide is np.uint64 else product >> bits)
        .astype(f"u{left.dtype.itemsize}")
        .view(left.dtype)
    )


def _clamp(value: Array, low: Array, high: Array) -> Array:
    return np.fmin(np.fmax(value, low), high)


def _error_function(values: Array) -> Array:
    import torch

    found: Array = torch.erf(torch.from_numpy(np.ascontiguousarray(values))).numpy()
    return found


_INTEGERS: Mapping[str, Function] = {
    "arith.muli": np.multiply, "arith.divsi": _divide, "arith.remsi": np.fmod,
    "arith.divui": _as_unsigned(np.floor_divide), "arith.remui": _as_unsigned(np.remainder),
    "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor, "arith.andi": np.bitwise_and,
    "arith.addi": np.add, "arith.subi": np.subtract,
    "arith.shli": _shift(np.left_shift), "arith.shrsi": _shift(np.right_shift),
    "arith.shrui": _shift(_as_unsigned(np.right_shift)),
    "arith.minsi": np.minimum, "arith.maxsi": np.maximum,
    "arith.minui": _as_unsigned(np.minimum), "arith.maxui": _as_unsigned(np.maximum),
    "arith.ceildivsi": lambda a, b: -_divide(-a, b), "arith.floordivsi": np.floor_divide,
    "tt.mulhiui": _high_bits, "math.absi": np.abs,
}  # fmt: skip
_FLOATS: Mapping[str, Function] = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply,
    "arith.divf": np.divide, "tt.precise_divf": np.divide, "arith.remf": np.fmod,
    "arith.negf": np.negative, "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum, "tt.clampf": _clamp,
    "math.fma": lambda a, b, c: a * b + c, "math.exp": np.exp, "math.exp2": np.exp2,
    "math.log": np.log, "math.log2": np.log2, "math.sqrt": np.sqrt, "tt.precise_sqrt": np.sqrt,
    "math.rsqrt": lambda a: (1 / np.sqrt(a)).astype(a.dtype), "math.sin": np.sin,
    "math.cos": np.cos, "math.floor": np.floor, "math.ceil": np.ceil, "math.absf": np.abs,
    "math.erf": _error_function, "math.tanh": np.tanh, "math.log1p": np.log1p,
    "math.expm1": np.expm1, "math.powf": np.power, "math.tan": np.tan, "math.round": np.round,
    "math.trunc": np.trunc, "math.log10": np.log10, "math.atan2": np.arctan2,
}  # fmt: skip
_LIBDEVICE: Mapping[str, Function] = {
    "abs": np.abs, "fabs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh,
    "cbrt": np.cbrt, "ceil": np.ceil, "copysign": np.copysign, "cos": np.cos, "cosh": np.cosh,
    "div_rn": np.divide, "erf": _error_function, "exp": np.exp, "exp2": np.exp2,
    "exp10": lambda x: np.power(x.dtype.type(10), x), "expm1": np.expm1, "floor": np.floor,
    "fast_exp": np.exp, "fast_log": np.log, "fast_pow": np.power, "fast_sin": np.sin,
    "fast_cos": np.cos, "fast_tanh": np.tanh, "fast_divide": np.divide, "fmod": np.fmod,
    "hypot": np.hypot, "isfinited": np.isfinite, "finite": np.isfinite, "isinf": np.isinf,
    "isnan": np.isnan, "llrint": np.rint, "nearbyint": np.rint, "rint": np.rint, "log": np.log,
    "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "pow": np.power,
    "rsqrt": lambda x: (1 / np.sqrt(x)).astype(x.dtype), "sin": np.sin, "sinh": np.sinh,
    "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc, "fma":
    lambda a, b, c: a * b + c, "fmax": np.fmax, "fmin": np.fmin,
}  # fmt: skip
_ORDERS: Mapping[str, Function] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
NAMES = frozenset((*_INTEGERS, *_FLOATS))
"""Operations that `compute` knows."""


# --- sums and conjunctions ----------------------------------------------------------------------


def compute(programs: Programs, name: str, blocks: Sequence[Block], element: Element) -> Block:
    """An operation of `NAMES` on known blocks."""
    first = blocks[0]
    if name in ("arith.addi", "arith.subi") and first.shape and not first.bits:
        right = terms_of(blocks[1], len(first.shape))
        right = [np.negative(term) for term in right] if name == "arith.subi" else right
        return Block(merge([*first.terms, *right]), element, first.shape)
    if name == "arith.andi" and first.bits and first.shape:
        return Block(merge([*first.terms, *blocks[1].terms], bits=True), element, first.shape)
    if name == "arith.muli" and first.shape:
        for many, one in ((first, blocks[1]), (blocks[1], first)):
            if len(many.terms) > 1 and one.data.size == 1:
                factor = align(one.data, len(many.shape))
                return Block([term * factor for term in many.terms], element, many.shape)
    return on_lanes(programs, _INTEGERS.get(name) or _FLOATS[name], blocks, element)


def on_lanes(
    programs: Programs, function: Function, blocks: Sequence[Block], element: Element
) -> Block:
    """A function of aligned arrays."""
    shape = max((block.shape for block in blocks), key=len)
    arrays = [align(block.data, len(shape)) for block in blocks]
    if len(arrays) > 1:
        programs.check_size(int(np.prod(np.broadcast_shapes(*(a.shape for a in arrays)))))
    return Block((rounded(function(*arrays), element),), element, shape)


# --- comparisons, choices -----------------------------------------------------------------------


def compare_integers(programs: Programs, predicate: str, blocks: Sequence[Block],
                     element: Element) -> Block:  # fmt: skip
    """`slt`, `uge`, `eq` and so on."""
    function = _ORDERS[predicate[-2:]]
    unsigned = predicate[0] == "u" and len(predicate) == 3
    return on_lanes(programs, _as_unsigned(function) if unsigned else function, blocks, element)


def compare_floats(programs: Programs, predicate: str, blocks: Sequence[Block],
                   element: Element) -> Block:  # fmt: skip
    """`olt`, `une`, `ord` and so on: without NaN, or with NaN also true."""

    def function(left: Array, right: Array) -> Array:
        unordered = np.isnan(left) | np.isnan(right)
        if predicate in ("ord", "uno"):
            return ~unordered if predicate == "ord" else unordered
        if predicate in ("true", "false"):
            return np.full(unordered.shape, predicate == "true")
        found = _ORDERS[predicate[1:]](left, right)
        return found | unordered if predicate[0] == "u" else found & ~unordered

    return on_lanes(programs, function, blocks, element)


def select(programs: Programs, blocks: Sequence[Block], element: Element) -> Block:
    """One of two blocks by a third."""
    condition, left, right = blocks
    shape = left.shape
    if condition.data.size == 1:
        return left if condition.data.reshape(-1)[0] else right
    pick = align(condition.data, len(shape))
    pick = pick.reshape(len(pick), *(1,) * len(shape)) if not condition.shape else pick
    arrays = [align(block.data, len(shape)) for block in (left, right)]
    programs.check_size(int(np.prod(np.broadcast_shapes(pick.shape, *(a.shape for a in arrays)))))
    return Block((np.where(pick, *arrays),), element, shape)


# --- conversions --------------------------------------------------------------------------------


def extend(block: Block, element: Element, *, signed: bool) -> Block:
    """A wider or narrower integer; a sum that does not overflow is cast term by term."""
    if len(block.terms) > 1 and not block.bits and signed and sum_is_exact(block.terms):
        terms = [term.astype(element.array) for term in block.terms]
        return Block(terms, element, block.shape)
    data = block.data if signed else _unsigned(block.data)
    if block.bits and signed:
        return Block((-data.astype(element.array),), element, block.shape)
    if element.bits == 1:
        return Block(((data & 1).astype(np.bool_),), element, block.shape)
    return Block((data.astype(element.array),), element, block.shape)


def convert(name: str, block: Block, element: Element) -> Block:
    """Between integers and floats, and between floats."""
    data = block.data
    if name in ("arith.uitofp", "arith.fptoui"):
        data = _unsigned(data) if name == "arith.uitofp" else data.astype(np.float64)
        kind: Any = np.float64 if name == "arith.uitofp" else f"u{element.array.itemsize}"
        data = data.astype(kind)
        data = data.view(element.array) if name == "arith.fptoui" else data
    elif name == "arith.sitofp":
        data = (-data.astype(np.int8) if block.bits else data).astype(np.float64)
    return Block((rounded(data, element),), element, block.shape)


def bitcast(block: Block, element: Element) -> Block:
    """The same bits as another type."""
    raw = block.data if block.element.array.kind == "i" else encode(block.data, block.element)
    if element.pointee or element.array.kind == "i" or element.bits == 1:
        return Block((np.ascontiguousarray(raw).view(element.array),), element, block.shape)
    raw = np.ascontiguousarray(raw)
    return Block((decode(raw.view(f"u{element.bytes}"), element),), element, block.shape)


def libdevice(symbol: str) -> Function | None:
    """A function of `libdevice` or `ocml` by its symbol; None if it is not known here."""
    name = re.sub(r"^__(nv|ocml)_|_f(16|32|64)$", "", symbol)
    return _LIBDEVICE.get(name) or _LIBDEVICE.get(name.removesuffix("f").removesuffix("d"))


# --- addresses ----------------------------------------------------------------------------------


def add_offset(pointer: Block, offset: Block) -> Block:
    """Addresses, kept as sums."""
    rank = len(pointer.shape)
    offsets = terms_of(offset, rank)
    if not sum_is_exact(offsets):
        offsets = [align(offset.data, rank)]
    item_bytes = pointer.element.target.bytes
    terms = [term.astype(np.int64) * item_bytes for term in offsets]
    return Block(merge([*terms, *pointer.terms]), pointer.element, pointer.shape)
