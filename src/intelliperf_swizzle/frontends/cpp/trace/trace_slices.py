# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces launches in this process: their slices, interpreted or executed for all workgroups."""

import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.cpp.code.memory_operands import FLOATS, VARIABLES
from intelliperf_swizzle.frontends.cpp.code.slicing import conflicts, place_of_touch
from intelliperf_swizzle.frontends.cpp.record.device_code import DeviceKernel, read_kernel
from intelliperf_swizzle.frontends.cpp.trace import decoding, slice_interpreter
from intelliperf_swizzle.frontends.cpp.trace.device_memory import Buffer, DeviceMemory
from intelliperf_swizzle.frontends.cpp.trace.slice_execution import SliceExecution, rounding
from intelliperf_swizzle.trace import sharing
from intelliperf_swizzle.trace.assembling import TraceRecorder
from intelliperf_swizzle.trace.observer import BlockAccess, Observer

_FIRST_BATCH, _LARGEST_BATCH = 256, 16384
"""Workgroups that are interpreted at once: the first few show how large arrays become."""
_LARGEST_ARRAY = 1 << 22
_COUNTED = 16
"""Workgroups, from first to last, whose arithmetic is counted."""
_MOST_COUNTING_STEPS = 500_000
"""Some seconds."""
_MOST_ACCESSES = 200_000_000
"""Accesses of a trace (3 GB while it is made)."""
_FIRST = 16 << 30
"""Where buffers lie that are no device variables; `kBegin` of the stand-in."""
_MOST_RETRACED = 1 << 20
_AS_NUMBER = re.compile(r"(?m)^.*(?:\b(?:ptrtoint|inttoptr)\b|= icmp \w+ ptr [^,]*, (?!null)).*$")
"""Where an address may be taken for a number."""
_PIECE = 1 << 22
"""Accesses that are looked at together."""
_MOST_WATCHED = 1 << 28
"""Bytes of the buffers whose writers are tracked thread by thread (600 MB)."""


def trace_here(launch: records.Launch, _: Path, *, inside: bool = True) -> records.Trace:
    """Traces a launch in this process; see `trace`."""
    kernel = read_kernel(launch)
    if kernel.slice.refusal is not None:
        raise TraceError(f"{launch.kernel} cannot be traced: {kernel.slice.refusal}")
    kernel = _with_storages(kernel, launch)
    traced = _trace(launch, kernel)
    _refuse_numbers(launch, kernel, traced)
    if not kernel.prints:
        return traced
    caution = f"{launch.kernel} prints; a swizzle changes the order of its lines"
    return replace(traced, cautions=(*traced.cautions, caution))


def _trace(launch: records.Launch, kernel: DeviceKernel) -> records.Trace:
    if kernel.slice.executed is not None:
        return execute_slice(launch, kernel, kernel.slice.executed)
    try:
        return _Tracing(launch, kernel).trace()
    except decoding.UnknownStepError as error:
        entry = launch.source.entry  # where optimisation has left the instruction no line
        place = kernel.line_of(error.text) or f"{entry.file}:{entry.first_line}"
        if isinstance(error, decoding.WaitsError):
            raise TraceError(f"{error.what} ({place}), which decides its accesses") from None
        return execute_slice(launch, kernel, f"{error.what} decides what is accessed ({place})")


def execute_slice(launch: records.Launch, kernel: DeviceKernel, reason: str) -> records.Trace:
    """The trace by executing threads on the CPU, and why it is made so."""
    tracing = _Tracing(launch, kernel, executed=True)
    note = f"{launch.kernel} is traced by execution on the CPU: {reason}"
    trace = replace(tracing.trace(), notes=(note,), cautions=())
    operation = rounding(kernel.slice.text, kernel.code.symbol)
    if operation is None:
        return trace
    place = kernel.line_of(operation)
    caution = (
        f"{launch.kernel} computes addresses with floating-point arithmetic"
        f"{f' ({place})' if place else ''}: here the CPU's, and a GPU may round differently"
    )
    decides = rounding(kernel.slice.text, kernel.code.symbol, kernel.slice.conflicting)
    return replace(trace, cautions=(caution,), unresolved=(caution,) if decides else ())


def _refuse_numbers(launch: records.Launch, kernel: DeviceKernel, traced: records.Trace) -> None:
    """Raises TraceError if something else is accessed where buffers have other addresses.

    Not asked where pointers only lead to what they are added to, or lie in structures or memory.
    """
    number = _AS_NUMBER.search(kernel.slice.text)
    passed = {view.storage for _, view in launch.tensors()}
    others = [n for n in launch.storages if launch.options["addresses"][n] >= _FIRST]
    if number is None or "byref" in kernel.types or not passed.issuperset(others):
        return
    old = np.array(launch.options["addresses"])
    for layout in range(max(2, min(32, _MOST_RETRACED // max(1, len(traced.access_base))))):
        moved = _elsewhere(launch, layout)
        found, new = _trace(moved, kernel), np.array(moved.options["addresses"])
        order, lines = np.argsort(new), new // records.LINE_BYTES
        at = order[np.searchsorted(lines[order], found.access_base, side="right") - 1]
        base = found.access_base + (old - new)[at] // records.LINE_BYTES
        moved_back = access_digests(replace(found, access_base=base))
        if not np.array_equal(access_digests(traced), moved_back):
            raise TraceError(
                f"{launch.kernel} cannot be traced: where buffers lie decides what is accessed"
                f" ({kernel.line_of(number[0]) or launch.place})"
            )


def access_digests(trace: records.Trace) -> records.Int64Array:
    """A number for each program that follows from all its accesses: kind, lines, sectors, order.

    Args:
        trace: of any launch; numbers of two traces may be compared in one process.
    """
    parts = (trace.shape_line, trace.shape_sectors, trace.shape_late, trace.shape_passes)
    own = map(slice, trace.shape_offset[:-1], trace.shape_offset[1:])
    shapes = np.array([
        hash((kind, *(None if part is None else part[at].tobytes() for part in parts)))
        for kind, at in zip(trace.shape_kind.tolist(), own, strict=True)
    ], np.int64)  # fmt: skip
    made, begins = np.diff(trace.tile_offset), trace.tile_offset[:-1]
    total = np.zeros(len(trace.access_base) + 1, np.int64)
    for first in range(0, len(trace.access_base), _PIECE):
        at = np.arange(first, min(first + _PIECE, len(trace.access_base)))
        program = np.searchsorted(trace.tile_offset, at, side="right") - 1
        mixed = trace.access_base[at].astype(np.int64) * 0x2545F4914F6CDD1D
        mixed += shapes[trace.access_shape[at]] + (at - begins[program]) * 0x5851F42D4C957F2D
        mixed = (mixed ^ mixed >> 29) * 0x369DEA0F31A53F85
        total[at + 1] = mixed ^ mixed >> 31
    np.cumsum(total, out=total)
    return total[begins + made] - total[begins] + made


def _elsewhere(launch: records.Launch, layout: int) -> records.Launch:
    """A launch with its buffers at other multiples of 256, every other time in another order.

    In 16 layouts each buffer begins at all multiples of 256 in a page.
    """
    old = launch.options["addresses"]
    addresses, free = [*old], _FIRST
    numbers = [n for n in launch.storages if old[n] >= _FIRST]
    for number in sorted(numbers, key=lambda n: old[n], reverse=layout % 2 == 0):
        pages = (37 * layout + 11 * number) % 509
        addresses[number] = free + 4096 * pages + 256 * ((layout + number) % 16)
        free += (launch.storages[number].bytes >> 21) + 2 << 21
    return replace(launch, options={**launch.options, "addresses": tuple(addresses)})


class _Tracing:
    def __init__(self, launch: records.Launch, kernel: DeviceKernel, *, executed: bool = False):
        self._launch, self._kernel = launch, kernel
        block: records.Grid = tuple(launch.options["block"])
        self._values, by_reference = _values(launch, kernel.types)
        self._buffers = buffers = _buffers(launch, kernel)
        self._memory = DeviceMemory(buffers, by_reference, launch.grid, block)
        self._update = slice_interpreter.CurrentUpdate(kernel.slice.updates)
        self._begin = np.array([buffer.begin for buffer in buffers], np.int64)
        self._end = np.array([buffer.begin + buffer.bytes for buffer in buffers], np.int64)
        self._segments = tuple(
            records.Segment(buffer.names, buffer.begin // records.LINE_BYTES, buffer.bytes)
            for buffer in buffers
        )
        self._runner: slice_interpreter.Interpreter | SliceExecution
        if executed:
            passed = _pass(self._values, by_reference)
            self._runner = SliceExecution(kernel, launch, passed, buffers, self._update)
        else:
            self._runner = self._interpreter(kernel.slice.text)

    def _interpreter(self, text: str) -> slice_interpreter.Interpreter:
        launch, kernel = self._launch, self._kernel
        variables = frozenset((name, at) for name, (at, _) in kernel.variables.items())
        program = decoding.decode_slice(text, kernel.code.symbol, variables)
        return slice_interpreter.Interpreter(
            program, launch.grid, launch.options["block"], kernel.code.wave_lanes, self._values,
            self._memory, self._update, decoding.folds(program, kernel.slice.conflicting),
        )  # fmt: skip

    def _recorder(self) -> TraceRecorder:
        return TraceRecorder(self._begin, self._end, self._update, self._kernel.code.wave_lanes)

    def trace(self) -> records.Trace:
        """Runs all workgroups, in batches."""
        launch = self._launch
        recorder = self._recorder()
        self._run(recorder, recorder)
        trace = recorder.trace(
            launch.grid,
            self._segments,
            method="batched",
            arithmetic=np.zeros((launch.programs, 3), np.int64),
            immaterial=self._immaterial(),
        )
        if trace.elements_outside:
            place = place_of_touch(self._kernel.slice, recorder.site_outside or 0)
            raise TraceError(
                f"{launch.kernel} cannot be traced: it accesses memory outside the program's "
                f"allocations{f' ({place})' if place else ''}, so which workgroups depend on each "
                "other is not known",
                hint="allocate it with the runtime, or guard the access",
            )
        if self._reads_what_is_written(trace, recorder) and not self._reads_its_own():
            place = self._place_of_written(trace, recorder)
            raise TraceError(
                f"{launch.kernel} cannot be traced: what a workgroup accesses depends on what the "
                f"launch itself writes{f' ({place})' if place else ''}"
            )
        every, unseen = conflicts(self._kernel.slice, self._kernel.code.symbol, recorder.sites)
        folds = self._folds()
        unseen |= {name for name, made in folds.items() if not made}
        every |= folds.keys()
        trace = replace(
            trace, tile_arithmetic=self._arithmetic(trace), waves=launch.options["num_warps"],
            hands_over=self._kernel.slice.hands_over,
            seen=every - unseen, unseen=unseen,
            by_variables=VARIABLES in (self._kernel.slice.contents or ()),
        )  # fmt: skip
        return sharing.with_sharing(trace, recorder, lambda watch: self._run(watch, None))

    def _folds(self) -> dict[str, bool]:
        """What may bring workgroups together, by name, and whether it does; it may, if executed."""
        symbol, runner = self._kernel.code.symbol, self._runner
        if not isinstance(runner, slice_interpreter.Interpreter):
            return {f"{symbol}: executed": False}
        texts = {step.id: step.text for block in runner.program.steps.values() for step in block}
        return {
            f"{symbol}: {texts[key]} {side}": (key, side) in runner.folded
            for key, fold in runner.folds.items()
            for side in range(max(1, len(fold.sides)))
        }

    def _arithmetic(self, trace: records.Trace) -> records.Int64Array | None:
        """What each workgroup computes: a few are counted, and for each access that of theirs."""
        some = np.unique(np.linspace(0, self._launch.programs - 1, _COUNTED).astype(np.int64))
        accesses = np.diff(trace.tile_offset)
        if not self._kernel.slice.counting or not accesses[some].any():
            return None
        try:
            interpreter = self._interpreter(self._kernel.slice.counting)
            interpreter.run(some, self._recorder(), most_steps=_MOST_COUNTING_STEPS)
        except (decoding.UnknownStepError, TraceError):
            return None
        ratio = interpreter.computed.sum(axis=0).max() / accesses[some].sum()
        lanes = (accesses * ratio).astype(np.int64)
        return np.stack((0 * lanes, 0 * lanes, lanes), axis=1) if lanes.any() else None

    def _reads_what_is_written(self, trace: records.Trace, recorder: TraceRecorder) -> bool:
        if isinstance(self._runner, slice_interpreter.Interpreter):
            places = self._memory.all_places
            return sharing.reads_what_is_written(trace, places, recorder.value_loads)
        return sharing.writes_any(trace, self._runner.read)

    def _place_of_written(self, trace: records.Trace, recorder: TraceRecorder) -> str | None:
        """Where what the launch writes is read and decides; or, if executed, may be."""
        sliced, runner = self._kernel.slice, self._runner
        if not isinstance(runner, slice_interpreter.Interpreter):
            return next(filter(None, (place_of_touch(sliced, n) for n in sliced.conflicting)), None)
        loads: dict[str, list[tuple[int, records.Int64Array, records.Int32Array]]] = {}
        for text, load in zip(runner.deciding, recorder.value_loads, strict=False):
            loads.setdefault(text, []).append(load)
        places = self._memory.all_places
        read = (text for text, own in loads.items()
                if sharing.reads_what_is_written(trace, places, own))  # fmt: skip
        return next(filter(None, map(self._kernel.line_of, read)), None)

    def _reads_its_own(self) -> bool:
        """Whether no thread loads from where it has stored before, or another one stores."""
        held = [buffer for buffer in self._buffers if buffer.contents is not None]
        threads = math.prod(self._launch.options["block"])
        if (
            isinstance(self._runner, SliceExecution)
            or sum(buffer.bytes for buffer in held) > _MOST_WATCHED
            or self._launch.programs * threads >= 1 << 31
        ):
            return False
        watch = _ThreadWatch(held, threads)
        self._run(watch, None)
        return watch.apart

    def _run(self, recorder: Observer, counted: TraceRecorder | None) -> None:
        programs, done, batch = self._launch.programs, 0, _FIRST_BATCH
        while done < programs:
            slice_interpreter.Sum.largest = 1
            ran = self._runner.run(np.arange(done, min(programs, done + batch)), recorder)
            per_program = max(1, slice_interpreter.Sum.largest // ran)
            done += ran
            batch = max(1, min(_LARGEST_BATCH, _LARGEST_ARRAY // per_program))
            if counted is not None and counted.accesses * (programs / done) > _MOST_ACCESSES:
                expected = int(counted.accesses * (programs / done))
                raise TraceError(
                    f"{self._launch.kernel} on grid {self._launch.grid} makes about {expected:,} "
                    f"accesses, more than {_MOST_ACCESSES:,}",
                    hint="trace a smaller launch",
                )

    def _immaterial(self) -> tuple[str, ...]:
        """The arguments that decided nothing: of scalars the value, of buffers what they hold."""
        sliced, names = self._kernel.slice, []
        for number, (name, argument) in enumerate(self._launch.arguments.items()):
            is_buffer = isinstance(argument, records.TensorArgument)
            material = sliced.contents if is_buffer else sliced.decisive
            names += [name] if material is not None and number not in material else []
        return tuple(names)


class _ThreadWatch(Observer):
    """Notes which threads load and store.

    All loads count: those that decide may have become one in the slice, which stores nothing.

    Args:
        buffers: that hold what decides, by address.
        threads: of a workgroup.
    """

    def __init__(self, buffers: Sequence[Buffer], threads: int):
        begin = np.array([buffer.begin for buffer in buffers], np.int64)
        sizes = np.array([buffer.bytes for buffer in buffers], np.int64)
        self._writers = sharing.Writers(begin, begin + sizes, grain=4)
        self._threads = threads
        self._in_order = True

    @property
    def apart(self) -> bool:
        """Whether all loads find what was there before the launch."""
        return self._in_order and not self._writers.clashes().any()

    def begin(self, programs: records.Int64Array) -> None:
        """A batch begins."""
        self._programs, self._stored = programs, False

    def access(self, block: BlockAccess) -> int:
        """The programs of the batch access a block."""
        for rows, lanes, covered in block.lanes():
            threads = self._programs[rows, None] * self._threads + np.arange(lanes.shape[1])
            touched = threads.reshape(-1), lanes.reshape(-1, 1), covered.reshape(-1, 1)
            inside = self._writers.note(block.kind, *touched, block.item_bytes)
            if block.kind != records.Access.READ:
                self._stored |= inside > 0
            elif inside and self._stored:
                self._in_order = False
        return 0


def _values(launch: records.Launch, types: Sequence[str]) -> tuple[list[int], dict[int, bytes]]:
    """Each argument as a number, and the bytes of those that are passed by reference."""
    addresses = launch.options["addresses"]
    values: list[int] = []
    by_reference: dict[int, bytes] = {}
    for number, (kind, argument) in enumerate(zip(types, launch.arguments.values(), strict=True)):
        if isinstance(argument, records.TensorArgument):
            values.append(addresses[argument.storage] + argument.offset_bytes)
        elif isinstance(argument, float):
            values.append(int.from_bytes(struct.pack(FLOATS[kind], argument), "little"))
        elif isinstance(argument, str):
            by_reference[number] = bytes.fromhex(argument)
            values.append(DeviceMemory.address_of_argument(number))
        else:
            values.append(int(argument or 0))  # type: ignore[arg-type]
    return values, by_reference


def _pass(values: Sequence[int], by_reference: Mapping[int, bytes]) -> list[bytes]:
    words = ((value % (1 << 64)).to_bytes(8, "little") for value in values)
    return [by_reference.get(number, word) for number, word in enumerate(words)]


def _with_storages(kernel: DeviceKernel, launch: records.Launch) -> DeviceKernel:
    """The kernel, whose slice reports for each access also the addresses of the storages that its
    parameters point into: two may be of one (in place)."""
    buffers = _buffers(launch, kernel)
    variables = {buffer.begin for buffer in buffers if kernel.variable_at(buffer.begin)}
    own: dict[int | None, set[int]] = {VARIABLES: variables}
    for number, raw in enumerate(_pass(*_values(launch, kernel.types))):
        words = struct.unpack_from(f"<{len(raw) // 8}Q", raw)
        own[number] = {b.begin for b in buffers
                       if any(b.begin <= w < b.begin + max(1, b.bytes) for w in words)}  # fmt: skip
    touches = ((kind, site, bases.union(*(own.get(base, ()) for base in bases)))
               for kind, site, bases in kernel.slice.touches)  # fmt: skip
    return replace(kernel, slice=replace(kernel.slice, touches=tuple(touches)))


def _buffers(launch: records.Launch, kernel: DeviceKernel) -> list[Buffer]:
    """The storages, by address."""
    addresses = launch.options["addresses"]
    found = []
    for number, storage in launch.storages.items():
        contents = np.load(storage.contents, mmap_mode="r") if storage.contents else None
        names = _names(launch, kernel, number)
        found.append(Buffer(names, addresses[number], storage.bytes, contents))
    return sorted(found, key=lambda buffer: buffer.begin)


def _names(launch: records.Launch, kernel: DeviceKernel, number: int) -> tuple[str, ...]:
    """What arguments, or else the table that leads there or the variable, are called."""
    found = tuple(name for name, tensor in launch.tensors() if tensor.storage == number)
    begin = launch.options["addresses"][number]
    variable = kernel.variable_at(begin)
    if found or (variable is not None and variable not in launch.arguments):
        return found or (str(variable),)
    for other, storage in launch.storages.items():
        if other != number and storage.contents:
            words = np.load(storage.contents, mmap_mode="r")
            words = words[: len(words) // 8 * 8].view(np.int64)
            at = np.flatnonzero((words >= begin) & (words < begin + launch.storages[number].bytes))
            table = [name for name, tensor in launch.tensors() if tensor.storage == other]
            if len(at) and table:
                return (f"{table[0]}[{at[0]}]",)
    return (f"buffer {number}",)
