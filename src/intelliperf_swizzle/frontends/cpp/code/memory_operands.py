# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What instructions read and write: how much, and where."""

from __future__ import annotations

import re
from collections.abc import Mapping

from intelliperf_swizzle.frontends.cpp.code.llvm import Instruction, Value, identity

MEMORY = ("load", "store", "atomicrmw", "cmpxchg")
CONSTANT, LDS, SCRATCH = 4, 3, 5
GLOBAL = (0, 1)
"""Address spaces: generic and global memory; clang leaves a generic pointer only where it may be
global."""
LOCAL = (LDS, SCRATCH)
MOVES = re.compile(r"@llvm\.(memcpy|memmove|memset)[\w.]*\(")
POINTER = re.compile(
    r"ptr(?: addrspace\((\d+)\))? "
    r"((?:getelementptr|addrspacecast|inttoptr)[^(]*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    r'|[@%](?:[\w.$-]+|"[^"]*"))'
)
_SIZES = {"float": 4, "double": 8, "fp128": 16, "half": 2, "bfloat": 2}


def moved(line: str, how: str) -> tuple[str, list[tuple[str, str]]]:
    """Of a call that copies or fills: how many bytes, and to where and, of a copy, from where."""
    size = re.search(r", i(?:32|64) (\S+), i1", line)
    words = r"(?:align \d+|noundef|nonnull|dereferenceable(?:_or_null)?\(\d+\)) "
    arguments = re.sub(words, "", line).split("(", 1)[1]
    return size[1] if size else "", POINTER.findall(arguments)[: 1 if how == "memset" else 2]


def size_of(kind: str) -> int:
    """Bytes of a value of a type, by its text."""
    kind = kind.strip()
    if found := re.match(r"[<\[](\d+) x (.+)[>\]]$", kind):
        return int(found[1]) * size_of(found[2])
    if found := re.match(r"i(\d+)$", kind):
        return (int(found[1]) + 7) // 8
    if kind.startswith("{"):
        return sum(size_of(part) for part in kind.strip("{} ").split(","))
    return 8 if kind.startswith("ptr") else _SIZES[kind.split()[0]]


def space(value: Value) -> int:
    """The address space of a pointer."""
    found = re.match(r"ptr addrspace\((\d+)\)", str(value.type))
    return int(found[1]) if found else 0


def moves(one: Instruction) -> bool:
    """Whether a call copies or fills memory."""
    return MOVES.search(f"@{list(one.operands)[-1].name}(") is not None


def pointers_of(one: Instruction) -> list[Value]:
    """What an access or a copy points to; of a copy, where it writes comes first."""
    operands = list(one.operands)
    if one.opcode == "call":
        return [value for value in operands[:2] if str(value.type).startswith("ptr")]
    return [operands[1 if one.opcode == "store" else 0]]


def writes_local(one: Instruction) -> bool:
    """Whether it writes shared memory or scratch."""
    writes = one.opcode in MEMORY[1:] or (one.opcode == "call" and moves(one))
    return writes and space(pointers_of(one)[0]) in LOCAL


def read_pointers(one: Instruction) -> list[Value]:
    """Where an instruction reads."""
    if one.opcode == "call" and moves(one):
        return pointers_of(one)[1:]
    return pointers_of(one) if one.opcode in MEMORY and one.opcode != "store" else []


def place_of(pointer: Value, known: Mapping[int, Instruction]) -> str | int | None:
    """The variable of shared memory or scratch that is pointed into; None if that does not show."""
    while (part := known.get(identity(pointer))) is not None:
        if part.opcode == "alloca":
            return identity(part)
        if part.opcode not in ("getelementptr", "addrspacecast", "freeze"):
            return None
        pointer = next(iter(part.operands))
    found = re.search(r'@(?:[\w.$]+|"[^"]+")', str(pointer))
    return found[0] if found else None
