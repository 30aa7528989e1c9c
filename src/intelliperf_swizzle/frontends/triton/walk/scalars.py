# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What an integer of a kernel's IR is in many programs at once, computed back from the value."""

import functools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir.parse import Block as BasicBlock
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.frontends.triton.walk.blocks import (
    MOST_NUMBERS,
    Array,
    Block,
    Programs,
    tensor_of,
)
from intelliperf_swizzle.frontends.triton.walk.memory import Memory, bind_arguments
from intelliperf_swizzle.frontends.triton.walk.operations import OPERATIONS, constant
from intelliperf_swizzle.records import Launch


class NotComputableError(Exception):
    """Something else than integers decides a value; the message says what."""


class Scalars:
    """The scalar integers of a launch's kernel.

    Args:
        launch: any.
        kernel: of it, with or without the passes on it.
        reads: whether what lies in memory may decide a value.
    """

    def __init__(self, launch: Launch, kernel: Kernel, *, reads: bool = False) -> None:
        memory = Memory(launch)
        self.kernel, self.grid, self.memory = kernel, launch.grid, memory if reads else None
        try:
            self.arguments = bind_arguments(kernel, launch, memory)
        except TraceError:  # what needs them is not computable
            self.arguments = {}

    def value(
        self, name: str, programs: Array, given: Mapping[str, Array] = {}, *, entry: bool = True
    ) -> Array:
        """A value in the kernel's own width of bits: integers, or truths, one of each program.

        Args:
            name: of the value.
            programs: linear indices of the programs that compute.
            given: values that are known, of each program or one for all.
            entry: whether the value is of the kernel itself, which has its arguments.

        Raises:
            NotComputableError: something else than integers decides it.
        """
        found = []
        for at in range(0, max(1, len(programs)), MOST_NUMBERS):
            piece = slice(at, at + MOST_NUMBERS)
            known = {**self.arguments} if entry else {}
            for argument, array in given.items():
                element, shape = tensor_of(self.kernel.types[argument])
                own = array[piece] if len(array) == len(programs) else array
                known[argument] = Block((own.astype(element.array),), element, shape)
            frame = _Frame(self, Programs(self.grid, programs[piece]), known)
            with np.errstate(all="ignore"):
                found.append(np.broadcast_to(frame.value(name).data, programs[piece].shape))
        return np.concatenate(found)


class _Frame:
    """The values of one function."""

    def __init__(self, scalars: Scalars, programs: Programs, known: dict[str, Block]) -> None:
        self._kernel, self._memory = scalars.kernel, scalars.memory
        self._scalars, self._programs, self._known = scalars, programs, known

    def value(self, name: str) -> Block:
        todo = [name]
        while todo:
            wanted = todo[-1]
            op = self._kernel.defs.get(wanted)
            if wanted in self._known:
                todo.pop()
            elif op is None:
                self._known[wanted] = self._passes(wanted)
            elif missing := [v for v in op.operands if v not in self._known]:
                todo += missing
            else:
                self._compute(op)
        return self._known[name]

    def _passes(self, name: str) -> Block:
        """What branches hand to a basic block, by the way that each program takes."""
        function, place = self._kernel.owner.get(name, (None, 0))
        if function is None or function.name != "tt.func":
            raise NotComputableError(f"`{name}` is not known")
        blocks = function.regions[0]
        number = next(n for n, block in enumerate(blocks) if name in block.args)
        ways = [(taken, self.value(values[place])) for taken, values in self._ways(blocks, number)]
        return _chosen(ways, name)

    def _ways(self, blocks: Sequence[BasicBlock], number: int) -> Iterator[tuple[Array, list[str]]]:
        """Which programs come to a basic block from each branch to it, and what that hands over."""
        for source, block in enumerate(blocks[:number]):  # Triton makes loops otherwise
            branch = block.ops[-1]
            for way, (label, values) in enumerate(branch.successors):
                if label == blocks[number].label:
                    taken = self._reach(blocks, source)
                    if branch.name == "cf.cond_br":
                        taken = taken & (self.value(branch.operands[0]).data ^ bool(way))
                    yield taken, values

    def _reach(self, blocks: Sequence[BasicBlock], number: int) -> Array:
        """Which programs come to a basic block."""
        ways = (taken for taken, _ in self._ways(blocks, number))
        return functools.reduce(np.logical_or, ways, np.full(1, number == 0))

    def _compute(self, op: Op) -> None:
        operands = [self._known[v] for v in op.operands]
        text = self._kernel.types[op.results[0]]
        element, shape = kind = tensor_of(text)
        if op.name == "tt.call":
            self._known.update(zip(op.results, self._call(op, operands), strict=True))
            return
        if shape or (element.floating and op.name != "arith.constant"):
            raise NotComputableError(f"it depends on a value of type {text}")
        if op.name == "arith.constant":
            found = constant(op, kind)
        elif op.name == "tt.load" and self._memory and len(operands) == 1:
            found = self._load(self._memory, operands[0])
        elif op.name in OPERATIONS:
            made = OPERATIONS[op.name](self._programs, op, operands, kind)
            [found] = [made] if isinstance(made, Block) else made
        else:
            line = self._kernel.line(op)
            raise NotComputableError(f"`{op.name}` at {line} is not integer arithmetic")
        self._known[op.results[0]] = found

    def _load(self, memory: Memory, pointer: Block) -> Block:
        element, addresses = pointer.element.target, pointer.data.reshape(-1)
        if (memory.place(addresses) < 0).any():
            raise NotComputableError("it depends on memory outside every tensor")
        everywhere, zero = np.ones(addresses.shape, np.bool_), np.zeros(1, element.array)
        found, _, missing = memory.read(addresses, everywhere, zero, element)
        if missing:
            raise NotComputableError("it depends on memory contents that were not recorded")
        return Block((found,), element, ())

    def _call(self, op: Op, operands: list[Block]) -> list[Block]:
        blocks = self._kernel.functions[op.symbol].regions[0]
        known = dict(zip(blocks[0].args, operands, strict=True))
        frame = _Frame(self._scalars, self._programs, known)
        ends = {n: b.ops[-1] for n, b in enumerate(blocks) if b.ops[-1].name == "tt.return"}
        ways = [(frame._reach(blocks, n), end.operands) for n, end in ends.items()]
        return [
            _chosen([(came, frame.value(v[place])) for came, v in ways if came.any()], name)
            for place, name in enumerate(op.results)
        ]


def _chosen(ways: Sequence[tuple[Array, Block]], name: str) -> Block:
    """The value of the way that each program takes."""
    if not ways:
        raise NotComputableError(f"`{name}` is not known")
    came, values = [taken for taken, _ in ways], [block.data for _, block in ways]
    return Block((np.select(came, values),), ways[0][1].element, ())
