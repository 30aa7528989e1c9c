# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Where in the user's files device code comes from, by the line tables in its bitcode."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from intelliperf_swizzle.records import KernelSource, SourceFunction

_ENTRY = re.compile(r"(?m)^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$")
_FIELD = re.compile(r'(\w+): (?:!(\d+)|"((?:[^"\\]|\\.)*)"|(\d+))')
_FUNCTION = re.compile(r'(?m)^define [^\n]*@([\w.$]+|"[^"]+")\([^\n]*?!dbg !(\d+)')

_HEADERS = ("/include/hip/", "/lib/clang/")
"""Parts of paths of files that are not the user's."""


@dataclass(frozen=True)
class _Entry:
    kind: str
    fields: Mapping[str, str]


class DebugInfo:
    """The line tables of a module.

    Args:
        text: of the module.
    """

    def __init__(self, text: str):
        self._entries = {
            number: _Entry(kind, {m[1]: m[2] or m[3] or m[4] or "" for m in _FIELD.finditer(body)})
            for number, kind, body in _ENTRY.findall(text)
        }
        self._functions = {name.strip('"'): number for name, number in _FUNCTION.findall(text)}

    def place(self, instruction: str) -> str | None:
        """`file:line` of an instruction by its text; where a header of HIP's was called."""
        found = re.search(r"!dbg !(\d+)", instruction)
        entry = self._entries.get(found[1]) if found else None
        while entry is not None and "line" in entry.fields:
            file = self._file(entry.fields.get("scope")) or ""
            if not any(part in file for part in _HEADERS):
                return f"{file}:{entry.fields['line']}"
            entry = self._entries.get(entry.fields.get("inlinedAt", ""))
        return None

    def source(self, symbol: str, project: Path) -> KernelSource | None:
        """The text of a kernel and of what was inlined into it, of files that are the user's.

        Args:
            symbol: the kernel's mangled name.
            project: holds the user's files.
        """
        number = self._functions.get(symbol)
        if number is None:
            return None
        functions: dict[str, SourceFunction] = {}
        for one in (number, *self._inlined(number)):
            function = self._read(one, project, always=one == number)
            if function is not None:
                functions.setdefault(function.name, function)
        entry = self._entries[number].fields.get("name", symbol).partition("<")[0]
        return KernelSource(entry, functions) if entry in functions else None

    def _inlined(self, kernel: str) -> list[str]:
        """The functions that have lines inlined at a line of the kernel."""
        found: dict[str, None] = {}
        for entry in self._entries.values():
            at = entry
            while entry.kind == "DILocation" and "inlinedAt" in at.fields:
                at = self._entries.get(at.fields["inlinedAt"], _Entry("", {}))
            if at is not entry and self._function(at.fields.get("scope")) == kernel:
                function = self._function(entry.fields.get("scope"))
                if function is not None:
                    found[function] = None
        return list(found)

    def _function(self, scope: str | None) -> str | None:
        while scope is not None and scope in self._entries:
            if self._entries[scope].kind == "DISubprogram":
                return scope
            scope = self._entries[scope].fields.get("scope")
        return None

    def _file(self, scope: str | None) -> str | None:
        while scope is not None and scope in self._entries:
            fields = self._entries[scope].fields
            if "file" in fields:
                file = self._entries[fields["file"]].fields
                return str(Path(file.get("directory", ""), file.get("filename", "")))
            scope = fields.get("scope")
        return None

    def _read(self, number: str, project: Path, *, always: bool) -> SourceFunction | None:
        fields = self._entries[number].fields
        file = Path(self._file(number) or "")
        if "line" not in fields or not (always or project in file.parents):
            return None
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return None
        first, last = _extent(lines, int(fields["line"]))
        text = "\n".join(lines[first - 1 : last]) + "\n"
        name = fields.get("name", "").partition("<")[0]
        return SourceFunction(name, str(file), first, text)


def _extent(lines: list[str], named: int) -> tuple[int, int]:
    """First and last line of the function whose name stands on a line; all count from 1.

    It begins after the last line that ends a declaration, and ends at the brace that closes it.
    """
    first = named
    while first > 1 and not re.search(r"(^\s*$|[;}]\s*$|^\s*#|^\s*//|\*/\s*$)", lines[first - 2]):
        first -= 1
    depth, last = 0, named
    for last in range(named, len(lines) + 1):
        code = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)+\'|//.*|/\*.*?\*/', "", lines[last - 1])
        depth += code.count("{") - code.count("}")
        if "}" in code and depth <= 0:
            break
    return first, last
