# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Loops in which a program takes tiles by a number, judged on SSA: no names, no runs, no guesses.

::

    %start = tt.get_program_id x                           the number of the first tile
    scf.for %tile = %start to %tiles step %programs {      ends below %tiles
      …                                                    reads %tile, and nothing else that
    }                                                      depends on the program id

The tiles may come in another order if the body depends on the program id only through the tile's
number, and nothing is carried from one tile to the next.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from intelliperf_swizzle.frontends.ssa import reached
from intelliperf_swizzle.frontends.triton.ir.flow import asks_where_it_runs, of_the_program
from intelliperf_swizzle.frontends.triton.ir.parse import MARK, VALUE, Kernel, Op

_LOOPS = ("scf.for", "scf.while")
_TICKET = "which program takes a tile is decided by an atomic operation while it runs"
_COUNTING = frozenset(
    "arith." + name for name in ("addi", "subi", "muli", "andi", "cmpi", "extsi", "index_cast")
)


@dataclass(eq=False)
class JudgedLoop:
    """A loop whose programs begin at different numbers.

    Attributes:
        op: the loop.
        counter: the value in its body by which it counts.
        first, step, stop: where that begins, how it moves, and what it stays below (by
            `end_offset`); the first and the last may differ between programs.
        number: the value in its body that is the number of a tile, computed from the counter.
        same: further values of the body that are that number.
        ends: values, the same for all programs, that all numbers are below, each by `end_offset`.
        end_offset: 1 if the bound itself is taken, too.
        base: the value that all numbers are at least, if the loop is one of a run of loops; a
            program goes on from one to the next.
        reasons: why its tiles must keep their order; empty if they need not.
    """

    op: Op
    counter: str = ""
    first: str = ""
    step: str = ""
    stop: str = ""
    number: str = ""
    same: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    end_offset: int = 0
    base: str = ""
    reasons: list[str] = field(default_factory=list)


def judge_loops(kernel: Kernel) -> list[JudgedLoop]:
    """The loops of a kernel that begin at a number of the program's own, in the text's order."""
    own = of_the_program(kernel)
    found = (_Judge(kernel, op, own).judge() for op in kernel.ops() if op.name in _LOOPS)
    judged = [loop for loop in found if loop is not None]
    inside = {op for loop in judged for op in loop.op.walk() if op is not loop.op}
    return [loop for loop in judged if loop.op not in inside]


@dataclass
class _Slot:
    """A value that a loop carries.

    Attributes:
        arg: in the body; None if the body cannot read it.
        first, last: what it is before the loop, and after a turn.
        result: what it is after the loop.
    """

    arg: str | None
    first: str
    last: str
    result: str


class _Judge:
    """Judges one loop.

    Args:
        kernel: the loop's.
        op: the loop.
        own: values that depend on the program id.
    """

    def __init__(self, kernel: Kernel, op: Op, own: set[str]) -> None:
        self._kernel, self._op, self._own = kernel, op, own
        self._linear = partial(linear, kernel)
        blocks = [block for inner in op.walk() for block in inner.blocks()]
        results = (value for block in blocks for made in block.ops for value in made.results)
        self._inside = {*results, *(arg for block in blocks for arg in block.args)}
        self._body = op.regions[-1][0]
        self._end = op.last(len(op.regions) - 1)
        self._slots = list(self._carries())

    def _carries(self) -> Iterator[_Slot]:
        op = self._op
        if op.name == "scf.for":
            ends = self._end.operands if op.results else []
            for slot in zip(op.carried, op.inits, ends, op.results, strict=True):
                yield _Slot(*slot)
            return
        condition, before = op.last(0), op.regions[0][0].args
        ends = self._end.operands if before else []
        handed = dict(
            zip(condition.operands[1:], zip(self._body.args, op.results, strict=True), strict=True)
        )
        for arg, first, last in zip(before, op.inits, ends, strict=True):
            inner, result = handed.get(arg, (None, ""))
            yield _Slot(inner, first, last, result)

    def judge(self) -> JudgedLoop | None:
        """What comes of the loop; None if it does not begin at a number of the program's own."""
        judged = JudgedLoop(self._op)
        found = self._count_for(judged) if self._op.name == "scf.for" else self._count_while(judged)
        if not found:
            return self._ticket()
        if not judged.ends:
            judged.reasons.append("its end depends on the program id")
        self._judge_carried(judged)
        self._judge_uses(judged)
        self._judge_place(judged)
        return judged

    def _ticket(self) -> JudgedLoop | None:
        """The loop if it begins at what an atomic operation gives it."""
        for slot in self._slots:
            op = self._kernel.defs.get(slot.first)
            if slot.arg and op is not None and op.name.startswith("tt.atomic"):
                return JudgedLoop(self._op, reasons=[_TICKET])
        return None

    # --- how it counts --------------------------------------------------------------------------

    def _is_fixed(self, value: str) -> bool:
        """Whether a value is the same for all programs and turns."""
        return value not in self._inside and value not in self._own

    def _count_for(self, judged: JudgedLoop) -> bool:
        op = self._op
        judged.counter, judged.first, judged.step = op.induction, op.start, op.step
        judged.stop = op.stop
        if op.start in self._own:
            judged.number, judged.ends = op.induction, tuple(self._bounds(op.stop))
            if not self._is_fixed(op.step):
                judged.reasons.append("its step depends on the program id")
            return True
        if self._kernel.constant(op.start) != 0 or self._kernel.constant(op.step) != 1:
            return False
        for inner in self._body.ops:  # tile = first + turn * step
            for value in inner.results[:1] if inner.name == "arith.addi" else ():
                if ends := self._turned(value):
                    judged.number, judged.ends = value, ends
                    return True
        return False

    def _turned(self, value: str) -> tuple[str, ...]:
        """The bound of `first + turn * step` for turns up to `cdiv(bound - first, step)`."""
        terms = self._linear(value)
        step = terms.pop(self._op.induction, 0)
        if not step or self._own.isdisjoint(terms) or not self._inside.isdisjoint(terms):
            return ()
        trips = self._kernel.defs.get(self._op.stop)
        if trips is None or trips.name != "arith.divsi":
            return ()
        if self._kernel.constant(trips.operands[1]) != step:
            return ()
        rest = self._linear(trips.operands[0])  # bound - first + step - 1
        rest = _plus(_plus(rest, terms), {"": 1 - step})
        [bound] = rest if len(rest) == 1 else [""]
        return (bound,) if bound and rest[bound] == 1 and self._is_fixed(bound) else ()

    def _count_while(self, judged: JudgedLoop) -> bool:
        condition = self._kernel.defs.get(self._op.last(0).operands[0])
        before = self._op.regions[0][0]
        if condition is None:
            return False
        for slot, arg in zip(self._slots, before.args, strict=True):
            if slot.arg is None or slot.first not in self._own:
                continue
            step = self._step(slot)
            if step is None:
                continue
            tests = self._tests(condition)
            for test in (test for test in tests if self._is_end(test, arg)):
                judged.counter, judged.first, judged.step = slot.arg, slot.first, step
                judged.number, judged.stop = slot.arg, test.operands[1]
                judged.ends = tuple(self._bounds(judged.stop))
                judged.end_offset = int(test.text.startswith("sle"))
            if judged.number:
                if any(op.name not in _COUNTING | {"scf.condition"} for op in before.ops):
                    judged.reasons.append("its condition does more than compare")
                others = [test for test in tests if not self._is_end(test, arg)]
                judged.base = self._base(judged, slot, others, arg)
                return True
        return False

    def _step(self, slot: _Slot) -> str | None:
        """What a carried value grows by, the same for all programs and turns."""
        op = self._kernel.defs.get(slot.last)
        if op is None or op.name != "arith.addi" or slot.arg not in op.operands:
            return None
        [step] = [value for value in op.operands if value != slot.arg] or [slot.arg]
        return step if self._is_fixed(step) else None

    def _tests(self, condition: Op) -> list[Op]:
        """The comparisons of which a condition is the conjunction."""
        if condition.name == "arith.andi":
            parts = (self._kernel.defs.get(value) for value in condition.operands)
            return [test for part in parts if part is not None for test in self._tests(part)]
        return [condition] if condition.name == "arith.cmpi" else []

    def _is_end(self, test: Op, arg: str) -> bool:
        return test.operands[0] == arg and test.text.startswith(("slt", "sle"))

    def _base(self, judged: JudgedLoop, slot: _Slot, others: list[Op], arg: str) -> str:
        """The end of the loop before, of a loop that its parent repeats; "" otherwise."""
        around = next((op for op in self._op.parents() if op.name in _LOOPS), None)
        base = ""
        if around is not None and around.name == "scf.for":
            lasts = around.last().operands if around.results else []
            ends = [self._linear(end) for end in judged.ends]
            goes_on = False
            for value, first, last in zip(around.carried, around.inits, lasts, strict=True):
                if self._kernel.constant(first) == 0 and self._linear(last) in ends:
                    base = value
                goes_on |= value == slot.first and last == slot.result
            base = base if goes_on else ""
            if not base:
                judged.reasons.append(
                    "it is repeated and does not continue where the previous pass ended"
                )
        if any(t.operands != [arg, base] or not t.text.startswith("sge") for t in others):
            judged.reasons.append("its condition is more than a bound")
        return base

    def _bounds(self, stop: str) -> Iterator[str]:
        """Values that are the same for all programs, which the stop does not exceed."""
        if self._is_fixed(stop):
            yield stop
        op = self._kernel.defs.get(stop)
        if op is not None and op.name == "arith.minsi":
            for value in op.operands:
                yield from self._bounds(value)

    # --- what else the body knows -----------------------------------------------------------------

    def _judge_carried(self, judged: JudgedLoop) -> None:
        same = []
        for slot in self._slots:
            if slot.arg in (None, judged.number) or slot.last == slot.arg:
                continue
            assert slot.arg
            uses = [op for op in self._kernel.uses.get(slot.arg, ()) if op is not self._end]
            step = self._kernel.defs.get(slot.last)
            later = self._kernel.uses.get(slot.last, ())
            if not uses:
                continue  # set anew in each turn, or handed on unread
            if uses == [step] and all(op is self._end for op in later):
                continue  # serves itself alone
            if uses == [step] and self._is_number(judged, slot):
                same.append(slot.last)
                continue
            name = self._name(slot)
            place = f" ({self._kernel.line(step)})" if step is not None else ""
            judged.reasons.append(f"{name} is carried from one tile to the next{place}")
        judged.same = tuple(same)
        for slot in self._slots:
            uses = self._kernel.uses.get(slot.result, [])
            readers = [op for op in uses if op.name != "scf.yield"]
            if readers and slot.arg != judged.number:
                line = self._kernel.line(readers[0])
                judged.reasons.append(f"{self._name(slot)} is read after the loop ({line})")

    def _is_number(self, judged: JudgedLoop, slot: _Slot) -> bool:
        """Whether a second counter is, once it has moved, the number of the tile."""
        if self._op.name != "scf.for" or judged.number != self._op.induction:
            return False
        moved, step = self._linear(slot.last), self._linear(self._op.step)
        if moved.pop(slot.arg or "", 0) != 1 or moved != step:
            return False
        return _plus(self._linear(slot.first), step) == self._linear(self._op.start)

    def _judge_uses(self, judged: JudgedLoop) -> None:
        """Nothing in the body but the number follows from the program's own."""
        counting = self._counting(judged)
        counters = {judged.number, *(slot.arg for slot in self._slots)}
        turn = {self._op.induction} - {judged.number} if self._op.name == "scf.for" else set()
        for op in self._op.walk():
            if op is self._op or op in counting or MARK in op.text or self._only_printed(op):
                continue
            if op.name == "tt.get_program_id" or op.name == "tt.call" or asks_where_it_runs(op):
                line = self._kernel.line(op)
                judged.reasons.append(f"`{op.name}` at {line} may depend on the program's number")
            for value in op.operands:
                outside = value in self._own and value not in self._inside
                if value in turn or (outside and value not in counters):
                    judged.reasons.append(self._in_words(op, value))

    def _counting(self, judged: JudgedLoop) -> set[Op]:
        """The operations that make the number, and nothing else."""
        counting = {self._end, *self._op.regions[0][0].ops} if len(self._op.regions) > 1 else {
            self._end} if self._end.name == "scf.yield" else set()  # fmt: skip
        begin = [judged.number, *(slot.last for slot in self._slots)]
        counting.update(reached(self._counts(begin), lambda op: self._counts(op.operands)))
        makers = {self._kernel.defs.get(value) for value in (judged.number, *judged.same)}
        while True:
            others = {
                op
                for op in counting - makers
                if any(use not in counting for v in op.results for use in self._users(v))
            }
            if not others:
                return counting
            counting -= others

    def _counts(self, values: Iterable[str]) -> list[Op]:
        made = self._kernel.made(values)
        return [op for op in made if op.name in _COUNTING and op in self._body.ops]

    def _only_printed(self, op: Op) -> bool:
        """Whether marks alone read what an operation makes."""
        read = any(value in self._kernel.uses for value in op.results)
        return read and not any(map(self._users, op.results))

    def _users(self, value: str) -> list[Op]:
        return [op for op in self._kernel.uses.get(value, ()) if MARK not in op.text]

    def _judge_place(self, judged: JudgedLoop) -> None:
        """Whether all programs come to the loop."""
        if any(op.name == "scf.if" and op.operands[0] in self._own for op in self._op.parents()):
            judged.reasons.append("whether it runs depends on the program id")
        for op in self._kernel.ops():
            if op.name == "cf.cond_br" and op.operands[0] in self._own and self._misses(op):
                judged.reasons.append(f"a program may leave before it ({self._kernel.line(op)})")

    def _misses(self, branch: Op) -> bool:
        """Whether a way from a branch leads to the end around the loop."""
        blocks = {block.label: block for block in self._kernel.entry.regions[0]}
        top = [self._op, *self._op.parents()][-2]
        home = next(block for block in blocks.values() if top in block.ops)
        if branch in home.ops:
            return False
        ends = {label: block.ops[-1] for label, block in blocks.items() if block is not home}
        ways = reached(
            (label for label, _ in branch.successors if label in ends),
            lambda block: (label for label, _ in ends[block].successors if label in ends),
        )
        return any(ends[label].name == "tt.return" for label in ways)

    def _in_words(self, op: Op, value: str) -> str:
        definition = self._kernel.defs.get(value)
        name = self._kernel.name(definition) if definition is not None else None
        place = f" ({self._kernel.line(definition)})" if definition is not None else ""
        subject = f"`{name}`" if name else "a value"
        return (
            f"{subject}{place} depends on the program id, and is read in its body "
            f"({self._kernel.line(op)})"
        )

    def _name(self, slot: _Slot) -> str:
        definition = self._kernel.defs.get(slot.last)
        name = self._kernel.name(definition) if definition is not None else None
        plain = (slot.arg or slot.result).lstrip("%").split("'")[0]
        return f"`{name or plain.rstrip('0123456789').rstrip('_') or plain}`"


def _plus(a: dict[str, int], b: dict[str, int], sign: int = 1) -> dict[str, int]:
    """The sum of two such sums as `linear` gives, or their difference."""
    total = {term: a.get(term, 0) + sign * b.get(term, 0) for term in {**a, **b}}
    return {term: times for term, times in total.items() if times}


def linear(kernel: Kernel, value: str) -> dict[str, int]:
    """An integer as a sum: value -> factor, "" -> a constant; values that are 0 are left out."""
    constant = kernel.constant(value)
    if isinstance(constant, int):
        return {"": int(constant)} if constant else {}
    op = kernel.defs.get(value)
    if op is not None and op.name in ("arith.addi", "arith.subi", "arith.muli"):
        a, b = (linear(kernel, operand) for operand in op.operands)
        if op.name != "arith.muli":
            return _plus(a, b, 1 if op.name == "arith.addi" else -1)
        if set(a) <= {""}:
            a, b = b, a
        if set(b) <= {""}:
            return {term: times * b[""] for term, times in a.items()} if b else {}
    return {value: 1}


def is_number_too(kernel: Kernel, judged: JudgedLoop, value: str) -> bool:
    """Whether a value of a loop's body is the number of a tile, or all of it that is read."""
    if value in (judged.number, *judged.same):
        return True
    made = kernel.defs.get(value)
    if made is None or made.name not in _COUNTING or judged.op not in made.parents():
        return False

    def counts(values: Iterable[str]) -> list[Op]:
        own = (op for op in kernel.made(values) if judged.op in op.parents())
        return [op for op in own if op.name in _COUNTING]

    chain = {*reached([made], lambda op: counts(op.operands))}
    inner = [result for op in chain - {made} for result in op.results]
    uses = [use for number in (judged.number, *inner) for use in kernel.uses.get(number, ())]
    readers = {use for use in uses if MARK not in use.text and use.name != "scf.yield"}
    return not judged.same and bool(readers) and readers <= chain


def same_integer(kernel: Kernel, a: str, b: str) -> bool:
    """Whether two integers are computed alike."""
    left, right = linear(kernel, a), linear(kernel, b)
    if left == right:
        return True
    made = kernel.made([a, b])
    forms = {(op.name, VALUE.sub("%", op.text)) for op in made}
    if len(made) < 2 or len(forms) > 1 or not made[0].name.startswith("arith."):
        return False
    operands = (op.operands for op in made)
    return bool(made[0].operands) and all(map(partial(same_integer, kernel), *operands))


def loads_behind(kernel: Kernel, value: str) -> list[Op]:
    """The loads that a value is computed from."""
    behind = reached(kernel.made([value]), lambda op: kernel.made(op.operands))
    return [op for op in behind if op.name == "tt.load"]
