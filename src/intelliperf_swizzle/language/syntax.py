# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a swizzle is made of: integer expressions, assignments and loops of a constant length.

Or it is one expression: assignments inlined, loops unrolled, what is equal is one node.
"""

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard

AXES = ("pid_0", "pid_1", "pid_2")
"""The program id along each axis of the grid; as outputs, the alternative to `pid`."""

GRID = ("grid_0", "grid_1", "grid_2")
"""The number of programs along each axis; may be read only, so that outputs stay what they are."""

COUNTS = ("num_pids", *GRID, "num_programs", "num_xcds", "cus_per_xcd")
"""Inputs that count something, at least 1."""

INPUTS = ("pid", *AXES, "program", *COUNTS)
"""Names that every launch binds; further names are the kernel's integer arguments."""

ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "%": operator.mod, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "^": operator.xor,
}  # fmt: skip
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
"""The operators of two numbers, and what computes each; of numbers and of arrays alike."""
LOGIC = frozenset(("and", "or", "not"))
CONDITIONS = LOGIC | COMPARISONS.keys()
FUNCTIONS = {"min": "2 or more", "max": "2 or more", "cdiv": "2", "where": "3"}
"""The calls of the language and how many operands each takes."""

Place: TypeAlias = "tuple[int, int]"
"""Line and column, both from 1."""


@dataclass(frozen=True)
class Number:
    """An integer literal."""

    value: int
    place: Place = field(default=(0, 0), compare=False)


@dataclass(frozen=True)
class Name:
    """An input, or the variable of that name at this point of the text."""

    name: str
    place: Place = field(default=(0, 0), compare=False)


@dataclass(frozen=True)
class Operation:
    """An operator or function applied to operands.

    `min`, `max`, `and` and `or` are binary here; `a if c else b` is `where(c, a, b)`; `-a` is
    `0 - a`; `cdiv(a, b)` is `(a + (b - 1)) // b`.
    """

    operator: str
    operands: "tuple[Expression, ...]"
    place: Place = field(default=(0, 0), compare=False)


Expression: TypeAlias = "Number | Name | Operation"


@dataclass(frozen=True)
class Assignment:
    """`target = value`."""

    target: str
    value: Expression
    place: Place = field(default=(0, 0), compare=False)


@dataclass(frozen=True)
class Loop:
    """`for _ in range(count): body`."""

    count: int
    body: "tuple[Statement, ...]"
    place: Place = field(default=(0, 0), compare=False)


Statement: TypeAlias = "Assignment | Loop"


@dataclass(frozen=True)
class Swizzle:
    """A remap of program ids in the swizzle language.

    Attributes:
        text: as it was written.
        statements: what it means.
        names: the inputs it reads (`INPUTS` and arguments of the kernel).
        outputs: `("pid",)` or the `pid_k` that it assigns, by axis.
    """

    text: str
    statements: tuple[Statement, ...]
    names: frozenset[str]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """Swizzles that differ in the values of named parameters.

    Attributes:
        parameters: by name, the values to try, in the order of the text; none = a single swizzle.
        body: the statements, which read the parameters by their names.
    """

    parameters: Mapping[str, tuple[int, ...]]
    body: str

    def members(self) -> Iterator[dict[str, int]]:
        """Yield every choice of the values; the last parameter varies fastest."""
        for values in itertools.product(*self.parameters.values()):
            yield dict(zip(self.parameters, values, strict=True))

    def text(self, values: Mapping[str, int]) -> str:
        """The swizzle with these values: an assignment for each parameter, then the body."""
        return "\n".join(f"{name} = {value}" for name, value in values.items()) + self.body


def is_condition(expression: Expression) -> TypeGuard[Operation]:
    """Whether it is true or false, and no number."""
    return isinstance(expression, Operation) and expression.operator in CONDITIONS


def reads(expression: Expression) -> Iterator[Name]:
    """Yield every occurrence of a name in an expression, from left to right."""
    if isinstance(expression, Name):
        yield expression
    elif isinstance(expression, Operation):
        for operand in expression.operands:
            yield from reads(operand)


def assignments(statements: Sequence[Statement], *, unrolled: bool = False) -> Iterator[Assignment]:
    """Yield the assignments of statements in order; those of a loop once, or each time."""
    for statement in statements:
        if isinstance(statement, Assignment):
            yield statement
        else:
            for _ in range(statement.count if unrolled else 1):
                yield from assignments(statement.body, unrolled=unrolled)


def free_names(statements: tuple[Statement, ...]) -> dict[str, Name]:
    """The names read before they are assigned, each with its first such occurrence."""
    free: dict[str, Name] = {}
    assigned: set[str] = set()
    for assignment in assignments(statements):
        for occurrence in reads(assignment.value):
            if occurrence.name not in assigned:
                free.setdefault(occurrence.name, occurrence)
        assigned.add(assignment.target)
    return free


def assigned_names(statements: tuple[Statement, ...]) -> set[str]:
    """The names that statements assign, loops included."""
    return {assignment.target for assignment in assignments(statements)}


Node = tuple[str, tuple[int, ...]]
"""An operator with the nodes of its operands; `number` with its value, `input` with its place in
`names`; `tiles` has the outputs `pid_k` for operands."""


class Graph:
    """The nodes of a swizzle.

    Attributes:
        nodes: each after its operands.
        names: of inputs.
        root: the output.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.names: list[str] = []
        self.root = 0
        self._places: dict[Node, int] = {}
        self._leaves: dict[int, frozenset[str]] = {}

    def add(self, operator: str, operands: Sequence[int]) -> int:
        """A node; the one that is equal, if there is one."""
        node = (operator, tuple(operands))
        if node not in self._places:
            self._places[node] = len(self.nodes)
            self.nodes.append(node)
        return self._places[node]

    def input(self, name: str) -> int:
        """The node of an input."""
        if name not in self.names:
            self.names.append(name)
        return self.add("input", (self.names.index(name),))

    def leaf(self, name: str) -> int | None:
        """The node of an input, if it is read."""
        return self.input(name) if name in self.names else None

    def leaves(self, node: int) -> frozenset[str]:
        """The inputs that a node is made of."""
        if node not in self._leaves:
            operator, operands = self.nodes[node]
            found: frozenset[str] = frozenset()
            if operator == "input":
                found = frozenset({self.names[operands[0]]})
            elif operator != "number":
                found = found.union(*map(self.leaves, operands))
            self._leaves[node] = found
        return self._leaves[node]

    def below(self, nodes: Sequence[int], cut: int | None = None) -> list[int]:
        """All nodes that some are made of, themselves included, operands first.

        Those that are reached through `cut` alone are left out.
        """
        seen: set[int] = {cut} if cut is not None else set()
        waiting = [*nodes]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                operator, operands = self.nodes[node]
                if operator not in ("number", "input"):
                    waiting += operands
        return sorted(seen)

    def choice(self, root: int, inputs: set[str]) -> tuple[int, int] | None:
        """Both sides of a choice at the root that none of some inputs decides; None of another.

        Of several outputs, the choice that is theirs together.
        """
        operator, operands = self.nodes[root]
        if operator == "where":
            condition, yes, no = operands
            return None if self.leaves(condition) & inputs else (yes, no)
        if operator != "tiles":
            return None
        sides = [self.choice(operand, inputs) or (operand, operand) for operand in operands]
        if all(yes == no for yes, no in sides):
            return None
        both = [[side[at] for side in sides] for at in (0, 1)]
        return self.add("tiles", both[0]), self.add("tiles", both[1])

    def cuts(self, root: int, leaf: int) -> list[int]:
        """The nodes through each of which alone a leaf reaches the root, first ones first."""
        mine = [node for node in self.below([root]) if self.leaves(leaf) <= self.leaves(node)]
        between = [number for number in mine if number not in (root, leaf)]
        return [number for number in between if leaf not in self.below([root], number)]

    def substitute(self, root: int, old: int, new: int) -> int:
        """The root with one node for another one."""
        places: dict[int, int] = {old: new}
        for node in self.below([root]):
            if node in places:
                continue
            operator, operands = self.nodes[node]
            if operator in ("number", "input"):
                places[node] = node
            else:
                places[node] = self.add(operator, [places[operand] for operand in operands])
        return places[root]


def graph_of(swizzle: Swizzle) -> Graph:
    """A swizzle as a graph."""
    graph = Graph()
    variables: dict[str, int] = {}
    for assignment in assignments(swizzle.statements, unrolled=True):
        variables[assignment.target] = _node(graph, assignment.value, variables)
    if swizzle.outputs == ("pid",):
        graph.root = variables["pid"]
    else:
        own = [variables[name] if name in variables else graph.input(name) for name in AXES]
        graph.root = graph.add("tiles", own)
    return graph


def _node(graph: Graph, expression: Expression, variables: dict[str, int]) -> int:
    if isinstance(expression, Number):
        return graph.add("number", (expression.value,))
    if isinstance(expression, Name):
        known = variables.get(expression.name)
        return graph.input(expression.name) if known is None else known
    operands = [_node(graph, operand, variables) for operand in expression.operands]
    return graph.add(expression.operator, operands)
