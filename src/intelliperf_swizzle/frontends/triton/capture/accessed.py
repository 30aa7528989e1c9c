# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Through which of its arguments a kernel reads and writes, as far as its IR shows that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op

_READS = ("tt.load", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_poll")
_CHANGES = ("tt.store", "tt.atomic_rmw", "tt.atomic_cas")


@dataclass(frozen=True)
class Accessed:
    """The arguments of a kernel whose memory it accesses.

    Attributes:
        read: by loads, and by atomics of which something uses the answer; None = not known.
        changed: by stores and atomics; None = not known.
        answers: whether it uses what an atomic answers.
    """

    read: frozenset[str] | None
    changed: frozenset[str] | None
    answers: bool


def accessed_by(kernel: Kernel) -> Accessed:
    """What the loads, stores and atomics of a kernel go to."""
    read: set[str] = set()
    changed: set[str] = set()
    answers = False
    for function in kernel.functions:
        for op in function.walk():
            used = any(kernel.uses.get(value) for value in op.results)
            if op.name in _CHANGES:
                changed |= _roots(kernel, op.operands[0])
            if op.name == "tt.load" or (op.name in _READS and used):
                read |= _roots(kernel, op.operands[0])
                answers |= op.name != "tt.load"
    return Accessed(_known(kernel, read), _known(kernel, changed), answers)


def _known(kernel: Kernel, roots: set[str]) -> frozenset[str] | None:
    return frozenset(roots) if roots <= set(kernel.args) else None


def _roots(kernel: Kernel, pointer: str) -> set[str]:
    """The values that a pointer is made of and that are made of no other pointer."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [pointer]
    while waiting:
        value = waiting.pop()
        if value not in seen:
            seen.add(value)
            sources = [one for one in _sources(kernel, value) if "!tt.ptr" in kernel.types[one]]
            waiting += sources
            if not sources:
                found.add(value)
    return found


def _sources(kernel: Kernel, value: str) -> Iterator[str]:
    """What a value is made of, one step back."""
    op = kernel.defs.get(value)
    if op is None:
        yield from _handed_over(kernel, value)
        return
    place = op.results.index(value)
    if op.name == "scf.for":
        yield from (op.inits[place], op.last().operands[place])
    elif op.name == "scf.while":
        yield op.last(0).operands[1 + place]
    elif op.name == "scf.if":
        yield from (op.last(region).operands[place] for region in range(len(op.regions)))
    elif op.name not in ("tt.load", "tt.call"):
        yield from op.operands


def _handed_over(kernel: Kernel, value: str) -> Iterator[str]:
    """What an argument of a block is given."""
    op, place = kernel.owner[value]
    if op.name == "scf.for" and value != op.induction:
        yield from (op.inits[place - 1], op.last().operands[place - 1])
    elif op.name == "scf.while" and value in op.regions[0][0].args:
        yield from (op.inits[place], op.last(1).operands[place])
    elif op.name == "scf.while":
        yield op.last(0).operands[1 + place]
    elif op.name == "tt.func":
        yield from _from_branches(op, value)


def _from_branches(function: Op, value: str) -> Iterator[str]:
    places = {
        block.label: block.args.index(value) for block in function.regions[0] if value in block.args
    }
    for block in function.regions[0]:
        for label, values in block.ops[-1].successors if block.ops else ():
            if label in places:
                yield values[places[label]]
