# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The programs of a batch and their values: blocks with a leading axis of programs.

The array of a block has shape `(programs or 1, *extents)`, every extent of the block or 1. A block
of integers or addresses may be a sum (of bits: a conjunction) of such arrays, each along other
axes: a 128 x 64 tile of addresses of 4096 programs is then 4096 + 128 + 64 numbers.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.records import Grid, Int64Array

Array: TypeAlias = npt.NDArray[Any]

_BITS = {"bf16": 16, "index": 64}
_POINTER = re.compile(r"!tt\.ptr<(.+?)(?:, (?:\d+|\"\w+\"))?>$")
_TENSOR = re.compile(r"tensor<((?:\d+x)+)(.+?)(?:, #.*)?>$")


@dataclass(frozen=True)
class Element:
    """The type of a scalar.

    Attributes:
        name: as MLIR prints it: `i32`, `bf16`, `!tt.ptr<f16>`.
        bits: of a value in memory.
        array: NumPy's type of the arrays that hold values: addresses are int64, integers signed,
            floats of 16 bits and fewer that NumPy lacks are held as float32.
        pointee: of a pointer, the name of what it points to.
    """

    name: str
    bits: int
    array: np.dtype[Any]
    pointee: str = ""

    @property
    def floating(self) -> bool:
        """Whether values are floating-point."""
        return bool(self.array.kind == "f")

    @property
    def bytes(self) -> int:
        """Of a value in memory."""
        return max(1, self.bits // 8)

    @property
    def target(self) -> "Element":
        """What a pointer points to."""
        return element_of(self.pointee)


@cache
def element_of(name: str) -> Element:
    """The type that MLIR prints so; a type that is no number stands for an unknown one."""
    if pointer := _POINTER.match(name):
        return Element(name, 64, np.dtype(np.int64), pointer[1])
    bits = _BITS.get(name) or int((re.findall(r"\d+", name) or ["8"])[0])
    if name == "i1":
        return Element(name, 1, np.dtype(np.bool_))
    if name.startswith("i"):
        return Element(name, bits, np.dtype(f"i{max(1, bits // 8)}"))
    if name in ("f16", "f64"):
        return Element(name, bits, np.dtype(f"f{bits // 8}"))
    return Element(name, bits, np.dtype(np.float32))


@cache
def tensor_of(text: str) -> tuple[Element, tuple[int, ...]]:
    """`tensor<128x64xf16>`: its element and shape; a scalar's shape is ()."""
    found = _TENSOR.match(text)
    if found is None:
        return element_of(text), ()
    return element_of(found[2]), tuple(int(extent) for extent in found[1].split("x")[:-1])


# --- floats that NumPy lacks --------------------------------------------------------------------


def decode(raw: Array, element: Element) -> Array:
    """Bytes of memory, as unsigned integers of the element's size, as values."""
    if element.name == "bf16":
        return (raw.astype(np.uint32) << 16).view(np.float32)
    if element.name.startswith("f8"):
        return _eight_bits(element.name).numpy_values[raw]
    return raw.view(np.uint8).astype(np.bool_) if element.bits == 1 else raw.view(element.array)


def encode(values: Array, element: Element) -> Array:
    """Values as they lie in memory: unsigned integers of the element's size."""
    if element.name == "bf16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        rounded = bits + (np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1)))
        return (np.where(np.isnan(values), bits, rounded) >> 16).astype(np.uint16)
    if element.name.startswith("f8"):
        return _eight_bits(element.name).encode(values)
    return np.ascontiguousarray(values, element.array).view(f"u{element.bytes}")


def rounded(values: Array, element: Element) -> Array:
    """Values as the element can hold them."""
    if element.array == np.float32 and element.name != "f32":
        return decode(encode(values, element), element)
    return values.astype(element.array, copy=False)


class _EightBits:
    """Floats of 8 bits, by way of PyTorch."""

    def __init__(self, name: str) -> None:
        import torch

        self._torch = torch
        self._dtype = getattr(torch, "float8_" + name[2:].lower())
        every = torch.arange(256, dtype=torch.uint8).view(self._dtype)
        self.numpy_values: Array = every.to(torch.float32).numpy()

    def encode(self, values: Array) -> Array:
        given = self._torch.from_numpy(np.array(values, np.float32, order="C"))
        found: Array = given.to(self._dtype).view(self._torch.uint8).numpy()
        return found


_eight_bits = cache(_EightBits)


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
    return Block((np.zeros((1,) * (1 + len(shape)), element.array),), element, shape, why)


def align(array: Array, rank: int) -> Array:
    """The array with extents of 1 put before its own, so that it has `rank` of them."""
    missing = rank + 1 - array.ndim
    if missing <= 0:
        return array
    return array.reshape(array.shape[:1] + (1,) * missing + array.shape[1:])


def terms_of(block: Block, rank: int) -> list[Array]:
    """The terms of a block, aligned to a rank."""
    return [align(term, rank) for term in block.terms]


def pick(block: Block, programs: Any, rank: int, *, ends: bool) -> Array:
    """The value for some programs: at the ends of each extent, of which no sum is made, or all."""
    terms = terms_of(block, rank) if ends else [align(block.data, rank)]
    terms = [term[programs] if len(term) > 1 else term for term in terms]
    for axis in range(1, terms[0].ndim if ends else 0):
        terms = [term.take([0, -1][: term.shape[axis]], axis) for term in terms]
    return Block(terms, block.element, block.shape).data


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
    return limits.min <= low and sum(int(term.max()) for term in terms) <= limits.max


def choose(mask: Array, first: Block, second: Block) -> Block:
    """`first` for the programs of a mask (bool[programs]), `second` for the others."""
    if first is second:
        return first
    if not (first.known and second.known):
        return unknown(first.element, first.shape, first.why | second.why)
    rank = len(first.shape)
    taken = mask.reshape(-1, *(1,) * rank)
    if len(first.terms) == len(second.terms) == 1:
        data = np.where(taken, align(first.data, rank), align(second.data, rank))
        return Block((data,), first.element, first.shape)
    nothing = first.bits  # of a conjunction True, of a sum 0
    terms = [np.where(taken, term, term.dtype.type(nothing)) for term in terms_of(first, rank)]
    terms += [np.where(taken, term.dtype.type(nothing), term) for term in terms_of(second, rank)]
    return Block(merge(terms, bits=first.bits), first.element, first.shape)


# --- batches ------------------------------------------------------------------------------------

MOST_NUMBERS = 1 << 25
"""Numbers in one array (256 MB of addresses); a batch that needs more is cut into pieces."""

Active: TypeAlias = npt.NDArray[np.bool_]
"""Whether each program of a batch takes part in what is executed."""


class NotKnownError(Exception):
    """A value that is not known decides what a program does; the message says which and why."""


class TooWideError(Exception):
    """The batch is cut into pieces."""


class NotWantedError(Exception):
    """What comes after this is not wanted of any program of the batch."""


class Programs:
    """The programs of a batch.

    Attributes:
        numbers: linear indices, int64[n].
        coordinates: their program ids, an int32[n] for each axis.
        active: those that take part in what is executed now.
        arithmetic: int64[n, 3]; what each has computed, see `walker.arithmetic_of`.
    """

    def __init__(self, grid: Grid, numbers: Int64Array) -> None:
        x, y, _ = grid
        self.grid = grid
        self.numbers = numbers
        self.coordinates = tuple(
            axis.astype(np.int32) for axis in (numbers % x, numbers // x % y, numbers // (x * y))
        )
        self.arithmetic = np.zeros((len(numbers), 3), np.int64)
        self._tally = np.zeros(3, np.int64)
        self._active: Active = np.ones(len(numbers), np.bool_)

    @property
    def active(self) -> Active:
        """Whether each program takes part."""
        return self._active

    @active.setter
    def active(self, active: Active) -> None:
        self.settle()
        self._active = active

    def count(self, counts: Array) -> None:
        """Each active program computes so much."""
        self._tally += counts

    def settle(self) -> None:
        """Enter what was counted."""
        if self._tally.any():
            self.arithmetic[self._active] += self._tally
            self._tally[:] = 0

    def truth(self, block: Block) -> Active:
        """bool[n]: where a scalar is true."""
        return np.broadcast_to(block.data.reshape(-1), self.active.shape)

    def full(self, block: Block) -> Array:
        """All lanes of all programs (or of one, if they are the same)."""
        array = block.data
        self.check_size(len(array) * int(np.prod(block.shape)))
        return np.broadcast_to(array, (len(array), *block.shape))

    def check_size(self, numbers: int) -> None:
        """Raises TooWideError if an array of that many numbers is too large."""
        if numbers > MOST_NUMBERS and len(self.numbers) > 1:
            raise TooWideError
