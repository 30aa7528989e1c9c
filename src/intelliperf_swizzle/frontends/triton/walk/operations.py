# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What each operation of Triton's IR makes of known blocks, by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from intelliperf_swizzle.frontends.triton.ir.parse import Op
from intelliperf_swizzle.frontends.triton.walk import elementwise, rearrange
from intelliperf_swizzle.frontends.triton.walk.batch import Programs
from intelliperf_swizzle.frontends.triton.walk.blocks import (
    Block,
    Element,
    decode,
    rounded,
)

Type = tuple[Element, tuple[int, ...]]
Operation = Callable[[Programs, Op, Sequence[Block], Type], "Block | Sequence[Block]"]


def constant(op: Op, kind: Type) -> Block:
    """An `arith.constant`."""
    element, shape = kind
    text = re.sub(r"^\{.*?\}\s*", "", op.text)
    if dense := re.search(r"dense<(.*)>$", text):
        text = dense[1]
    if text.startswith("["):
        numbers = [_number(one, element) for one in re.findall(r"[^\[\],\s]+", text)]
        return Block((np.array(numbers).reshape(1, *shape).astype(element.array),), element, shape)
    value = np.full((1,) * (1 + len(shape)), _number(text, element))
    return Block((value.astype(element.array),), element, shape)


def _number(text: str, element: Element) -> float | int | bool:
    if text in ("true", "false"):
        return text == "true"
    if "0x" in text and element.floating:
        raw = np.array([int(text, 16)], np.uint64).astype(f"u{element.bytes}")
        return float(decode(raw, element)[0])
    if element.floating:
        return float(rounded(np.array([float(text)], np.float64), element)[0])
    value = int(text, 0)
    return value - (1 << element.bits) if value >> (element.bits - 1) == 1 else value


def _program_id(programs: Programs, op: Op, blocks: Sequence[Block], kind: Type) -> Block:
    return Block((programs.coordinates["xyz".index(op.text[0])],), *kind)


def _extent(programs: Programs, op: Op, blocks: Sequence[Block], kind: Type) -> Block:
    return Block((np.array([programs.grid["xyz".index(op.text[0])]], np.int32),), *kind)


def _range(programs: Programs, op: Op, blocks: Sequence[Block], kind: Type) -> Block:
    numbers = np.arange(op.attr("start"), op.attr("end"), dtype=np.int32)
    return Block((numbers[None],), *kind)


def _order(op: Op) -> list[int]:
    found = re.search(r"order = array<i32: ([\d, ]+)>", op.text)
    assert found, op.text
    return [int(axis) for axis in found[1].split(",")]


def _cast(signed: bool) -> Operation:
    return lambda programs, op, blocks, kind: elementwise.extend(blocks[0], kind[0], signed=signed)


def _convert(programs: Programs, op: Op, blocks: Sequence[Block], kind: Type) -> Block:
    return elementwise.convert(op.name, blocks[0], kind[0])


def _compute(programs: Programs, op: Op, blocks: Sequence[Block], kind: Type) -> Block:
    return elementwise.compute(programs, op.name, blocks, kind[0])


def _predicate(op: Op) -> str:
    return op.text.split(",")[0].strip()


def _same(programs: Programs, op: Op, blocks: Sequence[Block], kind: Type) -> Block:
    return Block(blocks[0].terms, *kind)


def _poison(programs: Programs, op: Op, blocks: Sequence[Block], kind: Type) -> Block:
    return Block((np.zeros((1,) * (1 + len(kind[1])), kind[0].array),), *kind)


OPERATIONS: Mapping[str, Operation] = {
    **dict.fromkeys(elementwise.NAMES, _compute),
    "tt.get_program_id": _program_id,
    "tt.get_num_programs": _extent,
    "tt.make_range": _range,
    "ub.poison": _poison,
    "arith.cmpi": lambda p, op, b, kind: elementwise.compare_integers(
        p, _predicate(op), b, kind[0]
    ),
    "arith.cmpf": lambda p, op, b, kind: elementwise.compare_floats(p, _predicate(op), b, kind[0]),
    "arith.select": lambda p, op, b, kind: elementwise.select(p, b, kind[0]),
    "arith.extsi": _cast(True),
    "arith.trunci": _cast(True),
    "arith.index_cast": _cast(True),
    "arith.extui": _cast(False),
    "arith.index_castui": _cast(False),
    **dict.fromkeys(
        (
            "arith.sitofp",
            "arith.uitofp",
            "arith.fptosi",
            "arith.fptoui",
            "arith.truncf",
            "arith.extf",
            "tt.fp_to_fp",
        ),
        _convert,
    ),
    "arith.bitcast": lambda p, op, b, kind: elementwise.bitcast(b[0], kind[0]),
    "tt.bitcast": lambda p, op, b, kind: elementwise.bitcast(b[0], kind[0]),
    "tt.addptr": lambda p, op, b, kind: elementwise.add_offset(b[0], b[1]),
    "tt.splat": lambda p, op, b, kind: rearrange.broadcast(b[0], kind[1]),
    "tt.broadcast": lambda p, op, b, kind: rearrange.broadcast(b[0], kind[1]),
    "tt.expand_dims": lambda p, op, b, kind: rearrange.expand_dims(b[0], op.attr("axis"), kind[1]),
    "tt.unsplat": lambda p, op, b, kind: rearrange.reshape(p, b[0], kind[1]),
    "tt.reshape": lambda p, op, b, kind: rearrange.reshape(p, b[0], kind[1]),
    "tt.trans": lambda p, op, b, kind: rearrange.transpose(b[0], _order(op), kind[1]),
    "tt.cat": lambda p, op, b, kind: rearrange.cat(p, b, kind[1]),
    "tt.join": lambda p, op, b, kind: rearrange.join(p, b, kind[1]),
    "tt.split": lambda p, op, b, kind: rearrange.split(p, b[0]),
    "tt.gather": lambda p, op, b, kind: rearrange.gather(p, b[0], b[1], op.attr("axis")),
    "tt.histogram": lambda p, op, b, kind: rearrange.histogram(
        p, b[0], b[1] if len(b) > 1 else None, kind[0], kind[1][0]
    ),
    "tt.dot": lambda p, op, b, kind: rearrange.dot(p, b[0], b[1], b[2]),
    **dict.fromkeys(("arith.freeze", "llvm.freeze", "tt.optimize"), _same),
}
"""Operations without effects; what is not here is not known."""
