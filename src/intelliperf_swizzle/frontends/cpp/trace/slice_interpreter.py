# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs an address slice for thousands of workgroups at once and reports what it touches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from intelliperf_swizzle.frontends.cpp.trace import decoding, terms
from intelliperf_swizzle.frontends.cpp.trace.device_memory import DeviceMemory
from intelliperf_swizzle.frontends.cpp.trace.terms import EVERYONE, Mask, Sum
from intelliperf_swizzle.frontends.ssa import outcomes
from intelliperf_swizzle.records import Access, Grid, Int64Array
from intelliperf_swizzle.trace.observer import BlockAccess, Observer, Update

_MOST_PENDING = 8
"""Ways into a block that are joined at once."""
_MOST_STEPS = 1_000_000
"""Instructions of a batch, a minute."""


class CurrentUpdate:
    """Says what an atomic does while it is reported; see `trace.observer`."""

    def __init__(self, names: Sequence[str]):
        self._names = names
        self.code = 0

    def __call__(self) -> Update:
        """The operation that is being reported."""
        return Update(f"atomic_{self._names[self.code >> 1]}", bool(self.code & 1))


@dataclass(eq=False)
class Interpreter:
    """Runs the slice of a launch.

    Attributes:
        program: the slice.
        grid: workgroups.
        block: threads of a workgroup.
        wave_lanes: threads of a wave.
        values: of the parameters.
        memory: what loads that decide read.
        update: receives what atomics do.
        folds: as of `decoding.folds`.
        folded: which outcomes there are of these.
        deciding: the instruction of each load whose value decided, in the order of their numbers.
        computed: int64[workgroups, 3]; `arithmetic.Counts` of those that were run last, for the
            lanes of each; 0 in slices that do not count.
    """

    program: decoding.Program
    grid: Grid
    block: Grid
    wave_lanes: int
    values: Sequence[int]
    memory: DeviceMemory
    update: CurrentUpdate
    folds: Mapping[int, decoding.Fold] = field(default_factory=dict)
    folded: set[tuple[int, int]] = field(default_factory=set)
    deciding: list[str] = field(default_factory=list)

    def run(
        self, programs: Int64Array, recorder: Observer, *, most_steps: int = _MOST_STEPS
    ) -> int:
        """Runs these workgroups and reports their accesses to the recorder; returns how many.

        Raises:
            UnknownStepError: an instruction is not interpreted, or, as a WaitsError, waits, or does
                not end.
            TraceError: contents are missing.
        """
        gx, gy, _ = self.grid
        self._recorder = recorder
        self._groups = [programs % gx, programs // gx % gy, programs // gx // gy]
        self._everyone = np.ones(len(programs), np.bool_)
        self._block_mask = np.ones((1, *self.block[::-1]), np.bool_)
        self.computed = np.zeros((len(programs), 3), np.int64)
        self._env: dict[int, decoding.Number] = {
            key: Sum(value) for key, value in zip(self.program.parameters, self.values, strict=True)
        }
        self._loaded: dict[decoding.Number | int, int] = {}
        self._value_loads: dict[int, int] = {}
        self._stored: dict[int, tuple[Sum, Mask]] = {}
        self._pending: dict[int, tuple[list[Mask], dict[int, decoding.Number]]] = {}
        self._pending[self.program.entry] = ([EVERYONE], {})
        self._recorder.begin(programs)
        left = most_steps
        while self._pending:
            block = min(self._pending, key=self.program.order.__getitem__)
            masks, phis = self._pending.pop(block)
            mask = terms.simplify(terms.union(masks))
            self._env.update(phis)
            steps = self.program.steps[block]
            left -= len(steps)
            if left < 0:
                endless = f"it takes more than {most_steps:,} steps, or does not end"
                raise decoding.WaitsError(endless, steps[-1].text)
            for step in steps:
                if step.opcode != "phi":
                    self._execute(step, block, mask)
        self._recorder.end(self._everyone, self._value_loads)
        return len(programs)

    def _get(self, operand: decoding.Number | int) -> decoding.Number:
        return self._env[operand] if isinstance(operand, int) else operand

    def _sum(self, operand: decoding.Number | int) -> Sum:
        return _scalar_of(self._get(operand))

    def _execute(self, step: decoding.Step, block: int, mask: Mask) -> None:
        if step.opcode == "br":
            self._branch(step, block, mask)
        elif step.opcode == "load":
            self._env[step.id] = self._load(step, mask)
        elif step.opcode == "call":
            self._call(step, mask)
        elif step.opcode not in ("ret", "unreachable"):
            self._env[step.id] = self._compute(step)
        if step.id in self.folds and not {(step.id, 0), (step.id, 1)} <= self.folded:
            self._note(step, mask)

    def _note(self, step: decoding.Step, mask: Mask) -> None:
        """Notes which outcomes there are of one of `folds`."""
        fold = self.folds[step.id]
        numbers = [self._get(operand) for operand in (*fold.operands, step.id)]
        sums = [number for number in numbers if isinstance(number, Sum)]
        if not fold.sides or len(sums) < len(numbers):
            return
        *given, made = terms.take(mask, *sums)
        made = made & (1 << step.bits) - 1 if step.opcode == "trunc" else made
        self.folded |= {
            (step.id, side)
            for side, found in enumerate(outcomes(step.opcode, given, made, fold.sides)) if found
        }  # fmt: skip

    # --- control flow --------------------------------------------------------------------------

    def _branch(self, step: decoding.Step, block: int, mask: Mask) -> None:
        condition = self._sum(step.operands[0]) if len(step.targets) > 1 else Sum(0)
        if not condition.terms:
            self._go(block, step.targets[condition.c != 0], mask)  # as llvmlite lists them
            return
        asked = terms.Condition(condition.array() != 0)
        for target, holds in zip(step.targets, (False, True), strict=True):
            taken = mask | {(asked, holds)}
            if terms.whole(taken).any():
                self._go(block, target, taken)

    def _go(self, source: int, target: int, mask: Mask) -> None:
        steps, order = self.program.steps[target], self.program.order
        if order[target] <= order[source] and (not steps or steps[0].opcode != "phi"):
            text = self.program.steps[source][-1].text
            raise decoding.WaitsError("it loops until memory changes", text)
        masks, phis = self._pending.setdefault(target, ([], {}))
        for step in steps:
            if step.opcode != "phi":
                break
            operand = step.incoming[source]
            value = self._env.get(operand, Sum(0)) if isinstance(operand, int) else operand
            phis[step.id] = _merge(value, phis[step.id], mask) if step.id in phis else value
        masks.append(mask)
        if len(masks) > _MOST_PENDING:
            masks[:] = [terms.union(masks)]

    # --- memory --------------------------------------------------------------------------------

    def _load(self, step: decoding.Step, mask: Mask) -> decoding.Number:
        address = self._sum(step.operands[0])
        number = self._loaded.get(self._uncast(step.operands[0]))
        if number is not None and number not in self._value_loads:
            self._value_loads[number] = self.memory.all_places
            self.deciding.append(step.text)
        if self._is_stored(address, mask):
            raise decoding.WaitsError("it reads what the launch itself writes", step.text)
        parts = tuple(
            self._read(terms.add(address, Sum(lane * step.bytes)), step, mask)
            for lane in range(step.lanes or 1)
        )
        return parts if step.lanes else parts[0]

    def _is_stored(self, address: Sum, mask: Mask) -> bool:
        """Whether a thread loads from where one has stored, last by each instruction."""
        return any(
            np.isin(terms.take(mask, address), terms.take(where, at)).any()
            for at, where in self._stored.values()
            if at.lo <= address.hi and address.lo <= at.hi
        )

    def _read(self, address: Sum, step: decoding.Step, mask: Mask) -> Sum:
        if not address.terms and address.c >= self.memory.arguments:
            return Sum(self.memory.read_one(address.c, step.bytes))
        found = self.memory.read(address.array(), step.bytes, lambda: terms.whole(mask))
        if found is None:
            raise decoding.UnknownStepError("a value in scratch", step.text)
        return terms.of(found)

    def _touch(self, step: decoding.Step, mask: Mask) -> None:
        address = self._sum(step.operands[0])
        size, kind, update, site = (self._sum(operand).c for operand in step.operands[1:5])
        if address.lo >= self.memory.not_global:
            return
        self.update.code = update
        parts = [np.full(terms.ONE, terms.to_signed(address.c)), *address.terms.values()]
        masks = [*terms.arrays_of(mask), self._block_mask]
        access = BlockAccess(Access(kind), parts, masks, size, self._everyone, site)
        number = self._recorder.access(access)
        if kind == Access.READ:
            self._loaded[self._uncast(step.operands[0])] = number
        else:
            self._stored[step.id] = (address, mask)

    def _count(self, step: decoding.Step, mask: Mask) -> None:
        active = np.count_nonzero(terms.whole(mask) & self._block_mask, axis=(1, 2, 3))
        self.computed += active[:, None] * [self._sum(operand).c for operand in step.operands[:3]]

    def _uncast(self, operand: decoding.Number | int) -> decoding.Number | int:
        return self.program.casts.get(operand, operand) if isinstance(operand, int) else operand

    # --- values --------------------------------------------------------------------------------

    def _call(self, step: decoding.Step, mask: Mask) -> None:
        name = step.how
        if name == "sw_touch":
            self._touch(step, mask)
        elif name == "sw_count":
            self._count(step, mask)
        elif found := re.match(r"llvm\.amdgcn\.(workgroup|workitem)\.id\.([xyz])", name):
            axis = "xyz".index(found[2])
            if found[1] == "workgroup":
                self._env[step.id] = terms.along(0, self._groups[axis])
            else:
                self._env[step.id] = terms.along(3 - axis, np.arange(self.block[axis]))
        elif "implicitarg.ptr" in name:
            self._env[step.id] = Sum(self.memory.implicit)
        elif "dispatch.ptr" in name:
            self._env[step.id] = Sum(self.memory.dispatch)
        elif found := re.match(r"llvm\.([su](?:min|max))\.", name):
            a, b = (self._sum(operand) for operand in step.operands[:2])
            self._env[step.id] = terms.extreme(found[1], a, b, step.bits)
        elif found := re.match(r"llvm\.(ctpop|cttz|ctlz)\.i", name):
            self._env[step.id] = terms.count_bits(found[1], self._sum(step.operands[0]), step.bits)
        elif name.startswith("llvm.abs."):
            a = self._sum(step.operands[0])
            self._env[step.id] = a if a.lo >= 0 else terms.of(abs(a.array()))
        elif found := re.match(r"llvm\.amdgcn\.mbcnt\.(lo|hi)", name):
            self._env[step.id] = self._lane(step, found[1])
        elif name == "llvm.amdgcn.wavefrontsize":
            self._env[step.id] = Sum(self.wave_lanes)
        elif not name.startswith(("llvm.lifetime", "llvm.experimental.noalias", "llvm.dbg")):
            raise decoding.UnknownStepError(f"`{name}`", step.text)

    def _lane(self, step: decoding.Step, half: str) -> Sum:
        """How many lanes of a wave come before this one: `mbcnt` of all, in one half."""
        mask, before = (self._sum(operand) for operand in step.operands[:2])
        if mask.terms or mask.c != -1:
            raise decoding.UnknownStepError("a value of another lane", step.text)
        bx, by, bz = self.block
        lane = np.arange(bx * by * bz).reshape(1, bz, by, bx) % self.wave_lanes
        count = np.minimum(lane, 32) if half == "lo" else np.maximum(lane - 32, 0)
        return terms.add(before, terms.of(count))

    def _compute(self, step: decoding.Step) -> decoding.Number:
        values = [self._get(operand) for operand in step.operands]
        if step.opcode in ("extractelement", "insertelement"):
            vector, at = _lanes(values[0]), _scalar_of(values[-1])
            if at.terms:
                what = "an element of a vector by a computed number"
                raise decoding.UnknownStepError(what, step.text)
            if step.opcode == "extractelement":
                return vector[at.c]
            return (*vector[: at.c], _scalar_of(values[1]), *vector[at.c + 1 :])
        if step.opcode == "shufflevector":
            both = (*_lanes(values[0]), *_lanes(values[1]))
            return tuple(both[int(i)] if i != "-1" else Sum(0) for i in step.how.split(","))
        if step.opcode == "bitcast" and len(_lanes(values[0])) != (step.lanes or 1):
            return _regroup(step, _lanes(values[0]))
        if step.lanes:
            rows = [v if isinstance(v, tuple) else (v,) * step.lanes for v in values]
            return tuple(self._scalar(step, list(row)) for row in zip(*rows, strict=True))
        return self._scalar(step, [value for value in values if isinstance(value, Sum)])

    def _scalar(self, step: decoding.Step, values: list[Sum]) -> Sum:
        if step.opcode not in _OPERATIONS:
            raise decoding.UnknownStepError(f"an instruction `{step.opcode}`", step.text)
        return _OPERATIONS[step.opcode](step, values)


def _scalar_of(value: decoding.Number) -> Sum:
    return cast(Sum, value)


def _lanes(value: decoding.Number) -> tuple[Sum, ...]:
    return value if isinstance(value, tuple) else (value,)


def _regroup(step: decoding.Step, parts: tuple[Sum, ...]) -> decoding.Number:
    """The same bits in another number of lanes."""
    if len(parts) * step.source_bits > 64:
        raise decoding.UnknownStepError("a cast of more than 64 bits", step.text)
    whole = Sum(0)
    for place, part in enumerate(parts):
        low = terms.wrap(part, step.source_bits, signed=False)
        whole = terms.add(whole, terms.scale(low, 1 << place * step.source_bits))
    whole = terms.wrap(whole, 64)
    if not step.lanes:
        return terms.wrap(whole, step.bits)
    shifts = (Sum(place * step.bits) for place in range(step.lanes))
    return tuple(terms.wrap(terms.bitwise("lshr", whole, by, 64), step.bits) for by in shifts)


def _merge(value: decoding.Number, before: decoding.Number, mask: Mask) -> decoding.Number:
    """The value where the mask holds, else what came another way."""
    if value is before:
        return value
    if isinstance(value, tuple) and isinstance(before, tuple):
        return tuple(_scalar_of(_merge(a, b, mask)) for a, b in zip(value, before, strict=True))
    value, before = _scalar_of(value), _scalar_of(before)
    if not value.terms and not before.terms and value.c == before.c:
        return value
    return terms.of(np.where(terms.whole(mask), value.array(), before.array()))


def _shift_left(step: decoding.Step, values: list[Sum]) -> Sum:
    a, b = values
    if not b.terms:
        return terms.wrap(terms.scale(a, 1 << (b.c & 63)), step.bits)
    return terms.bitwise("shl", a, b, step.bits)


def _or(step: decoding.Step, values: list[Sum]) -> Sum:
    if step.how == "disjoint":
        return terms.wrap(terms.add(values[0], values[1]), step.bits)
    return terms.bitwise("or", values[0], values[1], step.bits)


def _extend(step: decoding.Step, values: list[Sum]) -> Sum:
    if step.opcode == "sext":
        return values[0] if step.source_bits > 1 else terms.scale(values[0], -1)
    return terms.wrap(values[0], step.source_bits, signed=False)


def _element(step: decoding.Step, values: list[Sum]) -> Sum:
    address = values[0]
    for index, stride in zip(values[1:], step.strides, strict=True):
        address = terms.add(address, terms.scale(index, stride))
    return terms.wrap(address, 64)


_OPERATIONS: Mapping[str, Callable[[decoding.Step, list[Sum]], Sum]] = {
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
    "trunc": lambda step, v: terms.wrap(v[0], step.bits),
    "icmp": lambda step, v: terms.compare(step.how, v[0], v[1], step.source_bits),
    "select": lambda step, v: terms.choose(*v),
    "getelementptr": _element,
    "alloca": lambda step, v: Sum(DeviceMemory.elsewhere),
    **{
        name: lambda step, v: v[0]
        for name in ("addrspacecast", "freeze", "bitcast", "ptrtoint", "inttoptr")
    },
}
