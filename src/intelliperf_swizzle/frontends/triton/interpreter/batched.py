# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Many programs at once: the kernel's Python runs once, on values that are arrays of programs.

Without arithmetic (`math=False`) floats are unknown and so is what is computed from them; integers
that decide nothing are not loaded. Where programs take different ways, the run goes on with those
that agree and the others are run again from the start. Where an unknown value decides an address,
a mask or a branch, the launch cannot be run in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as triton_interpreter
from triton.runtime.interpreter import TensorHandle

from intelliperf_swizzle.frontends.triton.interpreter import accesses, elementwise, rearrange
from intelliperf_swizzle.frontends.triton.interpreter.arithmetic import counting
from intelliperf_swizzle.frontends.triton.interpreter.batch import (
    Batch,
    BatchedRun,
    EnoughError,
    NotBatchableError,
    Origins,
    Recorder,
    RefusalError,
    RestartError,
    TooWideError,
)
from intelliperf_swizzle.frontends.triton.interpreter.blocks import Block
from intelliperf_swizzle.frontends.triton.interpreter.revive import LiveLaunch
from intelliperf_swizzle.frontends.triton.interpreter.sequential import patched_language
from intelliperf_swizzle.records import Int64Array

__all__ = ["BatchedRun", "NotBatchableError", "Origins", "run_batched", "run_batched_programs"]

MOST_PROGRAMS = 16384
"""Programs of one batch: enough that Python's share vanishes, few enough for the memory limit."""


def run_batched(
    live: LiveLaunch, recorder: Recorder, *, math: bool = False, origins: Origins | None = None
) -> BatchedRun:
    """Run all programs of a launch in batches.

    With `math`, every value is computed and memory holds the results, provided that no program
    reads what another one writes; it is for the caller to know that.

    Raises:
        NotBatchableError: run them one by one instead.
        Exception: whatever the kernel raises.
    """
    programs = np.arange(live.launch.programs, dtype=np.int64)
    return run_batched_programs(live, recorder, programs, math=math, origins=origins)


def run_batched_programs(
    live: LiveLaunch,
    recorder: Recorder,
    programs: Int64Array,
    *,
    math: bool = False,
    origins: Origins | None = None,
) -> BatchedRun:
    """As `run_batched`, but only the given programs (linear indices, int64[n]).

    `origins` follows values through the kernel.
    """
    noticed = BatchedRun(live.launch.programs)
    batch = BatchedBuilder(
        live.launch.grid, live.memory, recorder, noticed, origins or Origins(), math=math
    )
    pieces = [programs[i : i + MOST_PROGRAMS] for i in range(0, len(programs), MOST_PROGRAMS)]
    with _batched_language(live, batch), np.errstate(all="ignore"):
        arguments = live.arguments()
        if origins is None:  # who follows values of his own has other uses for the bits
            _follow_scalars(arguments, noticed, first_bit=2 << len(live.memory.numbers))
        pending = pieces[::-1]
        while pending:
            piece = pending.pop()
            noticed.batches += 1
            batch.begin(piece)
            try:
                with suppress(EnoughError):
                    live.function(**arguments)
            except RefusalError as error:
                raise error.refusal from None
            except RestartError:
                pending.append(piece)
                continue
            except TooWideError:
                if len(piece) == 1:
                    raise NotBatchableError("one program alone needs too much memory") from None
                pending.extend(np.array_split(piece, min(8, len(piece)))[::-1])
                continue
            pending.extend(batch.end())
    return noticed


class BatchedBuilder(Batch):
    """A batch with Triton's operations: each function of the tables below is its `create_…`."""


def _ignore(batch: Batch, *_: object) -> None:
    """No effect: asserts held in the recording run, nobody reads what is printed."""


for _name, _operation in {
    **rearrange.OPERATIONS,
    **elementwise.OPERATIONS,
    **accesses.OPERATIONS,
    **dict.fromkeys(("assert", "assume", "print"), _ignore),
}.items():
    setattr(BatchedBuilder, f"create_{_name}", _operation)


# --- the language -------------------------------------------------------------------------------


def _follow_scalars(arguments: Mapping[str, object], noticed: BatchedRun, first_bit: int) -> None:
    """Gives each scalar argument a bit of its own in the origin of what is computed from it."""
    for name, argument in arguments.items():
        if isinstance(argument, tl.tensor) and not argument.dtype.is_ptr():
            bit = first_bit << len(noticed.scalars)
            noticed.scalars[name] = bit
            argument.handle = Block((argument.handle.data,), argument.dtype, (), bit)


@contextmanager
def _batched_language(live: LiveLaunch, batch: BatchedBuilder) -> Iterator[None]:
    """The interpreter with the batched builder in place of its own."""
    with ExitStack() as stack:
        stack.enter_context(counting(batch, batch.count))
        stack.enter_context(_set(triton_interpreter, "interpreter_builder", batch))
        stack.enter_context(_set(triton_interpreter.interpreter_semantic, "builder", batch))
        stack.enter_context(
            _set(triton_interpreter.ReduceOps, "apply", lambda *of: rearrange.reduce(batch, *of))
        )
        stack.enter_context(
            _set(triton_interpreter.ScanOps, "apply", lambda *of: rearrange.scan(batch, *of))
        )
        stack.enter_context(_set(tl.block_type, "__init__", _remembered_type()))
        stack.enter_context(_set(tl.tensor, "__init__", _remembered_tensor()))
        stack.enter_context(patched_language())
        for function in live.functions.values():
            stack.enter_context(_set_items(function.fn.__globals__, _builtins(batch)))
        for owner in (tl, tl.core):
            stack.enter_context(_set(owner, "range", batch.range))
            stack.enter_context(_set(owner, "static_range", batch.range))
        stack.enter_context(_set(tl.tensor, "__index__", lambda self: batch.index(self.handle)))
        stack.enter_context(_set(tl.tensor, "__bool__", lambda self: batch.truth(self.handle)))
        stack.enter_context(_set(tl.tensor, "T", property(rearrange.transpose)))
        yield


def _builtins(batch: Batch) -> dict[str, object]:
    """Python's builtins as Triton means them in a kernel."""
    return {
        "range": batch.range,
        "min": lambda *values: _fold(tl.minimum, min, values),
        "max": lambda *values: _fold(tl.maximum, max, values),
    }


def _fold(
    triton_function: Callable[..., object],
    python_function: Callable[..., object],
    values: Sequence[object],
) -> object:
    if len(values) < 2 or not any(isinstance(value, tl.tensor) for value in values):
        return python_function(*values)
    folded = values[0]
    for value in values[1:]:
        folded = triton_function(folded, value)
    return folded


def _remembered_type() -> Callable[..., None]:
    """`block_type.__init__` that works out each type once: an eighth of a long loop's time."""
    original = tl.block_type.__init__
    made: dict[tuple[object, ...], dict[str, object]] = {}

    def init(self: tl.block_type, element_ty: tl.dtype, shape: Sequence[int]) -> None:
        key = (element_ty.name, *(getattr(extent, "value", extent) for extent in shape))
        if key not in made:
            original(self, element_ty, shape)
            made[key] = vars(self).copy()
        vars(self).update(made[key])
        self.element_ty = element_ty

    return init


def _remembered_tensor() -> Callable[..., None]:
    """`tensor.__init__` that works out shape and size of each type once."""
    original = tl.tensor.__init__
    made: dict[str, dict[str, object]] = {}

    def init(self: tl.tensor, handle: TensorHandle, type: tl.dtype) -> None:
        if type.name not in made:
            original(self, handle, type)
            made[type.name] = vars(self).copy()
        vars(self).update(made[type.name])
        self.handle, self.type, self.dtype = handle, type, type.scalar

    return init


_ABSENT = object()


@contextmanager
def _set(owner: object, name: str, value: object) -> Iterator[None]:
    original = vars(owner).get(name, _ABSENT)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if original is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, original)


@contextmanager
def _set_items(namespace: dict[str, object], values: Mapping[str, object]) -> Iterator[None]:
    originals = {name: namespace.get(name, _ABSENT) for name in values}
    namespace.update(values)
    try:
        yield
    finally:
        for name, original in originals.items():
            if original is _ABSENT:
                del namespace[name]
            else:
                namespace[name] = original
