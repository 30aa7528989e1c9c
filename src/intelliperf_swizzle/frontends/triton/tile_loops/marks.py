# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A kernel's text with calls in its loop, so that whoever runs it knows which tile it is at.

::

    for tile in range(pid, tiles, NUM_SMS):      -->      for tile in range(pid, tiles, NUM_SMS):
        row = tile // columns                                 _swizzle_watch(0, tile)
        …                                                     row = tile // columns
                                                              …
                                                          _swizzle_watch(-1)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from intelliperf_swizzle.records import Int64Array, Launch

if TYPE_CHECKING:
    from intelliperf_swizzle.frontends.triton.interpreter.revive import LiveLaunch

WATCH = "_swizzle_watch"
"""What is called with the number of a counter, or of a site, and values."""
END = -1
"""What the call after a loop says, in place of the number of a counter."""


def mark(text: str, before: Mapping[int, Sequence[str]], after: Mapping[int, str]) -> str:
    """Inserts statements into a function's text.

    Args:
        text: of the function.
        before: line of a statement -> the statements to put before it.
        after: line of a loop -> the statement to put after it.
    """
    tree = ast.parse(text)
    waiting, ending = dict(before), dict(after)

    def marked(body: list[ast.stmt]) -> list[ast.stmt]:
        new: list[ast.stmt] = []
        for statement in body:
            for inserted in waiting.pop(statement.lineno, ()):
                new += ast.parse(inserted).body
            for name in ("body", "orelse"):
                if isinstance(getattr(statement, name, None), list):
                    setattr(statement, name, marked(getattr(statement, name)))
            new.append(statement)
            if isinstance(statement, ast.For | ast.While) and statement.lineno in ending:
                new += ast.parse(ending.pop(statement.lineno)).body
        return new

    [function] = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    function.body = marked(function.body)
    return ast.unparse(ast.fix_missing_locations(tree))


def mark_loop(launch: Launch) -> dict[str, str]:
    """The edit of a launch's kernel that tells when a tile begins, and when the loop is over."""
    loop, source = launch.loop, launch.source
    if loop is None:
        return {}
    first = loop.counters[0]
    begins = {first.line: [f"{WATCH}(0, {first.name})"]}
    return {source.kernel: mark(source.entry.text, begins, {loop.line: f"{WATCH}({END})"})}


def listen(live: LiveLaunch, watch: Callable[..., object]) -> None:
    """Has the calls in a live kernel's text go to a function."""
    for function in live.functions.values():
        function.fn.__globals__[WATCH] = watch


def values_of(value: object) -> Int64Array:
    """The integers of a scalar that a call is given: of each program, or one for all."""
    handle = getattr(value, "handle", None)
    data = getattr(value, "value", value) if handle is None else handle.data
    return np.asarray(data, np.int64).reshape(-1)
