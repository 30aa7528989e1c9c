# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What follows from what in a kernel's IR: by data, by branches and by how often a loop turns."""

from __future__ import annotations

import re
from collections.abc import Iterable

from intelliperf_swizzle.frontends.ssa import reached
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op

ACCESSES = {
    "tt.load": (0, 1), "tt.store": (0, 2), "tt.atomic_rmw": (0, 2), "tt.atomic_cas": (0,),
    "tt.atomic_load": (0, 1), "tt.atomic_store": (0, 2), "tt.atomic_poll": (0, 1),
}  # fmt: skip
"""Operations that access memory -> which of their operands are addresses and masks."""
_PLACE = re.compile(r'"[^"]*(?:%(?!\d)|ctaid|smid|s_getreg|ttmp|\\25)[^"]*"')
"""Assembly that may read where the program runs: `%ctaid.x`, the hardware's registers."""


def asks_where_it_runs(op: Op) -> bool:
    """Whether inline assembly may tell a program where it runs."""
    return op.name == "tt.elementwise_inline_asm" and bool(_PLACE.search(op.text))


class Sources:
    """What the values of a kernel are computed from."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._branches: dict[str, list[str]] = {}
        self._decided: dict[str, list[str]] = {}
        self._functions = {function.symbol: function for function in kernel.functions}
        self.calls: dict[Op, list[Op]] = {}
        for function in kernel.functions:
            self._follow_branches(function)
            for op in function.walk():
                if op.name == "tt.call":
                    self.calls.setdefault(self._functions[op.symbol], []).append(op)

    def _follow_branches(self, function: Op) -> None:
        """What branches hand to the arguments of basic blocks, and what decides on them."""
        blocks = {block.label: block for block in function.regions[0]}
        for end in (block.ops[-1] for block in blocks.values() if block.ops):
            decides = end.operands[:1] if end.name == "cf.cond_br" else []
            for label, values in end.successors:
                for argument, value in zip(blocks[label].args, values, strict=True):
                    self._branches.setdefault(argument, []).append(value)
                    self._decided.setdefault(argument, []).extend(decides)

    def leaves(self, value: str) -> set[Op]:
        """The operations that a value is computed from; what is loaded is followed no further."""
        defs = self.kernel.defs
        return set(self.kernel.made(reached([value], lambda one: (
            () if one in defs and defs[one].name in ACCESSES else self.before(one)
        ))))  # fmt: skip

    def read_memory(self, values: Iterable[str]) -> bool:
        """Whether values are computed from what is loaded."""
        return any(leaf.name in ACCESSES for value in values for leaf in self.leaves(value))

    def before(self, value: str) -> list[str]:
        """The values that a value is computed from, one step back; not what decides branches."""
        op = self.kernel.defs.get(value)
        if op is None:
            return self._handed_over(value)
        place = op.results.index(value)
        if op.name == "scf.for":
            return [op.inits[place], op.last().operands[place]]
        if op.name == "scf.while":
            return [op.last(0).operands[1 + place]]
        if op.name == "scf.if":
            return [op.last(region).operands[place] for region in range(len(op.regions))]
        if op.name == "tt.call":
            ends = (block.ops[-1] for block in self._functions[op.symbol].regions[0])
            return [end.operands[place] for end in ends if end.name == "tt.return"]
        return [
            *op.operands,
            *(v for inner in op.walk() if inner is not op for v in inner.operands),
        ]

    def _handed_over(self, value: str) -> list[str]:
        """What an argument of a basic block is given."""
        op, place = self.kernel.owner[value]
        if op.name == "scf.for":
            if value == op.induction:
                return [op.start, op.step]
            return [op.inits[place - 1], op.last().operands[place - 1]]
        if op.name == "scf.while" and value in op.regions[0][0].args:
            return [op.inits[place], op.last(1).operands[place]]
        if op.name == "scf.while":
            return [op.last(0).operands[1 + place]]
        if value in self._branches:
            return self._branches[value]
        return [call.operands[place] for call in self.calls.get(op, ())]

    def deciding(self, value: str) -> list[str]:
        """The values that decide which one a value is of those that are handed to it."""
        op = self.kernel.defs.get(value)
        if op is None:
            return self._decided.get(value, [])
        place = op.results.index(value)
        if op.name == "scf.if":
            return op.operands[:1]
        if op.name == "scf.for" and op.last().operands[place] != op.carried[place]:
            return [op.start, op.stop, op.step]
        if op.name == "scf.while" and op.last(0).operands[1 + place] in op.carried:
            return op.last(0).operands[:1]
        return []


def of_the_program(kernel: Kernel) -> set[str]:
    """Values that follow from the program's own number; a function that is called may tell it."""
    sources = Sources(kernel)
    readers: dict[str, list[str]] = {}
    for value in kernel.types:
        for one in (*sources.before(value), *sources.deciding(value)):
            readers.setdefault(one, []).append(value)
    own = (
        result
        for op in kernel.ops()
        if op.name in ("tt.get_program_id", "tt.call") or asks_where_it_runs(op)
        for result in op.results
    )
    return set(reached(own, lambda value: readers.get(value, ())))
