# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What follows from what in a kernel's IR: by data, by branches and by how often a loop turns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from intelliperf_swizzle.frontends.triton.ir.parse import Block, Kernel, Op

_PLACE = re.compile(r'"[^"]*(?:%(?!\d)|ctaid|smid|s_getreg|ttmp|\\25|group.id)[^"]*"|path = "[^"]')
"""Assembly, or a library's function, that may read where the program runs: `%ctaid.x`, the
hardware's registers. What a library of the user's does is not known."""


def asks_where_it_runs(op: Op) -> bool:
    """Whether inline assembly, or a function of a library, may tell a program where it runs."""
    foreign = op.name in ("tt.elementwise_inline_asm", "tt.extern_elementwise")
    return foreign and bool(_PLACE.search(op.text))


def of_the_program(kernel: Kernel) -> set[str]:
    """Values that follow from the program's own number; a function that is called may tell it."""
    sources = {
        result
        for op in kernel.ops()
        if op.name in ("tt.get_program_id", "tt.call") or asks_where_it_runs(op)
        for result in op.results
    }
    return following(kernel, sources)


def following(kernel: Kernel, sources: Iterable[str]) -> set[str]:
    """All values of the kernel that follow from some."""
    marked = set(sources)
    while True:
        new = {value for op in kernel.ops() for value in _reached(kernel, op, marked)} - marked
        if not new:
            return marked
        marked |= new


def _reached(kernel: Kernel, op: Op, marked: set[str]) -> Iterator[str]:
    if op.name == "scf.for":
        yield from _reached_by_for(op, marked)
    elif op.name == "scf.while":
        yield from _reached_by_while(op, marked)
    elif op.name == "scf.if":
        ends = [op.last(region).operands for region in range(len(op.regions))] if op.results else []
        decided = op.operands[0] in marked
        for place, result in enumerate(op.results):
            if decided or any(end[place] in marked for end in ends):
                yield result
    elif op.successors:
        yield from _reached_by_branch(kernel, op, marked)
    elif any(value in marked for value in op.operands):
        yield from op.results
        for block in (block for region in op.regions for block in region):
            yield from block.args


def _reached_by_for(op: Op, marked: set[str]) -> Iterator[str]:
    decided = any(value in marked for value in (op.start, op.stop, op.step))
    if op.start in marked or op.step in marked:
        yield op.induction
    ends = op.last().operands if op.results else []
    for arg, first, last, result in zip(op.carried, op.inits, ends, op.results, strict=True):
        if first in marked or last in marked:
            yield from (arg, result)
        elif decided and last != arg:
            yield result


def _reached_by_while(op: Op, marked: set[str]) -> Iterator[str]:
    condition, before, after = op.last(0), op.regions[0][0].args, op.regions[1][0].args
    decided = condition.operands[0] in marked
    ends = op.last(1).operands if before else []
    for arg, first, last in zip(before, op.inits, ends, strict=True):
        if first in marked or last in marked:
            yield arg
    for value, arg, result in zip(condition.operands[1:], after, op.results, strict=True):
        if value in marked:
            yield from (arg, result)
        elif decided and value in before:
            yield result


def _reached_by_branch(kernel: Kernel, op: Op, marked: set[str]) -> Iterator[str]:
    decided = op.name == "cf.cond_br" and op.operands[0] in marked
    blocks: dict[str, Block] = {block.label: block for block in kernel.entry.regions[0]}
    for label, values in op.successors:
        for arg, value in zip(blocks[label].args, values, strict=True):
            if decided or value in marked:
                yield arg
