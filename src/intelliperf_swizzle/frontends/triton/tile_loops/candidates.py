# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Loops of a kernel's text in which a program may take tiles, and what may hold their number."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from intelliperf_swizzle.frontends.triton.source.reads import bound_names, definition
from intelliperf_swizzle.frontends.triton.source.scopes import scope_of
from intelliperf_swizzle.frontends.triton.tile_loops.spans import span_of
from intelliperf_swizzle.records import Counter, Launch, TileLoop


@dataclass(frozen=True)
class CandidateLoop:
    """A loop of the kernel.

    Attributes:
        line: 1-based, in the function's text.
        loop: the statement.
        counters: variables that may hold the number of a tile, the nearest to the loop first.
        counts: expressions that may say how many tiles there are.
        carried: names that an iteration takes from the one before it.
        read_after: names that the loop assigns and what follows it reads.
        ticket: whether a number is drawn with an atomic operation.
        span: as of `span_of`.
    """

    line: int
    loop: ast.For | ast.While
    counters: tuple[Counter, ...]
    counts: tuple[str, ...]
    carried: frozenset[str]
    read_after: frozenset[str]
    ticket: bool
    span: tuple[str, str, str] | None


@dataclass(frozen=True)
class Seen:
    """What came of the loops of a launch.

    Attributes:
        loop: the one whose tiles can be renumbered, None if none can.
        reasons: why others cannot, as sentences.
    """

    loop: TileLoop | None = None
    reasons: tuple[str, ...] = ()


def find_candidates(launch: Launch) -> list[CandidateLoop]:
    """The loops of a kernel that follow from its program id, in the order of the text."""
    tree = definition(launch.source.entry)
    known = {*launch.constexprs, *launch.source.entry.names}
    numbered = _following(tree, lambda node: _named(node) == "program_id")
    tickets = _following(tree, lambda node: _named(node).startswith("atomic_"))
    found = []
    for loop, after in _loops(tree.body, []):
        own = bound_names(loop)
        counters = [*_heads(loop), *_middles(loop)]
        counters = [
            one for one in counters if one.name in numbered | tickets and scope_of(tree, one)
        ]
        if counters:
            exposed = _exposed([loop] if isinstance(loop, ast.While) else loop.body, known)
            span = span_of(tree, loop)
            counts = [*_counts(tree, loop, own), *(span or ())[1:]]
            targets = bound_names(loop.target) if isinstance(loop, ast.For) else frozenset()
            found.append(
                CandidateLoop(
                    loop.lineno,
                    loop,
                    tuple(counters),
                    tuple(dict.fromkeys(counts)),
                    frozenset((exposed & own) - targets),
                    frozenset(_exposed(after, known) & own),
                    any(one.name in tickets for one in counters),
                    span,
                )
            )
    return found


def _loops(
    body: Sequence[ast.stmt], after: Sequence[ast.stmt]
) -> Iterator[tuple[ast.For | ast.While, list[ast.stmt]]]:
    """Each loop, with what may run after it."""
    for place, statement in enumerate(body):
        following = [*body[place + 1 :], *after]
        if isinstance(statement, ast.For | ast.While):
            yield statement, following
            following = [statement, *following]
        for name in ("body", "orelse"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list):
                yield from _loops(inner, following)


def _heads(loop: ast.For | ast.While) -> Iterator[Counter]:
    """What holds a number when the body begins."""
    line = loop.body[0].lineno
    if line == loop.lineno:
        return
    if isinstance(loop, ast.For):
        if isinstance(loop.target, ast.Name):
            yield Counter(loop.target.id, line)
        return
    own = bound_names(loop)
    for node in ast.walk(loop.test):
        if isinstance(node, ast.Name) and node.id in own:
            yield Counter(node.id, line)


def _middles(loop: ast.For | ast.While) -> Iterator[Counter]:
    """What statements of the body assign that do not end their line."""
    for statement, following in zip(loop.body, loop.body[1:], strict=False):
        if following.lineno == statement.end_lineno:
            continue
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
        elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
            target = statement.target
        else:
            continue
        if isinstance(target, ast.Name):
            yield Counter(target.id, following.lineno)


def _counts(
    tree: ast.FunctionDef, loop: ast.For | ast.While, own: Collection[str]
) -> Iterator[str]:
    """Expressions that may say how many tiles there are, and stay what they are in the loop.

    The bounds, their parts, and the names that these follow from, the nearest first.
    """
    bounds: list[ast.expr] = [loop.test] if isinstance(loop, ast.While) else []
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
        bounds = loop.iter.args[:2][::-1]
    parts = [node for bound in bounds for node in ast.walk(bound)]
    plain = [node for node in parts if isinstance(node, ast.Name | ast.Call | ast.BinOp)]
    texts = [ast.unparse(node) for node in plain if not _names_in(node) & {*own}]
    names = [name for bound in bounds for name in sorted(_names_in(bound))]
    for name in names:  # grows
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and name in bound_names(node):
                names += sorted(_names_in(node.value) - {*names})
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    texts += [name for name in names if name not in own and name not in called]
    yield from dict.fromkeys(texts)


def _names_in(tree: ast.AST) -> set[str]:
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _named(node: ast.AST) -> str:
    """The last part of a name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _following(tree: ast.FunctionDef, begins: Callable[[ast.AST], bool]) -> frozenset[str]:
    """Names whose values follow from an expression with a node that `begins`, by assignments."""
    names: set[str] = set()

    def follows(value: ast.AST) -> bool:
        return any(
            (isinstance(node, ast.Name) and node.id in names) or begins(node)
            for node in ast.walk(value)
        )

    while True:
        before = len(names)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and follows(node.value):
                names |= {name for target in node.targets for name in bound_names(target)}
            elif isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value:
                if follows(node.value):
                    names |= bound_names(node.target)
            elif isinstance(node, ast.For) and follows(node.iter):
                names |= bound_names(node.target)
        if len(names) == before:
            return frozenset(names)


# --- what flows from one iteration to the next ----------------------------------------------------


def _exposed(statements: Sequence[ast.stmt], known: Collection[str]) -> set[str]:
    """Names that statements read before they surely assign them.

    Args:
        statements: one after the other.
        known: names by which a branch is decided when the kernel is compiled.
    """
    exposed: set[str] = set()
    _flow(statements, set(), exposed, known)
    return exposed


def _flow(
    statements: Sequence[ast.stmt], defined: set[str], exposed: set[str], known: Collection[str]
) -> None:
    for one in statements:
        if isinstance(one, ast.If):
            _read(one.test, defined, exposed)
            sides = [set(defined), set(defined)]
            _flow(one.body, sides[0], exposed, known)
            _flow(one.orelse, sides[1], exposed, known)
            tested = {node.id for node in ast.walk(one.test) if isinstance(node, ast.Name)}
            compiled = tested <= {*known}
            defined |= sides[0] | sides[1] if compiled else sides[0] & sides[1]
        elif isinstance(one, ast.For | ast.While):
            _read(one.iter if isinstance(one, ast.For) else one.test, defined, exposed)
            inner = set(defined)
            if isinstance(one, ast.For):
                inner |= bound_names(one.target)
            _flow(one.body, inner, exposed, known)
        elif isinstance(one, ast.With):
            _flow(one.body, defined, exposed, known)
        else:
            if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
                exposed |= {one.target.id} - defined
            _read(one, defined, exposed)
            defined |= bound_names(one)


def _read(tree: ast.AST, defined: Collection[str], exposed: set[str]) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            exposed |= {node.id} - {*defined}
