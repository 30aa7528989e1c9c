# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Floating-point numbers of many threads, as the integers that their bits are.

Only operations of which every implementation of IEEE 754 gives the same bits.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.frontends.cpp.trace import terms
from intelliperf_swizzle.frontends.cpp.trace.terms import Sum

KINDS: Mapping[str, tuple[type[np.signedinteger[Any]], type[np.floating[Any]]]] = {
    "half": (np.int16, np.float16),
    "float": (np.int32, np.float32),
    "double": (np.int64, np.float64),
}
_INEXACT = re.compile(r"\b(fast|reassoc|arcp|afn|fpmath)\b")
_MAY_FUSE = re.compile(r"\b(fast|contract)\b")


def constant(word: str, kind: str) -> int:
    """The bits of a constant as LLVM writes it: decimal, or in hexadecimal as a double."""
    if word[:3] in ("0xH", "0xR"):  # of 16 bits
        return int(np.uint16(int(word[3:], 16)).view(np.int16))
    bits, number = KINDS[kind]
    value = struct.unpack(">d", bytes.fromhex(word[2:]))[0] if word[:2] == "0x" else float(word)
    return int(number(value).view(bits))


def is_exact(opcode: str, text: str, operands: list[str]) -> bool:
    """Whether an operation has one result: the compiler may neither approximate nor fuse it.

    Args:
        opcode: of it.
        text: of it, flags and `!fpmath` included.
        operands: the same of what it is made of.
    """
    if _INEXACT.search(text):
        return False
    fused = any(" = fmul " in one and _MAY_FUSE.search(one) for one in operands)
    return not (opcode in ("fadd", "fsub") and _MAY_FUSE.search(text) and fused)


def are_known(kinds: tuple[str, str]) -> bool:
    """Whether numbers of these types, source and result, are computed with here."""
    return any(one in KINDS for one in kinds) and all(
        one in KINDS or re.fullmatch(r"i\d+", one) for one in kinds
    )


def compute(how: str, values: list[Sum], source: str, kind: str, bits: int) -> Sum:
    """The result of an operation.

    Args:
        how: opcode, the predicate of `fcmp`, or the intrinsic's name without its types.
        values: operands.
        source: type of the first.
        kind: type of the result.
        bits: of the result, where it is an integer.
    """
    operands = [_numbers(one, source) for one in values]
    with np.errstate(all="ignore"):
        if how in ("fptosi", "fptoui"):
            return terms.of(_integers(operands[0], bits, signed=how == "fptosi"))
        if how.startswith("fcmp "):
            return terms.of(_compare(how[5:], *operands).astype(np.int64))
        if how == "uitofp":
            operands = [terms.wrap(values[0], int(source[1:]), signed=False).array()]
            if source == "i64":
                operands = [operands[0].view(np.uint64)]
        number = np.asarray(_FUNCTIONS[how](*operands)).astype(KINDS[kind][1])
        return terms.of(number.view(KINDS[kind][0]).astype(np.int64))


def _numbers(value: Sum, kind: str) -> npt.NDArray[Any]:
    array = value.array()
    return array.astype(KINDS[kind][0]).view(KINDS[kind][1]) if kind in KINDS else array


def _integers(numbers: npt.NDArray[Any], bits: int, *, signed: bool) -> npt.NDArray[np.int64]:
    """Rounded to zero; what does not fit is the nearest that does, as hardware has it."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    whole = np.trunc(np.nan_to_num(numbers.astype(np.float64), posinf=np.inf, neginf=-np.inf))
    inside = np.where((whole > low) & (whole < high), whole, 0)
    found = inside.astype(np.uint64).view(np.int64) if low == 0 else inside.astype(np.int64)
    found = np.where(whole <= low, terms.signed(low), found)
    return np.where(whole >= high, terms.signed(high), found)


def _compare(how: str, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> terms.Bits:
    """The predicate of LLVM's `fcmp`: ordered ones are false of NaN, unordered ones true."""
    unordered: terms.Bits = np.isnan(a) | np.isnan(b)
    if how in ("uno", "ord"):
        return unordered if how == "uno" else ~unordered
    if how in ("true", "false"):
        return np.full(unordered.shape, how == "true")
    holds: terms.Bits = terms.PREDICATES[how[1:]](a, b)
    return holds | unordered if how[0] == "u" else holds & ~unordered


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "fneg": np.negative,
    "sitofp": np.asarray,
    "uitofp": np.asarray,
    "fpext": np.asarray,
    "fptrunc": np.asarray,
    "llvm.fabs": np.abs,
    "llvm.floor": np.floor,
    "llvm.ceil": np.ceil,
    "llvm.trunc": np.trunc,
    "llvm.rint": np.rint,
}
OPCODES = (*_FUNCTIONS, "fptosi", "fptoui", "fcmp")
CALLS = tuple(f"{name}." for name in _FUNCTIONS if name.startswith("llvm."))
