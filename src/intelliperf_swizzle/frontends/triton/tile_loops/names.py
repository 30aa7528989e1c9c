# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a kernel's text calls the number of a tile, and where numbers begin and end.

Names come from the text and are taken only if the IR says that they are these values: a compile in
which prints stand that have them as operands tells, also one that specialises no argument, so that
no count fits by chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from intelliperf_swizzle.frontends.triton.ir import loops
from intelliperf_swizzle.frontends.triton.ir.compile import ttir_of
from intelliperf_swizzle.frontends.triton.ir.parse import MARK, Kernel, Op
from intelliperf_swizzle.frontends.triton.tile_loops.candidates import CandidateLoop
from intelliperf_swizzle.records import Counter, Launch


@dataclass(frozen=True)
class _Marked:
    """A kernel with prints in a loop.

    Attributes:
        kernel: with them.
        judged: the loop.
        held: what each counter is.
        values: what each expression is.
    """

    kernel: Kernel
    judged: loops.JudgedLoop
    held: Mapping[Counter, str]
    values: Mapping[str, str]

    def is_number(self, counter: Counter) -> bool:
        """Whether a counter is the number of a tile, or all of it that the body reads."""
        value = self.held.get(counter)
        return value is not None and loops.is_number_too(self.kernel, self.judged, value)


def line_in_text(launch: Launch, kernel: Kernel, op: Op) -> int | None:
    """Where in the kernel's own text an operation is; None if it is elsewhere."""
    entry, place = launch.source.entry, kernel.place(op)
    if place is None or place[0] != entry.file:
        return None
    return place[1] - entry.first_line + 1


def find_names(
    launch: Launch, candidate: CandidateLoop, name: str | None
) -> tuple[Kernel, loops.JudgedLoop, tuple[Counter, ...], str, str] | str:
    """Names that the IR confirms, with and without specialised arguments.

    Args:
        launch: of the kernel.
        candidate: the loop in its text.
        name: of the variable that holds the number; None = any.

    Returns:
        The launch's kernel and its loop, whose number is what the first name holds; names of the
        number, and where it ends and begins. In words if there are none, "" if none is called as is
        asked for.
    """
    prints = _printable(
        launch,
        [
            *(_Print(candidate.body, value) for value in candidate.values),
            *(_Print(counter.line, counter.name, counter) for counter in candidate.counters),
        ],
    )
    general = _marked(launch, candidate, prints, general=True)
    special = _marked(launch, candidate, prints, general=False)
    if general is None or special is None:
        return "it has another form at other sizes"
    if general.judged.reasons:
        return general.judged.reasons[0]
    both = general, special
    numbers = [c for c in candidate.counters if all(marked.is_number(c) for marked in both)]
    named = [counter for counter in numbers if name in (None, counter.name)]
    if not named:
        return "" if numbers else "no variable of its body holds the number of a tile"
    counters = _counters(general, named, numbers)
    ends = (
        text
        for text, value in general.values.items()
        if any(loops.same_integer(general.kernel, value, stop) for stop in general.judged.ends)
    )
    end, base = next(ends, None), "0"
    if end is None:
        return "no expression in its text says where its numbers end"
    if general.judged.base:
        bases = (text for text, value in general.values.items() if value == general.judged.base)
        base = next(bases, "")
    if not base:
        return "no expression in its text says where its numbers begin"
    end = end if end.isidentifier() else f"({end})"
    end = f"({end} + 1)" if general.judged.end_offset else end
    judged = replace(special.judged, number=special.held[counters[0]])
    return special.kernel, judged, tuple(counters), end, base


def _counters(
    marked: _Marked, named: Sequence[Counter], numbers: Sequence[Counter]
) -> list[Counter]:
    """The variables that are renumbered: one for each value that is the number."""
    judged, held = marked.judged, marked.held
    plain = [counter for counter in named if held[counter] == judged.number]
    first = (plain or named)[0]
    if held[first] != judged.number:
        return [first]
    others = [next((c for c in numbers if held[c] == value), None) for value in judged.same]
    return [first, *(other for other in others if other is not None)]


@dataclass(frozen=True)
class _Print:
    """What is to be printed before the statement at a line."""

    line: int
    text: str
    counter: Counter | None = None


def _marks(prints: Sequence[_Print]) -> dict[int, list[str]]:
    marks: dict[int, list[str]] = {}
    for number, printed in enumerate(prints):
        marks.setdefault(printed.line, []).append(f"{number}, {printed.text}")
    return marks


def _printable(launch: Launch, prints: Sequence[_Print]) -> list[_Print]:
    """Those of scalars that are there."""
    try:
        kernel = Kernel.parse(ttir_of(launch, general=True, raw=True, marks=_marks(prints)))
    except Exception:  # a name that is not there yet, or of nothing that can be printed
        if len(prints) < 2:
            return []
        half = len(prints) // 2
        return _printable(launch, prints[:half]) + _printable(launch, prints[half:])
    found = sorted(_printed(kernel).items())
    return [prints[number] for number, value in found if kernel.types[value][0] == "i"]


def _printed(kernel: Kernel) -> dict[int, str]:
    """Number of a print -> its value."""
    prints = (op.operands for op in kernel.ops() if op.name == "tt.print" and MARK in op.text)
    return {int(kernel.constant(number) or 0): value for number, value in prints}


def _marked(
    launch: Launch, candidate: CandidateLoop, prints: Sequence[_Print], *, general: bool
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
    found = [(prints[number], value) for number, value in sorted(_printed(kernel).items())]
    held = {printed.counter: value for printed, value in found if printed.counter}
    values = {printed.text: value for printed, value in found if not printed.counter}
    return _Marked(kernel, judged, held, values)
