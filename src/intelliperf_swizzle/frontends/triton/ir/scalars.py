# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What an integer of a kernel's IR is in many programs at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.records import Grid, Int64Array, Launch, TensorArgument

Array: TypeAlias = npt.NDArray[Any]


_FAR = 1 << 44
"""Bytes from one storage to the next."""


class NotComputableError(Exception):
    """Something else than integers decides a value; the message says what."""


def arguments_of(launch: Launch, kernel: Kernel) -> dict[str, Array]:
    """Integers, and pointers as places in `Contents`, by the values of a launch's kernel."""
    tensors = {
        name: _place(one)
        for name, one in launch.arguments.items()
        if isinstance(one, TensorArgument)
    }
    return {
        f"%{name}": np.array([value])
        for name, value in (launch.constants | tensors).items()
        if f"%{name}" in kernel.args
    }


def _place(tensor: TensorArgument) -> int:
    return (tensor.storage + 1) * _FAR + tensor.offset_bytes


class Contents:
    """What a launch's memory held before it; its storages lie far from each other."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch

    def load(self, places: Array, kind: str) -> Array:
        """Integers at some places.

        Raises:
            NotComputableError: they were not recorded, or lie outside.
        """
        held = _held(np.zeros(1), kind).dtype
        found = np.zeros(places.shape, held)
        for number in np.unique(places // _FAR).tolist():
            storage = self._launch.storages.get(number - 1)
            if storage is None or storage.contents is None:
                raise NotComputableError("contents of memory decide it, which were not recorded")
            inside = places // _FAR == number
            first = places[inside] - number * _FAR
            if first.min() < 0 or first.max() + held.itemsize > storage.bytes:
                raise NotComputableError("what lies outside of a tensor decides it")
            raw = np.load(storage.contents, mmap_mode="r")
            each = raw[first[:, None] + np.arange(held.itemsize)]
            found[inside] = np.ascontiguousarray(each).view(held)[:, 0]
        return found


def evaluate(
    kernel: Kernel,
    value: str,
    known: Mapping[str, Array],
    programs: Int64Array,
    grid: Grid,
    contents: Contents | None = None,
) -> Array:
    """A scalar integer, in the kernel's own width of bits.

    Args:
        kernel: with or without the passes on it.
        value: of it.
        known: values that are given, of each program or one for all.
        programs: linear indices of the programs that compute.
        grid: of the launch.
        contents: of its memory; None = what is read from there is not computable.

    Returns:
        Integers or truths that broadcast to `programs`.

    Raises:
        NotComputableError: something else than integers decides it.
    """
    return _Frame(kernel, known, programs, grid, contents).value(value)


class _Frame:
    """The values of one function."""

    def __init__(
        self,
        kernel: Kernel,
        known: Mapping[str, Array],
        programs: Int64Array,
        grid: Grid,
        contents: Contents | None,
    ) -> None:
        x, y, _ = self._grid = grid
        self._kernel, self._programs, self._contents = kernel, programs, contents
        self._coordinates = (programs % x, programs // x % y, programs // (x * y))
        self._known = {name: _held(one, kernel.types[name]) for name, one in known.items()}

    def value(self, name: str) -> Array:
        todo = [name]
        while todo:
            one = todo[-1]
            op = self._kernel.defs.get(one)
            if one in self._known:
                todo.pop()
            elif op is None:
                raise NotComputableError(f"`{one}` is not known")
            elif missing := [v for v in op.operands if v not in self._known]:
                todo += missing
            else:
                self._compute(op)
        return self._known[name]

    def _compute(self, op: Op) -> None:
        operands = [self._known[v] for v in op.operands]
        kind = self._kernel.types[op.results[0]]
        with np.errstate(all="ignore"):
            if op.name == "tt.call":
                self._known.update(zip(op.results, self._call(op, operands), strict=True))
                return
            if op.name == "arith.constant":
                found = np.array([self._kernel.constant(op.results[0])])
            elif op.name == "tt.get_program_id":
                found = self._coordinates["xyz".index(op.text[0])]
            elif op.name == "tt.get_num_programs":
                found = np.array([self._grid["xyz".index(op.text[0])]])
            elif op.name == "arith.cmpi":
                found = _COMPARISONS[op.text.split(",")[0].strip()](*operands)
            elif op.name == "tt.addptr":
                pointee = kind.removeprefix("!tt.ptr<").rstrip(">")
                size = int("".join(filter(str.isdigit, pointee.partition(",")[0])) or 8) // 8
                found = operands[0] + operands[1].astype(np.int64) * max(1, size)
            elif op.name == "tt.load" and self._contents and len(operands) == 1:
                found = self._contents.load(operands[0], kind)
            elif op.name in _OPERATIONS:
                found = _OPERATIONS[op.name](*operands)
            else:
                line = self._kernel.line(op)
                raise NotComputableError(f"`{op.name}` at {line} is no arithmetic on integers")
        self._known[op.results[0]] = _held(found, kind)

    def _call(self, op: Op, operands: list[Array]) -> list[Array]:
        callee = next(one for one in self._kernel.functions if one.symbol == op.symbol)
        blocks = callee.regions[0]
        end = blocks[0].ops[-1]
        if end.name != "tt.return":
            raise NotComputableError(f"`{op.symbol}` branches")
        known = dict(zip(blocks[0].args, operands, strict=True))
        frame = _Frame(self._kernel, known, self._programs, self._grid, self._contents)
        return [frame.value(one) for one in end.operands]


def _held(values: Array, kind: str) -> Array:
    """Values as their type holds them."""
    if kind == "i1":
        return values.astype(np.bool_)
    if kind == "index" or kind.startswith("!tt.ptr<"):
        return values.astype(np.int64)
    if kind in ("i8", "i16", "i32", "i64"):
        return values.astype(f"i{int(kind[1:]) // 8}")
    raise NotComputableError(f"a value of type {kind} decides it")


def _unsigned(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function on the same bits without a sign."""
    return lambda a, b: function(a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}"))


def _widen(values: Array) -> Array:
    return values if values.dtype == np.bool_ else values.view(f"u{values.itemsize}")


def _divide(a: Array, b: Array) -> Array:
    """Rounds towards 0, as C does."""
    found: Array = np.floor_divide(a - np.fmod(a, b), b)
    return found


_OPERATIONS: Mapping[str, Callable[..., Array]] = {
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply,
    "arith.divsi": _divide, "arith.remsi": np.fmod,
    "arith.divui": _unsigned(np.floor_divide), "arith.remui": _unsigned(np.remainder),
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor,
    "arith.minsi": np.minimum, "arith.maxsi": np.maximum,
    "arith.minui": _unsigned(np.minimum), "arith.maxui": _unsigned(np.maximum),
    "arith.shli": np.left_shift, "arith.shrsi": np.right_shift,
    "arith.shrui": _unsigned(np.right_shift), "arith.select": np.where,
    "arith.extsi": lambda a: -a.astype(np.int8) if a.dtype == np.bool_ else a,
    "arith.extui": _widen,
    **dict.fromkeys(("arith.bitcast", "arith.trunci", "arith.index_cast"), lambda a: a),
}  # fmt: skip
_COMPARISONS: Mapping[str, Callable[..., Array]] = {
    "eq": np.equal, "ne": np.not_equal,
    "slt": np.less, "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal,
    "ult": _unsigned(np.less), "ule": _unsigned(np.less_equal),
    "ugt": _unsigned(np.greater), "uge": _unsigned(np.greater_equal),
}  # fmt: skip
