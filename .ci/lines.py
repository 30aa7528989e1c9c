# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Holds the length of the source: `python .ci/lines.py` fails if it has grown.

Counted are the lines with code, without comments, docstrings and blanks, of all languages in `src`
and `startup`. `.ci/lines` has the most that there may be. A commit may lower that number and never
raise it; `--lower` writes today's count.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
LIMIT = Path(".ci/lines")
ROOTS = ("src", "startup")
OTHERS = {
    ".c", ".cc", ".cmake", ".cpp", ".css", ".cu", ".cuh", ".h", ".hpp", ".html", ".j2", ".jinja",
    ".js", ".sh",
}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def python_lines(text: str) -> int:
    """Lines of a Python file with code."""
    prose: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            prose.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in prose
        for number, line in enumerate(text.split("\n"), 1)
    )


def other_lines(text: str) -> int:
    """Lines of a file in another language with code."""
    inside, count = False, 0
    for line in filter(None, map(str.strip, text.splitlines())):
        if inside or line.startswith(("/*", "<!--", "{#")):
            inside = not any(end in line for end in ("*/", "-->", "#}"))
        elif not line.startswith("//"):
            count += 1
    return count


def counted() -> Iterator[int]:
    """The lines with code of each file."""
    for path in (path for root in ROOTS for path in (CHECKOUT / root).rglob("*")):
        if path.suffix == ".py":
            yield python_lines(path.read_text(encoding="utf-8"))
        elif path.suffix in OTHERS:
            yield other_lines(path.read_text(encoding="utf-8"))


def earlier_limits() -> list[int]:
    """The number in the last commit and in each one before it, where git knows them."""
    found = []
    for commit in ("HEAD", "HEAD^1", "HEAD^2"):
        shown = subprocess.run(
            ["git", "show", f"{commit}:{LIMIT}"], cwd=CHECKOUT, capture_output=True, check=False
        )
        found += [int(shown.stdout)] if not shown.returncode else []
    return found


def main() -> int:
    """Returns the exit code."""
    count = sum(counted())
    if "--lower" in sys.argv:
        (CHECKOUT / LIMIT).write_text(f"{count}\n")
    limit = int((CHECKOUT / LIMIT).read_text())
    if limit > min(earlier_limits(), default=limit):
        print(f"error: {LIMIT} was raised to {limit}; it may only fall", file=sys.stderr)
        return 1
    if count > limit:
        print(f"error: {count} lines of code, more than {limit}", file=sys.stderr)
        print("hint: take some out elsewhere first", file=sys.stderr)
        return 1
    if count < limit:
        print(
            f"{count} lines of code of {limit}: `python {Path(*Path(__file__).parts[-2:])} --lower`"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
