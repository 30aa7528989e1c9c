# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs an address slice for thousands of workgroups at once and reports what it touches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.kernels.hip import terms
from intelliperf_swizzle.kernels.hip.llvm import Function, Module, Value, binding, identity
from intelliperf_swizzle.kernels.hip.memory import Memory
from intelliperf_swizzle.kernels.hip.slicing import size_of, space
from intelliperf_swizzle.kernels.hip.terms import EVERYONE, Mask, Sum
from intelliperf_swizzle.records import Access, Grid, Int64Array
from intelliperf_swizzle.trace.atomics import Update

_MOST_PENDING = 8
"""Ways into a block that are joined at once."""
_MOST_STEPS = 50_000_000
"""Instructions of a batch; a slice that takes more does not end."""
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


class Recorder(Protocol):
    """Takes accesses; `trace.recorder.TraceRecorder` does, and `trace.overwrites.ByteWatch`."""

    def begin(self, programs: Int64Array) -> None:
        """A batch begins."""

    def access(
        self,
        kind: Access,
        addresses: Sequence[npt.NDArray[np.int64]],
        mask: Sequence[npt.NDArray[np.bool_]],
        item_bytes: int,
        active: npt.NDArray[np.bool_],
        site: int | None = None,
    ) -> int:
        """The active programs access a block."""

    def end(self, active: npt.NDArray[np.bool_], value_loads: Mapping[int, int]) -> None:
        """A batch is over."""


@dataclass(frozen=True, eq=False)
class _Step:
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
    space: int = 0
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

    steps: Mapping[int, tuple[_Step, ...]]
    order: Mapping[int, int]
    entry: int
    parameters: tuple[int, ...]
    casts: Mapping[int, Number | int]


class CurrentUpdate:
    """Says what an atomic does while it is reported; see `trace.atomics`."""

    def __init__(self, names: Sequence[str]):
        self._names = names
        self.code = 0

    def __call__(self) -> Update:
        """The operation that is being reported."""
        return Update(f"atomic_{self._names[self.code >> 1]}", bool(self.code & 1))


class Interpreter:
    """Runs the slice of a launch.

    Args:
        program: the slice.
        grid: workgroups.
        block: threads of a workgroup.
        values: of the parameters.
        memory: what loads that decide read.
        recorder: is told of accesses.
        update: is told what atomics do.
    """

    def __init__(
        self,
        program: Program,
        grid: Grid,
        block: Grid,
        values: Sequence[int],
        memory: Memory,
        recorder: Recorder,
        update: CurrentUpdate,
    ):
        self._program, self._grid, self._block = program, grid, block
        self._values, self._memory = values, memory
        self._recorder, self._update = recorder, update
        self._block_mask = np.ones((1, block[2], block[1], block[0]), np.bool_)

    def run(self, programs: Int64Array) -> None:
        """Runs these workgroups.

        Raises:
            UnknownStepError: an instruction is not interpreted.
            TraceError: contents are missing, or the kernel does not end.
        """
        gx, gy, _ = self._grid
        self._groups = [programs % gx, programs // gx % gy, programs // gx // gy]
        self._everyone = np.ones(len(programs), np.bool_)
        self._env: dict[int, Number] = {
            key: Sum(value)
            for key, value in zip(self._program.parameters, self._values, strict=True)
        }
        self._loaded: dict[Number | int, int] = {}
        self._value_loads: dict[int, int] = {}
        self._pending: dict[int, tuple[list[Mask], dict[int, Number]]] = {}
        self._pending[self._program.entry] = ([EVERYONE], {})
        self._recorder.begin(programs)
        left = _MOST_STEPS
        while self._pending:
            block = min(self._pending, key=self._program.order.__getitem__)
            masks, phis = self._pending.pop(block)
            mask = terms.simplified(terms.union(masks))
            self._env.update(phis)
            steps = self._program.steps[block]
            left -= len(steps)
            if left < 0:
                raise TraceError("the kernel does not come to an end")
            for step in steps:
                if step.opcode != "phi":
                    self._execute(step, block, mask)
        self._recorder.end(self._everyone, self._value_loads)

    def _get(self, operand: Number | int) -> Number:
        return self._env[operand] if isinstance(operand, int) else operand

    def _sum(self, operand: Number | int) -> Sum:
        return _scalar_of(self._get(operand))

    def _execute(self, step: _Step, block: int, mask: Mask) -> None:
        if step.opcode == "br":
            self._branch(step, block, mask)
        elif step.opcode == "load":
            self._env[step.id] = self._load(step)
        elif step.opcode == "call":
            self._call(step, mask)
        elif step.opcode not in ("ret", "unreachable"):
            self._env[step.id] = self._compute(step)

    # --- control flow --------------------------------------------------------------------------

    def _branch(self, step: _Step, block: int, mask: Mask) -> None:
        if len(step.targets) == 1:
            self._go(block, step.targets[0], mask)
            return
        condition = self._sum(step.operands[0])
        if_false, if_true = step.targets  # as llvmlite lists them
        if not condition.terms:
            self._go(block, if_true if condition.c else if_false, mask)
            return
        asked = terms.Condition(condition.array() != 0)
        for target, holds in ((if_true, True), (if_false, False)):
            taken = mask | {(asked, holds)}
            if terms.whole(taken).any():
                self._go(block, target, taken)

    def _go(self, source: int, target: int, mask: Mask) -> None:
        masks, phis = self._pending.setdefault(target, ([], {}))
        values = {}
        for step in self._program.steps[target]:
            if step.opcode != "phi":
                break
            operand = step.incoming[source]
            value = self._env.get(operand, Sum(0)) if isinstance(operand, int) else operand
            values[step.id] = _joined(value, phis[step.id], mask) if step.id in phis else value
        phis.update(values)
        masks.append(mask)
        if len(masks) > _MOST_PENDING:
            masks[:] = [terms.union(masks)]

    # --- memory --------------------------------------------------------------------------------

    def _load(self, step: _Step) -> Number:
        address = self._sum(step.operands[0])
        number = self._loaded.get(self._uncast(step.operands[0]))
        if number is not None:
            self._value_loads[number] = self._memory.all_places
        parts = tuple(
            self._read(terms.add(address, Sum(lane * step.bytes)), step)
            for lane in range(step.lanes or 1)
        )
        return parts if step.lanes else parts[0]

    def _read(self, address: Sum, step: _Step) -> Sum:
        if not address.terms:
            return Sum(self._memory.read_one(address.c, step.bytes))
        return terms.of(self._memory.read(address.array(), step.bytes))

    def _touch(self, step: _Step, mask: Mask) -> None:
        address = self._sum(step.operands[0])
        size, kind, update, site = (self._sum(one).c for one in step.operands[1:5])
        if address.lo >= self._memory.not_global:
            return
        self._update.code = update
        parts = [np.full(terms.ONE, terms.signed(address.c)), *address.terms.values()]
        masks = [*terms.arrays_of(mask), self._block_mask]
        number = self._recorder.access(Access(kind), parts, masks, size, self._everyone, site=site)
        if kind == Access.READ:
            self._loaded[self._uncast(step.operands[0])] = number

    def _uncast(self, operand: Number | int) -> Number | int:
        return self._program.casts.get(operand, operand) if isinstance(operand, int) else operand

    # --- values --------------------------------------------------------------------------------

    def _call(self, step: _Step, mask: Mask) -> None:
        name = step.how
        if name == "sw_touch":
            self._touch(step, mask)
        elif found := re.match(r"llvm\.amdgcn\.(workgroup|workitem)\.id\.([xyz])", name):
            axis = "xyz".index(found[2])
            if found[1] == "workgroup":
                self._env[step.id] = terms.along(0, self._groups[axis])
            else:
                self._env[step.id] = terms.along(3 - axis, np.arange(self._block[axis]))
        elif "implicitarg.ptr" in name:
            self._env[step.id] = Sum(self._memory.implicit)
        elif "dispatch.ptr" in name:
            self._env[step.id] = Sum(self._memory.dispatch)
        elif found := re.match(r"llvm\.([su](?:min|max))\.", name):
            a, b = (self._sum(one) for one in step.operands[:2])
            self._env[step.id] = terms.extreme(found[1], a, b, step.bits)
        elif name.startswith("llvm.abs."):
            a = self._sum(step.operands[0])
            self._env[step.id] = a if a.lo >= 0 else terms.of(abs(a.array()))
        elif found := re.match(r"llvm\.amdgcn\.mbcnt\.(lo|hi)", name):
            self._env[step.id] = self._lane(step, found[1])
        elif name == "llvm.amdgcn.wavefrontsize":
            self._env[step.id] = Sum(64)
        elif not name.startswith(("llvm.lifetime", "llvm.experimental.noalias", "llvm.dbg")):
            raise UnknownStepError(f"`{name}`", step.text)

    def _lane(self, step: _Step, half: str) -> Sum:
        """How many lanes of a wave come before this one: `mbcnt` of all, in one half."""
        mask, before = (self._sum(one) for one in step.operands[:2])
        if mask.terms or mask.c != -1:
            raise UnknownStepError("a value of another lane", step.text)
        bx, by, bz = self._block
        lane = np.arange(bx * by * bz).reshape(1, bz, by, bx) % 64
        count = np.minimum(lane, 32) if half == "lo" else np.maximum(lane - 32, 0)
        return terms.add(before, terms.of(count))

    def _compute(self, step: _Step) -> Number:
        values = [self._get(one) for one in step.operands]
        if step.opcode == "extractelement":
            return _vector(values[0])[_scalar_of(values[1]).c]
        if step.opcode == "insertelement":
            vector, at = _vector(values[0]), _scalar_of(values[2]).c
            return (*vector[:at], _scalar_of(values[1]), *vector[at + 1 :])
        if step.opcode == "shufflevector":
            both = (*_vector(values[0]), *_vector(values[1]))
            return tuple(both[int(one)] if one != "-1" else Sum(0) for one in step.how.split(","))
        if step.lanes:
            rows = [one if isinstance(one, tuple) else (one,) * step.lanes for one in values]
            return tuple(self._scalar(step, list(row)) for row in zip(*rows, strict=True))
        return self._scalar(step, [one for one in values if isinstance(one, Sum)])

    def _scalar(self, step: _Step, values: list[Sum]) -> Sum:
        function = _OPERATIONS.get(step.opcode)
        if function is None:
            raise UnknownStepError(f"an instruction `{step.opcode}`", step.text)
        return function(step, values)


def _scalar_of(value: Number) -> Sum:
    assert isinstance(value, Sum)
    return value


def _vector(value: Number) -> tuple[Sum, ...]:
    assert isinstance(value, tuple)
    return value


def _joined(value: Number, before: Number, mask: Mask) -> Number:
    """The value where the mask holds, else what came another way."""
    if value is before:
        return value
    if isinstance(value, tuple) and isinstance(before, tuple):
        pairs = zip(value, before, strict=True)
        return tuple(_scalar_of(_joined(a, b, mask)) for a, b in pairs)
    value, before = _scalar_of(value), _scalar_of(before)
    if not value.terms and not before.terms and value.c == before.c:
        return value
    return terms.of(np.where(terms.whole(mask), value.array(), before.array()))


def _shift_left(step: _Step, values: list[Sum]) -> Sum:
    a, b = values
    if not b.terms:
        return terms.wrap(terms.scale(a, 1 << (b.c & 63)), step.bits)
    return terms.bitwise("shl", a, b, step.bits)


def _or(step: _Step, values: list[Sum]) -> Sum:
    if step.how == "disjoint":
        return terms.wrap(terms.add(values[0], values[1]), step.bits)
    return terms.bitwise("or", values[0], values[1], step.bits)


def _extend(step: _Step, values: list[Sum]) -> Sum:
    if step.opcode == "sext":
        return values[0] if step.source_bits > 1 else terms.scale(values[0], -1)
    return (
        terms.wrap(values[0], step.source_bits, signed=False) if step.source_bits > 1 else values[0]
    )


def _truncate(step: _Step, values: list[Sum]) -> Sum:
    if step.bits > 1:
        return terms.wrap(values[0], step.bits)
    return terms.of(values[0].array() & 1)


def _element(step: _Step, values: list[Sum]) -> Sum:
    address = values[0]
    for index, stride in zip(values[1:], step.strides, strict=True):
        address = terms.add(address, terms.scale(index, stride))
    return terms.wrap(address, 64)


_OPERATIONS: Mapping[str, Callable[[_Step, list[Sum]], Sum]] = {
    "add": lambda step, v: terms.wrap(terms.add(v[0], v[1]), step.bits),
    "sub": lambda step, v: terms.wrap(terms.add(v[0], v[1], -1), step.bits),
    "mul": lambda step, v: terms.wrap(terms.multiply(v[0], v[1]), step.bits),
    "shl": _shift_left,
    "or": _or,
    **{
        name: lambda step, v: terms.bitwise(step.opcode, v[0], v[1], step.bits)
        for name in ("and", "xor", "lshr", "ashr", "udiv", "sdiv", "urem", "srem")
    },
    "sext": _extend,
    "zext": _extend,
    "trunc": _truncate,
    "icmp": lambda step, v: terms.compare(step.how, v[0], v[1], step.source_bits),
    "select": lambda step, v: terms.choose(*v),
    "getelementptr": _element,
    "alloca": lambda step, v: Sum(Memory.elsewhere),
    **{
        name: lambda step, v: v[0]
        for name in ("addrspacecast", "freeze", "bitcast", "ptrtoint", "inttoptr")
    },
}


# --- decoding -------------------------------------------------------------------------------------


def decode(function: Function, variables: Mapping[str, int], module: Module) -> Program:
    """The slice as steps.

    Args:
        function: the sliced kernel.
        variables: addresses of device variables by name.
        module: that it is in.

    Raises:
        TraceError: an address is made in a way that is not known.
    """
    decoder = _Decoder(variables, module)
    blocks = list(function.blocks)
    successors: dict[int, list[int]] = {}
    for block in blocks:
        *_, last = block.instructions
        successors[identity(block)] = [identity(o) for o in last.operands if _is_block(o)]
    order = _order([identity(block) for block in blocks], successors)
    steps = {identity(block): tuple(decoder.steps(block)) for block in blocks}
    return Program(
        steps,
        {block: place for place, block in enumerate(order)},
        identity(blocks[0]),
        tuple(identity(one) for one in function.arguments),
        {
            step.id: step.operands[0]
            for block in steps.values()
            for step in block
            if step.opcode == "addrspacecast"
        },
    )


def _is_block(value: Value) -> bool:
    return bool(value.value_kind == binding().ValueKind.basic_block)


class _Decoder:
    def __init__(self, variables: Mapping[str, int], module: Module):
        self._variables = variables
        self._layout = binding().create_target_data(module.data_layout)
        self._structures = {one.name: one for one in module.struct_types}

    def steps(self, block: Any) -> Iterator[_Step]:
        """The instructions of a block."""
        for one in block.instructions:
            yield self._step(one)

    def _step(self, one: Any) -> _Step:
        text = str(one).strip()
        values = list(one.operands)
        kind = str(one.type)
        vector = re.match(r"<(\d+) x (.+)>$", kind)
        element = vector[2] if vector else kind
        known: dict[str, Any] = {"lanes": int(vector[1]) if vector else 0}
        operands = tuple(self._operand(o) for o in values if not _is_block(o))
        if one.opcode == "phi":
            blocks = (identity(block) for block in one.incoming_blocks)
            known["incoming"] = dict(zip(blocks, operands, strict=True))
        elif one.opcode in ("icmp", "zext", "sext", "trunc"):
            found = re.search(r"icmp (?:samesign )?(\w+)", text)
            known["how"] = found[1] if found else ""
            known["source_bits"] = _bits(str(values[0].type).strip("<>").rpartition(" x ")[2])
        elif one.opcode == "getelementptr":
            flags = r"(?:inbounds |nuw |nusw |inrange\([^)]*\) )*"
            found = re.search(rf"getelementptr {flags}(.+?), (?:ptr|<)", text)
            known["strides"], operands = self._strides(found[1] if found else "", operands)
        elif one.opcode == "call":
            found = re.search(r'@([\w.$]+|"[^"]+")\(', text)
            known["how"] = found[1] if found else "a pointer to a function"
        elif one.opcode == "load":
            known |= {"space": space(values[0]), "bytes": size_of(element)}
        elif one.opcode == "br":
            known["targets"] = tuple(identity(o) for o in values if _is_block(o))
        elif one.opcode == "or":
            known["how"] = "disjoint" if " disjoint " in text else ""
        elif one.opcode == "shufflevector":
            known["how"] = _shuffle(text)
        return _Step(one.opcode, identity(one), operands, _bits(element), text, **known)

    def _operand(self, value: Value) -> Number | int:
        kinds = binding().ValueKind
        text = str(value)
        kind = str(value.type)
        vector = re.match(r"<(\d+) x ", kind)
        if value.value_kind == kinds.constant_int:
            return Sum(_constant(text.split()[-1]))
        if value.value_kind in (kinds.poison_value, kinds.undef_value, kinds.constant_pointer_null):
            return (Sum(0),) * int(vector[1]) if vector else Sum(0)
        if value.value_kind in (kinds.instruction, kinds.argument):
            return identity(value)
        if vector:
            return _constants(text, int(vector[1]))
        if "@" in text and kind.startswith("ptr"):
            return Sum(self._address(text))
        return Sum(0)

    def _address(self, text: str) -> int:
        """Of a device variable, or of a place in it."""
        names = re.findall(r'@([\w.$]+|"[^"]+")', text)
        if names[0] not in self._variables:
            return Memory.elsewhere
        steps = re.findall(r"getelementptr [^(]*\(i8, [^@]*@[\w.$]+\)?[^,]*, i64 (-?\d+)\)", text)
        return self._variables[names[0]] + sum(map(int, steps))

    def _strides(
        self, source: str, operands: tuple[Number | int, ...]
    ) -> tuple[tuple[int, ...], tuple[Number | int, ...]]:
        """Bytes per index; an index into a structure becomes the bytes that it skips."""
        strides = [self._size(source)]
        for _ in operands[2:]:
            array = re.match(r"[\[<](\d+) x (.+)[\]>]$", source)
            if array is None:
                raise TraceError(
                    f"an address goes into a structure in a way unknown here: {source}"
                )
            source = array[2]
            strides.append(self._size(source))
        return tuple(strides), operands

    def _size(self, kind: str) -> int:
        array = re.match(r"\[(\d+) x (.+)\]$", kind)
        if array:
            return int(array[1]) * self._size(array[2])
        if kind.startswith("%"):
            structure = self._structures[kind[1:].strip('"')]
            return int(self._layout.get_abi_size(structure))
        return size_of(kind)


def _bits(kind: str) -> int:
    found = re.match(r"i(\d+)$", kind)
    return int(found[1]) if found else 64


def _constant(word: str) -> int:
    return int(word == "true") if word in ("true", "false") else int(word)


def _constants(text: str, lanes: int) -> tuple[Sum, ...]:
    """A constant vector."""
    if found := re.search(r"splat \(\w+ (-?\w+)\)", text):
        return (Sum(_constant(found[1])),) * lanes
    inner = re.search(r"> <(.*)>$", text)
    words = [part.split()[-1] for part in inner[1].split(",")] if inner else ["0"] * lanes
    return tuple(Sum(0 if word in ("poison", "undef") else _constant(word)) for word in words)


def _shuffle(text: str) -> str:
    """The lanes that a shuffle takes, joined by commas; -1 for any."""
    mask = text[text.rindex("<", 0, text.rindex(">")) :] if "zeroinitializer" not in text else ""
    lanes = re.search(r"<(\d+) x i32>(?: |$)(?!.*<\d+ x i32> %)", text)
    if "zeroinitializer" in text and lanes:
        return ",".join("0" * int(lanes[1]))
    words = [part.split()[-1] for part in mask.strip("<>").split(",")]
    return ",".join("-1" if word in ("poison", "undef") else word for word in words)


def _order(blocks: list[int], successors: Mapping[int, list[int]]) -> list[int]:
    """Blocks so that every loop is contiguous, its header first and what follows it later."""

    def arrange(nodes: list[int], cut: frozenset[tuple[int, int]]) -> list[int]:
        arranged: list[int] = []
        for component in reversed(_components(nodes, successors, cut)):
            if len(component) == 1:
                arranged += component
                continue
            members = set(component)
            entered = [b for p in nodes if p not in members for b in successors[p] if b in members]
            header = entered[0] if entered else nodes[0]
            inner = [header, *(node for node in component if node != header)]
            arranged += arrange(inner, cut | {(node, header) for node in component})
        return arranged

    return arrange(blocks, frozenset())


def _components(
    nodes: list[int], successors: Mapping[int, list[int]], cut: frozenset[tuple[int, int]]
) -> list[list[int]]:
    """Strongly connected components, those that are left last come first (Tarjan's algorithm)."""
    inside = set(nodes)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, left = work[-1]
            following = next(left, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(stack[at:])
                    del stack[at:]
            elif following in inside and (node, following) not in cut:
                if following not in index:
                    index[following] = low[following] = len(index)
                    stack.append(following)
                    work.append((following, iter(successors[following])))
                elif following in stack:
                    low[node] = min(low[node], index[following])
    return found
