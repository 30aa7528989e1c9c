# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Executes a kernel's IR for many programs at once, on blocks with an axis of programs.

Programs that branch otherwise, or are done with a loop, sit out: a mask says who takes part.
Operations that are not in the slice are passed over; where a value that is not known decides an
address, a mask, a branch or a loop bound, execution ends.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from intelliperf_swizzle.frontends.ssa import outcomes
from intelliperf_swizzle.frontends.triton.ir.flow import ACCESSES, Meeting, Slice, check, folds
from intelliperf_swizzle.frontends.triton.ir.parse import Block as BasicBlock
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.frontends.triton.walk import operations
from intelliperf_swizzle.frontends.triton.walk.accesses import Accesses
from intelliperf_swizzle.frontends.triton.walk.blocks import (
    Active,
    Block,
    NotKnownError,
    NotWantedError,
    Programs,
    TooWideError,
    choose,
    pick,
    tensor_of,
    unknown,
)
from intelliperf_swizzle.records import Int64Array

SPECIAL = 16
"""An SM begins 128 multiply-adds, which are two operations, or 16 special functions in a clock.
Source: CUDA C++ programming guide, throughput of native arithmetic instructions, capability 9.0."""

_PLAIN = (
    "arith.subf arith.mulf arith.negf math.absf arith.minimumf arith.minnumf arith.maximumf "
    "arith.maxnumf tt.clampf"
)
_SPECIAL = (
    "arith.divf tt.precise_divf math.exp math.exp2 math.log math.log2 math.sqrt tt.precise_sqrt "
    "math.rsqrt math.sin math.cos math.erf arith.remf"
)
_WEIGHTS = {
    "arith.addf": 1,
    "math.fma": 2,
    **dict.fromkeys(_PLAIN.split(), 1),
    **dict.fromkeys(_SPECIAL.split(), SPECIAL),
}


def arithmetic_of(kernel: Kernel, block: BasicBlock) -> Int64Array:
    """int64[3]: matrix products; their operations; and operations on the lanes of blocks.

    Those of products on 16-bit numbers count once and on 32-bit numbers twice, special functions
    as `SPECIAL`. Adding a product to a block is part of it. Reductions and libdevice are not
    counted, and that 64-bit and IEEE 32-bit products have no tensor cores on NVIDIA is not known
    here. Operations inside of inner loops and branches belong to the blocks of these.
    """
    total = np.zeros(3, np.int64)
    for op in block.ops:
        if op.name in ("tt.dot", "tt.dot_scaled"):
            element, left = tensor_of(kernel.types[op.operands[0]])
            lanes = math.prod(tensor_of(kernel.types[op.results[0]])[1])
            total += (1, 2 * lanes * left[-1] * element.bits // 16, 0)
        elif op.name in _WEIGHTS:
            lanes = math.prod(tensor_of(kernel.types[op.results[0]])[1])
            if lanes > 1 and not (op.name == "arith.addf" and _adds_product(kernel, op)):
                total[2] += _WEIGHTS[op.name] * lanes
    return total


def _adds_product(kernel: Kernel, op: Op) -> bool:
    made = (kernel.defs.get(operand) for operand in op.operands)
    return any(other is not None and other.name in ("tt.dot", "tt.dot_scaled") for other in made)


_IGNORED = frozenset(("llvm.intr.assume", "tt.assert", "tt.print", "gpu.barrier", "ttg.barrier"))
_ENDS = frozenset(("scf.yield", "scf.condition", "tt.return", "cf.br", "cf.cond_br",
                   "tt.reduce.return", "tt.scan.return"))  # fmt: skip
_NOTHING = Op("scf.yield", [], [], "", "")  # what ends a block if it is not printed


class Plan:
    """A kernel prepared for execution.

    Args:
        kernel: any.
        executed: what of it is executed.
        tiles: the loop in which programs take tiles, and the value that is a tile's number.
        meeting: arguments of the launch.

    Raises:
        TraceError: it may access memory otherwise than by operations of Triton.

    Attributes:
        steps: the operations of each basic block that are executed.
        counts: int64[3] of each basic block; see `arithmetic_of`.
    """

    def __init__(
        self,
        kernel: Kernel,
        executed: Slice,
        tiles: tuple[Op, str] | None = None,
        meeting: Meeting = frozenset(),
    ) -> None:
        self.kernel, self.executed, self.tiles, self.meeting = kernel, executed, tiles, meeting
        check(kernel)
        self.folds = {op: sides for op, sides in folds(kernel, meeting).items() if sides}
        self.steps: dict[BasicBlock, list[tuple[str, Op]]] = {}
        self.counts: dict[BasicBlock, Int64Array] = {}
        self.constants: dict[str, Block] = {}
        self.types: dict[str, operations.Type] = {
            v: tensor_of(text) for v, text in kernel.types.items()
        }
        for block in (block for op in kernel.every() for block in op.blocks()):
            self._prepare(block)

    def _prepare(self, block: BasicBlock) -> None:
        self.counts[block] = arithmetic_of(self.kernel, block)
        steps = self.steps[block] = []
        for op in block.ops:
            if op not in self.executed.ops or op.name in _IGNORED or op.name in _ENDS:
                continue
            if op.name == "arith.constant":
                self.constants[op.results[0]] = operations.constant(op, self.types[op.results[0]])
            else:
                steps.append((_HANDLERS.get(op.name, "compute"), op))
            if self.tiles is not None and self.tiles[1] in op.results:
                steps.append(("begin_tile", op))

    def why(self, op: Op) -> frozenset[str]:
        """Why what an operation makes is not known."""
        name = "inline assembly" if "asm" in op.name else f"`{op.name}`"
        return frozenset((f"{name} ({self.kernel.line(op)})",))


class Walker:
    """One execution of a kernel by the programs of a batch.

    Args:
        plan: of the kernel.
        programs: who executes it.
        accesses: their memory.
        arguments: the kernel's, by the name of the value.
    """

    def __init__(
        self, plan: Plan, programs: Programs, accesses: Accesses, arguments: Mapping[str, Block]
    ) -> None:
        self.plan, self.programs, self.accesses = plan, programs, accesses
        self.values: dict[str, Block] = {**plan.constants, **arguments}
        self._methods: dict[str, Callable[[Op], None]] = {
            name: getattr(self, "_" + name)
            for name in {"compute", "begin_tile", *_HANDLERS.values()}
        }

    def run(self) -> None:
        """Execute the kernel.

        Raises:
            NotKnownError: a value that is not known decides something.
            TooWideError: the batch needs too much memory.
        """
        entry = self.plan.kernel.entry
        self._function(entry, self._get(entry.regions[0][0].args))
        self.programs.settle()

    # --- values ---------------------------------------------------------------------------------

    def _get(self, names: Sequence[str]) -> list[Block | None]:
        return [self.values.get(name) for name in names]

    def _bind(self, names: Sequence[str], blocks: Sequence[Block | None]) -> None:
        for name, block in zip(names, blocks, strict=False):
            if block is not None:
                self.values[name] = block

    def _decide(self, op: Op, name: str, what: str) -> Block:
        """A value that decides something."""
        block = self.values[name]
        if not block.known:
            line, why = self.plan.kernel.line(op), " and ".join(sorted(block.why))
            raise NotKnownError(f"{what} at {line} depends on what is not known: {why}")
        return block

    # --- control --------------------------------------------------------------------------------

    def _block(self, block: BasicBlock) -> Op:
        """Execute a basic block; returns what ends it."""
        self.programs.count(self.plan.counts[block])
        for method, op in self.plan.steps[block]:
            self._methods[method](op)
        return block.ops[-1] if block.ops and block.ops[-1].name in _ENDS else _NOTHING

    def _function(self, function: Op, given: Sequence[Block | None]) -> list[Block | None]:
        """Basic blocks in their order; programs wait at the first that they have not executed."""
        blocks, programs = function.regions[0], self.programs
        self._bind(blocks[0].args, given)
        if len(blocks) == 1:
            return self._get(self._block(blocks[0]).operands)
        places = {block.label: place for place, block in enumerate(blocks)}
        outer, returned = programs.active, None
        waiting = {0: outer}
        while waiting:
            at = min(waiting)
            active = waiting.pop(at)
            programs.active = active
            end = self._block(blocks[at])
            if end.name == "tt.return":
                returned = self._choose_all(active, self._get(end.operands), returned)
                continue
            parts = [active]
            if end.name == "cf.cond_br":
                truth = programs.truth(self._decide(end, end.operands[0], "a branch"))
                parts = [active & truth, active & ~truth]
            for (label, names), part in zip(end.successors, parts, strict=True):
                if part.any():
                    target = places[label]
                    if target <= at and not (part == outer).all() and len(part) > 1:
                        raise TooWideError  # values of those that went on would be overwritten
                    old = self._get(blocks[target].args) if target in waiting else None
                    self._bind(blocks[target].args, self._choose_all(part, self._get(names), old))
                    waiting[target] = part | waiting.get(target, part)
        programs.active = outer
        return returned or []

    def _choose_all(
        self, active: Active, new: Sequence[Block | None], old: Sequence[Block | None] | None
    ) -> list[Block | None]:
        if old is None:
            return list(new)
        return [a and b and self._chosen(active, a, b) for a, b in zip(new, old, strict=True)]

    def _chosen(self, active: Active, new: Block, old: Block) -> Block:
        if new is not old and new.known and old.known:
            sizes = [block.data[0].size for block in (new, old) if len(block.terms) == 1]
            self.programs.check_size(len(active) * max(sizes, default=1))
        return choose(active, new, old)

    def _call(self, op: Op) -> None:
        function = self.plan.kernel.functions[op.symbol]
        self._bind(op.results, self._function(function, self._get(op.operands)))

    def _if(self, op: Op) -> None:
        programs = self.programs
        truth = programs.truth(self._decide(op, op.operands[0], "a branch"))
        outer = programs.active
        made: list[Block | None] | None = None
        for region, part in enumerate((outer & truth, outer & ~truth)):
            if not part.any():
                continue
            self.accesses.now.made.add((op, region))
            if region == len(op.regions):
                break
            programs.active = outer if part.all() else part
            end = self._block(op.regions[region][0])
            made = self._choose_all(part, self._get(end.operands), made)
        programs.active = outer
        if made is not None:
            self._bind(op.results, made)

    def _for(self, op: Op) -> None:
        """Programs with fewer turns sit out the last ones."""
        programs, body = self.programs, op.regions[0][0]
        first, last, step = (
            self._decide(op, name, "a loop bound").data.reshape(-1).astype(np.int64)
            for name in (op.start, op.stop, op.step)
        )
        element = self.values[op.start].element
        trips = np.maximum(0, -((first - last) // np.where(step == 0, 1, step)))
        trips = np.broadcast_to(trips, programs.active.shape)
        outer = programs.active
        used = [
            place
            for place, name in enumerate(op.results)
            if name in self.plan.executed.values and name in self.plan.kernel.uses
        ]
        inits = self._get(op.inits)
        self._bind(op.carried, inits)
        self._bind([op.results[place] for place in used], [inits[place] for place in used])
        for trip in range(int(trips[outer].max(initial=0))):
            now = outer & (trip < trips)
            programs.active = outer if (now == outer).all() else now
            number = (first + trip * step).astype(element.array)
            self.values[op.induction] = Block((number,), element, ())
            self._begin_tile_of(op)
            self._bind(op.carried, self._get(self._block(body).operands))
            ending = now & (trips == trip + 1)
            if used and ending.any():
                carried = self._get([op.carried[place] for place in used])
                results = [op.results[place] for place in used]
                old = None if (ending == outer).all() else self._get(results)
                self._bind(results, self._choose_all(ending, carried, old))
        programs.active = outer
        self._end_tiles(op)

    def _while(self, op: Op) -> None:
        programs = self.programs
        before, after = op.regions[0][0], op.regions[1][0]
        outer = now = programs.active
        made: list[Block | None] | None = None
        self._bind(before.args, self._get(op.inits))
        while True:
            programs.active = now
            end = self._block(before)
            going = now & programs.truth(self._decide(op, end.operands[0], "a branch"))
            values = self._get(end.operands[1:])
            if (leaving := now & ~going).any():
                made = self._choose_all(leaving, values, made)
            if not going.any():
                break
            now = now if (going == now).all() else going
            programs.active = now
            self._bind(after.args, values)
            self._begin_tile_of(op)
            self._bind(before.args, self._get(self._block(after).operands))
        programs.active = outer
        self._bind(op.results, made or [])
        self._end_tiles(op)

    def _begin_tile_of(self, loop: Op) -> None:
        """A turn begins; the tile does, too, if its number is handed over to the turn."""
        tiles = self.plan.tiles
        if tiles is not None and tiles[0] is loop and tiles[1] in loop.regions[-1][0].args:
            self._begin_tile(loop)

    def _begin_tile(self, op: Op) -> None:
        if self.plan.tiles is not None:
            values = self._decide(op, self.plan.tiles[1], "a tile's number").data
            numbers, active = values.reshape(-1).astype(np.int64), self.programs.active
            if self.accesses.recorder.number(numbers, active) is False:
                raise NotWantedError

    def _end_tiles(self, loop: Op) -> None:
        if self.plan.tiles is not None and self.plan.tiles[0] is loop:
            self.accesses.recorder.number(None)

    # --- operations -----------------------------------------------------------------------------

    def _compute(self, op: Op) -> None:
        self._make(op, operations.OPERATIONS.get(op.name))

    def _make(self, op: Op, operation: operations.Operation | None) -> None:
        """Bind what an operation makes; not known if an operand or the operation is not."""
        blocks = [self.values[name] for name in op.operands]
        kinds = [self.plan.types[name] for name in op.results]
        why = frozenset().union(*(block.why for block in blocks))
        if operation is None:
            why |= self.plan.why(op)
        if why or operation is None:
            self._bind(op.results, [unknown(*kind, why) for kind in kinds])
            return
        found = operation(self.programs, op, blocks, kinds[0])
        self._bind(op.results, [found] if isinstance(found, Block) else found)
        if op in self.plan.folds and not {(op, 0), (op, 1)} <= self.accesses.now.made:
            self._note(op)

    def _note(self, op: Op) -> None:
        """Notes which outcomes there are of one of `flow.folds`; most have both at their ends."""
        active, rank = self.programs.active, len(self.plan.types[op.results[0]][1])
        blocks = [self.values[name] for name in (*op.operands, *op.results)]
        name, sides = op.name.split(".")[-1], self.plan.folds[op]
        ends = np.flatnonzero(active)[:: max(active.sum() - 1, 1)]
        everywhere = ... if active.all() else active
        for programs in (ends, everywhere):
            *given, made = (pick(b, programs, rank, ends=programs is ends) for b in blocks)
            if op.name == "tt.addptr":  # an address is in bytes, its multiple in elements
                given[0] = given[0] // self.plan.types[op.results[0]][0].target.bytes
            for side, found in enumerate(outcomes(name, given, made, sides)):
                self.accesses.now.made |= {(op, side)} if found else set()
            if {(op, 0), (op, 1)} <= self.accesses.now.made:
                break

    def _combine(self, op: Op) -> None:
        """A reduction or a scan."""
        region = op.regions[0][0]

        def combine(left: Sequence[Block], right: Sequence[Block]) -> Sequence[Block]:
            self._bind(region.args, [*left, *right])
            for method, inner in self.plan.steps[region]:
                self._methods[method](inner)
            return [self.values[name] for name in region.ops[-1].operands]

        self._make(
            op, operations.reduction(combine, region.ops[0].name if len(region.ops) == 2 else "")
        )

    def _extern(self, op: Op) -> None:
        """A function of a library."""
        self._make(op, operations.libdevice(op.text.partition('symbol = "')[2].partition('"')[0]))

    # --- memory ---------------------------------------------------------------------------------

    def _memory(self, op: Op) -> None:
        pointer = self._decide(op, op.operands[0], "an address")
        mask = self._mask(op)
        blocks = self._get(op.operands)
        self.accesses.now.op, self.accesses.now.values = op, self.values
        if op.name in ("tt.load", "tt.atomic_load"):
            wanted = op.results[0] in self.plan.executed.values
            other = blocks[2] if len(blocks) > 2 else None
            found = self.accesses.load(pointer, mask, other, wanted=wanted)
            self._bind(op.results, [found if wanted else None])
        elif op.name == "tt.atomic_poll":
            expected = self._decide(op, op.operands[1], "what a program waits for")
            self.accesses.poll(pointer, expected)
            element, shape = self.plan.types[op.results[0]]
            true = np.ones((1,) * (1 + len(shape)), np.bool_)
            self.values[op.results[0]] = Block((true,), element, shape)
        elif op.name in ("tt.store", "tt.atomic_store"):
            self.accesses.store(pointer, blocks[1], mask)
        else:
            used = op.results[0] in self.plan.kernel.uses
            name, values = "atomic_cas", blocks[1:3]
            if op.name == "tt.atomic_rmw":
                name, values = "atomic_" + op.text.split(",")[0].strip(), blocks[1:2]
                name = "atomic_xchg" if name == "atomic_exch" else name
            self._bind(op.results, [self.accesses.update(name, pointer, values, mask, used)])

    def _mask(self, op: Op) -> Block | None:
        places = ACCESSES[op.name]
        if op.name == "tt.atomic_poll" or len(places) < 2 or places[1] >= len(op.operands):
            return None
        return self._decide(op, op.operands[places[1]], "a mask")

    def _pointer(self, op: Op) -> None:
        """An integer that becomes an address; the other way none is known, as it may differ."""

        def operation(_: Programs, op: Op, blocks: Sequence[Block], kind: operations.Type) -> Block:
            data = self.accesses.memory.translate(blocks[0].data.astype(np.int64))
            return Block((data.astype(kind[0].array),), *kind)

        self._make(op, operation)


_HANDLERS: Mapping[str, str] = {
    "scf.for": "for",
    "scf.while": "while",
    "scf.if": "if",
    "tt.call": "call",
    "tt.reduce": "combine",
    "tt.scan": "combine",
    "tt.extern_elementwise": "extern",
    "tt.int_to_ptr": "pointer",
    **dict.fromkeys(ACCESSES, "memory"),
}
"""Operation -> the method that executes it; all others compute."""
