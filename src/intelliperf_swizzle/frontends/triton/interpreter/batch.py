# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The programs of a batch: which of them agree so far, and what decides for all of them.

The operations on values are functions of a batch, in `rearrange`, `elementwise` and `accesses`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import triton.language as tl
import triton.runtime.interpreter as triton_interpreter
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from intelliperf_swizzle.frontends.triton.interpreter.arithmetic import Counts
from intelliperf_swizzle.frontends.triton.interpreter.blocks import (
    Array,
    Block,
    array_of,
    is_known,
    is_single,
    origin_of,
    shape_of,
)
from intelliperf_swizzle.frontends.triton.interpreter.memory import Memory
from intelliperf_swizzle.records import Access, Grid, Int64Array

MOST_NUMBERS = 1 << 25
"""Numbers in one array (256 MB of addresses); a batch that needs more is cut into pieces."""
ARITHMETIC = 1
"""Bit of an origin: the value cannot be had without arithmetic, or depends on an order."""

Active: TypeAlias = npt.NDArray[np.bool_]
"""Whether each program of a batch is still part of it."""
Bound: TypeAlias = "tl.tensor | tl.constexpr | int"
"""Of a loop."""


class NotBatchableError(Exception):
    """An unknown value decides what a program does.

    Attributes:
        reason: which decision, as a phrase.
        storages: numbers of the storages from which the value was loaded.
    """

    def __init__(self, reason: str, storages: frozenset[int] = frozenset()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.storages = storages


class RefusalError(BaseException):
    """A NotBatchableError on its way out; no Exception, so that no layer of Triton's wraps it."""

    def __init__(self, reason: str, storages: frozenset[int] = frozenset()) -> None:
        super().__init__(reason)
        self.refusal = NotBatchableError(reason, storages)


class RestartError(BaseException):
    """The batch is run again."""


class TooWideError(BaseException):
    """The batch is cut into pieces."""


class EnoughError(BaseException):
    """What comes after this is not wanted of any program of the batch."""


class Recorder(Protocol):
    """Who wants to know of every access of a batch."""

    def begin(self, programs: Int64Array) -> None:
        """A batch begins."""

    def access(
        self,
        kind: Access,
        addresses: Sequence[Array],
        mask: Sequence[Array],
        item_bytes: int,
        active: Active,
    ) -> int:
        """The active programs access the sum of `addresses` where the conjunction of `mask` holds.

        Terms have shape `(programs or 1, *extents or 1)`. Returns the access's number in the batch.
        """

    def end(self, active: Active, value_loads: Mapping[int, int]) -> None:
        """The batch is over: keep what the active programs did, forget the others.

        `value_loads`: number of an access -> bit set of storages, for the loads whose values
        were really read.
        """


class Origins:
    """What is added to the origin of values beside the storages that they come from: nothing.

    `remap` derives from this to follow values through a kernel.
    """

    def program_id(self, axis: int, values: Array) -> int:
        """Bits for the program ids of an axis."""
        return 0

    def loop(self, *bounds: Bound | None) -> int:
        """Bits for the variable of a loop with these bounds."""
        return 0

    def load(self, ptr: TensorHandle, mask: TensorHandle | None) -> int:
        """Bits for what is loaded from there."""
        return 0

    def touch(self, ptr: TensorHandle, mask: TensorHandle | None) -> None:
        """Something is accessed there."""

    def write(self, value: TensorHandle) -> None:
        """A value goes to memory."""


class BatchedRun:
    """What was noticed while a launch ran in batches.

    Attributes:
        waits: whether a program waited for another (then the waiting was taken to succeed).
        control: bit set of storages and scalar arguments whose values decided something; bit
            `1 + place` for the storage at `place` in `Memory.numbers`, the scalars' as in
            `scalars`.
        scalars: the bit of each scalar argument, by name.
        batches: how often the kernel's Python ran.
        arithmetic: int64[programs of the launch, 3]; see `interpreter.arithmetic`.
    """

    def __init__(self, programs: int) -> None:
        self.waits = False
        self.control = 0
        self.scalars: dict[str, int] = {}
        self.batches = 0
        self.arithmetic = np.zeros((programs, 3), np.int64)


@dataclass
class Poll:
    """The last load or compare-and-swap, if it was of a single word.

    Attributes:
        word: its address and mask.
        block: what it brought.
        number: of the access.
        repeats: how often the same load came again, with no other access in between.
    """

    word: tuple[bytes, bytes]
    block: Block
    number: int
    repeats: int = 0


class Batch(InterpreterBuilder):  # type: ignore[misc]
    """The builder of Triton's interpreter for many programs, less its operations.

    Attributes:
        programs: linear indices, int64[n].
        coordinates: their program ids, an int32[n] for each axis.
        active: those that agree so far.
        memory: where the launch's storages lie.
        recorder: told of every access.
        noticed: of the whole run.
        origins: see there.
        math: whether every value is computed, and memory holds the results.
        needed: bit set of the storages of integers whose values are loaded.
        value_loads: number of an access -> bit set of storages whose values it brought.
        pending: what is written at the end of the batch.
        written: bit set of the storages that it goes to.
        poll: the last load of a single word.
        result_dtypes: of operations on unknown operands.
    """

    def __init__(
        self,
        grid: Grid,
        memory: Memory,
        recorder: Recorder,
        noticed: BatchedRun,
        origins: Origins,
        *,
        math: bool,
    ) -> None:
        super().__init__()
        self.options = triton_interpreter.interpreter_builder.options
        self.codegen_fns = triton_interpreter.interpreter_builder.codegen_fns
        self.set_grid_dim(*grid)
        self.grid_idx = (0, 0, 0)
        self.memory = memory
        self.recorder = recorder
        self.noticed = noticed
        self.origins = origins
        self.math = math
        self.needed = 0
        self.result_dtypes: dict[tuple[str, ...], tl.dtype] = {}

    def begin(self, programs: Int64Array) -> None:
        """Start a batch of programs."""
        x, y, _ = self.grid_dim
        self.programs = programs
        self.coordinates = tuple(
            axis.astype(np.int32) for axis in (programs % x, programs // x % y, programs // (x * y))
        )
        self.active: Active = np.ones(len(programs), np.bool_)
        self.value_loads: dict[int, int] = {}
        self.pending: list[Callable[[Active], None]] = []
        self.written = 0
        self.poll: Poll | None = None
        self._left_out: list[Int64Array] = []
        self._arithmetic = np.zeros(3, np.int64)
        self.recorder.begin(programs)

    def end(self) -> list[Int64Array]:
        """Finish a batch; returns the groups of programs that must be run again."""
        for store in self.pending:
            store(self.active)
        self.recorder.end(self.active, self.value_loads)
        self.noticed.arithmetic[self.programs[self.active]] = self._arithmetic
        return self._left_out

    def count(self, counts: Counts) -> None:
        """Each program of the batch computes so much; those that leave it begin anew."""
        self._arithmetic += counts

    # --- what decides for all -------------------------------------------------------------------

    def truth(self, handle: TensorHandle) -> bool:
        """`bool(tensor)`: of a scalar its value, of a block True, as the interpreter has it."""
        if not is_single(shape_of(handle)):
            return True
        return bool(self._uniform(handle, "a branch"))

    def index(self, handle: TensorHandle) -> int:
        """`int(tensor)`."""
        return int(self._uniform(handle, "a loop bound"))

    def range(
        self, start: Bound, stop: Bound | None = None, step: Bound | None = None, **_: object
    ) -> Iterator[tl.tensor | int]:
        """`range` whose bounds may differ between programs."""
        origin = self.origins.loop(start, stop, step)
        if stop is None:
            start, stop = 0, start
        bounds = [self._bound(bound) for bound in (start, stop, 1 if step is None else step)]
        if all(len(bound) == 1 for bound in bounds):
            for number in range(*(int(bound[0]) for bound in bounds)):
                yield _scalar(np.array([number], np.int32), origin) if origin else number
            return
        first, last, stride = bounds
        trips = np.maximum(0, -((first - last) // stride))
        trips = np.broadcast_to(trips, self.programs.shape)
        trip_count = trips[self.active.argmax()]
        if not (trips[self.active] == trip_count).all():
            trip_count = self._decide(trips)
        for trip in range(int(trip_count)):
            value = (first + trip * stride).astype(np.int32)
            yield int(value[0]) if len(value) == 1 and not origin else _scalar(value, origin)

    def _bound(self, bound: Bound) -> Int64Array:
        if isinstance(bound, tl.tensor):
            values = self.deciding(bound.handle, "a loop bound").data.reshape(-1)
            return np.asarray(values, np.int64)
        return np.array([int(getattr(bound, "value", bound))], np.int64)

    def deciding(self, handle: TensorHandle, what: str) -> TensorHandle:
        """Note that a value decides something; it must be known."""
        origin = origin_of(handle)
        if not is_known(handle):
            self._require(origin, what)
        self.noticed.control |= origin
        return handle

    def _require(self, origin: int, what: str) -> None:
        """Restart with the values of integer storages loaded, if that is all that is missing."""
        places = [p for p in range(len(self.memory.numbers)) if origin >> p + 1 & 1]
        storages = frozenset(self.memory.numbers[place] for place in places)
        recorded = all(self.memory.has_contents(number) for number in storages)
        if origin & ARITHMETIC or not recorded or origin | self.needed == self.needed:
            raise RefusalError(f"{what} depends on computed values", storages)
        self.needed |= origin
        raise RestartError

    def _uniform(self, handle: TensorHandle, what: str) -> np.generic:
        """The scalar that decides for all programs."""
        values: Array = self.deciding(handle, what).data.reshape(-1)
        chosen: np.generic = values[0] if len(values) == 1 else values[self.active.argmax()]
        if (values == chosen).all() or (values[self.active] == chosen).all():
            return chosen
        return self._decide(values)

    def _decide(self, values: Array) -> np.generic:
        """One value for all: the most frequent; programs with another one are left out."""
        seen, counts = np.unique(values[self.active], return_counts=True)
        chosen: np.generic = seen[np.argmax(counts)]
        for value in seen[seen != chosen]:
            self._left_out.append(self.programs[self.active & (values == value)])
        self.active = self.active & (values == chosen)
        return chosen

    # --- values ---------------------------------------------------------------------------------

    def unknown(
        self, dtype: tl.dtype, shape: Sequence[int], *operands: TensorHandle | None
    ) -> Block:
        """A block that is not known, computed from the operands.

        Raises:
            RefusalError: every value is wanted.
        """
        origin = 0
        for operand in operands:
            origin |= origin_of(operand)
        if self.math:
            raise RefusalError("an operation is not available on many programs at once")
        scalar = dtype.scalar
        zero = np.zeros((1,) * (1 + len(shape)), triton_interpreter._get_np_dtype(scalar))
        return Block((zero,), scalar, shape, origin, known=False)

    def full(self, handle: TensorHandle) -> Array:
        """All lanes of all programs (or of one, where they are the same)."""
        shape = shape_of(handle)
        array = array_of(handle, len(shape))
        self.check_size(len(array) * int(np.prod(shape)))
        return np.broadcast_to(array, (len(array), *shape))

    def check_size(self, numbers: int) -> None:
        """Raises TooWideError if an array of so many numbers is too large."""
        if numbers > MOST_NUMBERS and len(self.programs) > 1:
            raise TooWideError


def _scalar(values: Array, origin: int) -> tl.tensor:
    return tl.tensor(Block((values,), tl.int32, (), origin), tl.int32)
