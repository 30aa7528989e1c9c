# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What threads compute, in operations as `Trace` counts them: `lanes_per_clock_cu` (256) a clock.

Three units are at work at once, so the most-loaded one counts. Integers, mostly of addresses, do
not.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from intelliperf_swizzle.frontends.cpp.code import memory_operands as memory
from intelliperf_swizzle.frontends.cpp.code.llvm import Instruction, identity
from intelliperf_swizzle.frontends.ssa import reached

Counts = tuple[int, int, int]
"""Operations' worth of a lane on the schedulers, which issue, on the units of special functions,
and on the banks of shared memory."""

_ISSUE, _SPECIAL, _BANK = 2, 16, 8
"""128, 16 and 32 lanes in a clock. Source: CUDA C++ programming guide, throughput of native
arithmetic instructions, capability 9.0, and shared memory, 32 banks of 4 bytes (as CDNA3's LDS)."""

_SAME_BYTES = 16
"""What all lanes of a wave get at once; a compiler makes one load of several side by side."""
_PLAIN = ("fadd", "fsub", "fmul", "fcmp")
_PLAIN_CALL = re.compile(r"@llvm\.(fma|fmuladd|(min|max)(num|imum|imumnum))\.[\w.]*\(")
_SPECIAL_CALL = re.compile(
    r"@llvm\.(amdgcn\.)?(exp|exp2|exp10|log|log2|log10|sqrt|rsq|rcp|sin|cos|pow)\.[\w.]*\("
)
_RECIPROCAL = re.compile(r"= fdiv [^,]* 1\.0+e\+00, ")
_VARYING_CALL = re.compile(r"@llvm\.amdgcn\.(workitem\.id\.x|mbcnt|ds\.|update\.dpp|permlane)")


class LaneWork:
    """What the lanes of a kernel compute.

    Args:
        blocks: instructions of each basic block.
    """

    def __init__(self, blocks: Iterable[Sequence[Instruction]]):
        known = [instruction for block in blocks for instruction in block]
        users: dict[int, list[Instruction]] = {}
        for instruction in known:
            for value in instruction.operands:
                users.setdefault(identity(value), []).append(instruction)
        self._varying = _varying(known, users)
        self._fused = {identity(op) for op in known if _is_fused(op, users)}

    def of(self, block: Sequence[Instruction]) -> Counts:
        """Of a lane that runs a basic block once."""
        weights = [self._weight(op) for op in block if identity(op) not in self._fused]
        issue, special, banks = (sum(column) for column in zip((0, 0, 0), *weights, strict=True))
        return issue, special, banks

    def _weight(self, op: Instruction) -> Counts:
        text = str(op) if op.opcode == "call" else ""
        special = op.opcode in ("fdiv", "frem") or _SPECIAL_CALL.search(text)
        if special or op.opcode in _PLAIN or _PLAIN_CALL.search(text):
            words = max(1, memory.size_of(str(next(iter(op.operands)).type)) // 4)
            return _ISSUE * words, _SPECIAL * words if special else 0, 0
        if (
            op.opcode in memory.MEMORY
            and memory.space(pointer := memory.pointers_of(op)[0]) == memory.LDS
        ):
            value = op if op.opcode == "load" else list(op.operands)[op.opcode != "store"]
            size = memory.size_of(str(value.type))
            if identity(pointer) in self._varying:
                return _ISSUE, 0, _BANK * max(1, size // 4)
            return _ISSUE * size // _SAME_BYTES, 0, _BANK * size // _SAME_BYTES
        return 0, 0, 0


def _varying(
    instructions: Iterable[Instruction], users: Mapping[int, Sequence[Instruction]]
) -> set[int]:
    """Values that differ from lane to lane of a wave."""
    begin = (identity(op) for op in instructions if _VARYING_CALL.search(str(op)))
    return set(reached(begin, lambda value: map(identity, users.get(value, ()))))


def _is_fused(instruction: Instruction, users: Mapping[int, Sequence[Instruction]]) -> bool:
    """Whether what uses it has it inside: a sum of a product, or 1 over a root."""
    using = users.get(identity(instruction), ())
    if instruction.opcode == "fmul":
        sums = (other.opcode in ("fadd", "fsub") and " contract " in str(other) for other in using)
        return len(using) > 0 and all(sums)
    if instruction.opcode == "call" and "@llvm.sqrt." in str(instruction):
        return len(using) > 0 and all(_RECIPROCAL.search(str(other)) for other in using)
    return False
