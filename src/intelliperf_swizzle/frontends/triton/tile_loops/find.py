# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Finds the numbers of tiles of launches in their kernels' IR, in a child process.

`ir.loops` judges the loops; names for the number and the count are taken from the kernel's text if
the IR says that they are these values; which program takes which number is computed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir import kernel_of
from intelliperf_swizzle.frontends.triton.ir.loops import JudgedLoop, judge_loops, loads_behind
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.frontends.triton.tile_loops.candidates import (
    CandidateLoop,
    LoopScan,
    find_candidates,
)
from intelliperf_swizzle.frontends.triton.tile_loops.names import find_names, line_in_text
from intelliperf_swizzle.frontends.triton.walk.blocks import Array
from intelliperf_swizzle.frontends.triton.walk.scalars import NotComputableError, Scalars
from intelliperf_swizzle.mapping import LONGEST
from intelliperf_swizzle.records import Int64Array, Launch, TileLoop

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
    scalars = Scalars(launch, kernel, reads=True)

    def value(name: str, given: Mapping[str, Array] = {}, who: Int64Array = programs) -> Int64Array:
        return scalars.value(name, who, given).astype(np.int64)

    first = judged.first
    runs: tuple[tuple[int, int], ...] = ()
    if judged.base:
        around = _around(judged)
        runs, first = tuple(_runs(judged, value)), around.inits[around.carried.index(judged.first)]
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


def _runs(judged: JudgedLoop, value: Any) -> Iterator[tuple[int, int]]:
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


def find_here(request: tuple[Sequence[Launch], str | None], folder: Path) -> Iterator[LoopScan]:
    """Looks at each launch; a name says which variable is to be taken."""
    launches, name = request
    for launch in launches:
        yield _look_at(launch, name)


def _look_at(launch: Launch, name: str | None) -> LoopScan:
    candidates = {candidate.line: candidate for candidate in find_candidates(launch)}
    if not candidates:
        return LoopScan()
    try:
        kernel = kernel_of(launch)
    except TraceError:  # its trace says so
        return LoopScan()
    found: list[TileLoop] = []
    reasons: list[str] = []
    for judged in judge_loops(kernel):
        line = line_in_text(launch, kernel, judged.op)
        outcome = _outcome(launch, kernel, judged, candidates.get(line or 0), name)
        if isinstance(outcome, TileLoop):
            found.append(outcome)
        elif outcome:
            place = kernel.line(judged.op)
            reasons.append(f"tiles of the loop at {place} cannot be renumbered: {outcome}")
    return LoopScan(max(found, key=lambda loop: loop.tiles, default=None), tuple(reasons))


def _outcome(
    launch: Launch,
    kernel: Kernel,
    judged: JudgedLoop,
    candidate: CandidateLoop | None,
    name: str | None,
) -> TileLoop | str | None:
    """The loop, or why its tiles cannot be renumbered; None if it deals in no tiles."""
    reason = judged.reasons[0] if judged.reasons else ""
    try:
        taken = take_numbers(launch, kernel, judged) if judged.number else None
    except NotComputableError as error:
        own = not loads_behind(kernel, judged.first)
        return reason or f"which program takes which tile is unknown: {error}" if own else None
    if taken is None or reason or not taken.turn.any():
        tiles = taken is None or (taken.turn.any() and taken.once)
        return reason or None if tiles else None
    if not taken.once:
        return "its numbers are not 0, 1, … up to a count, each taken once"
    read = _read_from(kernel, judged)
    if isinstance(read, str):
        return read
    if judged.base and not read:
        return "it is one of several loops in a row"
    named = find_names(launch, candidate, name) if candidate else "it is not in the kernel's text"
    if isinstance(named, str):
        return named or None
    assert candidate
    kernel, judged, counters, end, base = named
    taken = take_numbers(launch, kernel, judged)
    if taken is None or not taken.once:
        return f"`{counters[0].name}` is not 0, 1, … up to a count, each once"
    program = np.empty(len(taken.number), np.int32)
    turn = np.empty(len(taken.number), np.int32)
    program[taken.number], turn[taken.number] = taken.program, taken.turn
    count = f"{end} - {base}" if judged.base else end
    loop = TileLoop(candidate.line, count, counters, program, turn, base=base)
    return _with_runs(loop, taken, read) if read else loop


def _read_from(kernel: Kernel, judged: JudgedLoop) -> tuple[str, ...] | str:
    """The tensors that decide where numbers end; a reason if they decide more than that."""
    if loads_behind(kernel, judged.first) or loads_behind(kernel, judged.step):
        return "where it begins, or its step, is read from memory"
    names: dict[str, None] = {}
    for load in loads_behind(kernel, judged.stop):
        pointer = load.operands[0]
        while pointer in kernel.defs:
            pointer = kernel.defs[pointer].operands[0]
        names[pointer.lstrip("%")] = None
    return tuple(sorted(names))


def _with_runs(loop: TileLoop, taken: Taken, read: tuple[str, ...]) -> TileLoop | str:
    """The loop with the runs of numbers, at most `LONGEST` each, that are renumbered apart."""
    turn = loop.program[: int(loop.program.max()) + 1]
    if len(np.unique(turn)) < len(turn) or (np.resize(turn, loop.tiles) != loop.program).any():
        return f"its end is read from `{read[0]}`, and its programs do not take numbers in turn"
    starts = [at for a, b in taken.runs for at in range(a, b, LONGEST)]
    return replace(loop, starts=tuple(starts), read_from=read)
