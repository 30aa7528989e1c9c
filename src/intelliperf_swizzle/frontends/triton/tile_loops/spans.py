# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Loops that take each number once whatever their bounds are, by their text.

What one launch shows does not suffice if the bounds are read from memory. So the text must count
from the program's own number in steps that no memory decides, up to a bound (`for tile in
range(pid, tiles, PROGRAMS)`), or, group after group, from each bound to the next (`while tile <
end: … tile += PROGRAMS`, then `begin = end`).
"""

from __future__ import annotations

import ast

from intelliperf_swizzle.frontends.triton.source.reads import bound_names

PLAIN_CALLS = {"program_id", "num_programs", "cdiv"}
"""Calls whose values follow from their operands alone."""


def span_of(tree: ast.FunctionDef, loop: ast.For | ast.While) -> tuple[str, str, str] | None:
    """Which numbers a loop takes over all programs, for all bounds; None if its text does not tell.

    Returns:
        The variable that holds the number when the body begins; the first of a run of numbers, and
        how many there are, as expressions.
    """
    if isinstance(loop, ast.For):
        bounds = [ast.unparse(one) for one in getattr(loop.iter, "args", ())]
        plain = len(bounds) == 3 and _is_plain(tree, f"{bounds[0]} + {bounds[2]}", loop.lineno)
        return (ast.unparse(loop.target), "0", bounds[1]) if plain and loop in tree.body else None
    tests = loop.test.values if isinstance(loop.test, ast.BoolOp) else [loop.test]
    *others, (counter, _, last) = [ast.unparse(one).partition(" < ") for one in tests]
    sets = _assignments(tree, counter)
    if len(sets) != 2 or sets[0] not in tree.body or sets[1] not in loop.body:
        return None
    first, step = _value(sets[0]), _value(sets[1]).removeprefix(f"{counter} + ")
    plain = all(_is_plain(tree, one, sets[0].lineno) for one in (first, step))
    if step == _value(sets[1]) or not plain or _names(last) & bound_names(loop):
        return None
    if loop in tree.body:
        return None if others else (counter, "0", last)
    base = _base(tree, loop, last)
    begins = isinstance(getattr(loop.test, "op", ast.And()), ast.And)
    fits = base and begins and others in ([], [(f"{counter} >= {base}", "", "")])
    return (counter, base, f"{last} - {base}") if base and fits else None


def _base(tree: ast.FunctionDef, loop: ast.While, last: str) -> str | None:
    """The variable that is 0, then the end of each group before, of a loop in one over groups."""
    groups = next((one for one in tree.body if isinstance(one, ast.For) and loop in one.body), None)
    after = groups.body[groups.body.index(loop) + 1 :] if groups else []
    for at, update in enumerate(after):
        if isinstance(update, ast.Assign | ast.AugAssign) and _value(update) == last:
            base = ast.unparse(
                update.targets[0] if isinstance(update, ast.Assign) else update.target
            )
            sets = _assignments(tree, base)
            changed = frozenset().union(*(bound_names(one) for one in after[:at]))
            if len(sets) == 2 and sets[0] in tree.body and not _names(last) & changed:
                return base if _value(sets[0]) == "0" else None
    return None


def _assignments(tree: ast.FunctionDef, name: str) -> list[ast.Assign | ast.AugAssign]:
    """The statements that assign a name, in the order of the text; none if another one does."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AugAssign)
             and name in bound_names(node)]  # fmt: skip
    stores = sum(not isinstance(node.ctx, ast.Load) for node in names)
    return sorted(found, key=lambda one: one.lineno) if len(found) == stores else []


def _value(statement: ast.Assign | ast.AugAssign) -> str:
    """What a statement assigns, as an expression."""
    if isinstance(statement, ast.Assign):
        return ast.unparse(statement.value)
    old = ast.parse(ast.unparse(statement.target), mode="eval").body
    return ast.unparse(ast.BinOp(old, statement.op, statement.value))


def _is_plain(tree: ast.FunctionDef, text: str, line: int) -> bool:
    """Whether a value follows from arguments and the program's number, whatever is in memory."""
    calls = [
        ast.unparse(one.func) for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call)
    ]
    if any(call.rpartition(".")[2] not in PLAIN_CALLS for call in calls):
        return False
    return all(
        isinstance(one, ast.Assign)
        and one.lineno < line
        and _is_plain(tree, ast.unparse(one.value), one.lineno)
        for one in tree.body
        if bound_names(one) & _names(text)
    )


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
