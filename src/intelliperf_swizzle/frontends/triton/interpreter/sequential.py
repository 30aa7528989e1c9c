# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Programs run one by one by Triton's own interpreter, every access seen and kept inside memory.

All of Triton's loads, stores and atomics (block pointers and descriptors too) go through four
functions of its C++ module `interpreter`, whose signatures are the same in every supported
version. They are replaced while a launch runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import triton.runtime.interpreter as triton_interpreter

from intelliperf_swizzle.frontends.triton.interpreter.arithmetic import Counts, counting
from intelliperf_swizzle.frontends.triton.interpreter.blocks import Array
from intelliperf_swizzle.frontends.triton.interpreter.scheduler import Scheduler
from intelliperf_swizzle.frontends.triton.interpreter.updates import current_update
from intelliperf_swizzle.records import Access, Grid, Int64Array

VAIN_POLLS = 50
"""Polls of an unchanged word after which a program is taken to wait for another."""

Addresses = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


class AddressSpace(Protocol):
    """Where a launch's storages lie."""

    def locate(self, addresses: Addresses, mask: Mask) -> tuple[Addresses, Mask]:
        """Host addresses of the lanes, and which lanes of the mask lie inside a storage."""


class Observer(Protocol):
    """Who wants to know of every access."""

    def observe(
        self, program: int, kind: Access, addresses: Addresses, mask: Mask, item_bytes: int
    ) -> None:
        """A program accesses `item_bytes` at each active address (any shape; C order)."""


@dataclass(frozen=True)
class SequentialRun:
    """What was noticed while programs ran one by one.

    Attributes:
        waits: whether a program waited for another.
        locks: whether a program used what a compare-and-swap answers, and so might have waited.
        arithmetic: int64[programs of the launch, 3]; see `interpreter.arithmetic`.
    """

    waits: bool
    locks: bool
    arithmetic: Int64Array


def run_programs(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    grid: Grid,
    *,
    space: AddressSpace,
    programs: Iterable[int] | None = None,
    observer: Observer | None = None,
) -> SequentialRun:
    """Run programs of a launch, by linear index (axis 0 fastest), in the given order.

    A poll repeated without any other access in between is reported once. Lanes outside every
    storage read zero and write nothing.

    Args:
        function: the kernel as the interpreter rewrote it; run it in
            `patched_language`.
        arguments: as the kernel takes them.
        grid: of the launch.
        space: where addresses lie.
        programs: which ones, all by default.
        observer: told of every access.

    Raises:
        DeadlockError: programs wait for each other for ever.
        Exception: whatever the kernel raises.
    """
    builder = triton_interpreter.interpreter_builder
    arithmetic = np.zeros((grid[0] * grid[1] * grid[2], 3), np.int64)
    order = range(len(arithmetic)) if programs is None else programs
    builder.set_grid_dim(*grid)

    def select(program: int) -> None:
        builder.set_grid_idx(
            program % grid[0], program // grid[0] % grid[1], program // (grid[0] * grid[1])
        )

    def run(program: int) -> None:
        select(program)
        memory.forget_polls()
        function(**arguments)

    def computed(counts: Counts) -> None:
        arithmetic[scheduler.current] += counts

    scheduler = Scheduler(order, run)
    memory = _WatchedMemory(triton_interpreter._interpreter, scheduler, space, observer, select)
    with (
        counting(builder, computed),
        _replaced(triton_interpreter, "_interpreter", memory),
    ):
        scheduler.run_all()
    return SequentialRun(scheduler.waited, memory.locks, arithmetic)


@contextmanager
def patched_language() -> Iterator[None]:
    """`triton.language` as the interpreter needs it, for every kernel and all that it calls.

    Both the module and its `core` are patched here, and so by nobody later: Triton never takes
    back what it patches when one jit function calls another.
    """
    language = triton_interpreter.tl
    sees_both = FunctionType((lambda: None).__code__, {"tl": language, "core": language.core})
    scope = triton_interpreter._patch_lang(sees_both)
    try:
        yield
    finally:
        scope.restore()


@contextmanager
def _replaced(owner: object, name: str, value: object) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, original)


class _WatchedMemory:
    """Stands in for the interpreter's C++ module."""

    def __init__(
        self,
        native: ModuleType,
        scheduler: Scheduler,
        space: AddressSpace,
        observer: Observer | None,
        select: Callable[[int], None],
    ) -> None:
        self._native = native
        self._scheduler = scheduler
        self._space = space
        self._observer = observer
        self._select = select
        self._poll: tuple[object, ...] | None = None
        self._polls = 0
        self.locks = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._native, name)

    def forget_polls(self) -> None:
        """A program begins."""
        self._poll, self._polls = None, 0

    def load(self, addresses: Addresses, mask: Mask, other: Array, dtype: np.dtype[Any]) -> object:
        """Read; the first poll of a word is reported, its repetitions are not."""

        def read() -> object:
            host, inside = self._inside(addresses, mask)
            return self._native.load(host, inside, other, dtype)

        if addresses.size != 1:
            self._report(Access.READ, addresses, mask, np.dtype(dtype).itemsize)
            return read()
        return self._polled(Access.READ, addresses, mask, np.dtype(dtype).itemsize, read)

    def store(self, addresses: Addresses, value: Array, mask: Mask) -> object:
        """Write."""
        self._report(Access.WRITE, addresses, mask, value.dtype.itemsize)
        self._scheduler.memory_changed()
        host, inside = self._inside(addresses, mask)
        return self._native.store(host, value, inside)

    def atomic_rmw(
        self, op: object, addresses: Addresses, value: Array, mask: Mask, sem: object
    ) -> object:
        """Read, modify, write."""

        def update() -> object:
            host, inside = self._inside(addresses, mask)
            return self._native.atomic_rmw(op, host, value, inside, sem)

        if addresses.size != 1:
            self._scheduler.memory_changed()
            self._report(Access.ATOMIC, addresses, mask, value.dtype.itemsize)
            return update()
        item_bytes = value.dtype.itemsize
        return self._polled(Access.ATOMIC, addresses, mask, item_bytes, update, str(op), value)

    def atomic_cas(self, addresses: Addresses, compare: Array, value: Array, sem: object) -> object:
        """Compare and swap."""
        self.locks |= current_update().answer_is_used
        mask = np.ones(addresses.shape, np.bool_)

        def swap() -> object:
            host, inside = self._inside(addresses, mask)
            if not inside.all():
                return np.zeros_like(compare)
            return self._native.atomic_cas(host, compare, value, sem)

        if addresses.size != 1:
            self._scheduler.memory_changed()
            self._report(Access.ATOMIC, addresses, mask, value.dtype.itemsize)
            return swap()
        item_bytes = value.dtype.itemsize
        return self._polled(Access.ATOMIC, addresses, mask, item_bytes, swap, "cas", value, compare)

    def _polled(
        self,
        kind: Access,
        addresses: Addresses,
        mask: Mask,
        item_bytes: int,
        access: Callable[[], object],
        *operands: object,
    ) -> object:
        """One access of one word; vain repetitions of the same make the program wait."""
        word = (int(addresses.reshape(-1)[0]), bool(np.all(mask)))
        poll = (kind, *word, *(str(operand) for operand in operands))
        repeated = poll == self._poll
        if not repeated:
            self._report(kind, addresses, mask, item_bytes)
        before = self._word(addresses, mask, item_bytes)
        answer = access()
        unchanged = before == self._word(addresses, mask, item_bytes)
        if not unchanged:
            self._scheduler.memory_changed()
        self._poll = poll if unchanged else None
        self._polls = self._polls + 1 if repeated else 0
        if self._polls >= VAIN_POLLS and unchanged:
            self._wait()
            self._poll = poll
        return answer

    def _wait(self) -> None:
        program = self._scheduler.current
        self._scheduler.wait()
        self._select(program)
        self._polls = 0

    def _word(self, addresses: Addresses, mask: Mask, item_bytes: int) -> object:
        if item_bytes > 8:
            return None
        host, inside = self._inside(addresses, mask)
        dtype = np.dtype(f"u{item_bytes}")
        return self._native.load(host, inside, np.zeros(addresses.shape, dtype), dtype).item()

    def _report(self, kind: Access, addresses: Addresses, mask: Mask, item_bytes: int) -> None:
        self._poll = None
        if self._observer is not None:
            program = self._scheduler.current
            self._observer.observe(program, kind, addresses, mask, item_bytes)

    def _inside(self, addresses: Addresses, mask: Mask) -> tuple[Addresses, Mask]:
        return self._space.locate(addresses, np.broadcast_to(mask, addresses.shape))
