# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Docstrings name only modules, and what is in them, that are there."""

from __future__ import annotations

import ast
import builtins
import functools
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PACKAGE = CHECKOUT / "src" / "intelliperf_swizzle"
NAMED = re.compile(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`")
FILES = re.compile(r"`([\w/]+\.(?:py|cpp|h))`")
SOMEBODY_ELSES = {"application", "app", "runner", "fatbinary_section"}
"""Files of users in examples and of vendors, without their ending."""
OTHERS = {"arith", "autograd", "core", "intelliperf", "llvm", "scf", "tl", "tt"}
"""Namespaces that are no package of Python's, or one that need not be there."""
ENDINGS = {"cpp", "csv", "h", "html", "json", "log", "md", "py"}


@functools.cache
def _modules() -> dict[str, set[str]]:
    """Names that modules go by, dotted, each with what the modules of that name define."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        for first in range(len(parts)):
            found.setdefault(".".join(parts[first:]), set()).update(_names(path))
    return found


@functools.cache
def _names(path: Path) -> set[str]:
    """All that a module binds anywhere, as its attributes and those of its classes."""
    names = {path.stem}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.update((node.asname or node.name).split("."))
    return names


def _prose(path: Path) -> Iterator[str]:
    """The docstrings of a file, those of attributes included."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text


@functools.cache
def _files() -> set[str]:
    roots = ("src", "tests", "benchmarks", "startup", "docs", ".ci")
    return {path.name for root in roots for path in (CHECKOUT / root).rglob("*") if path.is_file()}


def _is_installed(package: str) -> bool:
    """Whether there is a package of that name; folders without code, as of tests, are none."""
    spec = find_spec(package)
    return spec is not None and spec.origin is not None


def _is_there(dotted: str, own: set[str]) -> bool:
    modules, head = _modules(), dotted.partition(".")[0]
    standard = head in sys.stdlib_module_names
    if dotted in modules or head in own | OTHERS or hasattr(builtins, head):
        return True
    if not (standard and head in modules) and (standard or _is_installed(head)):
        return True
    for cut in range(dotted.count("."), 0, -1):
        parts = dotted.split(".")
        module = ".".join(parts[:cut])
        if module in modules:
            return parts[cut] in modules[module]
    return False


def gone(path: Path) -> list[str]:
    """What the docstrings of a file name and is not there."""
    own = _names(path)
    text = "\n".join(_prose(path))
    names = [name for name in NAMED.findall(text) if name.rpartition(".")[2] not in ENDINGS]
    files = [file for file in FILES.findall(text) if Path(file).stem not in SOMEBODY_ELSES]
    return [
        *(name for name in names if not _is_there(name, own)),
        *(file for file in files if Path(file).name not in _files()),
    ]


def test_docstrings_name_what_is_there() -> None:
    stale = {str(path.relative_to(PACKAGE)): gone(path) for path in sorted(PACKAGE.rglob("*.py"))}
    assert {file: names for file, names in stale.items() if names} == {}


@pytest.mark.parametrize("name", ["search.no_such_module", "nowhere.function", "gone.py"])
def test_a_name_that_is_gone_is_found(name: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(f'"""As `{name}` has it, and `search.loop` too."""\n')
    assert gone(tmp_path / "module.py") == [name]
