# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a kernel calls the factors of its number of tiles: `tiles = rows * cols`."""

from __future__ import annotations

import ast

from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.language import INPUTS, parse
from intelliperf_swizzle.language.syntax import Expression, Loop, reads
from intelliperf_swizzle.records import TileLoop


def find_factors(tree: ast.FunctionDef, loop: TileLoop) -> dict[str, Expression | None]:
    """The kernel's two names whose product is the number of tiles; none where it has none.

    With each its value as an expression of the kernel's arguments, None if it is no such.
    Names are arguments, or assigned once, before the loop.
    """
    if loop.read_from:
        return {}
    count = ast.parse(loop.count, mode="eval").body
    if isinstance(count, ast.Name):
        count = _definition(tree, loop, count.id) or count
    if not isinstance(count, ast.BinOp) or not isinstance(count.op, ast.Mult):
        return {}
    names = [one.id for one in (count.left, count.right) if isinstance(one, ast.Name)]
    values = {name: _definition(tree, loop, name) for name in names}
    if len(values) != 2 or None in values.values():
        return {}
    arguments = {one.arg for one in tree.args.args}.difference(INPUTS)
    return {name: _expression(value, arguments) for name, value in values.items() if value}


def _definition(tree: ast.FunctionDef, loop: TileLoop, name: str) -> ast.expr | None:
    """What an argument is, or a variable that one statement alone assigns, before the loop."""
    stored = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    if not stored and name in {one.arg for one in tree.args.args}:
        return ast.Name(name, ast.Load())
    for one in tree.body:
        if isinstance(one, ast.Assign) and one.targets == stored and one.lineno < loop.line:
            return one.value
    return None


def _expression(value: ast.expr, arguments: set[str]) -> Expression | None:
    """A value in the language of swizzles; None if it reads more than arguments."""
    text = ast.unparse(_Unqualified().visit(ast.parse(ast.unparse(value), mode="eval")))
    try:
        statement = parse(f"factor = {text}\npid = pid").statements[0]
    except SwizzleError:
        return None
    if isinstance(statement, Loop) or any(n.name not in arguments for n in reads(statement.value)):
        return None
    return statement.value


class _Unqualified(ast.NodeTransformer):
    """`cdiv(N, BN)` for `tl.cdiv(N, BN)`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Name(node.attr, ast.Load())
