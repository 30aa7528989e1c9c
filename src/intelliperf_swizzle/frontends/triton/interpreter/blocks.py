# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Values of many programs at once: blocks with a leading axis of programs, sums kept apart.

The array of a block has shape `(programs or 1, *extents)`, every extent of the block or 1. A block
of known integers or addresses may be a sum (of bits: a conjunction) of such arrays, each along
other axes: a 128 x 64 tile of addresses of 4096 programs is then 4096 + 128 + 64 numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

Array: TypeAlias = npt.NDArray[Any]


class Block(TensorHandle):  # type: ignore[misc]
    """A tensor of each program.

    Attributes:
        terms: arrays of which the value is the sum (or conjunction, if they are of bits).
        dtype: Triton's, scalar or pointer.
        shape: extents of one program's tensor; () for a scalar.
        origin: bit set of the storages from which the value was loaded, directly or not.
        known: whether the value is; an unknown one has a single zero in its only term.
    """

    def __init__(
        self,
        terms: Sequence[Array],
        dtype: tl.dtype,
        shape: Sequence[int],
        origin: int = 0,
        known: bool = True,
    ) -> None:
        self.terms = tuple(terms)
        self.dtype = dtype
        self.shape = tuple(shape)
        self.origin = origin
        self.known = known
        self.attr: dict[str, object] = {}
        self._joined: Array | None = None

    @property
    def data(self) -> Array:
        """The value as one array, `(programs or 1, *extents or 1)`."""
        if self._joined is None:
            joined = self.terms[0]
            for term in self.terms[1:]:
                joined = joined & term if joined.dtype == np.bool_ else joined + term
            self._joined = joined
        return self._joined

    @data.setter
    def data(self, value: Array) -> None:
        self._joined = value
        self.terms = (value,)

    def clone(self) -> Block:
        """A copy that may be changed."""
        return Block(self.terms, self.dtype, self.shape, self.origin, self.known)


def shape_of(handle: TensorHandle) -> tuple[int, ...]:
    """Extents of one program's tensor; handles that Triton itself makes are scalars."""
    return handle.shape if isinstance(handle, Block) else ()


def origin_of(handle: TensorHandle | None) -> int:
    """From which storages a value comes."""
    return handle.origin if isinstance(handle, Block) else 0


def is_known(handle: TensorHandle) -> bool:
    """Whether the value is known."""
    return not isinstance(handle, Block) or handle.known


def is_single(shape: Sequence[int]) -> bool:
    """Whether a tensor of this shape has one element."""
    return all(extent == 1 for extent in shape)


def is_floating(dtype: tl.dtype) -> bool:
    """Whether numbers of a Triton type are floating-point."""
    return bool(dtype.is_floating())


def align(array: Array, rank: int) -> Array:
    """The array with extents of 1 put before its own, so that it has `rank` of them."""
    missing = rank + 1 - array.ndim
    if missing <= 0:
        return array
    return array.reshape(array.shape[:1] + (1,) * missing + array.shape[1:])


def terms_of(handle: TensorHandle, rank: int) -> list[Array]:
    """The terms of a handle, aligned to a rank."""
    terms = handle.terms if isinstance(handle, Block) else (handle.data.reshape(-1)[:1],)
    return [align(term, rank) for term in terms]


def array_of(handle: TensorHandle, rank: int) -> Array:
    """The joined value of a handle, aligned to a rank."""
    if isinstance(handle, Block):
        return align(handle.data, rank)
    return align(handle.data.reshape(-1)[:1], rank)


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
