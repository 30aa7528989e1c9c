# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Polynomials with integer coefficients over named integers, and when they cannot be negative.

Also sets of numbers that are sums of weighted digits, several of them as one, and cases of sizes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

MOST_TERMS = 200_000
"""Terms of the polynomials whose sign is asked for in the proof of one text, which take 2 seconds;
a pattern needs 3,000 to 100,000."""
DEEPEST = 12
"""Bounds that are followed from one symbol to the next."""


@dataclass(frozen=True)
class Polynomial:
    """A sum of products.

    Attributes:
        terms: each product of symbols (sorted, one that occurs squared twice) with its coefficient.
    """

    terms: tuple[tuple[tuple[str, ...], int], ...]

    @property
    def number(self) -> int | None:
        """Its value, if it has no symbol."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def symbols(self) -> frozenset[str]:
        """Those that occur."""
        return frozenset(symbol for product, _ in self.terms for symbol in product)

    def __add__(self, other: Polynomial | int) -> Polynomial:
        return _sum((*self.terms, *_as(other).terms))

    def __neg__(self) -> Polynomial:
        return Polynomial(tuple((product, -factor) for product, factor in self.terms))

    def __sub__(self, other: Polynomial | int) -> Polynomial:
        return self + -_as(other)

    def __mul__(self, other: Polynomial | int) -> Polynomial:
        pairs = itertools.product(self.terms, _as(other).terms)
        return _sum((tuple(sorted(left + right)), a * b) for (left, a), (right, b) in pairs)

    def linear(self, symbol: str) -> tuple[Polynomial, Polynomial] | None:
        """`(a, b)` of `a * symbol + b`; None if it is squared."""
        times, rest = [], []
        for product, factor in self.terms:
            count = product.count(symbol)
            if count > 1:
                return None
            if count:
                at = product.index(symbol)
                times.append((product[:at] + product[at + 1 :], factor))
            else:
                rest.append((product, factor))
        return _sum(times), _sum(rest)

    def put(self, symbol: str, value: Polynomial) -> Polynomial:
        """With a value for a symbol."""
        if symbol not in self.symbols:
            return self
        total = ZERO
        for product, factor in self.terms:
            part = Polynomial(((tuple(name for name in product if name != symbol), factor),))
            for _ in range(product.count(symbol)):
                part = part * value
            total = total + part
        return total

    def over(self, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Quotient and rest by the divisor's leading term; the rest may be of any size and sign."""
        lead, factor = max(divisor.terms, key=lambda term: (len(term[0]), term[0]))
        quotient, rest = ZERO, self
        for _ in range(len(self.terms) + DEEPEST):
            whole = next(_multiples(rest, lead, factor), None)
            if whole is None:
                break
            quotient, rest = quotient + whole, rest - whole * divisor
        return quotient, rest

    def exactly_over(self, divisor: Polynomial) -> Polynomial | None:
        """The quotient, if there is no rest."""
        quotient, rest = self.over(divisor)
        return None if rest.terms else quotient

    def __call__(self, values: Mapping[str, int]) -> int:
        """Its value for values of its symbols."""
        total = 0
        for product, factor in self.terms:
            for symbol in product:
                factor *= values[symbol]
            total += factor
        return total


def _multiples(rest: Polynomial, lead: tuple[str, ...], factor: int) -> Iterator[Polynomial]:
    for product, coefficient in rest.terms:
        left = list(product)
        for symbol in lead:
            if symbol not in left:
                break
            left.remove(symbol)
        else:
            whole = abs(coefficient) // abs(factor) * (1 if coefficient * factor > 0 else -1)
            if whole:
                yield Polynomial(((tuple(left), whole),))


def _sum(terms: Iterable[tuple[tuple[str, ...], int]]) -> Polynomial:
    factors: dict[tuple[str, ...], int] = {}
    for product, factor in terms:
        factors[product] = factors.get(product, 0) + factor
    return Polynomial(tuple(sorted(item for item in factors.items() if item[1])))


def _as(value: Polynomial | int) -> Polynomial:
    return number(value) if isinstance(value, int) else value


def number(value: int) -> Polynomial:
    """A constant."""
    return Polynomial((((), value),) if value else ())


def symbol(name: str) -> Polynomial:
    """A symbol by itself."""
    return Polynomial((((name,), 1),))


ZERO = number(0)


@dataclass(frozen=True)
class Bounds:
    """What is known of a symbol.

    Attributes:
        low: it is never less; 0 or more.
        high: it is never more; of symbols that were introduced before it. None = unbounded.
        digit: whether it differs between programs of one launch.
    """

    low: int = 0
    high: Polynomial | None = None
    digit: bool = False


def never_negative(
    value: Polynomial,
    bounds: Mapping[str, Bounds],
    spend: Callable[[int], None],
    depth: int = DEEPEST,
) -> bool:
    """Whether a polynomial is 0 or more for all values within bounds; False = that is not known.

    One that is linear in a bounded symbol is least where the symbol is at one of its bounds. What
    is left is written in the distance of each symbol from its least value: then no factor may be
    negative.
    """
    if (known := value.number) is not None:
        return known >= 0
    spend(len(value.terms))
    inside = value.symbols
    for name in reversed([*bounds]):
        high = bounds[name].high
        if name not in inside or high is None:
            continue
        parts = value.linear(name)
        if parts is None or not depth:
            continue
        times, rest = parts
        at_low, at_high = rest + times * bounds[name].low, rest + times * high
        if never_negative(times, bounds, spend, depth - 1):
            return never_negative(at_low, bounds, spend, depth - 1)
        if never_negative(-times, bounds, spend, depth - 1):
            return never_negative(at_high, bounds, spend, depth - 1)
        return never_negative(at_low, bounds, spend, depth - 1) and never_negative(
            at_high, bounds, spend, depth - 1
        )
    for name in inside:
        if low := bounds[name].low:
            value = value.put(name, symbol(name) + low)
    return all(factor >= 0 for _, factor in value.terms)


class NotProvedError(Exception):
    """Not decided, which does not prove the contrary."""


@dataclass(frozen=True)
class Box:
    """`first + Σ digit * weight`, each digit from 0 to below its extent; the digits sorted."""

    first: Polynomial
    digits: tuple[tuple[Polynomial, Polynomial], ...]


Digits = tuple[tuple[Polynomial, Polynomial], ...]


def fuse(digits: Iterable[tuple[Polynomial, Polynomial]]) -> Digits:
    """Digits of which one goes on where another one ends, as one."""
    left = sorted(digits, key=lambda digit: (digit[0].terms, digit[1].terms))
    for slow in left:
        for fast in left:
            if slow is not fast and slow[0] == fast[0] * fast[1]:
                others = [digit for digit in left if digit is not slow and digit is not fast]
                return fuse([*others, (fast[0], fast[1] * slow[1])])
    return tuple(left)


def join(boxes: Sequence[Box]) -> Box | None:
    """Boxes that lie beside each other as one; None if there are none.

    Raises:
        NotProvedError: they do not.
    """
    parts = (part for box in boxes for part in (box.first, *sum(box.digits, ())))
    names = sorted({name for part in parts for name in part.symbols})
    sample = {name: 1009 + 131 * at for at, name in enumerate(names)}
    left = sorted(boxes, key=lambda box: box.first(sample))
    while len(left) > 1:
        joined = _join_two(left, sample)
        if joined is None:
            raise NotProvedError("the boxes of values do not join")
        left = sorted(joined, key=lambda box: box.first(sample))
    return left[0] if left else None


def _join_two(boxes: Sequence[Box], sample: Mapping[str, int]) -> list[Box] | None:
    """One box fewer: two of which one goes on where the other one ends."""
    starts: dict[Polynomial, list[Box]] = {}
    for box in boxes:
        starts.setdefault(box.first, []).append(box)
    alike: list[tuple[int, Box, Box]] = []
    last: dict[Digits, Box] = {}
    for box in boxes:
        if (before := last.get(box.digits)) is not None:
            alike.append(((box.first - before.first)(sample), before, box))
        last[box.digits] = box
    for box in boxes:
        for digit in box.digits:
            others = [d for d in box.digits if d is not digit]
            for next_box in starts.get(box.first + digit[0] * digit[1], ()):
                if next_box is not box and (more := _times(next_box, others, digit[0])):
                    whole = Box(box.first, fuse([*others, (digit[0], digit[1] + more)]))
                    return [whole, *(b for b in boxes if b not in (box, next_box))]
        for other in boxes:
            for digit in other.digits if other is not box else ():
                others = [d for d in other.digits if d is not digit]
                beside = other.first == box.first + digit[0]
                if beside and _times(box, others, digit[0]) == number(1):
                    whole = Box(box.first, fuse([*others, (digit[0], digit[1] + 1)]))
                    return [whole, *(b for b in boxes if b not in (box, other))]
    for _, low, high in sorted(alike, key=lambda item: item[0]):
        whole = Box(low.first, fuse([*low.digits, (high.first - low.first, number(2))]))
        return [whole, *(box for box in boxes if box not in (low, high))]
    return None


def _times(
    box: Box, others: Sequence[tuple[Polynomial, Polynomial]], weight: Polynomial
) -> Polynomial | None:
    """How many of a weight a box has besides other digits; None if it has not these."""
    left = [*box.digits]
    for other in others:
        if other not in left:
            return None
        left.remove(other)
    if not left:
        return number(1)
    return left[0][1] if len(left) == 1 and left[0][0] == weight else None


class Work:
    """How much a proof may still cost."""

    def __init__(self, most: int = MOST_TERMS) -> None:
        self._left = most

    def spend(self, terms: int) -> None:
        """For a question of that many terms; raises NotProvedError if that is too much."""
        self._left -= terms
        if self._left < 0:
            raise NotProvedError("too many cases")


@dataclass(frozen=True)
class Case:
    """Sizes and programs that are looked at together.

    Attributes:
        bounds: of each symbol, in the order in which they were introduced.
        inputs: of the swizzle, by name, and by what is opaque to the proof.
        work: that is left.
    """

    bounds: Mapping[str, Bounds]
    inputs: Mapping[str, Polynomial]
    work: Work

    def holds(self, value: Polynomial) -> bool:
        """Whether a polynomial is known to be 0 or more."""
        return never_negative(value, self.bounds, self.work.spend)

    def put(self, part: Part) -> Case:
        """The case in which a symbol is known better."""
        kept = {name: bound for name, bound in self.bounds.items() if name != part.symbol}
        kept |= part.bounds
        bounds = {
            name: replace(bound, high=bound.high and bound.high.put(part.symbol, part.value))
            for name, bound in kept.items()
        }
        bounds |= part.bounds  # of the new ones, high may speak of the old one no more
        inputs = {name: size.put(part.symbol, part.value) for name, size in self.inputs.items()}
        return Case(bounds, inputs, self.work)


@dataclass(frozen=True)
class Part:
    """A part of the values of a symbol: what it is there, by new symbols."""

    symbol: str
    value: Polynomial
    bounds: Mapping[str, Bounds]


class SplitError(Exception):
    """A case must be split into parts, by one symbol.

    Attributes:
        parts: all of them.
        divisor: what the symbol was divided by, if that was why.
    """

    def __init__(self, parts: Sequence[Part], divisor: Polynomial | None = None):
        super().__init__(parts)
        self.parts, self.divisor = parts, divisor
