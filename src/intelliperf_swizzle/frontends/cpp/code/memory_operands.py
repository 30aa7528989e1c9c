# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What instructions and kernels read and write: how much, and where."""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TypeAlias

from intelliperf_swizzle.frontends.cpp.code.llvm import Function, Instruction, Value, identity

MEMORY = ("load", "store", "atomicrmw", "cmpxchg")
CONSTANT, LDS, SCRATCH = 4, 3, 5
GLOBAL = (0, 1)
"""Address spaces: generic and global memory; clang leaves a generic pointer only where it may be
global."""
_GLOBAL = ("", *map(str, GLOBAL))
LOCAL = (LDS, SCRATCH)
MOVES = re.compile(r"@llvm\.(memcpy|memmove|memset)[\w.]*\(")
POINTER = re.compile(
    r"ptr(?: addrspace\((\d+)\))? "
    r"((?:getelementptr|addrspacecast|inttoptr)[^(]*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    r'|[@%](?:[\w.$-]+|"[^"]*"))'
)
VARIABLES = -1
FLOATS = {"float": "f", "double": "d", "half": "e"}
"""How `struct` calls LLVM's types."""
_SIZES = {"float": 4, "double": 8, "fp128": 16, "half": 2, "bfloat": 2}


def parse(line: str, how: str) -> tuple[str, list[tuple[str, str]]]:
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


def accesses(line: str) -> Iterator[tuple[int, tuple[str, str], int | str]]:
    """Kind, address space, address and bytes of what an instruction accesses that may be global
    memory; a copy may have as its bytes what is computed."""
    found = re.match(rf"\s+(?:%\S+ = )?(?:tail )?({'|'.join(MEMORY)})\b(.*)", line)
    if found:
        opcode, rest = found[1], found[2]
        begin = rest.index(", ptr") if opcode == "load" else 0
        pointer = POINTER.findall(rest[begin:])[-1 if opcode == "store" else 0]
        if pointer[0] in _GLOBAL:
            kind = {"load": 0, "store": 1}.get(opcode, 2)
            yield kind, pointer, size_of(_type_of(opcode, rest))
    elif move := MOVES.search(line):
        count, pointers = parse(line, move[1])
        for kind, pointer in zip((1, 0), pointers, strict=False):
            if pointer[0] in _GLOBAL:
                yield kind, pointer, int(count) if count.isdecimal() else count


def _type_of(opcode: str, rest: str) -> str:
    """The type that an access reads or writes."""
    rest = re.sub(r"^ (?:atomic |volatile |weak )*", "", rest)
    if opcode == "load":
        return rest[: rest.index(", ptr")]
    if opcode == "store":
        found = re.match(r"<[^>]*>|\[[^\]]*\]|\{[^}]*\}|ptr(?: addrspace\(\d+\))?|\S+", rest)
    else:
        found = re.search(r"(?<=, )(<[^>]*>|ptr(?: addrspace\(\d+\))?|\w+) ", rest)
    return found[0] if found else "i32"


def space(value: Value) -> int:
    """The address space of a pointer."""
    found = re.match(r"ptr addrspace\((\d+)\)", str(value.type))
    return int(found[1]) if found else 0


def moves(instruction: Instruction) -> bool:
    """Whether a call copies or fills memory."""
    return MOVES.search(f"@{list(instruction.operands)[-1].name}(") is not None


def pointers_of(instruction: Instruction) -> list[Value]:
    """What an access or a copy points to; of a copy, where it writes comes first."""
    operands = list(instruction.operands)
    if instruction.opcode == "call":
        return [value for value in operands[:2] if str(value.type).startswith("ptr")]
    return [operands[1 if instruction.opcode == "store" else 0]]


def writes_local(op: Instruction) -> bool:
    """Whether it writes shared memory or scratch."""
    writes = op.opcode in MEMORY[1:] or (op.opcode == "call" and moves(op))
    return writes and space(pointers_of(op)[0]) in LOCAL


def read_pointers(op: Instruction) -> list[Value]:
    """Where an instruction reads."""
    if op.opcode == "call" and moves(op):
        return pointers_of(op)[1:]
    return pointers_of(op) if op.opcode in MEMORY and op.opcode != "store" else []


def place_of(pointer: Value, known: Mapping[int, Instruction]) -> str | int | None:
    """The variable of shared memory or scratch that is pointed into; None if that does not show."""
    origin = _origin(pointer, known)
    if origin is None or identity(origin) in known:
        return origin and identity(origin)
    found = re.search(r'@(?:[\w.$]+|"[^"]+")', str(origin))
    return found[0] if found else None


def _origin(pointer: Value, known: Mapping[int, Instruction]) -> Value | None:
    """What is pointed into: scratch, or what no instruction makes; None if that does not show."""
    while (part := known.get(identity(pointer))) is not None and part.opcode != "alloca":
        if part.opcode not in ("getelementptr", "addrspacecast", "freeze"):
            return None
        pointer = next(iter(part.operands))
    return pointer


def values_of(function: Function) -> tuple[dict[int, tuple[int, int]], dict[int, Instruction]]:
    """Number and address space of each parameter, and the instructions, by their identities."""
    parameters = {identity(a): (number, space(a)) for number, a in enumerate(function.arguments)}
    instructions = (instruction for block in function.blocks for instruction in block.instructions)
    return parameters, {identity(instruction): instruction for instruction in instructions}


def contents(left: Function) -> frozenset[int] | None:
    """The parameters whose buffers hold what decides, of a slice; see `AddressSlice.contents`."""
    parameters, known = values_of(left)
    found: set[int] = set()
    for op in known.values():
        reads = op.opcode == "load" or (op.opcode == "call" and moves(op))
        for pointer in read_pointers(op) if reads else ():
            bases = set() if space(pointer) in LOCAL else _bases(pointer, parameters, known)
            if bases is None:
                return None
            found |= bases
    return frozenset(found)


Touch: TypeAlias = "tuple[int, int, frozenset[int | None]]"
"""Kind, site and parameters (None = not known) of an access that a slice reports."""


def touches(left: Function) -> Iterator[Touch]:
    """The accesses that a slice reports."""
    parameters, known = values_of(left)
    for instruction in known.values():
        values = list(instruction.operands)
        if instruction.opcode == "call" and values[-1].name == "sw_touch":
            kind, site = (int(str(values[at]).split()[-1]) for at in (2, 4))
            yield kind, site, frozenset[int | None](_bases(values[0], parameters, known) or (None,))


def of_kinds(found: Iterable[Touch], *kinds: int) -> set[int | None]:
    """The parameters of accesses of these kinds."""
    return set[int | None]().union(*(bases for kind, _, bases in found if kind in kinds))


def meet(some: Set[int | None], others: Set[int | None]) -> bool:
    """Whether accesses to buffers of parameters may be of one buffer."""
    return bool(some and others and (some & others or None in some | others))


def elements(made: Iterable[Touch], types: Mapping[int, str]) -> dict[int, str]:
    """What the buffers of parameters hold, by the accesses that are made of one parameter alone."""
    found: dict[int, str] = {}
    for _, site, bases in made:
        base, *more = bases
        if base is not None and not more and types.get(site):
            found.setdefault(base, re.sub(r"[<\[]\d+ x (.+)[>\]]", r"\1", types[site]))
    return found


def _bases(
    address: Value, parameters: Mapping[int, tuple[int, int]], known: Mapping[int, Instruction]
) -> set[int] | None:
    """The parameters that a load's address is made of; None if it is made of memory's contents."""
    found: set[int] = set()
    seen: set[int] = set()
    todo = [address]
    while todo:
        value = todo.pop()
        key = identity(value)
        if key in seen:
            continue
        seen.add(key)
        part = known.get(key)
        if key in parameters:
            number, where = parameters[key]
            found |= {number} if where != CONSTANT else set()  # else the argument itself
        elif part is None:
            found |= {VARIABLES} if "@" in str(value) else set()
        elif part.opcode == "load":
            argument = _argument_of(part, parameters, known)
            if argument is None:
                return None
            found.add(argument)
        elif part.opcode == "getelementptr":
            todo += list(part.operands)[:1]
        elif part.opcode in ("phi", "select", "addrspacecast", "freeze"):
            todo += part.operands
        elif part.opcode != "call":  # a call gives what the launch itself says
            return None
    return found


def _argument_of(
    load: Instruction, parameters: Mapping[int, tuple[int, int]], known: Mapping[int, Instruction]
) -> int | None:
    """The structure passed by value that a pointer is loaded from; None if it is from elsewhere."""
    origin = _origin(next(iter(load.operands)), known)
    number, where = parameters.get(identity(origin), (0, 0)) if origin is not None else (0, 0)
    return number if where == CONSTANT else None


def used_parameters(left: Function) -> frozenset[int]:
    """The numbers of the parameters that some instruction reads."""
    _, known = values_of(left)
    used = {identity(value) for instruction in known.values() for value in instruction.operands}
    return frozenset(n for n, argument in enumerate(left.arguments) if identity(argument) in used)
