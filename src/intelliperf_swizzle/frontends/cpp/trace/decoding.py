# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An address slice in steps that need no more of LLVM."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.cpp.code import llvm
from intelliperf_swizzle.frontends.cpp.code.memory_operands import size_of
from intelliperf_swizzle.frontends.cpp.trace.device_memory import DeviceMemory
from intelliperf_swizzle.frontends.cpp.trace.terms import Sum
from intelliperf_swizzle.frontends.ssa import reached

Number: TypeAlias = "Sum | tuple[Sum, ...]"
"""A value of all threads; vectors are tuples."""


class UnknownStepError(Exception):
    """Something that is not interpreted decides what is accessed.

    Attributes:
        what: it is.
        text: of the instruction.
    """

    def __init__(self, what: str, text: str):
        super().__init__(what)
        self.what, self.text = what, text


class WaitsError(UnknownStepError):
    """What other threads write decides, or when they do."""


@dataclass(frozen=True, eq=False)
class Step:
    """An instruction that needs no more of LLVM."""

    opcode: str
    id: int
    operands: tuple[Number | int, ...]
    bits: int
    text: str
    lanes: int = 0
    source_bits: int = 64
    how: str = ""
    strides: tuple[int, ...] = ()
    bytes: int = 0
    targets: tuple[int, ...] = ()
    incoming: Mapping[int, Number | int] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A slice that can be run.

    Attributes:
        steps: by block.
        order: of blocks: loops are contiguous, their headers first, what follows them later.
        entry: the first block.
        parameters: identities of the parameters, in order.
        casts: identity of a pointer that is another one cast -> that of the other.
    """

    steps: Mapping[int, tuple[Step, ...]]
    order: Mapping[int, int]
    entry: int
    parameters: tuple[int, ...]
    casts: Mapping[int, Number | int]


@functools.lru_cache(maxsize=4)
def decode_slice(text: str, symbol: str, variables: frozenset[tuple[str, int]]) -> Program:
    """The slice as steps; launches that differ in arguments have one.

    Args:
        text: of the slice, LLVM's.
        symbol: of the sliced kernel in it.
        variables: name and address of each device variable.

    Raises:
        TraceError: an address is made in a way that is not known.
        UnknownStepError: floating-point numbers are computed with.
    """
    module = llvm.parse(text)
    function = module.get_function(symbol)
    blocks = list(function.blocks)
    decoder = _TermDecoder(dict(variables), module)
    steps = {llvm.identity(block): tuple(map(decoder.step, block.instructions)) for block in blocks}
    every = itertools.chain.from_iterable(steps.values())
    return Program(
        steps,
        {block: place for place, block in enumerate(llvm.order_of(blocks)[0])},
        llvm.identity(blocks[0]),
        tuple(llvm.identity(argument) for argument in function.arguments),
        {step.id: step.operands[0] for step in every if step.opcode == "addrspacecast"},
    )


_FOLDS = ("urem", "srem", "and", "udiv", "sdiv", "lshr", "ashr", "trunc", "select", "icmp")
_CHOSEN = re.compile(r"llvm\.(?:[su](?:min|max)|abs)\.")
_SUMS, _ALONE = ("add", "sub", "or", "getelementptr"), ("mul", "shl", "xor")
_APART = (
    *_SUMS, *_ALONE, "zext", "sext", "phi", "load", "bitcast", "ptrtoint", "inttoptr", "freeze",
    "addrspacecast", "extractelement", "insertelement", "shufflevector",
)  # fmt: skip
"""Steps that bring no two workgroups together, `_SUMS` and `_ALONE` if one operand alone follows
from a workgroup's number."""


@dataclass(frozen=True)
class Fold:
    """A step that may bring workgroups together, and what `ssa.outcomes` asks of it.

    Attributes:
        operands: that it is made of; of a sum those that follow from a workgroup's number.
        sides: as of `ssa.outcomes`; none if no outcome says what else it may do.
    """

    operands: tuple[Number | int, ...]
    sides: tuple[int, ...] = ()


def folds(program: Program, sites: Collection[int]) -> dict[int, Fold]:
    """What may bring workgroups together at one size and not at a smaller one: steps that lead
    from a workgroup's number to these accesses, as of `sw_touch`."""
    steps = {step.id: step for block in program.steps.values() for step in block}
    decided = _deciding(program)
    before = {
        key: [o for o in (*step.operands, *step.incoming.values(), *decided.get(key, ()))
              if isinstance(o, int) and o in steps]
        for key, step in steps.items()
    }  # fmt: skip
    readers: dict[int, list[int]] = {}
    for key, values in before.items():
        for operand in values:
            readers.setdefault(operand, []).append(key)
    numbers = [key for key, step in steps.items() if ".workgroup.id." in step.how]
    own = reached(numbers, lambda key: readers.get(key, ()))
    ends = [step.id for step in steps.values() if step.how == "sw_touch"
            and isinstance(site := step.operands[4], Sum) and site.c in sites]  # fmt: skip
    leading = reached((operand for end in ends for operand in before[end]), before.__getitem__)
    found = {key: _fold(steps[key], steps, own) for key in leading if key in own}
    return {key: fold for key, fold in found.items() if fold is not None}


def _fold(step: Step, steps: Mapping[int, Step], own: Collection[int]) -> Fold | None:
    mine = [o for o in dict.fromkeys(step.operands) if isinstance(o, int) and o in own]
    if step.opcode == "icmp":  # sizes are compared at all sizes
        fixed = len(mine) > 1 or any(isinstance(operand, Sum) for operand in step.operands)
        return Fold(step.operands, (0, 0)) if fixed else None
    if (step.bits == 1 and not step.lanes) or (step.opcode == "trunc" and step.bits >= 32):
        return None
    if step.opcode in _FOLDS or _CHOSEN.match(step.how):
        taken = {"call": 1 if "abs" in step.how else 2}.get(step.opcode)
        return Fold(step.operands[:taken], (0, 0))
    together = step.opcode == "or" and step.how != "disjoint"
    if len(mine) == 2 and step.opcode in _SUMS and not together:
        strides, (a, b) = step.strides or (1,), map(step.operands.index, mine)
        units, sizes = (strides[-1], *strides), (1, *strides)
        multiples = (_multiple(operand, other, steps, own) for operand, other in (mine, mine[::-1]))
        scales = ((units[a], sizes[b]), (units[b], sizes[a]))
        sides = (-(-m * unit // size) for m, (unit, size) in zip(multiples, scales, strict=True))
        return Fold(tuple(mine), tuple(sides))
    together |= len(mine) > 1 and step.opcode in (*_SUMS, *_ALONE)
    number = ".workgroup.id." in step.how
    return None if number or (step.opcode in _APART and not together) else Fold(step.operands)


def _multiple(
    value: Number | int, other: Number | int, steps: Mapping[int, Step], own: Collection[int]
) -> int:
    """The constant of which a workgroup's number is a multiple, if the other one is not bounded."""
    last = ("mul", "shl", "load", "call")
    made = reached([value], lambda key: () if steps[key].opcode in last else [
        o for o in (*steps[key].operands, *steps[key].incoming.values()) if o in own
    ])  # fmt: skip
    times = [
        (operand.c if step.opcode == "mul" else 1 << operand.c) if isinstance(operand, Sum) else 0
        for step in (steps[key] for key in made if isinstance(key, int))
        for operand in (step.operands[-1:] if step.opcode in ("mul", "shl") else ())
    ]
    return 0 if _is_bounded(other, steps) else math.gcd(*times)


def _is_bounded(value: Number | int, steps: Mapping[int, Step]) -> bool:
    """Whether constants alone say what a number that is not negative is at most."""
    step = steps.get(value) if isinstance(value, int) else None
    if step is None or step.opcode in ("phi", "load", "call"):
        return not isinstance(value, int) or (step is not None and ".workitem.id." in step.how)
    kind = step.opcode[1:]
    operands = step.operands[kind == "rem" : 1 if kind in ("div", "shr") else None]
    return (any if step.opcode == "and" else all)(_is_bounded(o, steps) for o in operands)


def _deciding(program: Program) -> dict[int, list[Number | int]]:
    """The conditions by which a phi has one of its values: of branches since its dominators."""
    ways: dict[int, list[int]] = {block: [] for block in program.steps}
    for block, steps in program.steps.items():
        for target in steps[-1].targets:
            ways[target].append(block)
    over: dict[int, set[int]] = {}
    found: dict[int, list[Number | int]] = {}
    for block in sorted(program.steps, key=program.order.__getitem__):
        around = [over[way] for way in ways[block] if way in over]
        begin = set.intersection(*around) if around else set()
        over[block] = {block} | begin
        inside = reached(ways[block], lambda way: () if way in begin else ways[way])  # noqa: B023
        ends = [program.steps[block][-1] for block in inside]
        asked = [end.operands[0] for end in ends if len(end.targets) > 1]
        found |= {step.id: asked for step in program.steps[block] if step.opcode == "phi"}
    return found


class _TermDecoder:
    def __init__(self, variables: Mapping[str, int], module: llvm.Module):
        self._variables = variables
        self._layout = llvm.binding().create_target_data(module.data_layout)
        self._structures = {struct_type.name: struct_type for struct_type in module.struct_types}

    def step(self, op: llvm.Instruction) -> Step:
        """An instruction."""
        text = str(op).strip()
        values = list(op.operands)
        kind = str(op.type)
        vector = re.match(r"<(\d+) x (.+)>$", kind)
        element = vector[2] if vector else kind
        if (element in _FLOATS and op.opcode != "load") or op.opcode in _OF_FLOATS:
            raise UnknownStepError("floating-point arithmetic", text)
        known: dict[str, Any] = {"lanes": int(vector[1]) if vector else 0}
        operands = tuple(self._operand(o) for o in values if not llvm.is_block(o))
        if op.opcode == "phi":
            blocks = (llvm.identity(block) for block in op.incoming_blocks)
            known["incoming"] = dict(zip(blocks, operands, strict=True))
        elif op.opcode in ("icmp", "zext", "sext", "trunc", "bitcast"):
            found = re.search(r"icmp (?:samesign )?(\w+)", text)
            known["how"] = found[1] if found else ""
            known["source_bits"] = _bits(_element(values[0]))
        elif op.opcode == "getelementptr":
            flags = r"(?:inbounds |nuw |nusw |inrange\([^)]*\) )*"
            found = re.search(rf"getelementptr {flags}(.+?), (?:ptr|<)", text)
            known["strides"] = self._strides(found[1] if found else "", len(operands) - 2)
        elif op.opcode == "call":
            found = re.search(r'@([\w.$]+|"[^"]+")\(', text)
            known["how"] = found[1] if found else "a pointer to a function"
        elif op.opcode == "load":
            known["bytes"] = size_of(element)
        elif op.opcode == "br":
            known["targets"] = tuple(llvm.identity(o) for o in values if llvm.is_block(o))
        elif op.opcode == "or":
            known["how"] = "disjoint" if " disjoint " in text else ""
        elif op.opcode == "shufflevector":
            known["how"] = _shuffle(text)
        return Step(op.opcode, llvm.identity(op), operands, _bits(element), text, **known)

    def _operand(self, value: llvm.Value) -> Number | int:
        kinds = llvm.binding().ValueKind
        text = str(value)
        kind = str(value.type)
        vector = re.match(r"<(\d+) x ", kind)
        if value.value_kind == kinds.constant_int:
            return Sum(_constant(text.split()[-1]))
        if value.value_kind in (kinds.poison_value, kinds.undef_value, kinds.constant_pointer_null):
            return (Sum(0),) * int(vector[1]) if vector else Sum(0)
        if value.value_kind in (kinds.instruction, kinds.argument):
            return llvm.identity(value)
        if vector:
            return _constants(text, int(vector[1]))
        if "@" in text and kind.startswith("ptr"):
            return Sum(self._address(text))
        return Sum(0)

    def _address(self, text: str) -> int:
        """Of a device variable, or of a place in it."""
        names = re.findall(r'@([\w.$]+|"[^"]+")', text)
        if names[0] not in self._variables:
            return DeviceMemory.elsewhere
        steps = re.findall(r"getelementptr [^(]*\(i8, [^@]*@[\w.$]+\)?[^,]*, i64 (-?\d+)\)", text)
        return self._variables[names[0]] + sum(map(int, steps))

    def _strides(self, source: str, inner: int) -> tuple[int, ...]:
        """Bytes per index: of the first, and of those inside what it points to."""
        strides = [self._size(source)]
        for _ in range(inner):
            array = re.match(r"[\[<](\d+) x (.+)[\]>]$", source)
            if array is None:
                raise TraceError(f"an address is stored in a structure in an unknown way: {source}")
            source = array[2]
            strides.append(self._size(source))
        return tuple(strides)

    def _size(self, kind: str) -> int:
        array = re.match(r"\[(\d+) x (.+)\]$", kind)
        if array:
            return int(array[1]) * self._size(array[2])
        if kind.startswith("%"):
            return int(self._layout.get_abi_size(self._structures[kind[1:].strip('"')]))
        return size_of(kind)


def _bits(kind: str) -> int:
    found = re.match(r"i(\d+)$", kind)
    return int(found[1]) if found else _FLOAT_BITS.get(kind, 64)


_FLOAT_BITS = {"half": 16, "float": 32}
_FLOATS = ("half", "bfloat", "float", "double")
_OF_FLOATS = ("fcmp", "fptosi", "fptoui")


def _element(value: llvm.Value) -> str:
    """The type of a value, or of a vector's elements."""
    return str(value.type).strip("<>").rpartition(" x ")[2]


def _constant(word: str) -> int:
    return int(word == "true") if word in ("true", "false") else int(word)


def _constants(text: str, lanes: int) -> tuple[Sum, ...]:
    """A constant vector."""
    if found := re.search(r"splat \(\w+ ([-+.\w]+)\)", text):
        return (Sum(_constant(found[1])),) * lanes
    inner = re.search(r"> <(.*)>$", text)
    if inner is None:
        return (Sum(0),) * lanes
    words = [part.split()[-1] for part in inner[1].split(",")]
    return tuple(Sum(0 if word in ("poison", "undef") else _constant(word)) for word in words)


def _shuffle(text: str) -> str:
    """The lanes that a shuffle takes, joined by commas; -1 for any."""
    if lanes := re.search(r"<(\d+) x i32> zeroinitializer(?:, !dbg !\d+)?$", text):
        return ",".join("0" * int(lanes[1]))
    end = text.rindex(">")
    words = [part.split()[-1] for part in text[text.rindex("<", 0, end) + 1 : end].split(",")]
    return ",".join("-1" if word in ("poison", "undef") else word for word in words)
