# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The address slice of a kernel: what decides which memory it touches, and no more.

Every access to global memory becomes a call of `sw_touch`. What decides no address and no branch
becomes poison, and LLVM deletes the arithmetic, the shared memory and the loops that only compute.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.cpp.code import llvm
from intelliperf_swizzle.frontends.cpp.code import memory_operands as memory
from intelliperf_swizzle.frontends.cpp.code.arithmetic import Counts, LaneWork
from intelliperf_swizzle.frontends.cpp.code.source import DebugInfo

_CROSS_LANE = re.compile(
    r"@llvm\.amdgcn\.(ds|readlane|readfirstlane|ballot|update\.dpp|mov\.dpp|permlane|icmp|fcmp|"
    r"set\.inactive|wqm|wwm|strict|s\.memtime|s\.getreg)"
)
_PLACES = re.compile(r"@llvm\.amdgcn\.(workitem|workgroup|implicitarg|dispatch)")
_ASSEMBLY = re.compile(
    r' asm [^"]*"[^"]*(?:\b(?:ldu?|st|atom|red|cp|wgmma|suld|sust|tex)\.(?!shared)'
    r"|\b(?:global|flat|buffer|s)_(?:load|store|atomic))"
)
"""Accesses memory that is not of the workgroup alone, in PTX or in AMD's assembly."""
_LOCAL_ASSEMBLY = re.compile(r"\b(?:ds|scratch)_\w|\b(?:ld|st|atom|red)\.(?:\w+\.)?shared")
_ADDRESS = re.compile(r'(?m)^@llvm\.[^\n]*|@([\w.$]+|"[^"]+")(?![\w.$(])')
"""Of a variable or a function, as in tables of functions: neither calls nor what LLVM keeps."""
_DEFINED = re.compile(r'(?m)^(define [^\n]*? @([\w.$]+|"[^"]+")\([^\n]*) (#\d+)(?=[^#\n]*\{$)')
_SHARED = re.compile(r"( volatile [^\n]*)ptr addrspacecast \(ptr addrspace\(3\) (@[^ ]+) to ptr\)")
"""A variable of shared memory that clang, as it is volatile, leaves a generic pointer to."""
_COMMUTING = (
    "add", "sub", "and", "or", "xor", "max", "min", "umax", "umin", "fadd", "fsub", "fmax", "fmin",
)  # fmt: skip
_WRAPPING = ("uinc_wrap", "udec_wrap")
"""Atomic operations that commute with others of the same name, type and limit."""
_NARROW = re.compile(r'syncscope\("(?:workgroup|wavefront|singlethread)')
"""Whose operations are none to other workgroups."""


@dataclass(frozen=True)
class AddressSlice:
    """The slice of one kernel.

    Attributes:
        text: of a module with the sliced kernel.
        refusal: why it cannot be traced, with file and line; None if it can.
        executed: why threads must be executed for it, in the same words; None if it is interpreted.
        counting: of a module whose kernel also counts what threads compute, with calls of
            `sw_count`; empty if it does not, or would have to be executed.
        contents: numbers of the parameters whose buffers' contents decide, `VARIABLES` for those of
            device variables; None = of any buffer.
        decisive: numbers of the parameters whose values decide.
        updates: names of the atomic operations by the number that `sw_touch` gets.
        ordered: whether the order of atomics matters whatever memory they update.
        touches: what is accessed.
        elements: types (`float`) of what the parameters' buffers hold, by number, where it shows.
    """

    text: str
    refusal: str | None
    contents: frozenset[int] | None
    decisive: frozenset[int]
    updates: tuple[str, ...] = ()
    ordered: bool = False
    touches: tuple[memory.Touch, ...] = ()
    elements: Mapping[int, str] = field(default_factory=dict)
    executed: str | None = None
    counting: str = ""

    @property
    def kept(self) -> str:
        """Whose buffers' contents the stand-in keeps, in its words."""
        if self.refusal is not None:
            return "-"
        if self.contents is None:
            return "*"
        words = ("v" if p == memory.VARIABLES else str(p) for p in sorted(self.contents))
        return ",".join(words) or "-"

    @property
    def hands_over(self) -> bool:
        """Whether workgroups may exchange data through atomics, as of `Trace`."""
        updated, plain = (memory.of_kinds(self.touches, *kinds) for kinds in ((2,), (0, 1)))
        return self.ordered or memory.meet(updated, plain)

    @property
    def conflicting(self) -> tuple[int, ...]:
        """The sites of stores, and of loads of what is stored to."""
        stored = memory.of_kinds(self.touches, 1)
        return tuple(site for kind, site, bases in self.touches
                     if kind == 1 or (kind == 0 and memory.meet(bases, stored)))  # fmt: skip


def optimise(text: str, debug: DebugInfo, cpu: str) -> llvm.Module:
    """A module as clang optimises it, with nothing in it but its kernels and what they use.

    The user's functions are inlined as far as they do not call themselves, `noinline` or not.
    """
    kept = dict(re.findall(r"(?m)^attributes (#\d+) = \{(.* noinline .*)\}$", text))

    def allow(found: re.Match[str]) -> str:
        words = kept.get(found[3], " optnone ").replace(" noinline ", " ")
        free = " optnone " not in words and debug.is_users(found[2].strip('"'))
        return f"{found[1]} {words}" if free else found[0]

    module = llvm.parse(_SHARED.sub(r"\1ptr addrspace(3) \2", _DEFINED.sub(allow, text)))
    names = {kernel.name for kernel in llvm.kernels(module)}
    for function in module.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
            if not any(b"noinline" in attribute for attribute in function.attributes):
                function.add_function_attribute("alwaysinline")
    llvm.optimise(module, llvm.TRIPLE, cpu, level=3)
    llvm.optimise(module, llvm.TRIPLE, cpu)
    return module


def slice_kernel(text: str, kernel: llvm.Function, debug: DebugInfo) -> AddressSlice:
    """The slice of one kernel of an optimised module.

    What only threads know (shared memory, scratch, other lanes) is in it where it is needed.

    Args:
        text: of the module.
        kernel: one of its kernels, which stays unchanged.
        debug: of the module.

    Raises:
        TraceError: it is not optimised, or LLVM cannot read what is left of it.
    """
    if any(b"optnone" in attribute for attribute in kernel.attributes):
        raise TraceError("it is built with -O0 or -G: every variable is in scratch; use -O1, no -G")
    sliced = _slice(text, kernel, debug)
    if sliced.refusal is not None:
        sliced = replace(_slice(text, kernel, debug, executed=True), executed=sliced.refusal)
    if sliced.refusal is not None:
        return sliced
    counting = _slice(text, kernel, debug, counting=True)
    counts = counting.refusal is None and "call void @sw_count(" in counting.text
    return replace(sliced, counting=counting.text if counts else "")


def _slice(
    text: str,
    kernel: llvm.Function,
    debug: DebugInfo,
    *,
    executed: bool = False,
    counting: bool = False,
) -> AddressSlice:
    draft = _Draft(kernel, debug, executed, counting)
    others = {function.name: f"inttoptr (i64 {256 * number} to ptr)"
              for number, function in enumerate(kernel.module.functions, 1)
              if not function.is_declaration and function.name != kernel.name}  # fmt: skip
    declared = (f"declare {llvm.signature(function)}" for function in kernel.module.functions
                if function.name in others)  # fmt: skip
    no_functions = re.sub(r"(?ms)^define .*?^\}\n", "", text)
    lines = "\n".join((no_functions, *draft.edited(), *draft.declarations()))
    rest = _ADDRESS.sub(lambda found: others.get((found[1] or "").strip('"'), found[0]), lines)
    sliced = llvm.parse("\n".join((rest, *declared)))
    llvm.tidy(sliced, llvm.optimise(sliced, llvm.TRIPLE, "gfx942"))
    left = sliced.get_function(kernel.name)
    touches = tuple(memory.touches(left))
    return AddressSlice(
        text=str(sliced),
        refusal=draft.refusal(str(left)),
        contents=memory.contents(left),
        decisive=memory.used_parameters(left),
        updates=tuple(draft.updates),
        ordered=draft.ordered,
        touches=touches,
        elements=memory.elements(touches, draft.types),
    )


class _Draft:
    """A kernel's text before LLVM deletes what decides nothing.

    Args:
        kernel: of an optimised module.
        debug: of the module.
        executed: whether its threads will be, so that they may ask each other.
        counting: whether it counts what threads compute.
    """

    def __init__(self, kernel: llvm.Function, debug: DebugInfo, executed: bool, counting: bool):
        self._debug, self._executed = debug, executed
        instructions = [op for block in kernel.blocks for op in block.instructions]
        self._rows = list(llvm.rows_of(str(kernel), instructions))
        self._used = {llvm.identity(value) for op in instructions for value in op.operands}
        self._needed, self._kept = _reach(instructions, executed)
        self._counts = _counts(kernel) if counting else {}
        self._opaque: dict[int, tuple[str, str]] = {}  # site -> what it is, its text
        self._returned: dict[str, str] = {}
        self.types: dict[int, str] = {}
        # "xchg" stands for all updates that do not commute; others as they are met
        self.ordered, self.updates = False, ["xchg"]

    def edited(self) -> Iterator[str]:
        """Its lines."""
        for site, (line, instruction) in enumerate(self._rows):
            if instruction is not None and (counts := self._counts.get(llvm.identity(instruction))):
                yield "  call void @sw_count(i32 {}, i32 {}, i32 {})".format(*counts)
            yield from [line] if instruction is None else self._edit(line, instruction, site)

    def declarations(self) -> Iterator[str]:
        """Of what the lines call."""
        yield f"declare void @sw_touch(ptr, i32, i32, i32, i32) nomerge {_ONLY}"
        yield f"declare void @sw_unknown(i32) {_ONLY}"
        yield f"declare void @sw_count(i32, i32, i32) {_ONLY}"
        for name, kind in self._returned.items():
            yield f"declare {kind} @{name}(i32) nounwind willreturn memory(none)"

    def refusal(self, left: str) -> str | None:
        """Why what is left of it cannot be followed."""
        for site in re.findall(r"@sw_(?:opaque\.\d+|unknown)\(i32 (\d+)\)", left):
            what, text = self._opaque[int(site)]
            place = self._debug.place(text)
            return f"{what} decides what is accessed{f' ({place})' if place else ''}"
        return None

    def _edit(self, plain: str, instruction: llvm.Instruction, site: int) -> Iterable[str]:
        """What stands for an instruction in the slice."""
        if instruction.opcode == "fence":
            return [plain] if self._executed else []
        if instruction.opcode in memory.MEMORY:
            return self._edit_access(plain, instruction, site)
        if instruction.opcode != "call":
            return [plain]
        if _ORDERING.search(plain) or "@llvm.assume" in plain:
            return [plain] if self._executed and ".barrier" in plain else []
        if move := memory.MOVES.search(plain):
            kept = [plain] if llvm.identity(instruction) in self._kept else []
            return [*self._edit_move(plain, move[1], site), *kept]
        if _PLACES.search(plain):
            return [plain]
        if _ASSEMBLY.search(plain):
            self._opaque[site] = ("inline assembly that accesses memory", plain)
            return [f"  call void @sw_unknown(i32 {site})", *self._poison(plain, instruction)]
        what = _what_is_opaque(plain)
        if llvm.identity(instruction) not in self._needed:
            return [*self._hidden(plain, site, what), *self._poison(plain, instruction)]
        if what is None or (self._executed and what == _OF_A_LANE):
            return [plain]
        return self._mark_unknown(plain, instruction, site, what)

    def _hidden(self, plain: str, site: int, what: str | None) -> list[str]:
        """What stands for accesses that are in here and cannot be seen: they refuse the slice."""
        if what == _A_FUNCTION:
            callee = re.search(r'call [^@(]*@("[^"]+"|[\w.$]+)\(', plain)
            users = callee is None or self._debug.is_users(callee[1].strip('"'))
            hides = users or self._executed  # else it is a library's, as of an assertion
        else:
            local = _LOCAL_ASSEMBLY.search(plain) is not None
            hides = what == _OF_ASSEMBLY and self._executed and local
        if not hides:
            return []
        self._opaque[site] = (what or "", plain)
        return [f"  call void @sw_unknown(i32 {site})"]

    def _edit_access(self, plain: str, instruction: llvm.Instruction, site: int) -> list[str]:
        operands = list(instruction.operands)
        where = memory.space(operands[1 if instruction.opcode == "store" else 0])
        needed = llvm.identity(instruction) in self._needed
        after = self._poison(plain, instruction)
        if needed and instruction.opcode != "load":
            after = self._mark_unknown(plain, instruction, site, "the result of an atomic")
        elif needed and where in memory.LOCAL and not self._executed:
            what = "a value in shared memory" if where == memory.LDS else "a value in scratch"
            after = self._mark_unknown(plain, instruction, site, what)
        elif needed or llvm.identity(instruction) in self._kept:
            after = [plain]
        if where not in memory.GLOBAL:
            return after
        [(kind, pointer, size)] = memory.accesses(plain)
        update = self._update(plain, instruction) if kind == 2 else 0
        of = instruction if kind == 0 else operands[0 if kind == 1 else 1]
        self.types[site] = str(of.type)
        return [*_touch(plain, pointer, size, kind, update, site), *after]

    def _edit_move(self, plain: str, how: str, site: int) -> list[str]:
        """A copy or a fill of a constant size is one access."""
        touched: list[str] = []
        for kind, pointer, size in memory.accesses(plain):
            if not isinstance(size, int):
                self._opaque[site] = (f"the size of a {how}", plain)
                return [f"  call void @sw_unknown(i32 {site})"]
            touched += _touch(plain, pointer, size, kind, 0, site)
        return touched

    def _update(self, plain: str, instruction: llvm.Instruction) -> int:
        """The number of an atomic operation, and in bit 0 whether its answer is used."""
        found = re.search(r"atomicrmw (?:volatile )?(\w+)", plain)
        operand = list(instruction.operands)[1]
        uniform = operand.is_constant or operand.value_kind == llvm.binding().ValueKind.argument
        name, how = "xchg", found[1] if found and not _NARROW.search(plain) else ""
        if how in _COMMUTING:
            name = f"{how} {operand.type}"
        elif how in _WRAPPING and uniform:
            name = f"{how} {operand.type} to {str(operand).split()[-1]}"
        if name not in self.updates:
            self.updates.append(name)
        used = llvm.identity(instruction) in self._used
        self.ordered |= used or name == "xchg" or len(self.updates) > 2
        return self.updates.index(name) << 1 | int(used)

    def _mark_unknown(self, plain: str, op: llvm.Instruction, site: int, what: str) -> list[str]:
        """A value that must not be left when LLVM is done."""
        self._opaque[site] = (what, plain)
        kind = str(op.type)
        name = next((n for n, known in self._returned.items() if known == kind), None)
        name = name or f"sw_opaque.{len(self._returned)}"
        self._returned[name] = kind
        return [f"  {_result(plain)} = call {kind} @{name}(i32 {site})"]

    def _poison(self, plain: str, instruction: llvm.Instruction) -> list[str]:
        result = _result(plain)
        return [f"  {result} = freeze {instruction.type} poison"] if result else []


_ONLY = "nounwind willreturn memory(inaccessiblemem: readwrite)"
_ORDERING = re.compile(
    r"@llvm\.amdgcn\.(s\.barrier|wave\.barrier|sched|s\.wait|s\.sleep|s\.setprio|iglp)"
)


def _counts(kernel: llvm.Function) -> dict[int, Counts]:
    """What a lane computes in each block, by the identity of the block's last instruction."""
    blocks = [list(block.instructions) for block in kernel.blocks]
    work = LaneWork(blocks)
    found = ((llvm.identity(block[-1]), work.of(block)) for block in blocks)
    return {end: counts for end, counts in found if any(counts)}


def _reach(instructions: list[llvm.Instruction], executed: bool) -> tuple[set[int], set[int]]:
    """What addresses of accesses to global memory, and branches, are computed from.

    Args:
        instructions: of a kernel.
        executed: whether what is in shared memory and scratch counts.

    Returns:
        Values, and what writes those of them that are in shared memory or scratch.
    """
    known = {llvm.identity(instruction): instruction for instruction in instructions}
    writers: dict[str | int | None, list[llvm.Instruction]] = {}
    todo: list[llvm.Value] = []
    for op in instructions:
        if op.opcode in memory.MEMORY:
            address = memory.pointers_of(op)[0]
            todo += [address] if memory.space(address) in memory.GLOBAL else []
        elif op.opcode in ("br", "switch"):
            todo += list(op.operands)[:1]
        elif op.opcode == "call" and memory.moves(op):
            todo += op.operands
        if executed and memory.writes_local(op):
            writers.setdefault(memory.place_of(memory.pointers_of(op)[0], known), []).append(op)
    found: set[int] = set()
    kept: set[int] = set()
    while todo:
        key = llvm.identity(todo.pop())
        if key not in known or key in found:
            continue
        found.add(key)
        reading = [known[key]]
        while reading:
            op = reading.pop()
            todo += op.operands
            for pointer in memory.read_pointers(op):
                place = (
                    memory.place_of(pointer, known) if memory.space(pointer) in memory.LOCAL else ""
                )
                for at in () if place == "" else writers if place is None else (place, None):
                    new = [w for w in writers.get(at, ()) if llvm.identity(w) not in kept]
                    kept.update(map(llvm.identity, new))
                    reading += new
    return found, kept


_OF_A_LANE = "a value of another lane"
_OF_ASSEMBLY = "inline assembly"
_A_FUNCTION = "a function that is not inlined"


def _what_is_opaque(plain: str) -> str | None:
    """What a call's value comes from, if it cannot be known without running the threads."""
    if _CROSS_LANE.search(plain):
        return _OF_A_LANE
    if " asm " in plain:
        return _OF_ASSEMBLY
    if "@llvm.read" in plain:
        return "a clock or a register"
    if not re.search(r"call [^@]*@llvm\.", plain):
        return _A_FUNCTION
    return None


def _result(plain: str) -> str | None:
    found = re.match(r"\s+(%\S+) = ", plain)
    return found[1] if found else None


def _touch(
    plain: str, pointer: tuple[str, str], size: int | str, kind: int, update: int, site: int
) -> list[str]:
    where, address = pointer
    before = []
    if where not in ("", "0"):
        before = [f"  %sw.{site}.{kind} = addrspacecast ptr addrspace({where}) {address} to ptr"]
        address = f"%sw.{site}.{kind}"
    call = f"  call void @sw_touch(ptr {address}, i32 {size}, i32 {kind}, i32 {update}, i32 {site})"
    found = re.search(r", !dbg !\d+", plain)
    return [*before, call + (found[0] if found else "")]


def place_of_touch(sliced: AddressSlice, site: int) -> str | None:
    """`file:line` of an access by its number."""
    found = re.search(rf"(?m)^.*@sw_touch\(.*, i32 {site}\).*$", sliced.text)
    return DebugInfo(sliced.text).place(found[0]) if found else None


def conflicts(
    sliced: AddressSlice, symbol: str, made: Collection[int | None]
) -> tuple[frozenset[str], frozenset[str]]:
    """Its conflicting accesses; and those of them not made, nor another one of their line or place.

    Args:
        sliced: of a kernel.
        symbol: of the kernel.
        made: the sites of accesses that a launch makes.
    """
    calls = re.findall(r"@sw_touch\((.*), i32 \d+, i32 (\d+)\)(.*)", sliced.text)
    of = {int(site): {place, line or place} for place, site, line in calls}
    known = set[str]().union(*(of[site] for site in made if site is not None))
    names = {f"{symbol}:{site}": of[site] for site in sliced.conflicting}
    return frozenset(names), frozenset(name for name in names if known.isdisjoint(names[name]))
