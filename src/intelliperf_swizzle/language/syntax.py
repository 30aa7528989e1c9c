# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a swizzle is made of: integer expressions, assignments and loops of a constant length."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

INPUTS = (
    "pid",
    "pid_0",
    "pid_1",
    "pid_2",
    "num_pids",
    "grid_0",
    "grid_1",
    "grid_2",
    "program",
    "num_programs",
    "num_xcds",
    "cus_per_xcd",
)
"""Names that every launch binds; further names are the kernel's integer arguments."""

AXES = ("pid_0", "pid_1", "pid_2")
"""The program id along each axis of the grid; as outputs, the alternative to `pid`."""

GRID = ("grid_0", "grid_1", "grid_2")
"""The number of programs along each axis; may be read only, so that outputs stay what they are."""

COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
LOGIC = frozenset(("and", "or", "not"))
CONDITIONS = COMPARISONS | LOGIC
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
    operands: tuple[Expression, ...]
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
    body: tuple[Statement, ...]
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


def reads(expression: Expression) -> Iterator[Name]:
    """Yield every occurrence of a name in an expression, from left to right."""
    if isinstance(expression, Name):
        yield expression
    elif isinstance(expression, Operation):
        for operand in expression.operands:
            yield from reads(operand)


def free_names(statements: tuple[Statement, ...]) -> dict[str, Name]:
    """The names read before they are assigned, each with its first such occurrence."""
    free: dict[str, Name] = {}
    _collect_free(statements, set(), free)
    return free


def _collect_free(
    statements: tuple[Statement, ...], assigned: set[str], free: dict[str, Name]
) -> None:
    for statement in statements:
        if isinstance(statement, Loop):
            _collect_free(statement.body, assigned, free)
            continue
        for occurrence in reads(statement.value):
            if occurrence.name not in assigned:
                free.setdefault(occurrence.name, occurrence)
        assigned.add(statement.target)


def assigned_names(statements: tuple[Statement, ...]) -> set[str]:
    """The names that statements assign, loops included."""
    names: set[str] = set()
    for statement in statements:
        if isinstance(statement, Loop):
            names |= assigned_names(statement.body)
        else:
            names.add(statement.target)
    return names
