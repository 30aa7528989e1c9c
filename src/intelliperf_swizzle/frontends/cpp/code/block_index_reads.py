# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Where a program reads the number of a workgroup: asked of its bitcode before optimisation.

There, no function is inlined and no read is merged with another one, so what is not found is not
there: neither macros, templates nor headers hide it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from intelliperf_swizzle.frontends.cpp.code.inline_ptx import ASSEMBLY
from intelliperf_swizzle.frontends.cpp.code.source import DebugInfo
from intelliperf_swizzle.frontends.ssa import reached

_NAME = r'"[^"]+"|[\w.$]+'
_DEFINED = re.compile(rf"(?ms)^define [^\n]*?@({_NAME})\(.*?^\}}$")
_VARIABLE = re.compile(rf"(?m)^@({_NAME}) = [^\n]*$")
_NUMBERED = re.compile(
    r"(?:, ![\w.]+)? [!#]\d+\b|(?m:^ +#dbg_.*$)|(?:\.|__)(?:static|intern)(?:\.|__)\w+"
    r"|(?<=\w)(?:\.\d+)+(?![\w.])"
)
_MENTION = re.compile(rf"@({_NAME})")
_NUMBER = re.compile(r"llvm\.amdgcn\.(?:cluster\.)?workgroup\.id|llvm\.amdgcn\.s\.getreg")
_PRINTING = frozenset({"nvvm.vprintf", "__ockl_printf_begin"})
_UNIFORM = re.compile(r"__ockl_(?:get_local_size|get_num_sub_groups|wgred_\w+)$")
"""Ask for the number to tell the last workgroup, which is as large as all: the stand-in refuses
launches in which it is not."""
_BUILTIN = re.compile(r"_ZNK?2(?:4__hip|5__cuda)_builtin_blockIdx_t")
_PASSED = "builtin_blockIdx_t"
"""In the name of an instance that is passed the builtin itself, by `auto` or a template."""
_ASSEMBLY = re.compile(r' asm [^"]*"[^"]*(?:ttmp|s_getreg|\bs\[?\d|%ctaid|%cluster)')


@dataclass(frozen=True)
class BlockIndexRead:
    """One read of the number that the launch gives a workgroup.

    Attributes:
        place: `file:line`; empty where the build has kept no line.
        through: empty for `blockIdx`; else the function that reads it, which no `blockIdx` of a
            kernel's own can hide.
    """

    place: str
    through: str = ""


@dataclass(frozen=True)
class Reader:
    """A kernel, or a function of the user's that reads a workgroup's number.

    Attributes:
        name: without template arguments.
        file: it is in.
        line: of its name.
        brace_line: of the brace that opens its body.
        reads: all of them.
    """

    name: str
    file: str
    line: int
    brace_line: int
    reads: tuple[BlockIndexRead, ...]


class CallGraph:
    """Which functions mention which, in a module before optimisation.

    A mention is taken for a call, so functions reached through pointers and tables are found, too.

    Args:
        text: of the module.
        debug: its line tables.
    """

    def __init__(self, text: str, debug: DebugInfo):
        self._debug = debug
        self._bodies = {found[1].strip('"'): found[0] for found in _DEFINED.finditer(text)}
        self._rows = self._bodies | {
            found[1].strip('"'): found[0] for found in _VARIABLE.finditer(text)
        }
        self._mentions = {
            name: {mention.strip('"') for mention in _MENTION.findall(row)} - {name}
            for name, row in self._rows.items()
        }
        system = [body for body in self._bodies if not debug.is_users(body)]
        self._reading = self._reach_number(system)

    def reached(self, kernel: str) -> list[str]:
        """The functions that a kernel may call, itself first."""
        called = reached([kernel], lambda name: sorted(self._mentions.get(name, ())))
        return [name for name in called if name in self._bodies]

    def texts(self, kernel: str) -> set[str]:
        """The user's functions that a kernel may call, itself too, without numbers and lines."""
        own = filter(self._debug.is_users, self.reached(kernel))
        return {_NUMBERED.sub("", self._bodies[name]) for name in own}

    def prints(self, kernel: str) -> bool:
        """Whether a kernel may call `printf`."""
        return not _PRINTING.isdisjoint(self._mentioned(kernel))

    def missing(self, kernel: str) -> tuple[str, str] | None:
        """A function that a kernel may call and that its module does not define, and the line."""
        mentioned = self._mentioned(kernel)
        found = next(
            (name for name in mentioned if name not in self._rows and name[:5] != "llvm."), None
        )
        return None if found is None else (found, self._line(kernel, found))

    def _line(self, kernel: str, name: str) -> str:
        """Where a kernel comes to a function; empty if no line is kept."""
        callers = self.reached(kernel)
        rows = (
            row
            for f in reached([name], lambda f: [c for c in callers if f in self._mentions[c]])
            for caller in callers if f in self._mentions[caller]
            for row in self._bodies[caller].splitlines() if f"@{f}" in row
        )  # fmt: skip
        return next(filter(None, map(self._debug.place, rows)), "")

    def _mentioned(self, kernel: str) -> list[str]:
        return [m for name in self.reached(kernel) for m in sorted(self._mentions[name])]

    def readers(self, kernel: str) -> tuple[Reader, ...]:
        """A kernel, and those functions of the user's that it reaches and that read the number."""
        found, passed = [], list[BlockIndexRead]()
        for name in self.reached(kernel):
            reads = tuple(self._reads(name)) if self._debug.is_users(name) else ()
            function = self._debug.function(name)
            if _PASSED in self._debug.instance(name):
                passed += reads  # of what the kernel hands over, its own if it has one
            elif function is not None and (reads or name == kernel):
                found.append(Reader(*function, reads))
        if passed and found:
            found[0] = replace(found[0], reads=(*found[0].reads, *passed))
        return tuple(found)

    def _reads(self, name: str) -> Iterator[BlockIndexRead]:
        for line in self._bodies[name].splitlines()[1:]:
            place = self._debug.place(line) or ""
            if _ASSEMBLY.search(line):
                yield BlockIndexRead(place, "inline assembly")
            for called in (mention.strip('"') for mention in _MENTION.findall(line)):
                if _NUMBER.match(called):
                    yield BlockIndexRead(
                        place, f"__builtin_{called.removeprefix('llvm.').replace('.', '_')}"
                    )
                elif called in self._reading and not self._debug.is_users(called):
                    function = self._debug.function(called)
                    named = function[0] if function else called
                    named = "inline assembly" if called.startswith(ASSEMBLY) else named
                    yield BlockIndexRead(place, "" if _BUILTIN.match(called) else named)

    def _reach_number(self, system: Iterable[str]) -> set[str]:
        """Functions that are not the user's and read the number, through others of these too."""
        rows = {name: self._mentions[name] for name in system if not _UNIFORM.match(name)}
        begin = (name for name, row in rows.items() if any(map(_NUMBER.match, row)))
        return set(reached(begin, lambda n: [name for name, row in rows.items() if n in row]))
