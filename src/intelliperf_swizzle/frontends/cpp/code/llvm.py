# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""LLVM through llvmlite, which has no types: what of it is used here."""

import ctypes
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from intelliperf_swizzle.errors import TraceError

TRIPLE = "amdgcn-amd-amdhsa"
DATA_LAYOUT = (
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-"
    "p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-"
    "v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
)
"""Of AMD's GPUs."""
MODULE_HEAD = f'target datalayout = "{DATA_LAYOUT}"\ntarget triple = "{TRIPLE}"\n'
_OLDEST = 22
"""LLVM of llvmlite 0.50; it reads what this and older clangs write."""


Module: TypeAlias = Any
Function: TypeAlias = Any
BasicBlock: TypeAlias = Any
Instruction: TypeAlias = Any
"""Its operands are values, not instructions (compare them by `identity`)."""
Value: TypeAlias = Any
"""An argument, an instruction, a block, a constant."""


@functools.cache
def binding() -> Any:
    """`llvmlite.binding`, with all targets.

    Raises:
        TraceError: it is not there, or too old to read what clang writes.
    """
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise TraceError(
            "llvmlite is not installed", hint="pip install 'intelliperf-swizzle[cpp]'"
        ) from None
    if llvm.llvm_version_info[0] < _OLDEST:
        raise TraceError(
            f"llvmlite has LLVM {llvm.llvm_version_info[0]}, and C++ needs {_OLDEST} or newer",
            hint="pip install 'intelliperf-swizzle[cpp]'",
        )
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def identity(value: Value) -> int:
    """The same for the same value, however it was come by."""
    return int(ctypes.cast(value._ptr, ctypes.c_void_p).value or 0)


def is_block(value: Value) -> bool:
    """Whether a value is a basic block, that is: where a branch goes."""
    return bool(value.value_kind == binding().ValueKind.basic_block)


def assemble(text: str) -> bytes:
    """Bitcode of a module in text."""
    return bytes(parse(text).as_bitcode())


def parse(code: str | bytes) -> Module:
    """A module, from text or bitcode.

    Raises:
        TraceError: LLVM cannot read it; bitcode: a newer clang has written it.
    """
    llvm = binding()
    try:
        read = llvm.parse_assembly if isinstance(code, str) else llvm.parse_bitcode
        return read(code)
    except RuntimeError as error:
        version = ".".join(map(str, llvm.llvm_version_info))
        message = ": ".join(str(error).splitlines()[:2])[:300]
        hint = "a newer llvmlite, or an older clang" if isinstance(code, bytes) else None
        raise TraceError(
            f"LLVM {version} cannot read the device code: {message}", hint=hint
        ) from error


def optimise(
    module: Module, triple: str, cpu: str, *, level: Literal[2, 3] = 2, features: str = ""
) -> Any:
    """Runs -O2, which unrolls and vectorises nothing here, or -O3 in place; returns the machine."""
    llvm = binding()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, opt=level, reloc="pic", features=features
    )
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_unrolling = tuning.loop_vectorization = tuning.slp_vectorization = level == 3
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return machine


def tidy(module: Module, machine: Any) -> None:
    """No switches; loops with one entry; what leaves a loop does so through a phi."""
    llvm = binding()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    passes = llvm.create_new_module_pass_manager()
    passes.add_lower_switch_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.run(module, builder)


def kernels(module: Module) -> list[Function]:
    """The functions that can be launched."""
    return [f for f in module.functions if not f.is_declaration and " amdgpu_kernel " in head(f)]


def head(function: Function) -> str:
    """The line that a function's text begins with, attributes of arguments included."""
    return next(line for line in str(function).splitlines() if line.startswith("define"))


def signature(function: Function) -> str:
    """Result, name and types of parameters, as a declaration has them."""
    result, _, parameters = str(function.global_value_type).partition(" (")
    return f'{result} @"{function.name}"({parameters}'


def rows_of(text: str, instructions: list[Instruction]) -> Iterator[tuple[str, Instruction | None]]:
    """The printed lines of a function, each with the instruction that begins there."""
    left = iter(instructions)
    inside = False  # a switch, whose cases are on separate lines
    for line in text.splitlines():
        plain = re.sub(r",? !(?!dbg|fpmath)[a-z][\w.]* !(?:\d+|\{\})", "", line)
        if inside or not re.match(r"  [^\s\]]", line):
            inside = inside and not line.strip().startswith("]")
            yield plain, None
        else:
            inside = re.match(r"  switch .*\[$", line) is not None
            yield plain, next(left)


# --- order of blocks ------------------------------------------------------------------------------


def order_of(blocks: Sequence[BasicBlock]) -> tuple[dict[int, int], set[int]]:
    """The order in which threads that have parted go on: those that are behind come first.

    Returns:
        How many loops each block is in, in an order in which every loop is contiguous, its header
        first and what follows it later; and these headers.
    """
    depths: dict[int, int] = {}
    headers: set[int] = set()
    successors: dict[int, list[int]] = {}
    for block in blocks:
        *_, last = block.instructions
        successors[identity(block)] = [identity(o) for o in last.operands if is_block(o)]

    def arrange(nodes: list[int], cut: frozenset[tuple[int, int]], depth: int) -> None:
        for component in reversed(_components(nodes, successors, cut)):
            first = component[0]
            if len(component) == 1 and (first not in successors[first] or (first, first) in cut):
                depths[first] = depth
                continue
            members = set(component)
            entered = [b for p in nodes if p not in members for b in successors[p] if b in members]
            header = entered[0] if entered else nodes[0]
            headers.add(header)
            inner = [header, *(node for node in component if node != header)]
            arrange(inner, cut | {(node, header) for node in component}, depth + 1)

    arrange([identity(block) for block in blocks], frozenset(), 0)
    return depths, headers


def _components(
    nodes: list[int], successors: Mapping[int, list[int]], cut: frozenset[tuple[int, int]]
) -> list[list[int]]:
    """Strongly connected components, those that are left last come first (Tarjan's algorithm)."""
    inside = set(nodes)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, left = work[-1]
            following = next(left, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(stack[at:])
                    del stack[at:]
            elif following in inside and (node, following) not in cut:
                if following not in index:
                    index[following] = low[following] = len(index)
                    stack.append(following)
                    work.append((following, iter(successors[following])))
                elif following in stack:
                    low[node] = min(low[node], index[following])
    return found
