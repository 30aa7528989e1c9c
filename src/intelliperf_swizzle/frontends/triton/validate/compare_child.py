# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs launches as they were and with the swizzle, and compares; in a child process of `validate`.

The stage of the call always names what is being run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.children.warm import answer, begin
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir import kernel_of
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel
from intelliperf_swizzle.frontends.triton.tracing.execute import make_live
from intelliperf_swizzle.frontends.triton.walk.blocks import Active
from intelliperf_swizzle.frontends.triton.walk.memory import Memory
from intelliperf_swizzle.frontends.triton.walk.running import Live, run_one_by_one, run_together
from intelliperf_swizzle.records import Access, Int64Array, Launch, Storage, UInt8Array
from intelliperf_swizzle.trace.observer import BlockAccess, Observer

ORIGINAL, EDITED = "original", "edited"
"""What the child is running, as its stage file says, before the number of the launch."""


@dataclass(frozen=True)
class Request:
    """One launch to compare.

    Attributes:
        launch: as it was recorded.
        edits: function key -> its text with the swizzle in it.
        tile: int64[tiles]; the proved mapping, launch index or number of a loop -> tile.
        read_storages: numbers of the storages that the launch reads; the others get poison.
        summed_storages: numbers of those that programs update with atomics.
        sample: launch indices, or numbers, to execute where not all are, the most telling first.
        all_tiles: whether to execute all.
        together: whether programs may be executed at once: none reads what another one writes.
        tolerance: for floats of `summed_storages` where the order of additions matters, else None.
        must_execute: whether `sample` (or all) must be executed, as programs wait for each other;
            otherwise what a time limit leaves is enough.
    """

    launch: Launch
    edits: Mapping[str, str]
    tile: Int64Array
    read_storages: frozenset[int]
    summed_storages: frozenset[int]
    sample: Int64Array
    all_tiles: bool
    together: bool
    tolerance: float | None
    must_execute: bool


@dataclass(frozen=True)
class Answer:
    """What one step found: of tiles of a launch.

    Attributes:
        launch: which one; None = all of them.
        tiles_compared: how many tiles were executed in this step.
        difference: the first one in words, None if there is none.
    """

    launch: int | None
    tiles_compared: int = 0
    difference: str | None = None


BLOCK_BYTES = 1 << 16
_POISON_SEED, _VALUE_SEED = 1, 2
_FLOATS = {
    "fp16": (np.uint16, 0x83FF, 0x3800),
    "bf16": (np.uint16, 0x807F, 0x3F00),
    "fp32": (np.uint32, 0x807F_FFFF, 0x3F00_0000),
    "fp64": (np.uint64, 0x800F_FFFF_FFFF_FFFF, 0x3FE0_0000_0000_0000),
}
"""Bits of a float to keep from random ones, and the exponent to set: then 0.5 <= |value| < 1."""


class Contents:
    """The initial bytes of a launch's storages.

    A storage that the launch only writes holds poison (random bytes), recorded or not, so that
    what is left of an earlier run is never taken for output. Another one holds what was recorded;
    if nothing was, floats of magnitude 0.5 to 1, and zeros where its elements are integers.

    Args:
        launch: whose storages.
        read: numbers of the storages that the launch reads.
    """

    def __init__(self, launch: Launch, read: Collection[int]):
        self._read = frozenset(read)
        self._dtypes = element_types(launch)
        self._recorded = {
            number: np.load(storage.contents, mmap_mode="r")
            for number, storage in launch.storages.items()
            if storage.contents is not None
        }

    def write(self, number: int, block: int, buffer: UInt8Array) -> None:
        """Writes block `block` of a storage, in its place in the buffer of the whole storage."""
        part = buffer[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES]
        if number not in self._read:
            random = np.random.default_rng((_POISON_SEED, number, block))
            part[:] = random.integers(0, 256, BLOCK_BYTES, np.uint8)[: len(part)]
        elif number in self._recorded:
            start = block * BLOCK_BYTES
            part[:] = self._recorded[number][start : start + len(part)]
        else:
            values = _values(self._dtypes.get(number, "int8"), number, block)
            part[:] = values[: len(part)]

    def write_all(self, number: int, buffer: UInt8Array) -> None:
        """Writes a whole storage."""
        for block in range(-(-len(buffer) // BLOCK_BYTES)):
            self.write(number, block, buffer)


def element_types(launch: Launch) -> dict[int, str]:
    """Storage -> Triton's name of the dtype of the first tensor argument that views it."""
    dtypes: dict[int, str] = {}
    for _, tensor in launch.tensors():
        dtypes.setdefault(tensor.storage, tensor.dtype)
    return dtypes


def _values(dtype: str, number: int, block: int) -> UInt8Array:
    """BLOCK_BYTES of seeded values."""
    random = np.random.default_rng((_VALUE_SEED, number, block))
    if dtype in _FLOATS:
        word, keep, exponent = _FLOATS[dtype]
        bits = np.frombuffer(random.bytes(BLOCK_BYTES), word)
        values: UInt8Array = (bits & word(keep) | word(exponent)).view(np.uint8)
        return values
    if dtype.startswith("fp8"):
        # Without the top bit of the exponent: below 2 in every format, never infinite or NaN.
        return random.integers(0, 256, BLOCK_BYTES, np.uint8) & np.uint8(0xBF)
    return np.zeros(BLOCK_BYTES, np.uint8)


MOST_TIMES, MOST_SECONDS = 10, 20.0
"""The edited kernel may take so many times what the original took, and so many seconds more."""


def compare(requests: Sequence[Request], folder: Path) -> Iterator[Answer]:
    """The outputs of tiles; the first difference is the last answer."""
    for number, request in enumerate(requests):
        for one in Comparison(request, folder, number).answers():
            yield one
            if one.difference:
                return


@dataclass
class WriteWatch(Observer):
    """Fills memory when it is first touched, and notes what a program writes.

    Attributes:
        memory: of the launch.
        contents: what to fill it with.
        written: addresses of the bytes written since the last `take`, in pieces.
        wanted: the number of a loop during which writes are noted; None = during all.
    """

    memory: Memory
    contents: Contents
    written: list[Int64Array] = field(default_factory=list)
    wanted: int | None = None
    _now: int | None = None
    _filled: dict[int, npt.NDArray[np.bool_]] = field(default_factory=dict)

    def observe(self, program: int, block: BlockAccess) -> None:
        """Sees an access before it is made."""
        _, lanes, covered = next(block.lanes())
        active = lanes[covered]
        places = np.searchsorted(self.memory.begin, active, side="right") - 1
        inside = (places >= 0) & (active < self.memory.end[places])
        active, places = active[inside], places[inside]
        for place in np.flatnonzero(np.bincount(places)):
            offsets = active[places == place] - self.memory.begin[place]
            for last in (0, block.item_bytes - 1):
                self._fill(self.memory.numbers[place], (offsets + last) // BLOCK_BYTES)
        if block.kind != Access.READ and self.wanted in (None, self._now):
            self.written += [active + byte for byte in range(block.item_bytes)]

    def number(self, values: Int64Array | None, active: Active | None = None) -> None:
        """The program begins the tile of a number; None = its loop is over."""
        self._now = None if values is None else int(values[0])

    def _fill(self, number: int, blocks: Int64Array) -> None:
        buffer = self.memory.bytes(number)
        filled = self._filled.setdefault(number, np.zeros(-(-len(buffer) // BLOCK_BYTES), np.bool_))
        for block in np.unique(blocks[~filled[blocks]]).tolist():
            filled[block] = True
            self.contents.write(number, block, buffer)

    def take(self) -> Int64Array:
        """The addresses of the bytes written since the last call, each once, in order."""
        taken = np.unique(np.concatenate(self.written)) if self.written else np.zeros(0, np.int64)
        self.written = []
        return taken

    def values(self, addresses: Int64Array) -> UInt8Array:
        """The bytes at some addresses."""
        values = np.zeros(len(addresses), np.uint8)
        places = np.searchsorted(self.memory.begin, addresses, side="right") - 1
        for place in np.unique(places):
            here = places == place
            buffer = self.memory.bytes(self.memory.numbers[place])
            values[here] = buffer[addresses[here] - self.memory.begin[place]]
        return values


class Comparison:
    """One launch, as it was and as it was edited.

    Args:
        request: what to compare.
        folder: for rendered modules and the stage.
        number: of the launch in answers.
    """

    def __init__(self, request: Request, folder: Path, number: int):
        self._request = request
        self._folder = folder
        self._number = number
        self._contents = Contents(request.launch, request.read_storages)

    def answers(self) -> Iterator[Answer]:
        """Compares the outputs of all tiles at once, or of a sample one by one."""
        if self._request.all_tiles:
            yield self._compare_all()
        else:
            yield from self._compare_sample()

    # --- all tiles ------------------------------------------------------------------------------

    def _compare_all(self) -> Answer:
        launch = self._request.launch
        memories, waits = [], []
        seconds: list[float] = []
        for stage, edits in ((ORIGINAL, {}), (EDITED, self._request.edits)):
            self._stage(stage)
            live = make_live(launch, _kernel_of(launch, edits), whole=True, fill=self._fill_all)
            begun = perf_counter()
            with self._ending_within(MOST_TIMES * seconds[0] + MOST_SECONDS if seconds else None):
                if self._request.together:
                    run_together(live, Observer(), compute=True)
                    waits.append(False)
                else:
                    waits.append(run_one_by_one(live).waits)
            seconds.append(perf_counter() - begun)
            memories.append(live.memory)
        difference = None
        if waits[1] and not waits[0]:
            difference = "programs wait for each other, and none did in launch order"
        known = True
        for number in memories[0].numbers:
            missing = memories[0].not_known(number) | memories[1].not_known(number)
            before, after = (np.where(missing, 0, memory.bytes(number)) for memory in memories)
            known &= not missing.any()
            difference = difference or self._storage_difference(number, before, after)
        return Answer(self._number, launch.tiles if known else 0, difference)

    @contextmanager
    def _ending_within(self, seconds: float | None) -> Iterator[None]:
        """Answers that the edited kernel does not end, where it does not within that time."""

        def give_up() -> None:
            difference = f"the swizzled kernel did not end within {seconds:.0f} s"
            answer(self._folder, Answer(self._number, 0, difference))
            os._exit(0)

        timer = threading.Timer(seconds or 0, give_up)
        timer.daemon = True
        if seconds is not None:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _fill_all(self, number: int, storage: Storage, buffer: UInt8Array) -> None:
        self._contents.write_all(number, buffer)

    def _storage_difference(self, number: int, before: UInt8Array, after: UInt8Array) -> str | None:
        if np.array_equal(before, after):
            return None
        dtype = element_types(self._request.launch).get(number, "int8")
        differing = before != after
        tolerance = self._request.tolerance
        if tolerance is not None and number in self._request.summed_storages:
            differing &= _beyond(tolerance, dtype, before, after)
        wrong = np.flatnonzero(differing)
        return self._words(number, int(wrong[0]), len(wrong), "bytes") if len(wrong) else None

    # --- a sample -------------------------------------------------------------------------------

    def _compare_sample(self) -> Iterator[Answer]:
        """Original tile `tile[i]` against edited tile `i`, for each `i` of the sample.

        Of a loop, the programs that take them run, and what these two tiles write is compared.
        """
        request = self._request
        loop = request.launch.loop
        self._stage(ORIGINAL)
        original, seen = self._watched({})
        self._stage(EDITED)
        edited, seen_edited = self._watched(request.edits)
        for index in map(int, request.sample):
            tile = int(request.tile[index])
            programs = tile, index
            if loop is not None:
                programs = int(loop.program[tile]), int(loop.program[index])
                seen.wanted, seen_edited.wanted = tile, index
            self._stage(ORIGINAL)
            run_one_by_one(original, programs=programs[:1], observer=seen)
            self._stage(EDITED)
            run_one_by_one(edited, programs=programs[1:], observer=seen_edited)
            difference = self._tile_difference(seen, seen_edited)
            where = f"tile {tile}, program {index}: "
            yield Answer(self._number, 1, difference and where + difference)

    def _watched(self, edits: Mapping[str, str]) -> tuple[Live, WriteWatch]:
        launch = self._request.launch
        live = make_live(launch, _kernel_of(launch, edits), whole=True, fill=_leave)
        return live, WriteWatch(live.memory, self._contents)

    def _tile_difference(self, original: WriteWatch, edited: WriteWatch) -> str | None:
        expected, written = original.take(), edited.take()
        if not np.array_equal(expected, written):
            missing = np.setdiff1d(expected, written)
            extra = np.setdiff1d(written, expected)
            what, address = ("not written", missing) if len(missing) else ("written too", extra)
            number, at = self._place(original.memory, int(address[0]))
            return self._words(number, at, len(address), f"bytes {what}")
        wrong = np.flatnonzero(original.values(expected) != edited.values(expected))
        if not len(wrong):
            return None
        number, at = self._place(original.memory, int(expected[wrong[0]]))
        return self._words(number, at, len(wrong), "bytes")

    def _place(self, memory: Memory, address: int) -> tuple[int, int]:
        place = int(np.searchsorted(memory.begin, address, side="right")) - 1
        return memory.numbers[place], address - int(memory.begin[place])

    def _words(self, number: int, at: int, count: int, what: str) -> str:
        names = Memory(self._request.launch, _leave).names(number)
        element = self._request.launch.element(number, at)
        return f"`{'`, `'.join(names)}` differs in {count} {what}, first at {element}"

    def _stage(self, stage: str) -> None:
        begin(self._folder, f"{stage} {self._number}")


def _kernel_of(launch: Launch, edits: Mapping[str, str] = {}) -> Kernel:
    """The kernel; if it cannot be compiled, the stage says whose fault that is."""
    try:
        return kernel_of(launch, edits)
    except TraceError as error:
        raise RuntimeError(error.fact) from error


def _leave(number: int, storage: Storage, buffer: UInt8Array) -> None:
    """Leaves memory empty; a `WriteWatch` fills it."""


_READ_AS = {"fp16": np.float16, "bf16": np.uint16, "fp32": np.float32, "fp64": np.float64}


def _beyond(
    tolerance: float, dtype: str, expected: UInt8Array, found: UInt8Array
) -> npt.NDArray[np.bool_]:
    """Which bytes are of no float, or of one that differs by more than the tolerance.

    It is relative; absolute, too, in units of the largest finite value, but of at most 1.
    """
    beyond = np.ones(len(expected), np.bool_)
    kind = np.dtype(_READ_AS.get(dtype, np.uint8))
    whole = len(expected) // kind.itemsize * kind.itemsize
    before, after = (_floats(one[:whole].view(kind), dtype) for one in (expected, found))
    if dtype in _READ_AS:
        largest = float(np.abs(before[np.isfinite(before)]).max(initial=0))
        absolute = tolerance * min(1.0, largest)
        close = np.isclose(after, before, rtol=tolerance, atol=absolute, equal_nan=True)
        beyond[:whole] = np.repeat(~close, kind.itemsize)
    return beyond


def _floats(values: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
    return (values.astype(np.uint32) << 16).view(np.float32) if dtype == "bf16" else values
