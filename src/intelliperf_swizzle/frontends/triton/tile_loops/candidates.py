# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Loops of a kernel's text, and names in them that may be a number of a tile or how many there are.

Proposals: the kernel's IR says which of them are.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from intelliperf_swizzle.frontends.triton.source import reads
from intelliperf_swizzle.records import Counter, Launch, TileLoop


@dataclass(frozen=True)
class CandidateLoop:
    """A loop of the kernel.

    Attributes:
        line: 1-based, in the function's text.
        counters: variables that may hold the number of a tile, the nearest to the loop first.
        values: expressions that may say where numbers begin and end, the nearest first.
    """

    line: int
    counters: tuple[Counter, ...]
    values: tuple[Counter, ...]


@dataclass(frozen=True)
class LoopScan:
    """What came of the loops of a launch.

    Attributes:
        loop: the one whose tiles can be renumbered, None if none can.
        reasons: why others cannot, as sentences.
    """

    loop: TileLoop | None = None
    reasons: tuple[str, ...] = ()


def find_candidates(launch: Launch) -> list[CandidateLoop]:
    """The loops of a kernel in the order of the text."""
    tree = reads.definition(launch.source.entry)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    return [
        CandidateLoop(
            loop.lineno,
            tuple(c for c in (*_heads(loop), *_middles(loop)) if reads.scope_of(tree, c)),
            tuple(Counter(text, loop.body[0].lineno) for text in _values(tree, loop)),
        )
        for loop in sorted(loops, key=lambda loop: loop.lineno)
        if loop.body[0].lineno > loop.lineno
    ]


def _heads(loop: ast.For | ast.While) -> Iterator[Counter]:
    """What may hold a number when the body begins."""
    own = reads.bound_names(loop)
    names = reads.names_in(loop.target if isinstance(loop, ast.For) else loop.test)
    for name in dict.fromkeys(node.id for node in names if node.id in own):
        yield Counter(name, loop.body[0].lineno)


def _middles(loop: ast.For | ast.While) -> Iterator[Counter]:
    """What statements of the body assign that do not end their line."""
    for statement, following in zip(loop.body, loop.body[1:], strict=False):
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        assigns = isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign)
        alone = assigns and len(targets) == 1 and following.lineno > (statement.end_lineno or 0)
        if alone and isinstance(targets[0], ast.Name):
            yield Counter(targets[0].id, following.lineno)


def _values(tree: ast.FunctionDef, loop: ast.For | ast.While) -> Iterator[str]:
    """The bounds, their parts, and the names that these follow from."""
    bounds: list[ast.expr] = [loop.test] if isinstance(loop, ast.While) else []
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
        bounds = loop.iter.args[:2][::-1]
    parts = [node for bound in bounds for node in ast.walk(bound)]
    plain = [n for n in parts if isinstance(n, ast.Attribute | ast.BinOp | ast.Call | ast.Name)]
    own = reads.bound_names(loop)
    yield from (ast.unparse(node) for node in plain if not _names_in(node) & own)
    names = [name for bound in bounds for name in sorted(_names_in(bound))]
    for name in names:  # grows
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and name in reads.bound_names(node):
                names += sorted(_names_in(node.value) - {*names})
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    stored = frozenset[str]().union(*map(reads.bound_names, tree.body))
    known = reads.bound_names(tree) - own - called
    yield from (name for name in names if name in known)
    if isinstance(loop, ast.While):  # `last`, the end of the group before
        yield from sorted(stored - own)


def _names_in(tree: ast.AST) -> set[str]:
    return {node.id for node in reads.names_in(tree) if isinstance(node.ctx, ast.Load)}
