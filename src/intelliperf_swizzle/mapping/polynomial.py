# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Polynomials with integer coefficients over named integers, and when they cannot be negative."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

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
        return _sum(
            (tuple(sorted(one + two)), a * b)
            for one, a in self.terms
            for two, b in _as(other).terms
        )

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
            part = Polynomial(((tuple(one for one in product if one != symbol), factor),))
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
