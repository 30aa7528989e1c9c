# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which program of a launch takes which numbers in a loop of its kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from intelliperf_swizzle.frontends.triton.ir.loops import JudgedLoop
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.frontends.triton.ir.scalars import (
    Array,
    Contents,
    NotComputableError,
    arguments_of,
    evaluate,
)
from intelliperf_swizzle.records import Int64Array, Launch

MOST_TILES = 1 << 24
"""Numbers that are written out; more would not be traced either."""


@dataclass(frozen=True)
class Taken:
    """The numbers that programs take.

    Attributes:
        number: int64[n].
        program: int64[n]; who takes it.
        turn: int64[n]; how many that program has taken before.
        runs: begin and end of the numbers of each of a run of loops.
    """

    number: Int64Array
    program: Int64Array
    turn: Int64Array
    runs: tuple[tuple[int, int], ...]

    @property
    def once(self) -> bool:
        """Whether they are 0, 1, … in any order, each once."""
        return np.array_equal(np.sort(self.number), np.arange(len(self.number)))


def take_numbers(launch: Launch, kernel: Kernel, judged: JudgedLoop) -> Taken | None:
    """What a launch's programs take; None if that is too much.

    Raises:
        NotComputableError: something else than integers decides it.
    """
    programs = np.arange(launch.programs, dtype=np.int64)
    known, contents = arguments_of(launch, kernel), Contents(launch)

    def value(name: str, given: Mapping[str, Array] = {}, who: Int64Array = programs) -> Int64Array:
        found = evaluate(kernel, name, {**known, **given}, who, launch.grid, contents)
        return np.broadcast_to(found, who.shape).astype(np.int64)

    first = judged.first
    runs: tuple[tuple[int, int], ...] = ()
    if judged.base:
        runs, first = tuple(_runs(kernel, judged, value)), _entry(kernel, judged)
        stop = np.full(launch.programs, runs[-1][1] if runs else 0)
    else:
        stop = value(judged.stop) + judged.end_offset
    begin, step = value(first), value(judged.step)
    if (step <= 0).any():
        raise NotComputableError("it does not count upwards")
    turns = np.maximum(0, -((begin - stop) // step))
    if turns.sum() > MOST_TILES:
        return None
    program = np.repeat(programs, turns)
    turn = np.arange(len(program)) - np.repeat(np.cumsum(turns) - turns, turns)
    counter = begin[program] + turn * step[program]
    number = value(judged.number, {judged.counter: counter}, program)
    return Taken(number, program, turn, runs or ((0, len(number)),))


def _around(judged: JudgedLoop) -> Op:
    return next(op for op in judged.op.parents() if op.name == "scf.for")


def _entry(kernel: Kernel, judged: JudgedLoop) -> str:
    """The number that a program begins with in the first of a run of loops."""
    around = _around(judged)
    return around.inits[around.carried.index(judged.first)]


def _runs(kernel: Kernel, judged: JudgedLoop, value: Any) -> Iterator[tuple[int, int]]:
    """Begin and end of the numbers of each of a run of loops."""
    around, base = _around(judged), 0
    trips = range(*(int(value(name)[0]) for name in (around.start, around.stop, around.step)))
    for trip in trips:
        given = {around.induction: np.array([trip]), judged.base: np.array([base])}
        end = int(value(judged.ends[0], given)[0]) + judged.end_offset
        if end < base:
            raise NotComputableError("a count that is read is negative")
        yield base, end
        base = end
