# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What leads to what in a kernel, in SSA form or of functions, whatever its language."""

import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from intelliperf_swizzle.records import Int64Array

Node = TypeVar("Node", bound=Hashable)


class Step(Protocol[Node]):
    """One step through a kernel: to what a value is computed from, to its users, to what is called.

    This is all that a front end says of its form of SSA: arguments of blocks and regions are its
    own business, as is where it does not go on.
    """

    def __call__(self, node: Node, /) -> Iterable[Node]:
        """What is one step away."""
        ...


def reached(begin: Iterable[Node], step: Step[Node]) -> dict[Node, None]:
    """The first and all that steps lead to, each once, in the order met."""
    found = dict.fromkeys(begin)
    todo = list(found)
    while todo:
        new = dict.fromkeys(node for node in step(todo.pop()) if node not in found)
        found |= new
        todo += new
    return found


ORDERS: Mapping[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
"""Predicates of comparisons, but for their sign: of integers and of arrays."""
_SUMS = ("addi", "subi", "addptr", "add", "sub", "or", "getelementptr")


def outcomes(
    name: str, given: Sequence[Int64Array], made: Int64Array, sides: tuple[int, ...]
) -> tuple[bool, ...]:
    """Whether what is made differs from each of the last two that it is made of; of a comparison,
    whether it is true and false, of a quotient whether there is more than 0, and of a sum whether
    each ranges over what the other one is a multiple of (`sides`)."""
    if name in _SUMS:
        ranges = (int(a.max()) - int(a.min()) if a.size else -1 for a in given[::-1])
        return tuple(extent >= side for extent, side in zip(ranges, sides, strict=True))
    if "cmp" in name:
        return bool(made.any()), not made.all()
    if "div" in name or "shr" in name:
        return (bool(made.any()),) * 2
    return bool((made != given[-2:][0]).any()), bool((made != given[-1]).any())
