# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Values of many programs at once: blocks with a leading axis of programs, sums kept apart.

The array of a block has shape `(programs or 1, *extents)`, every extent of the block or 1. A block
of integers or addresses may be a sum (of bits: a conjunction) of such arrays, each along other
axes: a 128 x 64 tile of addresses of 4096 programs is then 4096 + 128 + 64 numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from intelliperf_swizzle.frontends.triton.walk.elements import Array, Element


class Block:
    """A tensor of each program.

    Attributes:
        terms: arrays of which the value is the sum (or conjunction, if they are of bits).
        element: the type of its values.
        shape: extents of one program's tensor; () for a scalar.
        why: why the value is not known, as phrases; empty if it is.
    """

    __slots__ = ("_joined", "element", "shape", "terms", "why")

    def __init__(
        self,
        terms: Sequence[Array],
        element: Element,
        shape: Sequence[int],
        why: frozenset[str] = frozenset(),
    ) -> None:
        self.terms = tuple(terms)
        self.element = element
        self.shape = tuple(shape)
        self.why = why
        self._joined: Array | None = None

    @property
    def known(self) -> bool:
        """Whether the value is."""
        return not self.why

    @property
    def data(self) -> Array:
        """The value as one array, `(programs or 1, *extents or 1)`."""
        if self._joined is None:
            joined = self.terms[0]
            for term in self.terms[1:]:
                joined = joined & term if joined.dtype == np.bool_ else joined + term
            self._joined = joined
        return self._joined

    @property
    def single(self) -> bool:
        """Whether a program's tensor has one element."""
        return all(extent == 1 for extent in self.shape)

    @property
    def bits(self) -> bool:
        """Whether its values are of one bit."""
        return self.element.bits == 1


def unknown(element: Element, shape: Sequence[int], why: frozenset[str]) -> Block:
    """A block that is not known."""
    zero = np.zeros((1,) * (1 + len(shape)), element.array)
    return Block((zero,), element, shape, why)


def align(array: Array, rank: int) -> Array:
    """The array with extents of 1 put before its own, so that it has `rank` of them."""
    missing = rank + 1 - array.ndim
    if missing <= 0:
        return array
    return array.reshape(array.shape[:1] + (1,) * missing + array.shape[1:])


def terms_of(block: Block, rank: int) -> list[Array]:
    """The terms of a block, aligned to a rank."""
    return [align(term, rank) for term in block.terms]


def merge(terms: Sequence[Array], *, bits: bool = False) -> list[Array]:
    """Join terms where that makes none larger; more than rank + 1 are never kept."""
    kept: list[Array] = []
    for term in sorted(terms, key=lambda term: -term.size):
        best = None
        for place, other in enumerate(kept):
            covers = all(t == 1 or t == o for t, o in zip(term.shape, other.shape, strict=True))
            if covers and (best is None or other.size < kept[best].size):
                best = place
        if best is None:
            kept.append(term)
        else:
            kept[best] = kept[best] & term if bits else kept[best] + term
    while len(kept) > kept[0].ndim:
        last, before = kept.pop(), kept.pop()
        kept.append(last & before if bits else last + before)
        kept.sort(key=lambda term: -term.size)
    return kept


def sum_is_exact(terms: Sequence[Array]) -> bool:
    """Whether the sum of integer terms stays inside their type for all programs and lanes."""
    if len(terms) == 1:
        return True
    limits = np.iinfo(terms[0].dtype)
    low = sum(int(term.min()) for term in terms)
    high = sum(int(term.max()) for term in terms)
    return limits.min <= low and high <= limits.max


def choose(mask: Array, one: Block, other: Block) -> Block:
    """`one` for the programs of a mask (bool[programs]), `other` for the others."""
    if one is other:
        return one
    if not (one.known and other.known):
        return unknown(one.element, one.shape, one.why | other.why)
    rank = len(one.shape)
    pick = mask.reshape(-1, *(1,) * rank)
    if len(one.terms) == len(other.terms) == 1:
        data = np.where(pick, align(one.data, rank), align(other.data, rank))
        return Block((data,), one.element, one.shape)
    nothing = one.bits  # of a conjunction True, of a sum 0
    terms = [np.where(pick, term, term.dtype.type(nothing)) for term in terms_of(one, rank)]
    terms += [np.where(pick, term.dtype.type(nothing), term) for term in terms_of(other, rank)]
    return Block(merge(terms, bits=one.bits), one.element, one.shape)
