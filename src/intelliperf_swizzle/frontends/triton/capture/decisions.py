# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What Python does with a value that it reads: does it decide something, or only tell of it?"""

import ast
import linecache
import re
from functools import lru_cache
from pathlib import Path
from types import FrameType

import numpy as np
import torch

OWN = str(Path(__file__).parents[3])
_LIBRARIES = (*(str(Path(m.__file__ or "").parent) for m in (torch, np)), "<frozen")
_STANDARD = str(Path(ast.__file__).parent)
_TELLING = re.compile("(print|debug|info|warning|error|log|exit|fail|skip|assert.*)$")
"""Functions that say something, or end the application."""
_BRANCHES = ast.If | ast.For | ast.While | ast.IfExp | ast.Compare


def use_of_value(frame: FrameType | None, *, floats: bool) -> str:
    """The file and line at which Python decides something by a value that it reads; of `floats`,
    at which it branches. Empty if there is none, as where the value is only printed."""
    place, returned = "", True
    while frame is not None and returned:
        file, line, frame = frame.f_code.co_filename, frame.f_lineno, frame.f_back
        if not is_library(file):
            line, returned = _use(file, line, floats)
            place = f"{Path(file).name}:{line}" if line else ""
    return place


def is_library(file: str) -> bool:
    """Whether a file is of torch, NumPy, Python or this package: its callers decide."""
    standard = file.startswith(_STANDARD) and "-packages" not in file
    return standard or file.startswith((OWN, *_LIBRARIES))


@lru_cache(maxsize=256)
def _use(file: str, line: int, floats: bool) -> tuple[int, bool]:
    """The line that decides by a value that is read at another line, 0 if none; and whether the
    function returns the value instead, so that its caller may decide."""
    tree = ast.parse("".join(linecache.getlines(file)))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    around = [node for node in nodes if node.lineno <= line <= (node.end_lineno or 0)]
    scope = [tree, *(node for node in around if isinstance(node, ast.FunctionDef))][-1]
    users = sorted(around, key=lambda node: (node.end_lineno or 0) - node.lineno)[:1]
    inside = [node for node in ast.walk(scope) if isinstance(node, ast.stmt)]
    for user in users:  # grows as it goes
        held = {n.id for n in ast.walk(user) if isinstance(n, ast.Name) and _is_set(n)}
        read = (s for s in inside if held & {getattr(n, "id", "") for n in _head(s)})
        users += [statement for statement in read if statement not in users]
    if users and all(map(_tells, users)):
        return 0, False
    returned = [user for user in users if isinstance(user, ast.Return)]
    deciding = (u for u in users if isinstance(u, ast.Assign) or not (_tells(u) or u in returned))
    lines = (u.lineno for u in deciding if any(isinstance(n, _BRANCHES) for n in (u, *_head(u))))
    branch = next(lines, 0)
    return branch or line * (not floats), bool(returned and not branch)


def _tells(statement: ast.AST) -> bool:
    """Whether it only says something, ends the application, or sets variables."""
    match statement:
        case ast.Pass() | ast.Raise() | ast.Assert():
            return True
        case ast.Expr(ast.Call(ast.Name(name) | ast.Attribute(_, name))):
            return _TELLING.match(name) is not None
        case ast.If() | ast.For():
            parts = ast.iter_child_nodes(statement)
            return all(_tells(part) for part in parts if isinstance(part, ast.stmt))
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            return all(isinstance(n, ast.Name | ast.Tuple) for n in _head(statement) if _is_set(n))
    return False


def _head(statement: ast.AST) -> list[ast.AST]:
    """What is in a statement but in no statement of it."""
    parts = (p for p in ast.iter_child_nodes(statement) if not isinstance(p, ast.stmt))
    return [node for part in parts for node in ast.walk(part)]


def _is_set(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)
