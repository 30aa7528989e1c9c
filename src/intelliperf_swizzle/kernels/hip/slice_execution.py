# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Executes an address slice on the CPU, thread by thread, where it cannot be interpreted.

Each thread says at which place of the kernel, and in which iteration of the loops around it, it
accesses what; what threads access at one place is one access of their workgroup, as the
interpreter has it. Nothing is written but shared memory and scratch.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.kernels.hip import floats, llvm, native
from intelliperf_swizzle.kernels.hip.decoding import magnitude, order_of
from intelliperf_swizzle.kernels.hip.device_code import DeviceKernel
from intelliperf_swizzle.kernels.hip.device_memory import Buffer
from intelliperf_swizzle.kernels.hip.llvm import Function, Instruction, identity
from intelliperf_swizzle.kernels.hip.slice_interpreter import AccessObserver, CurrentUpdate
from intelliperf_swizzle.kernels.hip.slicing import rows_of, without_functions
from intelliperf_swizzle.kernels.hip.toolchain import find_toolchain
from intelliperf_swizzle.records import SECTOR_BYTES, Access, Int64Array, Launch, UInt8Array

_MOST_LANES = 1 << 22
"""Lanes of an access of the workgroups that are executed together (32 MB of addresses)."""
_LANE_CALLS = re.compile(r"@llvm\.amdgcn\.(?:ds\.bpermute|readfirstlane|readlane|ballot)\b")
_NOT_HELD = 1
_FAILURES = {
    2: "a pointer that may lead to global memory leads to shared memory or scratch",
    3: "what its threads access depends on their order: a race, or shared memory that is read "
    "before it is written",
    4: "the threads of a workgroup make more than 33,554,432 accesses",
    5: "the kernel does not come to an end",
}
"""By the stand-in's number."""


class SliceExecution:
    """A launch's slice, compiled for the CPU; a process has one at a time.

    Args:
        kernel: whose slice it is.
        launch: of it.
        arguments: the bytes of each.
        buffers: of the launch.
        update: is told what atomics do.

    Attributes:
        read: by the address of each buffer whose contents were kept, uint8[sectors]: 1 where
            threads have read what decides.

    Raises:
        TraceError: the slice uses what no CPU has.
    """

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
        library = str(find_toolchain(os.environ).root / "lib" / "libamdhip64.so")
        self._library = ctypes.CDLL(library)
        self._library.sw_trace_groups.restype = ctypes.c_int64
        self._library.sw_trace_groups.argtypes = (ctypes.c_int64, ctypes.c_int64)
        llvm.binding().load_library_permanently(library)
        entry, shared = self._compile(kernel)
        held = [one for one in buffers if one.contents is not None]
        self.read: dict[int, UInt8Array] = {
            one.begin: np.zeros(-(-one.bytes // SECTOR_BYTES), np.uint8) for one in held
        }
        contents = [np.ascontiguousarray(one.contents) for one in held]
        self._arguments = [ctypes.create_string_buffer(one, len(one)) for one in arguments]
        self._passed = np.array([ctypes.addressof(one) for one in self._arguments], np.int64)
        request = [
            entry, self._passed.ctypes.data, *launch.grid, *block, launch.options["shared"],
            bool(shared), len(held), len(shared),
        ]  # fmt: skip
        for one, data in zip(held, contents, strict=True):
            read = self.read[one.begin]
            request += [one.begin, one.bytes, data.ctypes.data, read.ctypes.data]
        for at, size in shared:
            request += [at, size]
        if not self._library.sw_trace(_pointer(np.array(request, np.int64))):
            raise TraceError(f"there is no room for the memory of {launch.kernel}")

    def run(self, programs: Int64Array, recorder: AccessObserver) -> int:
        """Executes the first of these workgroups; as many as memory is meant for.

        Args:
            programs: numbers in a row.
            recorder: is told of accesses.

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
        told = np.zeros(7, np.int64)
        while self._library.sw_trace_next(_pointer(told)):
            size, kind, self._update.code, site, threads, addresses, lanes = told.tolist()
            at = _array(lanes, threads, np.uint32)
            found = np.zeros(count * self._threads, np.int64)
            active = np.zeros(found.shape, np.bool_)
            found[at], active[at] = _array(addresses, threads, np.int64), True
            rows, bits = found.reshape(count, -1), active.reshape(count, -1)
            rows = np.where(bits, rows, rows.max(axis=1, keepdims=True))  # alike where masks are
            parts = [one.reshape(count, bz, by, bx) for one in (rows, bits)]
            recorder.access(Access(kind), parts[:1], parts[1:], size, everyone, site=site)
        recorder.end(everyone, {})
        return int(count)

    def _check(self) -> None:
        failure = np.zeros(2, np.int64)
        self._library.sw_trace_failure(_pointer(failure))
        number, address = failure.tolist()
        if not number:
            return
        fact = _FAILURES.get(number, "what decides is read outside of every buffer")
        if number == _NOT_HELD:
            for one in self._buffers:
                if one.begin <= address < one.begin + one.bytes:
                    fact = f"what {one.name} holds decides what is accessed, and was not kept"
        raise TraceError(f"{self._launch.kernel} cannot be traced: {fact}")

    def _compile(self, kernel: DeviceKernel) -> tuple[int, list[tuple[int, int]]]:
        """The address of its entry; address and bytes of each variable of shared memory."""
        symbol = kernel.code.symbol
        function = llvm.parse(kernel.slice.text).get_function(symbol)
        text = _positioned(kernel.slice.text, function)
        host, foreign = native.host_text(text, {symbol: native.parameters_of(function)})
        if foreign:
            raise TraceError(
                f"{self._launch.kernel} cannot be traced: `{foreign[symbol]}` decides what is "
                "accessed, and no CPU has it"
            )
        names = _SHARED.findall(host)
        module, machine = native.host_module(_SHARED.sub(r"@\1 = global", host))
        sizes = {
            one.name: machine.target_data.get_abi_size(one.global_value_type)
            for one in module.global_variables
            if one.name in names
        }
        for name, (address, _) in kernel.variables.items():
            llvm.binding().add_symbol(name, address)
        self._engine = llvm.binding().create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        shared = [(self._engine.get_global_value_address(name), sizes[name]) for name in sizes]
        if host.count("@sw_dynamic_lds") > 1:
            at = ctypes.addressof(ctypes.c_uint8.in_dll(self._library, "sw_dynamic_lds"))
            shared.append((at, self._launch.options["shared"]))
        return self._engine.get_function_address(f"sw_entry_{symbol}"), shared


_SHARED = re.compile(r"(?m)^@([\w.$]+) = internal global(?=[^\n]* zeroinitializer, align 128$)")


def _pointer(array: Int64Array) -> Any:
    return ctypes.c_void_p(array.ctypes.data)


def _array(address: int, count: int, kind: type[np.generic]) -> Any:
    """Numbers in memory."""
    size = count * np.dtype(kind).itemsize
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), kind)


def _positioned(text: str, function: Function) -> str:
    """The slice's module, whose threads say where they are when they access, iterate or wait."""
    blocks = {identity(block): list(block.instructions) for block in function.blocks}
    order = order_of(list(function.blocks))
    before: dict[int, str] = {}  # calls, by the instruction that they come before
    places: dict[int, tuple[int, int]] = {}
    for block, depth in order.depth.items():
        begin = len(places)
        places |= {
            identity(one): (begin + place, depth) for place, one in enumerate(blocks[block])
        }
        if block in order.headers:
            first = next(one for one in blocks[block] if one.opcode != "phi")
            before[identity(first)] = f"  call void @sw_loop(i32 {begin}, i32 {depth - 1})"
    lines = []
    for line, one in rows_of(str(function), [one for own in blocks.values() for one in own]):
        if one is not None:
            place, depth = places[identity(one)]
            lines += [before[identity(one)]] if identity(one) in before else []
            if _LANE_CALLS.search(line):
                lines.append(f"  call void @sw_at(i32 {place}, i32 {depth})")
            touch = rf"call void @sw_access(\1, i32 {depth}, i32 {place})"
            line = re.sub(r"call void @sw_touch\((.*)\)(?=$| #|,)", touch, line)
        lines.append(line)
    declarations = re.sub(r"(?m)^declare void @sw_touch[^\n]*\n", "", without_functions(text))
    return "\n".join((declarations, *lines)) + "\n"


def rounding(text: str, symbol: str) -> str | None:
    """An operation in a slice whose result a CPU and a GPU may round differently."""
    function = llvm.parse(text).get_function(symbol)
    known = {identity(one): one for block in function.blocks for one in block.instructions}
    return next((str(one) for one in known.values() if _may_round(one, known)), None)


def _may_round(one: Instruction, known: Mapping[int, Instruction]) -> bool:
    text = str(one)
    if one.opcode == "call":
        kinds = " ".join(str(value.type) for value in (one, *list(one.operands)[:-1]))
        exact = any(f"@{name}" in text for name in floats.CALLS)
        return not exact and re.search(r"\b(half|b?float|double)\b", kinds) is not None
    if one.opcode == "atomicrmw":
        return " fadd " in text or " fsub " in text
    if one.opcode in floats.OPCODES:
        return not floats.is_exact(one.opcode, text, [magnitude(v, known) for v in one.operands])
    return one.opcode == "frem"
