# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Types of values in Triton's IR, and how NumPy holds them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

_BITS = {"bf16": 16, "index": 64}
_POINTER = re.compile(r"!tt\.ptr<(.+?)(?:, \d+)?>$")
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
    def target(self) -> Element:
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
        return _eight_bits(element).numpy_values[raw]
    return raw.view(np.uint8).astype(np.bool_) if element.bits == 1 else raw.view(element.array)


def encode(values: Array, element: Element) -> Array:
    """Values as they lie in memory: unsigned integers of the element's size."""
    if element.name == "bf16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        rounded = bits + (np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1)))
        return (np.where(np.isnan(values), bits, rounded) >> 16).astype(np.uint16)
    if element.name.startswith("f8"):
        return _eight_bits(element).encode(values)
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


@cache
def _eight_bits_of(name: str) -> _EightBits:
    return _EightBits(name)


def _eight_bits(element: Element) -> _EightBits:
    return _eight_bits_of(element.name)
