# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What threads compute, in operations as `Trace` counts them: `lanes_per_clock_cu` (256) a clock.

Three units are at work at once, so the busiest one counts. Integers, mostly of addresses, do not.
"""

from __future__ import annotations

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
        known = [one for block in blocks for one in block]
        users: dict[int, list[Instruction]] = {}
        for instruction in known:
            for value in instruction.operands:
                users.setdefault(identity(value), []).append(instruction)
        self._varying = _varying(known, users)
        self._fused = {identity(one) for one in known if _is_fused(one, users)}

    def of(self, block: Sequence[Instruction]) -> Counts:
        """Of a lane that runs a basic block once."""
        each = [self._weight(one) for one in block if identity(one) not in self._fused]
        issue, special, banks = (sum(column) for column in zip((0, 0, 0), *each, strict=True))
        return issue, special, banks

    def _weight(self, one: Instruction) -> Counts:
        text = str(one) if one.opcode == "call" else ""
        special = one.opcode in ("fdiv", "frem") or _SPECIAL_CALL.search(text)
        if special or one.opcode in _PLAIN or _PLAIN_CALL.search(text):
            words = max(1, memory.size_of(str(next(iter(one.operands)).type)) // 4)
            return _ISSUE * words, _SPECIAL * words if special else 0, 0
        if (
            one.opcode in memory.MEMORY
            and memory.space(pointer := memory.pointers_of(one)[0]) == memory.LDS
        ):
            value = one if one.opcode == "load" else list(one.operands)[one.opcode != "store"]
            size = memory.size_of(str(value.type))
            if identity(pointer) in self._varying:
                return _ISSUE, 0, _BANK * max(1, size // 4)
            return _ISSUE * size // _SAME_BYTES, 0, _BANK * size // _SAME_BYTES
        return 0, 0, 0


def _varying(
    instructions: Iterable[Instruction], users: Mapping[int, Sequence[Instruction]]
) -> set[int]:
    """Values that differ from lane to lane of a wave."""
    begin = (identity(one) for one in instructions if _VARYING_CALL.search(str(one)))
    return set(reached(begin, lambda one: map(identity, users.get(one, ()))))


def _is_fused(one: Instruction, users: Mapping[int, Sequence[Instruction]]) -> bool:
    """Whether what uses it has it inside: a sum of a product, or 1 over a root."""
    using = users.get(identity(one), ())
    if one.opcode == "fmul":
        sums = (other.opcode in ("fadd", "fsub") and " contract " in str(other) for other in using)
        return len(using) > 0 and all(sums)
    if one.opcode == "call" and "@llvm.sqrt." in str(one):
        return len(using) > 0 and all(_RECIPROCAL.search(str(other)) for other in using)
    return False
