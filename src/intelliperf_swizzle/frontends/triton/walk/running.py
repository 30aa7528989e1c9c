# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Executes a launch: many programs at once, or one by one where they depend on each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from intelliperf_swizzle.frontends.triton.walk.accesses import Accesses, Noticed, Now
from intelliperf_swizzle.frontends.triton.walk.batch import (
    MOST_NUMBERS,
    EnoughError,
    NotKnownError,
    Programs,
    TooWideError,
)
from intelliperf_swizzle.frontends.triton.walk.blocks import Block
from intelliperf_swizzle.frontends.triton.walk.memory import Memory
from intelliperf_swizzle.frontends.triton.walk.one_by_one import OneByOne, Scheduler
from intelliperf_swizzle.frontends.triton.walk.walker import Plan, Walker
from intelliperf_swizzle.records import Grid, Int64Array
from intelliperf_swizzle.trace.observer import Observer

MOST_PROGRAMS = 16384
"""Programs of one batch: enough that Python's share vanishes, few enough for the memory limit."""


@dataclass(frozen=True)
class Executed:
    """What was noticed.

    Attributes:
        noticed: waits, what decided, what was accessed outside of every storage.
        arithmetic: int64[programs of the launch, 3]; see `walker.arithmetic_of`.
    """

    noticed: Noticed
    arithmetic: Int64Array


@dataclass(frozen=True)
class Live:
    """A launch that can be executed.

    Attributes:
        plan: of its kernel.
        grid: its programs.
        memory: where its storages lie.
        arguments: of the kernel, by value.
        now: the operation that is being carried out.
    """

    plan: Plan
    grid: Grid
    memory: Memory
    arguments: Mapping[str, Block]
    now: Now = field(default_factory=Now)

    @property
    def programs(self) -> int:
        """How many there are."""
        return self.grid[0] * self.grid[1] * self.grid[2]


def run_together(
    live: Live, recorder: Observer, programs: Int64Array | None = None, *, compute: bool = False
) -> Executed:
    """Execute programs in batches.

    With `compute`, stores and atomics are carried out, provided that no program reads what another
    one writes and none uses what an atomic answers; it is for the caller to know that.

    Raises:
        NotKnownError: a value that is not known decides what a program does.
    """
    noticed = Noticed()
    arithmetic = np.zeros((live.programs, 3), np.int64)
    if programs is None:
        programs = np.arange(live.programs, dtype=np.int64)
    most = _most_programs(live.plan) if compute else MOST_PROGRAMS
    pending = [programs[i : i + most] for i in range(0, len(programs), most)][::-1]
    with np.errstate(all="ignore"):
        while pending:
            piece = pending.pop()
            batch = Programs(live.grid, piece)
            recorder.begin(piece)
            accesses = Accesses(live.memory, recorder, noticed, batch, live.now, compute=compute)
            try:
                with suppress(EnoughError):
                    Walker(live.plan, batch, accesses, live.arguments).run()
            except TooWideError:
                if len(piece) == 1:
                    raise NotKnownError("one program alone needs too much memory") from None
                pending.extend(np.array_split(piece, min(8, len(piece)))[::-1])
                continue
            recorder.end(np.ones(len(piece), np.bool_), accesses.value_loads)
            for bits in accesses.value_loads.values():
                noticed.control |= bits
            arithmetic[piece] = batch.arithmetic
    return Executed(noticed, arithmetic)


def _most_programs(plan: Plan) -> int:
    """So many that no block of the kernel gets too large."""
    largest = max((int(np.prod(shape)) for _, shape in plan.types.values()), default=1)
    return max(1, min(MOST_PROGRAMS, MOST_NUMBERS // 8 // largest))


def run_one_by_one(
    live: Live, *, programs: Iterable[int] | None = None, observer: Observer | None = None
) -> Executed:
    """Execute programs one after the other, in the given order; one that waits lets others run.

    The plan must be of everything. A poll repeated without any other access in between is reported
    once. Lanes outside every storage read zero and write nothing.

    Raises:
        DeadlockError: programs wait for each other for ever.
        NotKnownError: a value that is not known decides what a program does.
    """
    noticed = Noticed()
    arithmetic = np.zeros((live.programs, 3), np.int64)
    order = range(live.programs) if programs is None else programs

    def run(program: int) -> None:
        batch = Programs(live.grid, np.array([program], np.int64))
        told = observer or Observer()
        accesses = OneByOne(live.memory, told, noticed, batch, live.now, scheduler=scheduler)
        with np.errstate(all="ignore"):
            Walker(live.plan, batch, accesses, live.arguments).run()
        arithmetic[program] = batch.arithmetic[0]

    scheduler = Scheduler(order, run)
    scheduler.run_all()
    noticed.waits |= scheduler.waited
    return Executed(noticed, arithmetic)
