# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A device module as text for the host: its kernels run natively, a call for each thread.

What a kernel asks the GPU for becomes a variable or a call of the stand-in (`runtime/standin.h`).
Accesses are reported while address spaces still say where they go.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from intelliperf_swizzle.frontends.cpp.code import llvm
from intelliperf_swizzle.frontends.cpp.code import memory_operands as memory
from intelliperf_swizzle.frontends.ssa import reached

_HEAD = """\
@sw_thread = external global [3 x i32]
@sw_group = external global [3 x i32]
@sw_implicit = external global [256 x i8]
@sw_dispatch = external global [64 x i8]
@sw_dynamic_lds = external global [262144 x i8]
declare void @sw_barrier()
declare void @sw_wave()
declare i32 @sw_before(i32, i32, i32)
declare i32 @sw_bpermute(i32, i32)
declare i32 @sw_exchange(i32, i32)
declare i32 @sw_first(i32)
declare i64 @sw_ballot(i1)
declare void @sw_move(ptr, i64, i32)
declare void @sw_access(ptr, i32, i32, i32, i32, i32, i32)
declare void @sw_loop(i32, i32)
declare void @sw_at(i32, i32)
"""
_WAITS = re.compile(r"@sw_(?:barrier|wave|before|bpermute|exchange|first|ballot)\(")
_ID = r"(%\S+) = (?:tail )?call [^@\n]*@llvm\.amdgcn\."
_DECLARED = r"(?m)^declare [^\n]*?@([\w.]+)\([^\n]*\n"
_FLOAT = r"(f\d+)\((\w+) (?:noundef )?(\S+)\)"


def _saturating(found: re.Match[str]) -> str:
    """A number that does not fit becomes the nearest that does, as hardware has it."""
    sign, _, source, value, lanes, result = found.groups()
    vector = f"v{lanes[1:-3]}" if lanes else ""
    kinds = [f"{lanes}{kind}>" if lanes else kind for kind in (result, source)]
    suffix = f"{vector}{result}.{vector}f{8 * memory.size_of(source)}"
    return f"= call {kinds[0]} @llvm.fpto{sign}i.sat.{suffix}({kinds[1]} {value})"


_Rule: TypeAlias = tuple[str, str | Callable[[re.Match[str]], str]]
_CALLS: tuple[_Rule, ...] = (
    *(
        (rf"{_ID}{what}\.id\.{letter}\(\)",
         rf"\1 = load i32, ptr getelementptr ([3 x i32], ptr @{array}, i64 0, i64 {axis})")
        for axis, letter in enumerate("xyz")
        for what, array in (("workitem", "sw_thread"), ("workgroup", "sw_group"))
    ),
    (rf"{_ID}implicitarg\.ptr\(\)", r"\1 = getelementptr i8, ptr @sw_implicit, i64 0"),
    (rf"{_ID}dispatch\.ptr\(\)", r"\1 = getelementptr i8, ptr @sw_dispatch, i64 0"),
    (rf"{_ID}mbcnt\.lo\(i32 (\S+), i32 (\S+)\)",
     r"\1 = call i32 @sw_before(i32 \2, i32 0, i32 \3)"),
    (rf"{_ID}mbcnt\.hi\(i32 (\S+), i32 (\S+)\)",
     r"\1 = call i32 @sw_before(i32 0, i32 \2, i32 \3)"),
    (rf"{_ID}ds\.bpermute\(", r"\1 = call i32 @sw_bpermute("),
    (rf"{_ID}readfirstlane(?:\.i32)?\(", r"\1 = call i32 @sw_first("),
    (rf"{_ID}readlane(?:\.i32)?\(i32 (\S+), i32 (\S+)\)",
     r"\1 = call i32 @sw_exchange(i32 \3, i32 \2)"),
    (rf"{_ID}ballot\.i64\(", r"\1 = call i64 @sw_ballot("),
    (rf"{_ID}wavefrontsize\(\)", r"\1 = add i32 0, 64"),
    (rf"{_ID}rcp\.{_FLOAT}", r"\1 = fdiv \3 1.0, \4"),
    (rf"{_ID}rsq\.{_FLOAT}", r"\1 = call \3 @llvm.pow.\2(\3 \4, \3 -5.0e-01)"),
    (r"@llvm\.amdgcn\.(sqrt|exp2|log)(?=\.f)", lambda m: "@llvm." + m[1].replace("log", "log2")),
    (r"= fpto([su])i (<\d+ x )?(half|float|double)>? (\S+) to (<\d+ x )?(i\d+)>?",
     _saturating),
    (r"(?:tail )?call void @llvm\.amdgcn\.s\.barrier\(\)", "call void @sw_barrier()"),
    (r"(?m)^ *(?:tail )?call void @llvm\.amdgcn\.(?:wave\.barrier|sched|s\.wait|s\.sleep|s\.setprio"
     r"|iglp)[^\n]*\n", ""),
)  # fmt: skip
_DEVICE_WORDS: tuple[_Rule, ...] = (
    (r",? addrspace\(\d+\)", ""),
    (r"= addrspacecast ptr (\S+) to ptr", r"= getelementptr i8, ptr \1, i64 0"),
    (r"addrspacecast \(ptr (@[\w.$]+|null) to ptr\)", r"\1"),
    (r"(@llvm\.[\w.]+?)((?:\.p\d+)+)(?=[.(])", lambda m: m[1] + re.sub(r"p\d+", "p0", m[2])),
    (r'syncscope\("[^"]*"\) ', ""),
    (r"\b(?:protected|weak_odr|linkonce_odr|weak|hidden|amdgpu_kernel|local_unnamed_addr|"
     r"unnamed_addr|dso_local|externally_initialized) ", ""),
    (r" comdat(?:\([^)]*\))?", ""),
    (r"(?m)(\)|\w) #\d+(?=$| \{|,)", r"\1"),
    (r"captures\([^)]*\) ?", ""),
    (r"(?m)^declare [^\n]*@llvm\.amdgcn\.[^\n]*\n", ""),
)  # fmt: skip
_STRUCT = r'%"[^"]*"|%\S+'
_GLOBAL = re.compile(
    r"(?m)^@([\w.$]+) = ([^\n]*?addrspace\([14]\) (?:externally_initialized )?(?:global|constant)) "
    rf"((?:\[[^\n]*?\]|<\{{.*?\}}>|\{{.*?\}}|{_STRUCT}|\w+)) "
    r"([^\n]*?)(?:, (?:comdat|align|section)[^\n]*)?$"
)
_LDS = re.compile(
    rf"(?m)^(@[\w.$]+) = ([^\n]*?)addrspace\(3\) global ((?:\[[^\n]*\]|{_STRUCT}|\w+))"
    r"( undef| poison|)((?:, )?[^\n]*)$"
)

_SHARED = re.compile(r"(?m)^(@[\w.$]+) = internal global ([^\n]*) zeroinitializer, align 128$")
"""Shared memory of a module for the host."""


def device_variables(text: str) -> dict[str, tuple[str, str, str]]:
    """Words before the type, type and value of each variable in global or constant memory."""
    return {
        found[1]: (found[2], found[3], found[4])
        for found in _GLOBAL.finditer(text)
        if not found[1].startswith(("llvm.", "__hip_cuid"))
    }


def host_text(
    text: str, parameters: Mapping[str, list[tuple[str, bool]]]
) -> tuple[str, dict[str, str]]:
    """A module for the host with an entry for each kernel that can run there.

    Args:
        text: of an optimised device module.
        parameters: of each kernel that is wanted: type, and whether it is passed by reference.

    Returns:
        The text with an entry for each kernel that can run, and what each of the others uses that
        only a GPU has.
    """
    text = re.sub(r"(?m)^(?:target |!|source_filename|; |attributes|\$)[^\n]*\n", "", text)
    text = re.sub(r",? !(?!\d)[\w.]+ !(?:\d+|\{\})", "", text)
    text = re.sub(r"(?m)^ *(?:tail )?call void @llvm\.[\w.]+\(metadata [^\n]*\n", "", text)
    text = re.sub(r"(?m)^@(?:llvm\.(?:compiler\.)?used|__hip_cuid)[^\n]*\n", "", text)
    text = "\n".join(_report(text.splitlines())) + "\n"
    text = _variables(text)
    for pattern, written in (*_DEVICE_WORDS, *_CALLS):
        text = re.sub(pattern, written, text)
    declared = {found[1]: found[0] for found in re.finditer(_DECLARED, text)}  # in one space now
    text = re.sub(_DECLARED, "", text) + "".join(declared.values())
    bodies = {found[1]: found[0] for found in _FUNCTION.finditer(text)}

    def called(name: str) -> set[str]:
        return bodies.keys() & re.findall(r"@([\w.$]+)", bodies[name])

    wholes = {name: "".join(bodies[f] for f in reached([name], called)) for name in bodies}
    gpus = {name: found[0] for name, whole in wholes.items() if (found := _FOREIGN.search(whole))}
    for name in gpus:
        text = text.replace(bodies[name], "")
    foreign = {name: gpus[name].strip(" @") for name in parameters if name in gpus}
    names = sorted(set(parameters) - set(gpus))
    arrays = {name: f"ptrtoint (ptr getelementptr ({kind}, ptr null, i64 1) to i64)"
              for name, kind in _SHARED.findall(text)} | {"@sw_dynamic_lds": "-1"}  # fmt: skip
    entries = (_entry(name, parameters[name], wholes[name], arrays) for name in names)
    return _HEAD + text + "".join(entries), foreign


def mark_positions(text: str, kernels: Iterable[llvm.Function]) -> str:
    """A module whose threads say where they are when they wait for their lanes, or are traced.

    Lanes that have parted meet as hardware has it: those that are behind go first.

    Args:
        text: of the module; where it is a slice, what its threads touch is reported with the place.
        kernels: of it.
    """
    for function in kernels:
        whole = str(function)
        if _TELLING.search(whole):
            text = text.replace(whole, "\n".join(_with_places(whole, function)) + "\n")
    return re.sub(r"(?m)^declare void @sw_touch[^\n]*\n", "", text)


_IN_STEP = r" volatile [^\n]*, ptr (?:addrspace\(3\) )?[%@]|@llvm\.amdgcn\.wave\.barrier"
"""Where lanes rely on it that a wave is in step: volatile shared memory, by any pointer."""
_TELLING = re.compile(
    r"@llvm\.amdgcn\.(?:ds\.bpermute|readfirstlane|readlane|ballot)\b|call void @sw_touch\(|"
    + _IN_STEP
)


def _with_places(whole: str, function: llvm.Function) -> Iterator[str]:
    blocks = {llvm.identity(block): list(block.instructions) for block in function.blocks}
    rows = list(llvm.rows_of(whole, [op for own in blocks.values() for op in own]))
    telling = {llvm.identity(op) for line, op in rows if op is not None and _TELLING.search(line)}
    depths, headers = llvm.order_of(list(function.blocks))
    places: dict[int, tuple[int, int]] = {}  # of instructions: number, how many loops around it
    around: list[tuple[int, str]] = []  # the loops: their first instruction, what is called there
    begins: dict[int, str] = {}
    for block, depth in depths.items():
        number = len(places)
        places |= {llvm.identity(op): (number + k, depth) for k, op in enumerate(blocks[block])}
        if block in headers:
            first = next(llvm.identity(op) for op in blocks[block] if op.opcode != "phi")
            begin = f"  call void @sw_loop(i32 {number}, i32 {depth - 1})"
            around = [*around[: depth - 1], (first, begin)]
        told = any(llvm.identity(instruction) in telling for instruction in blocks[block])
        if told or "@sw_touch(" in whole:  # a slice may have loops without an end
            begins |= dict(around[:depth])
    for line, instruction in rows:
        key = 0 if instruction is None else llvm.identity(instruction)
        if key in begins:
            yield begins[key]
        if key in telling:
            number, depth = places[key]
            touch = rf"call void @sw_access(\1, i32 {depth}, i32 {number})"
            line, touches = re.subn(r"call void @sw_touch\((.*)\)(?=$| #|,)", touch, line)
            if not touches:
                yield f"  call void @sw_at(i32 {number}, i32 {depth})"
            if re.search(_IN_STEP, line):
                yield "  call void @sw_wave()"
        yield line


_FUNCTION = re.compile(r"(?ms)^define [^\n]*?@([\w.$]+)\(.*?^\}\n")
_FOREIGN = re.compile(r"@(?:llvm\.(?:amdgcn|r600)|nvvm)\.[\w.]+|\basm ")


def _report(lines: Iterable[str]) -> Iterator[str]:
    """The lines with a call before each access to what may be global memory."""
    for line in lines:
        for kind, (_, address), size in memory.accesses(line):
            yield f"  call void @sw_move(ptr {address}, i64 {size}, i32 {kind})"
        yield line


def _variables(text: str) -> str:
    """Shared memory is the library's; dynamic one and device variables are the stand-in's.

    A variable's name may be that of a function of libc, so it gets another one.
    """
    for found in list(_LDS.finditer(text)):
        if " external " in f" {found[2]}":
            text = text.replace(found[0] + "\n", "")
            text = re.sub(rf"{re.escape(found[1])}(?![\w.$])", "@sw_dynamic_lds", text)
        else:
            own = f"{found[1]} = internal global {found[3]} zeroinitializer, align 128"
            text = text.replace(found[0], own)
    names = device_variables(text)

    def split(found: re.Match[str]) -> str:
        if found[1] not in names:
            return found[0]
        return (
            f"@{found[1]} = external global {found[3]}\n"
            f"@sw_initial_{found[1]} = constant {found[3]} {found[4]}"
        )

    text = _GLOBAL.sub(split, text)
    return re.sub(r"@([\w.$]+)", lambda m: f"@at_of_{m[1]}" if m[1] in names else m[0], text)


def _entry(
    name: str, parameters: list[tuple[str, bool]], body: str, shared: Mapping[str, str]
) -> str:
    """A function that takes pointers to the arguments, whether its threads wait, and where its
    shared memory is, of these."""
    lines, passed = [], []
    for number, (kind, by_reference) in enumerate(parameters):
        lines.append(f"  %s{number} = getelementptr ptr, ptr %args, i64 {number}")
        lines.append(f"  %p{number} = load ptr, ptr %s{number}")
        if by_reference:
            passed.append(f"ptr %p{number}")
        else:
            lines.append(f"  %v{number} = load {kind}, ptr %p{number}, align 1")
            passed.append(f"{kind} %v{number}")
    waits = int(_WAITS.search(body) is not None)
    used = [array for array in shared if re.search(rf"{re.escape(array)}(?![\w.$])", body)]
    sizes = [(array, shared[array]) for array in used] + [("null", "0")]
    arrays = ", ".join(f"{{ptr, i64}} {{ptr {array}, i64 {size}}}" for array, size in sizes)
    return (
        f"define void @sw_entry_{name}(ptr %args) {{\n" + "\n".join(lines) + "\n"
        f"  call void @{name}({', '.join(passed)})\n  ret void\n}}\n"
        f"@sw_fibers_{name} = constant i32 {waits}\n"
        f"@sw_shared_{name} = constant [{len(sizes)} x {{ptr, i64}}] [{arrays}]\n"
    )


def parameters_of(kernel: llvm.Function) -> list[tuple[str, bool]]:
    """Type of each parameter, and whether it is passed by reference."""
    head = llvm.head(kernel)
    start = head.index("(", head.index(f"@{kernel.name}"))
    words = split_list(head[start + 1 : head.rindex(")")])
    return [
        (re.sub(r" addrspace\(\d+\)", "", str(argument.type)), "byref(" in own)
        for argument, own in zip(kernel.arguments, words, strict=False)
    ]


def split_list(text: str) -> list[str]:
    """What stands between commas outside of brackets, up to a bracket that closes none of these."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{<") - (letter in ")]}>")
        if depth < 0:
            break
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def host_module(text: str) -> tuple[llvm.Module, Any]:
    """A module for the host, optimised, and LLVM's machine for it.

    Raises:
        TraceError: LLVM cannot read it.
    """
    binding = llvm.binding()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), opt=3, reloc="pic", codemodel="default"
    )
    layout = f'target datalayout = "{machine.target_data}"\ntarget triple = "{machine.triple}"\n'
    module = llvm.parse(layout + text)
    module.verify()
    for function in module.functions:  # two files may have a kernel of one name
        if not function.is_declaration and not function.name.startswith("sw_"):
            function.linkage = "internal"
    for variable in module.global_variables:  # nor are their variables one
        if variable.name.startswith("sw_initial_"):
            variable.linkage = "weak_any"
    tuning = binding.create_pipeline_tuning_options(speed_level=2)
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return module, machine
