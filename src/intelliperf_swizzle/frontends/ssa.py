# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What leads to what in a kernel, in SSA form or of functions, whatever its language."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Protocol, TypeVar

One = TypeVar("One", bound=Hashable)


class Step(Protocol[One]):
    """One step through a kernel: to what a value is computed from, to its users, to what is called.

    This is all that a front end says of its form of SSA: arguments of blocks and regions are its
    own business, as is where it does not go on.
    """

    def __call__(self, one: One, /) -> Iterable[One]:
        """What is one step away."""
        ...


def reached(begin: Iterable[One], step: Step[One]) -> dict[One, None]:
    """What one begins with and all that steps lead to, each once, as it is met."""
    found = dict.fromkeys(begin)
    todo = list(found)
    while todo:
        new = dict.fromkeys(one for one in step(todo.pop()) if one not in found)
        found |= new
        todo += new
    return found
