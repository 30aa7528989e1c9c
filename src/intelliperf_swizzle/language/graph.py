# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A swizzle as one expression: assignments inlined, loops unrolled, what is equal is one node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from intelliperf_swizzle.language.syntax import (
    AXES,
    Assignment,
    Expression,
    Name,
    Number,
    Statement,
    Swizzle,
)

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

    def below(self, nodes: Sequence[int]) -> list[int]:
        """All nodes that some are made of, themselves included, operands first."""
        seen: set[int] = set()
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
        sides = [self.choice(one, inputs) or (one, one) for one in operands]
        if all(yes == no for yes, no in sides):
            return None
        both = [[side[at] for side in sides] for at in (0, 1)]
        return self.add("tiles", both[0]), self.add("tiles", both[1])

    def cuts(self, root: int, leaf: int) -> list[int]:
        """The nodes through each of which alone a leaf reaches the root, first ones first."""
        mine = [one for one in self.below([root]) if self.leaves(leaf) <= self.leaves(one)]
        return [one for one in mine if one not in (root, leaf)
                and leaf not in self._below_without(root, one)]  # fmt: skip

    def _below_without(self, root: int, cut: int) -> set[int]:
        seen = {cut}
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                operator, operands = self.nodes[node]
                if operator not in ("number", "input"):
                    waiting += operands
        return seen

    def renamed(self, root: int, old: int, new: int) -> int:
        """The root with one node for another one."""
        places: dict[int, int] = {old: new}
        for node in self.below([root]):
            if node in places:
                continue
            operator, operands = self.nodes[node]
            if operator in ("number", "input"):
                places[node] = node
            else:
                places[node] = self.add(operator, [places[one] for one in operands])
        return places[root]


def graph_of(swizzle: Swizzle) -> Graph:
    """A swizzle as a graph."""
    graph = Graph()
    variables: dict[str, int] = {}
    for assignment in _unrolled(swizzle.statements):
        variables[assignment.target] = _node(graph, assignment.value, variables)
    if swizzle.outputs == ("pid",):
        graph.root = variables["pid"]
    else:
        own = [variables[name] if name in variables else graph.input(name) for name in AXES]
        graph.root = graph.add("tiles", own)
    return graph


def _unrolled(statements: Sequence[Statement]) -> Iterator[Assignment]:
    for statement in statements:
        if isinstance(statement, Assignment):
            yield statement
        else:
            for _ in range(statement.count):
                yield from _unrolled(statement.body)


def _node(graph: Graph, expression: Expression, variables: dict[str, int]) -> int:
    if isinstance(expression, Number):
        return graph.add("number", (expression.value,))
    if isinstance(expression, Name):
        if expression.name in variables:
            return variables[expression.name]
        return graph.input(expression.name)
    operands = [_node(graph, one, variables) for one in expression.operands]
    return graph.add(expression.operator, operands)
