# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Executes an address slice on the CPU, thread by thread, where it cannot be interpreted.

Each thread says at which place of the kernel, and in which iteration of the loops around it, it
accesses what; what threads access at one place is one access of their workgroup, as the
interpreter has it. Nothing is written but shared memory and scratch.
"""

import ctypes
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.cpp.code import llvm, native
from intelliperf_swizzle.frontends.cpp.record.device_code import STANDIN, DeviceKernel, recording_of
from intelliperf_swizzle.frontends.cpp.trace.device_memory import Buffer
from intelliperf_swizzle.frontends.cpp.trace.slice_interpreter import CurrentUpdate
from intelliperf_swizzle.frontends.ssa import reached
from intelliperf_swizzle.records import SECTOR_BYTES, Access, Int64Array, Launch, UInt8Array
from intelliperf_swizzle.trace.observer import BlockAccess, Observer

_MOST_LANES = 1 << 22
"""Lanes of an access of the workgroups that are executed together (32 MB of addresses)."""
_NOT_HELD = 1
_FAILURES = {
    2: "a pointer that may be global points to shared memory or scratch",
    3: "what its threads access depends on their order: a race, or shared memory that is read "
    "before it is written",
    4: "the threads of a workgroup make more than 33,554,432 accesses",
    5: "a workgroup runs through loops more than 67,108,864 times, or does not end",
    6: "a register of an inactive lane decides what is accessed",
}
"""By the stand-in's number."""


class SliceExecution:
    """A launch's slice, compiled for the CPU; a process has one at a time.

    Args:
        kernel: whose slice it is.
        launch: of it.
        arguments: the bytes of each.
        buffers: of the launch.
        update: receives what atomics do.

    Attributes:
        read: by the address of each buffer whose contents were kept, uint8[sectors]: 1 where
            threads have read what decides.

    Raises:
        TraceError: the slice uses what no CPU has.
    """

    _latest: ClassVar[ctypes.CDLL | None] = None

    def __init__(
        self,
        kernel: DeviceKernel,
        launch: Launch,
        arguments: Sequence[bytes],
        buffers: Sequence[Buffer],
        update: CurrentUpdate,
    ):
        self._launch, self._buffers, self._update = launch, buffers, update
        block = launch.options["block"]
        self._threads = math.prod(block)
        if SliceExecution._latest:  # memory lies at fixed addresses: that of another recording goes
            SliceExecution._latest.sw_trace(_pointer(np.zeros(11, np.int64)))
        self._library = SliceExecution._latest = ctypes.CDLL(str(recording_of(launch) / STANDIN))
        self._library.sw_trace.restype = self._library.sw_trace_next.restype = ctypes.c_bool
        self._library.sw_trace_groups.restype = ctypes.c_int64
        self._library.sw_trace_groups.argtypes = (ctypes.c_int64, ctypes.c_int64)
        entry, shared = self._compile(kernel)
        held = [buffer for buffer in buffers if buffer.contents is not None]
        self.read: dict[int, UInt8Array] = {
            buffer.begin: np.zeros(-(-buffer.bytes // SECTOR_BYTES), np.uint8) for buffer in held
        }
        contents = [np.ascontiguousarray(buffer.contents) for buffer in held]
        self._arguments = [ctypes.create_string_buffer(a, len(a)) for a in arguments]
        self._passed = np.array([ctypes.addressof(a) for a in self._arguments], np.int64)
        request = [
            entry, self._passed.ctypes.data, *launch.grid, *block, launch.options["shared"],
            shared, len(held),
        ]  # fmt: skip
        for buffer, data in zip(held, contents, strict=True):
            read = self.read[buffer.begin]
            request += [buffer.begin, buffer.bytes, data.ctypes.data, read.ctypes.data]
        if not self._library.sw_trace(_pointer(np.array(request, np.int64))):
            raise TraceError(f"not enough memory to trace {launch.kernel}")

    def run(self, programs: Int64Array, recorder: Observer) -> int:
        """Executes the first of these workgroups; as many as memory is meant for.

        Args:
            programs: numbers in a row.
            recorder: receives every access.

        Returns:
            How many were executed.

        Raises:
            TraceError: what they access cannot be known.
        """
        most = max(1, _MOST_LANES // self._threads)
        first, last = int(programs[0]), int(programs[:most][-1]) + 1
        count = self._library.sw_trace_groups(first, last)
        self._check()
        everyone = np.ones(count, np.bool_)
        bx, by, bz = self._launch.options["block"]
        recorder.begin(programs[:count])
        status = np.zeros(7, np.int64)
        while self._library.sw_trace_next(_pointer(status)):
            size, kind, self._update.code, site, threads, addresses, lanes = status.tolist()
            at = _array(lanes, threads, np.uint32)
            found = np.zeros(count * self._threads, np.int64)
            active = np.zeros(found.shape, np.bool_)
            found[at], active[at] = _array(addresses, threads, np.int64), True
            rows, bits = found.reshape(count, -1), active.reshape(count, -1)
            rows = np.where(bits, rows, rows.max(axis=1, keepdims=True))  # alike where masks are
            shape = (count, bz, by, bx)
            terms, masks = [rows.reshape(shape)], [bits.reshape(shape)]
            recorder.access(BlockAccess(Access(kind), terms, masks, size, everyone, site))
        recorder.end(everyone, {})
        return int(count)

    def _check(self) -> None:
        failure = np.zeros(2, np.int64)
        self._library.sw_trace_failure(_pointer(failure))
        number, address = failure.tolist()
        if not number:
            return
        fact = _FAILURES.get(number, "a value that decides accesses is read outside every buffer")
        for buffer in self._buffers if number == _NOT_HELD else ():
            if buffer.begin <= address < buffer.begin + buffer.bytes:
                fact = f"the contents of {buffer.names[0]} decide accesses, and were not kept"
        raise TraceError(f"{self._launch.kernel} cannot be traced: {fact} ({self._launch.place})")

    def _compile(self, kernel: DeviceKernel) -> tuple[int, int]:
        """The addresses of its entry and of the table of its shared memory."""
        symbol = kernel.code.symbol
        sliced = llvm.parse(kernel.slice.text)
        function = sliced.get_function(symbol)
        text = native.mark_positions(str(sliced), [function])
        host, foreign = native.host_text(text, {symbol: native.parameters_of(function)})
        if foreign:
            what = kernel.slice.executed or "its accesses are decided"
            why = f"{what}, by `{foreign[symbol]}`, which no CPU has"
            raise TraceError(f"{self._launch.kernel} cannot be traced: {why}")
        module, machine = native.host_module(host)
        known = {f"at_of_{name}": address for name, (address, _) in kernel.variables.items()}
        for v in (*module.functions, *module.global_variables):
            if v.is_declaration and v.name.startswith("sw_"):  # HIP's and CUDA's have one name
                known[v.name] = ctypes.addressof(ctypes.c_uint8.in_dll(self._library, v.name))
        for name, address in known.items():
            llvm.binding().add_symbol(name, address)
        self._engine = llvm.binding().create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        entry = self._engine.get_function_address(f"sw_entry_{symbol}")
        return entry, self._engine.get_global_value_address(f"sw_shared_{symbol}")


def _pointer(array: Int64Array) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)  # which keeps the array


def _array(address: int, count: int, kind: Any) -> Any:
    """Numbers in memory."""
    size = count * np.dtype(kind).itemsize
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), kind)


def rounding(text: str, symbol: str, sites: Collection[int] | None = None) -> str | None:
    """An operation in a slice whose result a CPU and a GPU may round differently.

    With `sites`, one that leads to these accesses or to a branch.
    """
    function = llvm.parse(text).get_function(symbol)
    known = {llvm.identity(op): op for block in function.blocks for op in block.instructions}
    ends = [key for key, instruction in known.items() if sites is None or instruction.opcode == "br"
            or {*map(int, _SITE.findall(str(instruction)))} & {*sites}]  # fmt: skip
    leading = reached(ends, lambda key: [
        operand for operand in map(llvm.identity, known[key].operands) if operand in known
    ])  # fmt: skip
    return next((str(known[key]) for key in leading if _may_round(known[key], known)), None)


_SITE = re.compile(r"@sw_touch\(.*, i32 (\d+)\)")


_EXACT_CALLS = re.compile(r"@llvm\.(fabs|floor|ceil|trunc|rint)\.")
_EXACT_OPCODES = (
    "fadd", "fsub", "fmul", "fdiv", "fneg", "sitofp", "uitofp", "fpext", "fptrunc", "fptosi",
    "fptoui", "fcmp",
)  # fmt: skip
"""Of which every implementation of IEEE 754 gives the same bits."""
_INEXACT = re.compile(r"\b(fast|reassoc|arcp|afn|fpmath)\b")
_MAY_FUSE = re.compile(r"\b(fast|contract)\b")


def _may_round(op: llvm.Instruction, known: Mapping[int, llvm.Instruction]) -> bool:
    text = str(op)
    if op.opcode == "call":
        kinds = " ".join(str(value.type) for value in (op, *list(op.operands)[:-1]))
        floats = re.search(r"\b(half|b?float|double)\b", kinds) is not None
        return floats and not _EXACT_CALLS.search(text)
    if op.opcode == "atomicrmw":
        return " fadd " in text or " fsub " in text
    if op.opcode not in _EXACT_OPCODES:
        return bool(op.opcode == "frem")
    made = (_magnitude(value, known) for value in op.operands)
    fused = any(" = fmul " in part and _MAY_FUSE.search(part) for part in made)
    fuses = op.opcode in ("fadd", "fsub") and _MAY_FUSE.search(text) is not None and fused
    return _INEXACT.search(text) is not None or fuses


def _magnitude(value: llvm.Value, instructions: Mapping[int, llvm.Instruction]) -> str:
    """The text of what a value is, or is the negative or a wider form of."""
    found = instructions.get(llvm.identity(value))
    while found is not None and found.opcode in ("fneg", "fpext"):
        value = next(iter(found.operands))
        found = instructions.get(llvm.identity(value))
    return str(value)
