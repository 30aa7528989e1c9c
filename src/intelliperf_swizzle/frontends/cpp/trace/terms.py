# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Values of many threads at once, as sums of few numbers.

A value is a constant and one array per set of axes that it varies along: workgroup, tz, ty, tx. An
address in a GEMM is base + row[workgroup] + ty * K + tx + k: a few numbers for a thousand threads
of thousands of workgroups. Bounds of the terms decide most comparisons without an array.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.frontends.ssa import ORDERS
from intelliperf_swizzle.records import Int64Array

AXES = 4
ONE = (1,) * AXES
Bits: TypeAlias = npt.NDArray[np.bool_]
_Key: TypeAlias = tuple[bool, ...]


class Sum:
    """A constant plus terms by the axes that they vary along (int64; they wrap as hardware does).

    Attributes:
        c: the constant.
        terms: arrays of four axes; True in the key where they vary.
        lo, hi: bounds of the whole.
    """

    __slots__ = ("c", "hi", "lo", "terms")
    largest = 1
    """Elements of the largest array that was made so far."""

    def __init__(
        self,
        c: int = 0,
        terms: Mapping[_Key, Int64Array] | None = None,
        bounds: tuple[int, int] | None = None,
    ):
        self.c, self.terms = int(c), terms or {}
        if bounds is None:
            bounds = (
                self.c + sum(int(t.min()) for t in self.terms.values()),
                self.c + sum(int(t.max()) for t in self.terms.values()),
            )
        self.lo, self.hi = bounds

    def array(self) -> Int64Array:
        """All of it in one array."""
        total: Any = np.full(ONE, to_signed(self.c), np.int64)
        for term in self.terms.values():
            total = total + term
        Sum.largest = max(Sum.largest, total.size)
        return np.asarray(total, np.int64)


def to_signed(value: int) -> int:
    """The number that 64 bits hold of it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def of(array: npt.NDArray[Any]) -> Sum:
    """The sum that an array of four axes is."""
    if array.size == 1:
        return Sum(int(array.reshape(-1)[0]))
    Sum.largest = max(Sum.largest, array.size)
    return Sum(0, {tuple(n > 1 for n in array.shape): array.astype(np.int64, copy=False)})


def along(axis: int, values: Int64Array) -> Sum:
    """Values that vary along one axis."""
    return of(values.reshape([-1 if other == axis else 1 for other in range(AXES)]))


def add(a: Sum, b: Sum, sign: int = 1) -> Sum:
    """A + b, or a - b."""
    if not b.terms:
        return Sum(a.c + sign * b.c, a.terms, (a.lo + sign * b.c, a.hi + sign * b.c))
    terms = dict(a.terms)
    for key, term in b.terms.items():
        term = term if sign == 1 else -term
        terms[key] = terms[key] + term if key in terms else term
    if a.terms.keys() & b.terms.keys():
        return Sum(a.c + sign * b.c, terms)
    low, high = (b.lo, b.hi) if sign == 1 else (-b.hi, -b.lo)
    return Sum(a.c + sign * b.c, terms, (a.lo + low, a.hi + high))


def scale(a: Sum, factor: int) -> Sum:
    """A times a constant."""
    if factor == 1:
        return a
    if factor == 0:
        return Sum(0)
    low, high = sorted((a.lo * factor, a.hi * factor))
    terms = {key: term * np.int64(to_signed(factor)) for key, term in a.terms.items()}
    return Sum(a.c * factor, terms, (low, high))


def multiply(a: Sum, b: Sum) -> Sum:
    """A times b."""
    if not a.terms:
        return scale(b, a.c)
    if not b.terms:
        return scale(a, b.c)
    total = add(scale(b, a.c), scale(Sum(0, a.terms), b.c))
    for term in a.terms.values():
        for other in b.terms.values():
            total = add(total, of(term * other))
    return total


def wrap(a: Sum, bits: int, *, signed: bool = True) -> Sum:
    """The sum as a number of that many bits; itself if its bounds say that nothing overflows.

    A truth value is 0 or 1.
    """
    signed = signed and bits > 1
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if low <= a.lo and a.hi <= high:
        return a
    if not a.terms:
        value = a.c & (1 << bits) - 1
        return Sum(value - (1 << bits) if signed and value >> bits - 1 else value)
    if bits >= 64:
        return of(a.array())
    array = a.array() & ((1 << bits) - 1)
    return of(np.where(array >> bits - 1, array - (1 << bits), array) if signed else array)


_BITWISE: Mapping[str, Callable[[Any, Any], Any]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshr": lambda x, y: x >> (y & 63),
    "ashr": lambda x, y: x >> (y & 63),
    "shl": lambda x, y: x << (y & 63),
    "udiv": lambda x, y: x // (y + (y == 0)),
    "urem": lambda x, y: x % (y + (y == 0)),
    "sdiv": lambda x, y: abs(x) // (abs(y) + (y == 0)) * (1 - 2 * ((x < 0) ^ (y < 0))),
    "srem": lambda x, y: abs(x) % (abs(y) + (y == 0)) * (1 - 2 * (x < 0)),
}
"""Of integers and of arrays; what is poison is any number."""
UNSIGNED = ("lshr", "udiv", "urem")


def bitwise(how: str, a: Sum, b: Sum, bits: int) -> Sum:
    """One of `_BITWISE` on numbers of that many bits."""
    if how == "and" and not b.terms and b.c & b.c + 1 == 0 and a.lo >= 0 and a.hi <= b.c:
        return a
    if not a.terms and not b.terms:
        low = (1 << bits) - 1
        x, y = (a.c & low, b.c & low) if how in UNSIGNED else (a.c, b.c)
        return wrap(Sum(_BITWISE[how](x, y)), bits)
    x_array, y_array = a.array(), b.array()
    if how in UNSIGNED:
        if bits >= 64 and (a.lo < 0 or b.lo < 0):
            x_array, y_array = x_array.view(np.uint64), y_array.view(np.uint64)
        elif a.lo < 0 or b.lo < 0:
            x_array, y_array = x_array & ((1 << bits) - 1), y_array & ((1 << bits) - 1)
    with np.errstate(all="ignore"):
        return wrap(of(_BITWISE[how](x_array, y_array).astype(np.int64)), bits)


def compare(how: str, a: Sum, b: Sum, bits: int) -> Sum:
    """1 where the predicate of LLVM's `icmp` holds, else 0."""
    if how[0] == "u":
        a, b = wrap(a, bits, signed=False), wrap(b, bits, signed=False)
        if bits >= 64 and (a.lo < 0 or b.lo < 0 or a.hi >> 63 or b.hi >> 63):
            x, y = (side.array().view(np.uint64) for side in (a, b))
            return of(ORDERS[how[1:]](x, y).astype(np.int64))
    kind = how if how in ("eq", "ne") else how[1:]
    if kind not in ("eq", "ne"):
        first, last = ORDERS[kind](a.lo, b.hi), ORDERS[kind](a.hi, b.lo)
        if first == last:
            return Sum(int(first))
    elif a.hi < b.lo or b.hi < a.lo:
        return Sum(int(kind == "ne"))
    return of(ORDERS[kind](add(a, b, -1).array(), 0).astype(np.int64))


def extreme(how: str, a: Sum, b: Sum, bits: int) -> Sum:
    """`smin`, `smax`, `umin` or `umax`."""
    if how[0] == "u":
        a, b = wrap(a, bits, signed=False), wrap(b, bits, signed=False)
    if a.hi <= b.lo or b.hi <= a.lo:
        small, large = (a, b) if a.hi <= b.lo else (b, a)
        chosen = small if how.endswith("min") else large
    else:
        function = np.minimum if how.endswith("min") else np.maximum
        chosen = of(function(a.array(), b.array()))
    return wrap(chosen, bits)


def count_bits(how: str, a: Sum, bits: int) -> Sum:
    """`ctpop`, `cttz` or `ctlz` of numbers of that many bits; of 0, all bits are zeros."""
    low = np.uint64((1 << bits) - 1)
    x = a.array().view(np.uint64) & low
    if how == "cttz":
        x = ~x & (x - np.uint64(1)) & low
    elif how == "ctlz":
        for shift in (1, 2, 4, 8, 16, 32):
            x = x | x >> np.uint64(shift)
        x = ~x & low
    return of(sum((x >> np.uint64(k) & np.uint64(1) for k in range(bits)), np.zeros_like(x)))


def choose(condition: Sum, a: Sum, b: Sum) -> Sum:
    """A where the condition is not 0, else b."""
    if not condition.terms:
        return a if condition.c else b
    return of(np.where(condition.array() != 0, a.array(), b.array()))


# --- which threads are active ---------------------------------------------------------------------


class Condition:
    """What a branch asked: where it holds."""

    def __init__(self, array: Bits):
        self.array = array


Mask: TypeAlias = frozenset[tuple[Condition, bool]]
"""Conditions that hold or do not, all of them; so that the two ways of a branch join to nothing."""
EVERYONE: Mask = frozenset()
_MOST_CONDITIONS = 6


def arrays_of(mask: Mask) -> list[Bits]:
    """An array for each condition of a mask."""
    return [condition.array if holds else ~condition.array for condition, holds in mask]


def whole(mask: Mask) -> Bits:
    """The mask as one array."""
    result: Bits = np.ones(ONE, np.bool_)
    for bits in sorted(arrays_of(mask), key=lambda array: array.size):
        result = result & bits
    return result


def take(mask: Mask, *sums: Sum) -> list[Int64Array]:
    """What these are of the threads where the mask holds."""
    active, lanes = whole(mask), [total.array() for total in sums]
    if not active.all():
        active, *lanes = np.broadcast_arrays(active, *lanes)
        lanes = [values[active] for values in lanes]
    return lanes


def simplify(mask: Mask) -> Mask:
    """The mask with few conditions; a loop adds one in every iteration."""
    return mask if len(mask) <= _MOST_CONDITIONS else _single(whole(mask))


def _single(array: Bits) -> Mask:
    return EVERYONE if array.all() else frozenset(((Condition(array), True),))


def union(masks: Iterable[Mask]) -> Mask:
    """Where any of the masks holds."""
    left = list(dict.fromkeys(masks))
    while len(left) > 1 and (joined := _join_two(left)) is not None:
        i, j, mask = joined
        left[i] = mask
        del left[j]
    if len(left) == 1:
        return left[0]
    common: Mask = frozenset.intersection(*left)
    result: Bits = np.zeros(ONE, np.bool_)
    for mask in left:
        result = result | whole(mask - common)
    return common | _single(result)


def _join_two(masks: list[Mask]) -> tuple[int, int, Mask] | None:
    """Two masks that are one: one holds the other, or they differ in how one condition goes."""
    for i, a in enumerate(masks):
        for j in range(i + 1, len(masks)):
            b = masks[j]
            if a <= b or b <= a:
                return i, j, min(a, b, key=len)
            only_a, only_b = a - b, b - a
            if len(only_a) == len(only_b) == 1 and next(iter(only_a))[0] is next(iter(only_b))[0]:
                return i, j, a & b
    return None
