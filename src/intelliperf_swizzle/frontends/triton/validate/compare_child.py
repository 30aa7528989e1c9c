# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs launches as they were and with the swizzle, and compares; in a child process of `validate`.

The stage of the call always names what is being run.
"""

import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.children.warm import answer, begin
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir import kernel_of
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel
from intelliperf_swizzle.frontends.triton.walk import running
from intelliperf_swizzle.frontends.triton.walk.blocks import decode, element_of
from intelliperf_swizzle.frontends.triton.walk.memory import Fill, Memory
from intelliperf_swizzle.records import Int64Array, Launch, Storage, UInt8Array
from intelliperf_swizzle.trace.observer import Observer

ORIGINAL, EDITED = "original", "edited"
"""What the child is running, as its stage file says, before the number of the launch."""


@dataclass(frozen=True)
class Request:
    """One launch to compare.

    Attributes:
        launch: as it was recorded.
        edits: function key -> its text with the swizzle in it.
        tile: int64[programs]; the proved mapping, launch index -> tile.
        read_storages: numbers of the storages that the launch reads; the others get poison.
        summed_storages: numbers of those that programs update with atomics.
        sample: launch indices to execute; None = all.
        together: whether programs may be executed at once: none reads what another one writes.
        tolerance: for floats of `summed_storages` where the order of additions matters, else None.
        must_execute: whether all must be executed, as programs wait for each other; otherwise what
            a time limit leaves is enough.
    """

    launch: Launch
    edits: Mapping[str, str]
    tile: Int64Array
    read_storages: frozenset[int]
    summed_storages: frozenset[int]
    sample: Int64Array | None
    together: bool
    tolerance: float | None
    must_execute: bool


@dataclass(frozen=True)
class Answer:
    """What was found of a launch.

    Attributes:
        launch: which one; None = all of them.
        tiles_compared: how many tiles were executed.
        difference: the first one as text, None if there is none.
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


def contents_of(launch: Launch, read: Collection[int]) -> Fill:
    """What writes the initial bytes of a launch's storages.

    A storage that the launch only writes holds poison (random bytes), recorded or not, so that
    what is left of an earlier run is never taken for output. Another one holds what was recorded;
    if nothing was, floats of magnitude 0.5 to 1, and zeros where its elements are integers.

    Args:
        launch: whose storages.
        read: numbers of the storages that the launch reads.
    """
    dtypes = launch.element_types

    def fill(number: int, storage: Storage, buffer: UInt8Array) -> None:
        if number in read and storage.contents is not None:
            buffer[:] = np.load(storage.contents, mmap_mode="r")
            return
        dtype = dtypes.get(number, "int8") if number in read else None
        for block, start in enumerate(range(0, len(buffer), BLOCK_BYTES)):
            part = buffer[start : start + BLOCK_BYTES]
            part[:] = _values(dtype, number, block)[: len(part)]

    return fill


def _values(dtype: str | None, number: int, block: int) -> UInt8Array:
    """BLOCK_BYTES of seeded values; of poison if there is no type."""
    if dtype is None:
        poison = np.random.default_rng((_POISON_SEED, number, block))
        return poison.integers(0, 256, BLOCK_BYTES, np.uint8)
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
"""The edited kernel may take this many times as long as the original, and seconds more."""


def compare(requests: Sequence[Request], folder: Path) -> Iterator[Answer]:
    """The outputs of each launch's tiles; the first difference is the last answer."""
    for number, request in enumerate(requests):
        if request.sample is None or len(request.sample):
            result = _answer(request, folder, number)
            yield result
            if result.difference:
                return


def _answer(request: Request, folder: Path, number: int) -> Answer:
    """Compares what all programs leave in memory, or programs of a sample and, of the original,
    those that compute their tiles."""
    launch, sample = request.launch, request.sample
    fill = contents_of(launch, request.read_storages)
    memories, waits = [], []
    seconds: list[float] = []
    for stage, edits in ((ORIGINAL, {}), (EDITED, request.edits)):
        begin(folder, f"{stage} {number}")
        live = running.make_live(launch, _kernel_of(launch, edits), whole=True, fill=fill)
        programs = sample if sample is None or edits else request.tile[sample]
        begun = perf_counter()
        limit = MOST_TIMES * seconds[0] + MOST_SECONDS if seconds else None
        with _ending_within(folder, number, limit):
            if request.together:
                running.run_together(live, Observer(), programs, compute=True)
                waits.append(False)
            else:
                waits.append(running.run_one_by_one(live, programs=programs).waits)
        seconds.append(perf_counter() - begun)
        memories.append(live.memory)
    difference = None
    if waits[1] and not waits[0]:
        difference = "programs wait for each other, and none did in launch order"
    known = True
    for place in memories[0].numbers:
        missing = memories[0].not_known(place) | memories[1].not_known(place)
        before, after = (np.where(missing, 0, memory.bytes(place)) for memory in memories)
        known &= not missing.any()
        difference = difference or _storage_difference(request, live.memory, place, before, after)
    tiles = launch.tiles if sample is None else len(sample)
    return Answer(number, tiles if known else 0, difference)


@contextmanager
def _ending_within(folder: Path, number: int, seconds: float | None) -> Iterator[None]:
    """Answers that the edited kernel does not end, where it does not within that time."""

    def give_up() -> None:
        difference = f"the swizzled kernel did not end within {seconds:.0f} s"
        answer(folder, Answer(number, 0, difference))
        os._exit(0)

    timer = threading.Timer(seconds or 0, give_up)
    timer.daemon = True
    if seconds is not None:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _storage_difference(
    request: Request, memory: Memory, number: int, before: UInt8Array, after: UInt8Array
) -> str | None:
    if np.array_equal(before, after):
        return None
    dtype = request.launch.element_types.get(number, "int8")
    differing = before != after
    tolerance = request.tolerance
    if tolerance is not None and number in request.summed_storages:
        differing &= _beyond(tolerance, dtype, before, after)
    wrong = np.flatnonzero(differing)
    if not len(wrong):
        return None
    names = "`, `".join(memory.names(number))
    element = request.launch.element(number, int(wrong[0]))
    return f"`{names}` differs in {len(wrong)} bytes, first at {element}"


def _kernel_of(launch: Launch, edits: Mapping[str, str] = {}) -> Kernel:
    """The kernel; if it cannot be compiled, the stage says whose fault that is."""
    try:
        return kernel_of(launch, edits)
    except TraceError as error:
        raise RuntimeError(error.fact) from error


def _beyond(
    tolerance: float, dtype: str, expected: UInt8Array, found: UInt8Array
) -> npt.NDArray[np.bool_]:
    """Which bytes are of no float, or of one that differs by more than the tolerance.

    It is relative; absolute, too, in units of the largest finite value, but of at most 1.
    """
    beyond = np.ones(len(expected), np.bool_)
    if dtype in _FLOATS:
        element = element_of(dtype.replace("fp", "f"))
        whole = len(expected) // element.bytes * element.bytes
        words = (raw[:whole].view(f"u{element.bytes}") for raw in (expected, found))
        before, after = (decode(raw, element) for raw in words)
        largest = float(np.abs(before[np.isfinite(before)]).max(initial=0))
        absolute = tolerance * min(1.0, largest)
        close = np.isclose(after, before, rtol=tolerance, atol=absolute, equal_nan=True)
        beyond[:whole] = np.repeat(~close, element.bytes)
    return beyond
