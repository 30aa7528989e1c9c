# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In which order threads that have parted go through the blocks of a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from intelliperf_swizzle.frontends.cpp.code.llvm import BasicBlock, identity, is_block


@dataclass
class BlockOrder:
    """Blocks so that every loop is contiguous, its header first and what follows it later.

    Attributes:
        depth: how many loops each block is in; in the order of the blocks.
        headers: of the loops.
    """

    depth: dict[int, int] = field(default_factory=dict)
    headers: set[int] = field(default_factory=set)


def order_of(blocks: Sequence[BasicBlock]) -> BlockOrder:
    """The order in which threads that have parted go on: those that are behind come first."""
    found = BlockOrder()
    successors: dict[int, list[int]] = {}
    for block in blocks:
        *_, last = block.instructions
        successors[identity(block)] = [identity(o) for o in last.operands if is_block(o)]

    def arrange(nodes: list[int], cut: frozenset[tuple[int, int]], depth: int) -> None:
        for component in reversed(_components(nodes, successors, cut)):
            first = component[0]
            if len(component) == 1 and (first not in successors[first] or (first, first) in cut):
                found.depth[first] = depth
                continue
            members = set(component)
            entered = [b for p in nodes if p not in members for b in successors[p] if b in members]
            header = entered[0] if entered else nodes[0]
            found.headers.add(header)
            inner = [header, *(node for node in component if node != header)]
            arrange(inner, cut | {(node, header) for node in component}, depth + 1)

    arrange([identity(block) for block in blocks], frozenset(), 0)
    return found


def _components(
    nodes: list[int], successors: Mapping[int, list[int]], cut: frozenset[tuple[int, int]]
) -> list[list[int]]:
    """Strongly connected components, those that are left last come first (Tarjan's algorithm)."""
    inside = set(nodes)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, left = work[-1]
            following = next(left, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(stack[at:])
                    del stack[at:]
            elif following in inside and (node, following) not in cut:
                if following not in index:
                    index[following] = low[following] = len(index)
                    stack.append(following)
                    work.append((following, iter(successors[following])))
                elif following in stack:
                    low[node] = min(low[node], index[following])
    return found
