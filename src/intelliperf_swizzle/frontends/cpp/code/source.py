# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Where in the user's files device code comes from, by the line tables in its bitcode."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from intelliperf_swizzle.records import KernelSource, SourceFunction

_ENTRY = re.compile(r"(?m)^!(\d+) = (?:distinct )?!DI\w+\((.*)\)$")
_FIELD = re.compile(r'(\w+): (?:!(\d+)|"((?:[^"\\]|\\.)*)"|(\d+))')
_FUNCTION = re.compile(r'(?m)^define [^\n]*@([\w.$]+|"[^"]+")\([^\n]*?!dbg !(\d+)')

Place: TypeAlias = tuple[str, str, int, int]
"""As of `DebugInfo.function`."""
_HEADERS = ("/include/hip/", "/cuda-toolkit-", "/lib/clang/")
"""Parts of paths of files that are not the user's."""


class DebugInfo:
    """The line tables of a module.

    Args:
        text: of the module.
    """

    def __init__(self, text: str):
        self._entries = {
            number: {m[1]: m[2] or m[3] or m[4] or "" for m in _FIELD.finditer(body)}
            for number, body in _ENTRY.findall(text)
        }
        self._functions = {name.strip('"'): number for name, number in _FUNCTION.findall(text)}

    def place(self, instruction: str) -> str | None:
        """`file:line` of an instruction by its text; where a header of the vendor's was called."""
        found = re.search(r"!dbg !(\d+)", instruction)
        entry = self._entries.get(found[1]) if found else None
        while entry is not None and "line" in entry:
            file = self._file(entry.get("scope")) or ""
            if not any(part in file for part in _HEADERS):
                return f"{file}:{entry['line']}"
            entry = self._entries.get(entry.get("inlinedAt", ""))
        return None

    def function(self, symbol: str) -> Place | None:
        """Name without template arguments, file, and lines of the name and of the body's brace."""
        number = self._functions.get(symbol, "")
        fields = self._entries.get(number, {})
        if "line" not in fields:
            return None
        line = int(fields["line"])
        name = fields.get("name", "").partition("<")[0]
        return name, self._file(number) or "", line, int(fields.get("scopeLine", line))

    def instance(self, symbol: str) -> str:
        """The name of a function with its template arguments."""
        return self._entries.get(self._functions.get(symbol, ""), {}).get("name", "")

    def is_users(self, symbol: str) -> bool:
        """Whether a function is the user's, and not of HIP's, CUDA's or the compiler's headers."""
        number = self._functions.get(symbol)
        file = self._file(number) if number else None
        return file is not None and not any(part in file for part in _HEADERS)

    def source(
        self, symbol: str, reached: Sequence[str], project: Path, copy: Path
    ) -> KernelSource | None:
        """The text of a kernel and of what it calls, of files that are the user's.

        Args:
            symbol: the kernel's mangled name.
            reached: those of the functions that it calls.
            project: holds the user's files.
            copy: of it, that was built.
        """
        functions: dict[str, SourceFunction] = {}
        for name in (symbol, *reached):
            function = self._read(name, project, copy, always=name == symbol)
            if function is not None:
                functions.setdefault(function.name, function)
        entry = self.function(symbol)
        return KernelSource(entry[0], functions) if entry and entry[0] in functions else None

    def _file(self, scope: str | None) -> str | None:
        while scope is not None and scope in self._entries:
            fields = self._entries[scope]
            if "file" in fields:
                file = self._entries[fields["file"]]
                return os.path.normpath(Path(file.get("directory", ""), file.get("filename", "")))
            scope = fields.get("scope")
        return None

    def _read(
        self, symbol: str, project: Path, copy: Path, *, always: bool
    ) -> SourceFunction | None:
        function = self.function(symbol)
        if function is None:
            return None
        name, file, line, _ = function
        within = project in Path(file).parents
        if not (always or within):
            return None
        built = copy / Path(file).relative_to(project) if within else Path(file)
        try:
            lines = built.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return None
        first, last = _extent(lines, line)
        return SourceFunction(name, file, first, "\n".join(lines[first - 1 : last]) + "\n")


def _extent(lines: list[str], named: int) -> tuple[int, int]:
    """First and last line of the function whose name stands on a line; all count from 1.

    It begins after the last line that ends a declaration, and ends at the brace that closes it.
    """
    first = named
    while first > 1 and not re.search(r"(^\s*$|[;}]\s*$|^\s*#|^\s*//|\*/\s*$)", lines[first - 2]):
        first -= 1
    code = code_alone("\n".join(lines))
    begin = sum(len(line) + 1 for line in lines[: named - 1])
    last = code.count("\n", 0, closing(code, code.find("{", begin))) + 1
    return first, max(named, last)


_NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
    r"|(?m:^[ \t]*\#(?:[^\n]*\\\r?\n)*[^\n]*)",
    re.DOTALL,
)


def blank(found: re.Match[str]) -> str:
    """Spaces in place of what is found."""
    return re.sub(r"[^\n]", " ", found[0])


def code_alone(text: str) -> str:
    """A text with spaces in place of comments, strings and directives."""
    return _NO_CODE.sub(blank, text)


def closing(code: str, brace: int) -> int:
    """Where the brace is that closes one; the end of a text without it."""
    depth = 0
    for found in re.compile(r"[{}]").finditer(code, brace):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.start()
    return len(code)
