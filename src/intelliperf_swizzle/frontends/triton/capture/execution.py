# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, without a GPU: a launch executed on the application's own memory."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.capture import unknown
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch
from intelliperf_swizzle.frontends.triton.ir import flow
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel
from intelliperf_swizzle.frontends.triton.walk.running import Live, run_one_by_one, run_together
from intelliperf_swizzle.frontends.triton.walk.walker import Plan
from intelliperf_swizzle.trace.observer import BlockAccess, Observer

_GROWTH = 4  # each batch has this many times the programs of the one before; the first has one

Ask = Callable[[float], None]


def execute(ttir: str, live: DescribedLaunch, ask: Ask) -> None:
    """Executes all programs of a launch.

    What depends on memory that is not known is not known afterwards (`unknown`).

    Args:
        ttir: of its kernel.
        live: the launch.
        ask: receives now and then what share of the programs is done; what it raises ends this.

    Raises:
        NotKnownError: what is not known decides what a program does.
        DeadlockError: programs wait for each other for ever.
        ValueError: the text cannot be read.
    """
    kernel, plan = _prepare(ttir)
    running = Live.of(plan, live.launch, fill=lambda *_: None)
    memory = running.memory
    for number, span in live.spans.items():
        memory.lend(number, live.memory[number].numpy())
        if unknown.is_unknown(span):
            memory.not_known(number)[:] = True
    accessed = flow.accessed_by(kernel)
    read, changed = (running.storages(names) for names in (accessed.read, accessed.changed))
    if not accessed.answers and not read & changed:
        done, size = 0, 1
        while done < running.programs:
            numbers = np.arange(done, min(done + size, running.programs), dtype=np.int64)
            run_together(running, _Progress(running.programs, ask, done), numbers, compute=True)
            done, size = done + size, size * _GROWTH
    else:
        run_one_by_one(running, observer=_Progress(running.programs, ask))
    for number in live.spans:
        unknown.mark(live, number, is_unknown=bool(memory.not_known(number).any()))


@lru_cache(maxsize=64)
def _prepare(ttir: str) -> tuple[Kernel, Plan]:
    kernel = Kernel.parse(ttir)
    return kernel, Plan(kernel, flow.everything(kernel))


class _Progress(Observer):
    """Asks at each access of programs: those before `done` are done."""

    def __init__(self, programs: int, ask: Ask, done: int = 0) -> None:
        self._programs, self._ask, self._done = programs, ask, done

    def access(self, block: BlockAccess) -> int:
        """Programs of a batch access memory."""
        self._ask((self._done + 0.5) / self._programs)
        return 0

    def observe(self, program: int, block: BlockAccess) -> None:
        """A program accesses memory."""
        self._done = max(self._done, program)
        self._ask((self._done + 0.5) / self._programs)


def find_written(ttir: str | None, live: DescribedLaunch, *, locks: bool = True) -> set[int]:
    """The storages that a launch may write, those of locks or not; all, if its kernel is not
    understood."""
    of = flow.accessed_by
    return _reach(ttir, live, lambda k: of(k).changed if locks else of(k).numbered)


def deciding(ttir: str | None, live: DescribedLaunch) -> list[int]:
    """The storages whose contents distinguish launches: of integers, and of floats that decide."""
    floats = _reach(ttir, live, flow.deciding_floats) if ttir else ()
    return sorted({*live.integers, *floats})


def _reach(
    ttir: str | None, live: DescribedLaunch, asked: Callable[[Kernel], frozenset[str] | None]
) -> set[int]:
    try:
        kernel, plan = _prepare(ttir or "")
        if (names := asked(kernel)) == frozenset():
            return set()
        return Live.of(plan, live.launch).storages(names)
    except (TraceError, ValueError):
        return set(live.spans)
