# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Where in a kernel's text a variable holds the number of a tile."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from intelliperf_swizzle.frontends.triton.source.reads import bound_names
from intelliperf_swizzle.records import Counter


def scope_of(tree: ast.FunctionDef, counter: Counter) -> list[ast.stmt] | None:
    """The statements in which a counter holds the number: up to the next that assigns it.

    None where that cannot be told: another statement begins the line, or an assignment is nested.
    """
    for body in _bodies(tree):
        for place, statement in enumerate(body):
            if statement.lineno != counter.line:
                continue
            scope: list[ast.stmt] = []
            for one in body[place:]:
                if counter.name in bound_names(one):
                    plain = isinstance(one, ast.Assign | ast.AugAssign | ast.AnnAssign)
                    return scope if plain else None
                scope.append(one)
            return scope
    return None


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                yield body
