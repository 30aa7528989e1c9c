# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What of a kernel decides where it reads and writes: addresses, masks, branches, loop bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from intelliperf_swizzle.frontends.triton.ir.parse import Block as BasicBlock
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op

ACCESSES = {"tt.load": (0, 1), "tt.store": (0, 2), "tt.atomic_rmw": (0, 2), "tt.atomic_cas": (0,),
            "tt.atomic_poll": (0,)}  # fmt: skip
"""Operations that access memory -> which of their operands are addresses and masks."""
CONTROL = ("scf.for", "scf.while", "scf.if", "tt.call")


@dataclass
class Slice:
    """The part of a kernel that is executed.

    Attributes:
        ops: the operations.
        values: values that are computed.
    """

    ops: set[Op] = field(default_factory=set)
    values: set[str] = field(default_factory=set)


def everything(kernel: Kernel) -> Slice:
    """The whole kernel."""
    ops = {op for function in kernel.functions for op in function.walk()}
    values = {value for op in ops for value in op.results}
    return Slice(ops, values | set(kernel.owner))


def address_slice(kernel: Kernel, further: Iterable[str] = ()) -> Slice:
    """What reaches an address, a mask, a branch or a loop bound.

    Args:
        kernel: any.
        further: values that are wanted beside them.
    """
    return _Slicer(kernel, further).found


class _Slicer:
    def __init__(self, kernel: Kernel, further: Iterable[str]) -> None:
        self.kernel = kernel
        self.found = Slice()
        self._todo: list[str] = list(further)
        self._functions = {function.symbol: function for function in kernel.functions}
        self._calls: dict[Op, list[Op]] = {}
        self._sources: dict[str, list[str]] = {}
        for function in kernel.functions:
            for op in function.walk():
                if op.name == "tt.call":
                    self._calls.setdefault(self._functions[op.symbol], []).append(op)
            self._sources |= _branch_sources(function)
        for function in kernel.functions:
            for op in function.walk():
                if op.name in ACCESSES:
                    self._execute(op)
                    self._want(op.operands[i] for i in ACCESSES[op.name] if i < len(op.operands))
        self._complete()
        for function in kernel.functions:
            for op in function.walk():
                decided = [op.start, op.stop, op.step] if op.name == "scf.for" else op.operands[:1]
                if op.name in ("scf.for", "scf.if") and self._follows_from_numbers(decided):
                    self._execute(op)  # what it computes is counted
        self._complete()

    def _complete(self) -> None:
        while self._todo:
            value = self._todo.pop()
            if value not in self.found.values:
                self.found.values.add(value)
                self._follow(value)

    def _follows_from_numbers(self, values: Iterable[str]) -> bool:
        """Whether values are computed from arguments and program ids, not from memory."""
        seen: set[str] = set()
        todo = list(values)
        while todo:
            value = todo.pop()
            if value in seen:
                continue
            seen.add(value)
            op = self.kernel.defs.get(value) or self.kernel.owner[value][0]
            if op.name in ACCESSES or op.name == "tt.call":
                return False
            if op.name != "tt.func":
                todo += op.operands
                todo += [v for i, region in enumerate(op.regions) if region[-1].ops
                         for v in op.last(i).operands]  # fmt: skip
            todo += self._sources.get(value, ())
        return True

    def _want(self, values: Iterable[str]) -> None:
        self._todo.extend(value for value in values if value not in self.found.values)

    def _execute(self, op: Op) -> None:
        """An operation is executed, and so is all that leads to it."""
        if op in self.found.ops:
            return
        self.found.ops.add(op)
        for around in (op, *op.parents()):
            if around.name == "scf.for":
                self._want((around.start, around.stop, around.step))
            elif around.name == "scf.if":
                self._want(around.operands[:1])
            elif around.name == "scf.while":
                self._want(around.last(0).operands[:1])
            elif around.name == "tt.func":
                self._lead_to(around)
            self.found.ops.add(around)

    def _lead_to(self, function: Op) -> None:
        if function in self.found.ops:
            return
        for block in function.regions[0]:
            for op in block.ops[-1:]:
                if op.name == "cf.cond_br":
                    self._want(op.operands[:1])
        for call in self._calls.get(function, ()):
            self._execute(call)

    def _follow(self, value: str) -> None:
        op = self.kernel.defs.get(value)
        if op is None:
            self._follow_argument(value)
            return
        if op.name not in CONTROL and op.regions:  # reductions and scans: as a whole
            for inner in op.walk():
                self.found.ops.add(inner)
                self.found.values.update(inner.results)
                self.found.values.update(arg for region in inner.regions for block in region
                                         for arg in block.args)  # fmt: skip
                self._want(inner.operands)
        self._execute(op)
        place = op.results.index(value)
        if op.name == "scf.for":
            self._want((op.inits[place], op.last().operands[place]))
        elif op.name == "scf.while":
            self._want((op.last(0).operands[1 + place],))
        elif op.name == "scf.if":
            self._want(op.last(region).operands[place] for region in range(len(op.regions)))
        elif op.name == "tt.call":
            for block in self._functions[op.symbol].regions[0]:
                if block.ops[-1].name == "tt.return":
                    self._want((block.ops[-1].operands[place],))
        elif op.name in ("tt.atomic_rmw", "tt.atomic_cas", "tt.load"):
            self._want(op.operands)
        else:
            self._want(op.operands)

    def _follow_argument(self, value: str) -> None:
        op, place = self.kernel.owner[value]
        if op.name == "scf.for":
            self._execute(op)
            if value != op.induction:
                self._want((op.inits[place - 1], op.last().operands[place - 1]))
        elif op.name == "scf.while":
            self._execute(op)
            if value in op.regions[0][0].args:
                self._want((op.inits[place], op.last(1).operands[place]))
            else:
                self._want((op.last(0).operands[1 + place],))
        elif value in self._sources:
            self._want(self._sources[value])
        elif op.name == "tt.func":
            self._want(call.operands[place] for call in self._calls.get(op, ()))


def _branch_sources(function: Op) -> dict[str, list[str]]:
    """Argument of a basic block -> what branches hand to it."""
    blocks = {block.label: block for block in function.regions[0]}
    sources: dict[str, list[str]] = {}
    for label, values in _successors(function.regions[0]):
        for argument, value in zip(blocks[label].args, values, strict=True):
            sources.setdefault(argument, []).append(value)
    return sources


def _successors(blocks: Iterable[BasicBlock]) -> Iterator[tuple[str, list[str]]]:
    for block in blocks:
        if block.ops:
            yield from block.ops[-1].successors
