# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the shell offers after TAB, by argcomplete; see `docs/agents.md` for the one line it needs.

argcomplete starts the command with `_ARGCOMPLETE` set to the number of words before the first
argument, and the line typed so far in `COMP_LINE`; what parses it then offers what fits: verbs,
options, and the names of targets, patterns, formulas and kernels.
"""

from __future__ import annotations

import argparse
import ast
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from intelliperf_swizzle.cli.arguments import Parser, run
from intelliperf_swizzle.options import FORMULAS, add_options

VARIABLE = "_ARGCOMPLETE"


def offer_names(parser: argparse.ArgumentParser) -> None:
    """Has argcomplete offer what options and arguments may be called."""
    for action in parser._actions:
        if action.dest in _NAMES:
            action.completer = _NAMES[action.dest]  # type: ignore[attr-defined]


def _targets(prefix: str, **_: object) -> list[str]:
    from intelliperf_swizzle.hardware import targets

    return [*targets(), *_files(prefix, ".yaml")]


def _swizzles(prefix: str, **_: object) -> list[str]:
    from intelliperf_swizzle.formulas import patterns

    return [*(one.name for one in patterns()), *_files(prefix, ".yaml", ".yml", ".txt")]


def _kernels(prefix: str, **_: object) -> list[str]:
    """Functions with `jit` above them, of the Python files on the line, else of those here."""
    line = os.environ.get("COMP_LINE", "")
    named = [word.rpartition("=")[2] for word in line.split() if word.endswith(".py")]
    found: set[str] = set()
    for path in [Path(name) for name in named] or sorted(Path().glob("*.py"))[:_MOST_FILES]:
        with suppress(OSError, SyntaxError, ValueError):
            found.update(_jit_functions(ast.parse(path.read_text(encoding="utf-8"))))
    return sorted(found)


def _jit_functions(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            calls = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
            if any(ast.unparse(one).rpartition(".")[2] == "jit" for one in calls):
                yield node.name


def _files(prefix: str, *endings: str) -> list[str]:
    """Files, and folders with a slash, that begin so."""
    folder, _, begin = prefix.rpartition("/")
    with suppress(OSError):
        return [
            prefix[: len(prefix) - len(begin)] + one.name + ("/" if one.is_dir() else "")
            for one in sorted(Path(folder or ("/" if prefix.startswith("/") else ".")).iterdir())
            if one.name.startswith(begin) and (one.is_dir() or one.suffix in endings)
        ]
    return []


_MOST_FILES = 200
_NAMES = {
    "target": _targets,
    "swizzle": _swizzles,
    "kernel": _kernels,
    "formula": lambda prefix, **_: [*FORMULAS, *_files(prefix, ".yaml")],
}


def complete(verbs: Sequence[str]) -> int:
    """Has the parser of the verb that is being typed offer what fits."""
    words = _typed()
    if not words or words[0] not in verbs:
        parser = Parser()
        if len(words) < 2 and not "".join(words).startswith("-"):
            parser.add_argument("verb", choices=verbs)
        add_options(parser)
        parser.parse_args([])
        return 0
    os.environ[VARIABLE] = str(int(os.environ[VARIABLE]) + 1)
    return run(words[0], words[1:])


def _typed() -> list[str]:
    """The words after the command, the one being typed included only if a space follows it."""
    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0"))]
    complete_words = line if line[-1:].isspace() else line.rpartition(" ")[0]
    try:
        return shlex.split(complete_words)[int(os.environ[VARIABLE]) :]
    except ValueError:  # a quotation that is still open
        return complete_words.split()[1:]
