# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether an edited kernel is the original one with other numbers of its programs, or tiles.

Both are compared as Triton makes them from their text, before any pass: there each operation of
the original has one in the edited kernel. Values are numbered by what they are computed from, so
names, and what only an inserted block computes, do not count; loads, stores, atomics, calls, loops
and branches are compared in order. Where the original reads a number, the edited kernel may have
any other integer, the same for all its reads; what that computes is for the caller to compare with
the mapping that was proved. So this holds for every launch that is compiled alike.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from intelliperf_swizzle.frontends.triton.ir.flow import asks_where_it_runs
from intelliperf_swizzle.frontends.triton.ir.parse import MARK, VALUE, Block, Kernel, Op

_PURE = frozenset(
    "tt." + name
    for name in (
        "addptr", "bitcast", "broadcast", "cat", "clampf", "dot", "dot_scaled", "expand_dims",
        "fp_to_fp", "gather", "get_num_programs", "get_program_id", "histogram", "int_to_ptr",
        "join", "make_range", "mulhiui", "precise_divf", "precise_sqrt", "ptr_to_int", "reduce",
        "reshape", "scan", "splat", "split", "trans", "unsplat",
    )
)  # fmt: skip
"""Operations of Triton whose results are all that they do; so are those of `arith` and `math`."""

Key: TypeAlias = Hashable


@dataclass(frozen=True)
class Renumbered:
    """An integer of the edited kernel that stands for a number of the original.

    Attributes:
        function: of the edited kernel.
        number: axis of the program ids, or which of the given values.
        value: the integer.
    """

    function: Op
    number: int
    value: str


@dataclass(frozen=True)
class Renumbering:
    """How an edited kernel differs from the original, if it does in its numbers alone.

    Attributes:
        stands: what stands for numbers; empty if none is read.
        partners: value of the original -> the same one of the edited kernel, as far as it has it.
    """

    stands: tuple[Renumbered, ...]
    partners: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class _Event:
    """An operation that does something, in its place."""

    op: Op
    key: Key
    operands: tuple[int, ...]
    nested: "tuple[tuple[_Event, ...], ...]"
    callee: Op | None


class _DifferenceError(Exception):
    """The first difference as text."""


class _BoundError(Exception):
    """A number of the original has got its integer; the comparison begins again."""


@dataclass(eq=False)
class _Numbering:
    """The values of a kernel by numbers: equal ones are computed alike.

    Attributes:
        kernel: any.
        table: shared by both kernels.
        leaf: which number of the original a value is where an operation reads it; None if none.
    """

    kernel: Kernel
    table: dict[Key, int]
    leaf: Callable[[str, Op], Key | None] = lambda value, user: None
    values: dict[str, int] = field(default_factory=dict)
    bodies: dict[Op, tuple[int, tuple[_Event, ...], bool]] = field(default_factory=dict)

    def body(self, function: Op) -> tuple[int, tuple[_Event, ...], bool]:
        """A number of what a function does; its events; whether it only computes its results."""
        if function not in self.bodies:
            first, *others = function.regions[0]
            called = {to for region in function.regions[0] for to, _ in region.ops[-1].successors}
            blocks = [first, *(other for other in others if other.label in called)]
            events = tuple(e for n, block in enumerate(blocks) for e in self._block(block, n))
            key = (function.text.partition("attributes")[2], tuple(map(_frozen, events)))
            pure = len(blocks) == 1 and all(event.op.name == "tt.return" for event in events)
            self.bodies[function] = self._number(key), events, pure
        return self.bodies[function]

    def of(self, value: str, user: Op) -> int:
        """The number of a value where an operation reads it."""
        leaf = self.leaf(value, user)
        return self.plain(value) if leaf is None else self._number(("leaf", leaf))

    def plain(self, value: str) -> int:
        """The number of a value by what it is computed from."""
        todo = [value]
        while todo:
            name = todo[-1]
            op = self.kernel.defs.get(name)
            missing = [] if op is None or name in self.values else [
                v for v in op.operands if v not in self.values and self.leaf(v, op) is None
            ]  # fmt: skip
            if missing:
                todo += missing
                continue
            if op is not None and name not in self.values:
                self._define(op, self._pure_key(op))
            todo.pop()
        return self.values[value]

    def key(self, op: Op) -> Key:
        """All that an operation is but its operands and regions."""
        text: Key = VALUE.sub("%", op.text)
        if op.name == "tt.call":
            text = self.body(self.kernel.functions[op.symbol])[0]
        return op.name, text, op.types, tuple(label for label, _ in op.successors)

    def _number(self, key: Key) -> int:
        return self.table.setdefault(key, len(self.table))

    def _define(self, op: Op, key: Key) -> None:
        for place, result in enumerate(op.results):
            self.values[result] = self._number((key, place))

    def _pure_key(self, op: Op) -> Key:
        key = (self.key(op), tuple(self.of(value, op) for value in op.operands))
        return key, tuple(tuple(map(_frozen, region)) for region in self._regions(op, key))

    def _regions(self, op: Op, path: Key) -> tuple[tuple[_Event, ...], ...]:
        return tuple(
            tuple(self._block(block, (path, region, number)))
            for region, blocks in enumerate(op.regions)
            for number, block in enumerate(blocks)
        )

    def _block(self, block: Block, path: Key) -> Iterator[_Event]:
        for place, argument in enumerate(block.args):
            self.values[argument] = self._number(("argument", path, place))
        done = [op for op in block.ops if not self._pure(op) and MARK not in op.text]
        for here, op in (((path, number), op) for number, op in enumerate(done)):
            operands = tuple(self.of(value, op) for value in op.operands)
            nested = self._regions(op, here)
            callee = self.kernel.functions[op.symbol] if op.name == "tt.call" else None
            yield _Event(op, self.key(op), operands, nested, callee)
            self._define(op, ("result", here))

    def _pure(self, op: Op) -> bool:
        if op.name == "tt.call":
            return self.body(self.kernel.functions[op.symbol])[2]
        return op.name in _PURE or op.name.startswith(("arith.", "math.", "ub."))


def _frozen(event: _Event) -> Key:
    return event.key, event.operands, tuple(tuple(map(_frozen, events)) for events in event.nested)


def compare(
    original: Kernel, edited: Kernel, numbers: Sequence[str] = (), others: Sequence[str] = ()
) -> Renumbering | str:
    """How an edited kernel is the original one with other numbers, or the first difference.

    Args:
        original: as Triton makes it from the text, before any pass.
        edited: likewise.
        numbers: values of the original that are numbers of tiles, in a loop each; without any,
            its program ids are renumbered.
        others: further values of the original whose partners are asked for.
    """
    for op in original.every():
        if asks_where_it_runs(op):
            what = "inline assembly" if "asm" in op.name else "a library's function"
            return f"{what} at {original.line(op)} may read where its program runs"
    table: dict[Key, int] = {}
    pair = _Pair(original, edited, table, *_leaves(original, numbers))
    while True:
        try:
            pair.compare(original.entry, edited.entry)
        except _DifferenceError as difference:
            return str(difference)
        except _BoundError:
            continue
        return pair.outcome([*numbers, *others])


def _leaves(
    kernel: Kernel, numbers: Sequence[str]
) -> tuple[dict[str, tuple[int, int]], frozenset[Op]]:
    """The values that are renumbered, and the operations by which loops count them."""
    if not numbers:
        return {
            op.results[0]: (place, "xyz".index(op.text[0]))
            for place, function in enumerate(kernel.functions.values())
            for op in function.walk()
            if op.name == "tt.get_program_id"
        }, frozenset()
    own: set[Op] = set()
    for loop in {loop_of(kernel, value) for value in numbers}:
        end = loop.last(len(loop.regions) - 1)
        if end.name == "scf.yield":  # one without operands is not printed
            own |= {end, *(op for op in loop.walk() if _only_for(kernel, op, end))}
    return {value: (0, place) for place, value in enumerate(numbers)}, frozenset(own)


def loop_of(kernel: Kernel, value: str) -> Op:
    """The nearest loop around a value; raises ValueError without one."""
    inside = kernel.defs.get(value)
    around = [*inside.parents()] if inside else [kernel.owner[value][0]]
    loop = next((op for op in around if op.name in ("scf.for", "scf.while")), None)
    if loop is None:
        raise ValueError(f"{value} is in no loop")
    return loop


def _only_for(kernel: Kernel, op: Op, user: Op) -> bool:
    """Whether arithmetic serves one operation alone."""
    uses = [use for result in op.results for use in kernel.uses.get(result, ())]
    return op.name.startswith("arith.") and bool(uses) and all(use is user for use in uses)


class _Pair:
    """Two kernels that are compared, and what is known of the numbers of the first."""

    def __init__(
        self,
        original: Kernel,
        edited: Kernel,
        table: dict[Key, int],
        leaves: Mapping[str, tuple[int, int]],
        own: frozenset[Op],
    ) -> None:
        self._table = table
        self._leaf: Callable[[str, Op], tuple[int, int] | None] = lambda value, user: (
            None if user in own else leaves.get(value)
        )
        self._original = _Numbering(original, table, self._leaf)
        self._raw = _Numbering(edited, table)
        self._home: dict[str, Op] = {}
        for function in edited.functions.values():
            self._raw.body(function)
            for op in function.walk():
                arguments = (argument for block in op.blocks() for argument in block.args)
                self._home |= dict.fromkeys((*op.results, *arguments), function)
        self._stands: dict[tuple[int, int], Renumbered] = {}
        self._edited = self._number_edited()

    def _number_edited(self) -> _Numbering:
        raw, home = self._raw, self._home
        stands = {(s.function, raw.plain(s.value)): key for key, s in self._stands.items()}

        def leaf(value: str, user: Op) -> Key | None:
            return stands.get((home[value], raw.plain(value))) if stands else None

        return _Numbering(raw.kernel, self._table, leaf)

    def compare(self, before: Op, after: Op) -> None:
        """Compares two functions; returns if they are the same."""
        a, b = self._original.body(before), self._edited.body(after)
        if a[0] != b[0]:
            self._events(a[1], b[1])
            raise _DifferenceError(f"`{before.symbol}` has other attributes")

    def _events(self, before: Sequence[_Event], after: Sequence[_Event]) -> None:
        for a, b in zip(before, after, strict=False):
            if a.callee and b.callee:
                self.compare(a.callee, b.callee)
            if a.key != b.key or len(a.nested) != len(b.nested):
                raise self._other(a.op, b.op)
            for x, y, v, w in zip(
                a.op.operands, b.op.operands, a.operands, b.operands, strict=True
            ):
                if v != w:
                    self._values(x, y, a.op, b.op)
            for inner, other in zip(a.nested, b.nested, strict=True):
                self._events(inner, other)
        if len(before) != len(after):
            at = min(len(before), len(after))
            more, side = (before, "original") if len(before) > at else (after, "edited")
            kernel = (self._original if side == "original" else self._edited).kernel
            op = more[at].op
            raise _DifferenceError(f"the {side} kernel alone has `{op.name}` at {kernel.line(op)}")

    def _values(self, x: str, y: str, user: Op, other: Op) -> None:
        """Follows two values that differ to where they do."""
        while True:
            if (number := self._leaf(x, user)) is not None:
                self._bind(number, y, user)
            a, b = self._original.kernel.defs.get(x), self._edited.kernel.defs.get(y)
            if a is None or b is None:
                raise self._other(user, other)
            if a.name == b.name == "tt.call":
                before, after = self._original.kernel.functions, self._edited.kernel.functions
                self.compare(before[a.symbol], after[b.symbol])
            if self._original.key(a) != self._edited.key(b):
                raise self._other(a, b)
            pairs = zip(a.operands, b.operands, strict=True)
            differing = [
                (v, w) for v, w in pairs if self._original.of(v, a) != self._edited.of(w, b)
            ]
            if not differing:
                raise self._other(a, b)
            (x, y), user, other = differing[0], a, b

    def _bind(self, number: tuple[int, int], value: str, user: Op) -> None:
        if number in self._stands:
            line = self._original.kernel.line(user)
            raise _DifferenceError(f"the number that is read at {line} differs elsewhere")
        self._stands[number] = Renumbered(self._home[value], number[1], value)
        self._edited = self._number_edited()
        raise _BoundError

    def _other(self, before: Op, after: Op) -> _DifferenceError:
        a, b = self._original.kernel.line(before), self._edited.kernel.line(after)
        other = f"is another one, at {b} of the edited text"
        became = other if before.name == after.name else f"became `{after.name}` at {b}"
        return _DifferenceError(f"`{before.name}` at {a} {became}")

    def outcome(self, values: Sequence[str]) -> Renumbering:
        """What was found, with the partners of some values of the original."""
        own = (value for value in self._raw.values if self._home[value] is self._raw.kernel.entry)
        by_number = {self._raw.values[value]: value for value in own}
        wanted = {value: self._original.plain(value) for value in values}
        partners = {v: by_number[number] for v, number in wanted.items() if number in by_number}
        return Renumbering(tuple(self._stands.values()), partners)
