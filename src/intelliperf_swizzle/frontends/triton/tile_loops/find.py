# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Finds the numbers of tiles of launches in their kernels' IR, in a child process.

`ir.loops` judges the loops; which program takes which number is computed. Names for the number and
the count are taken from the kernel's text if the IR says that they are these values: a compile in
which prints stand that have them as operands tells, also one that specialises no argument, so that
no count fits by chance.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir import kernel_of, loops
from intelliperf_swizzle.frontends.triton.ir.compile import ttir_of
from intelliperf_swizzle.frontends.triton.ir.loops import JudgedLoop, judge_loops, loads_behind
from intelliperf_swizzle.frontends.triton.ir.parse import MARK, Kernel, Op
from intelliperf_swizzle.frontends.triton.tile_loops.candidates import (
    CandidateLoop,
    LoopScan,
    find_candidates,
)
from intelliperf_swizzle.frontends.triton.walk.blocks import Array
from intelliperf_swizzle.frontends.triton.walk.scalars import NotComputableError, Scalars
from intelliperf_swizzle.mapping import LONGEST
from intelliperf_swizzle.records import Counter, Int64Array, Launch, TileLoop


class _KeptError(Exception):
    """Why tiles must keep their order; no words where a loop deals in none."""


@dataclass(frozen=True)
class _Marked:
    """A kernel with prints in a loop.

    Attributes:
        kernel: with them.
        judged: the loop.
        held: what each counter or expression is.
    """

    kernel: Kernel
    judged: loops.JudgedLoop
    held: Mapping[Counter, str]

    def is_number(self, counter: Counter) -> bool:
        """Whether a counter is the number of a tile, or all of it that the body reads."""
        value = self.held.get(counter)
        return value is not None and loops.is_number_too(self.kernel, self.judged, value)


def line_in_text(launch: Launch, kernel: Kernel, op: Op) -> int | None:
    """Where in the kernel's own text an operation is; None if it is elsewhere."""
    entry, (file, line) = launch.source.entry, kernel.place(op) or ("", 0)
    return line - entry.first_line + 1 if file == entry.file else None


def find_names(
    launch: Launch, candidate: CandidateLoop, name: str | None
) -> tuple[Kernel, loops.JudgedLoop, tuple[Counter, ...], str, str]:
    """Names that the IR confirms, with and without specialised arguments.

    Args:
        launch: of the kernel.
        candidate: the loop in its text.
        name: of the variable that holds the number; None = any.

    Returns:
        The launch's kernel and its loop, whose number is what the first name holds; names of the
        number, and where it ends and begins.

    Raises:
        _KeptError: there are none; without words if none is called as is asked for.
    """
    prints = _printable(launch, [*dict.fromkeys((*candidate.values, *candidate.counters))])
    general = _mark(launch, candidate, prints, general=True)
    special = _mark(launch, candidate, prints, general=False)
    if general is None or special is None:
        raise _KeptError("it has another form at other sizes")
    if general.judged.reasons:
        raise _KeptError(general.judged.reasons[0])
    both = general, special
    numbers = [c for c in candidate.counters if all(marked.is_number(c) for marked in both)]
    named = [counter for counter in numbers if name in (None, counter.name)]
    if not named:
        raise _KeptError("" if numbers else "no variable of its body holds the number of a tile")
    counters = _counters(general, named, numbers)
    values = {value: general.held[value] for value in candidate.values if value in general.held}
    ends = (
        text
        for text, value in values.items()
        if any(loops.same_integer(general.kernel, value, stop) for stop in general.judged.ends)
    )
    last, base = next(ends, None), "0"
    if last is None:
        raise _KeptError("no expression in its text says where its numbers end")
    if general.judged.base:
        bases = (text.name for text, value in values.items() if value == general.judged.base)
        base = next(bases, "")
    if not base:
        raise _KeptError("no expression in its text says where its numbers begin")
    judged = replace(special.judged, number=special.held[counters[0]])
    if not judged.base:
        judged = replace(judged, ends=(special.held[last],))
    end = last.name if last.name.isidentifier() else f"({last.name})"
    end = f"({end} + 1)" if general.judged.end_offset else end
    return special.kernel, judged, tuple(counters), end, base


def _counters(
    marked: _Marked, named: Sequence[Counter], numbers: Sequence[Counter]
) -> list[Counter]:
    """The variables that are renumbered: one for each value that is the number."""
    judged, held = marked.judged, marked.held
    first = ([counter for counter in named if held[counter] == judged.number] or named)[0]
    if held[first] != judged.number:
        return [first]
    others = [next((c for c in numbers if held[c] == value), None) for value in judged.same]
    return [first, *(other for other in others if other is not None)]


def _marks(prints: Sequence[Counter]) -> dict[int, list[str]]:
    """What is printed before the statements at lines."""
    marks: dict[int, list[str]] = {}
    for number, printed in enumerate(prints):
        marks.setdefault(printed.line, []).append(f"{number}, {printed.name}")
    return marks


def _printable(launch: Launch, prints: Sequence[Counter]) -> list[Counter]:
    """Those of scalars that are there."""
    try:
        kernel = Kernel.parse(ttir_of(launch, general=True, raw=True, marks=_marks(prints)))
    except Exception:  # a name that is not there yet, or of nothing that can be printed
        if len(prints) < 2:
            return []
        half = len(prints) // 2
        return _printable(launch, prints[:half]) + _printable(launch, prints[half:])
    found = sorted(_prints(kernel).items())
    return [prints[number] for number, value in found if kernel.types[value][0] == "i"]


def _prints(kernel: Kernel) -> dict[int, str]:
    """Number of a print -> its value."""
    prints = (op.operands for op in kernel.ops() if op.name == "tt.print" and MARK in op.text)
    return {int(kernel.constant(number) or 0): value for number, value in prints}


def _mark(
    launch: Launch, candidate: CandidateLoop, prints: Sequence[Counter], *, general: bool
) -> _Marked | None:
    """The kernel with prints; None if it cannot be compiled so."""
    try:
        kernel = Kernel.parse(ttir_of(launch, general=general, marks=_marks(prints)))
    except Exception:  # whatever Triton raises
        return None
    every, line = loops.judge_loops(kernel), candidate.line
    judged = next((loop for loop in every if line_in_text(launch, kernel, loop.op) == line), None)
    if judged is None:
        return None
    held = {prints[number]: value for number, value in _prints(kernel).items()}
    return _Marked(kernel, judged, held)


MOST_TILES = 1 << 24
"""Numbers that are written out; more would not be traced either."""


@dataclass(frozen=True)
class Taken:
    """The numbers that programs take.

    Attributes:
        number: int64[n].
        program: int64[n]; who takes it.
        turn: int64[n]; how many that program has taken before.
        end: what the kernel has for the count of all numbers.
        runs: begin and end of the numbers of each of a run of loops.
    """

    number: Int64Array
    program: Int64Array
    turn: Int64Array
    end: int
    runs: tuple[tuple[int, int], ...]

    @property
    def once(self) -> bool:
        """Whether they are 0, 1, … up to the end, in any order, each once."""
        return np.array_equal(np.sort(self.number), np.arange(self.end))


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
        end = runs[-1][1] if runs else 0
        stop = np.full(launch.programs, end)
    else:
        stop = value(judged.stop) + judged.end_offset
        ends = (int(value(end)[0]) + judged.end_offset for end in judged.ends)
        end = min(ends, default=int(stop.max()))
    begin, step = value(first), value(judged.step)
    if (step <= 0).any():
        raise NotComputableError("it does not count upwards")
    turns = np.maximum(0, -((begin - stop) // step))
    if turns.sum() > MOST_TILES:
        return None
    program = np.repeat(programs, turns)
    turn = np.arange(len(program)) - np.repeat(np.cumsum(turns) - turns, turns)
    number = value(judged.number, {judged.counter: begin[program] + turn * step[program]}, program)
    return Taken(number, program, turn, end, runs or ((0, end),))


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
        line, taken = line_in_text(launch, kernel, judged.op), None
        try:
            taken = _take(launch, kernel, judged)
            found.append(_named(launch, kernel, judged, taken, candidates.get(line or 0), name))
        except _KeptError as kept:
            if str(kept) and (taken is None or taken.turn.any()):
                place = kernel.line(judged.op)
                reasons.append(f"tiles of the loop at {place} cannot be renumbered: {kept}")
    return LoopScan(max(found, key=lambda loop: loop.tiles, default=None), tuple(reasons))


def _take(launch: Launch, kernel: Kernel, judged: JudgedLoop) -> Taken:
    """What is taken in a loop; raises _KeptError."""
    reason = judged.reasons[0] if judged.reasons else ""
    try:
        taken = take_numbers(launch, kernel, judged) if judged.number else None
    except NotComputableError as error:
        unknown = reason or f"which program takes which tile is unknown: {error}"
        raise _KeptError("" if loads_behind(kernel, judged.first) else unknown) from error
    if taken is None or reason:
        raise _KeptError(reason if taken is None or (taken.turn.any() and taken.once) else "")
    return taken


def _named(
    launch: Launch, kernel: Kernel, judged: JudgedLoop, taken: Taken,
    candidate: CandidateLoop | None, name: str | None,
) -> TileLoop:  # fmt: skip
    """The loop by the names that its text has for the numbers; raises _KeptError."""
    if not taken.once:
        raise _KeptError("its numbers are not 0, 1, … up to a count, each taken once")
    read = _read_from(kernel, judged)
    if judged.base and not read:
        raise _KeptError("it is one of several loops in a row")
    if candidate is None:
        raise _KeptError("it is not in the kernel's text")
    kernel, judged, counters, end, base = find_names(launch, candidate, name)
    by_name = take_numbers(launch, kernel, judged)
    if by_name is None or not by_name.once:
        raise _KeptError(f"`{counters[0].name}` is not 0, 1, … up to a count, each once")
    program, turn = np.empty((2, by_name.end), np.int32)
    program[by_name.number], turn[by_name.number] = by_name.program, by_name.turn
    count = f"{end} - {base}" if judged.base else end
    loop = TileLoop(candidate.line, count, counters, program, turn, base=base)
    return _with_runs(loop, by_name, read) if read else loop


def _read_from(kernel: Kernel, judged: JudgedLoop) -> tuple[str, ...]:
    """The tensors that decide where numbers end; raises _KeptError if they decide more."""
    if loads_behind(kernel, judged.first) or loads_behind(kernel, judged.step):
        raise _KeptError("where it begins, or its step, is read from memory")
    names: dict[str, None] = {}
    for load in loads_behind(kernel, judged.stop):
        pointer = load.operands[0]
        while pointer in kernel.defs:
            pointer = kernel.defs[pointer].operands[0]
        names[pointer.lstrip("%")] = None
    return tuple(sorted(names))


def _with_runs(loop: TileLoop, taken: Taken, read: tuple[str, ...]) -> TileLoop:
    """The loop with the runs of numbers, at most `LONGEST` each, that are renumbered apart."""
    turn = loop.program[: int(loop.program.max()) + 1]
    if len(np.unique(turn)) < len(turn) or (np.resize(turn, loop.tiles) != loop.program).any():
        why = f"its end is read from `{read[0]}`, and its programs do not take numbers in turn"
        raise _KeptError(why)
    starts = [at for a, b in taken.runs for at in range(a, b, LONGEST)]
    return replace(loop, starts=tuple(starts), read_from=read)
