# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Finds the numbers of tiles of launches by running them, in a child process.

In batches, without arithmetic and without a look at cache lines: what is noted is which values the
variables of each loop have in each iteration of each program, and what else the body of a loop
takes from the program's own number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import triton.language as tl
import triton.runtime.interpreter as triton_interpreter
from triton.runtime.interpreter import TensorHandle

from intelliperf_swizzle.frontends.triton.interpreter.batch import Bound, NotBatchableError, Origins
from intelliperf_swizzle.frontends.triton.interpreter.batched import run_batched
from intelliperf_swizzle.frontends.triton.interpreter.blocks import (
    Array,
    Block,
    is_known,
    origin_of,
    shape_of,
)
from intelliperf_swizzle.frontends.triton.interpreter.memory import Memory
from intelliperf_swizzle.frontends.triton.interpreter.revive import revive
from intelliperf_swizzle.frontends.triton.tile_loops.candidates import (
    CandidateLoop,
    Seen,
    find_candidates,
)
from intelliperf_swizzle.frontends.triton.tile_loops.marks import WATCH, listen, mark
from intelliperf_swizzle.mapping import LONGEST
from intelliperf_swizzle.records import Access, Counter, Int64Array, Launch, TileLoop

_PROGRAM = 1 << 256
"""Bit of the origin of what is computed from the program's number. The bits below are storages,
those above counters: what is computed from one has its bit in place of what that comes from."""
_STORAGES = _PROGRAM - 2


def find_here(request: tuple[Sequence[Launch], str | None], folder: Path) -> Iterator[Seen]:
    """Looks at each launch; a name says which variable is to be taken."""
    launches, name = request
    for launch in launches:
        yield _look_at(launch, name, folder)


def _look_at(launch: Launch, name: str | None, folder: Path) -> Seen:
    candidates = find_candidates(launch)
    if not candidates:
        return Seen()
    kernel, text = launch.source.kernel, launch.source.entry.text
    before: dict[int, list[str]] = {}
    for number, one in enumerate(candidates):
        counts = f"{WATCH}({number}, None, {', '.join(one.counts)})"
        before.setdefault(one.loop.body[0].lineno, []).append(counts)
        for place, counter in enumerate(one.counters):
            call = f"{counter.name} = {WATCH}({number}, {place}, {counter.name})"
            before.setdefault(counter.line, []).append(call)
    after = {one.line: f"{WATCH}({number}, -1)" for number, one in enumerate(candidates)}
    try:
        live = revive(launch, folder, edits={kernel: mark(text, before, after)})
        watch = _CounterWatch(candidates)
        listen(live, watch.call)
        run_batched(live, watch, origins=_ProgramOrigins(watch))
    except NotBatchableError as refusal:
        names = {n for number in refusal.storages for n in live.memory.names(number)}
        told = f", loaded from `{'`, `'.join(sorted(names))}`" if names else ""
        return Seen(reasons=tuple(_words(launch, one, f"{refusal.reason}{told}")
                                  for one in candidates))  # fmt: skip
    except Exception:  # whatever a kernel may raise; its trace says so
        return Seen()
    found: list[TileLoop] = []
    reasons: list[str] = []
    for number, one in enumerate(candidates):
        outcome = _judge(one, watch.loops[number], name, live.memory)
        if isinstance(outcome, TileLoop):
            found.append(outcome)
        elif outcome:
            reasons.append(_words(launch, one, outcome))
    return Seen(max(found, key=lambda loop: loop.tiles, default=None), tuple(reasons))


def _words(launch: Launch, candidate: CandidateLoop, reason: str) -> str:
    entry = launch.source.entry
    line = entry.first_line + candidate.line - 1
    if candidate.ticket:
        reason = "which program takes a tile is decided by an atomic operation while it runs"
    return f"the tiles of the loop in line {line} keep their order: {reason}"


# --- what is noted --------------------------------------------------------------------------------


@dataclass
class _Visits:
    """What was seen of one loop; rows are iterations.

    Attributes:
        first_bit: of its counters in origins.
        program: int64[n] of each row.
        values: of each counter and each count, int64[n]; None where it is no known integer.
        origins: of each counter, what it was computed from.
        bounds: what they were computed from.
        used: what the body does -> what that was computed from.
    """

    first_bit: int
    program: list[Int64Array] = field(default_factory=list)
    values: list[dict[int, Int64Array | None]] = field(default_factory=list)
    origins: dict[int, int] = field(default_factory=dict)
    bounds: int = 0
    used: dict[str, int] = field(default_factory=dict)


class _CounterWatch:
    """Takes the calls of the marked text; a recorder of `interpreter.batched`."""

    def __init__(self, candidates: Sequence[CandidateLoop]) -> None:
        self.loops: list[_Visits] = []
        bit = _PROGRAM << 1
        for one in candidates:
            self.loops.append(_Visits(bit))
            bit <<= len(one.counters)
        self.begin(np.zeros(0, np.int64))

    def call(self, loop: int, place: int | None, *values: object) -> object:
        """An iteration begins (place None); a counter has a value; or (-1) the loop is over."""
        visits = self.loops[loop]
        if place is None:
            self._note_control()
            self._inside.add(loop)
            row = {-1 - at: _integers(value) for at, value in enumerate(values)}
            self._latest[loop] = row
            self._rows.append((loop, row))
            for value in values:
                visits.bounds |= origin_of(getattr(value, "handle", None))
            return None
        if place == -1:
            self._note_control()
            self._inside.discard(loop)
            return None
        [value] = values
        self._latest[loop][place], plain = self._counter(visits, place, value)
        return plain

    def _counter(self, visits: _Visits, place: int, value: object) -> tuple[Array | None, object]:
        """The values of a counter, and the counter with an origin of its own."""
        known = _integers(value)
        if known is None or not isinstance(value, tl.tensor):
            return known, value
        origin = origin_of(value.handle)
        visits.origins[place] = visits.origins.get(place, 0) | origin
        origin = origin & _STORAGES | visits.first_bit << place
        return known, tl.tensor(Block((known,), value.handle.dtype, (), origin), value.type)

    def _note_control(self) -> None:
        """What decided something since the last call, which is then forgotten."""
        noticed = triton_interpreter.interpreter_builder.noticed
        self.takes("a branch or an inner loop", noticed.control)
        noticed.control &= _PROGRAM - 1

    def takes(self, what: str, origin: int) -> None:
        """The body of a loop does something that was computed so."""
        for loop in self._inside:
            used = self.loops[loop].used
            used[what] = used.get(what, 0) | origin

    def begin(self, programs: Int64Array) -> None:
        """A batch begins."""
        self._programs = programs
        self._rows: list[tuple[int, dict[int, Array | None]]] = []
        self._latest: dict[int, dict[int, Array | None]] = {}
        self._inside: set[int] = set()

    def access(
        self,
        kind: Access,
        addresses: Sequence[Array],
        mask: Sequence[Array],
        item_bytes: int,
        active: npt.NDArray[np.bool_],
        site: int | None = None,
    ) -> int:
        """Not noted."""
        return 0

    def end(self, active: npt.NDArray[np.bool_], value_loads: Mapping[int, int]) -> None:
        """A batch is over: keep what the active programs did."""
        programs = self._programs[active]
        for loop, row in self._rows:
            visits = self.loops[loop]
            visits.program.append(programs)
            visits.values.append(
                {
                    place: None
                    if values is None
                    else np.broadcast_to(values, active.shape)[active].astype(np.int64)
                    for place, values in row.items()
                }
            )


def _integers(value: object) -> Array | None:
    """The values of an integer scalar, None if there are none."""
    if not isinstance(value, tl.tensor):
        number = getattr(value, "value", value)
        whole = isinstance(number, int) and not isinstance(number, bool)
        return np.array([number], np.int64) if whole else None
    handle = value.handle
    if shape_of(handle) != () or not value.dtype.is_int() or not is_known(handle):
        return None
    return np.asarray(handle.data).reshape(-1)


class _ProgramOrigins(Origins):
    """Follows the program's number, but for that of the tile."""

    def __init__(self, watch: _CounterWatch) -> None:
        self._watch = watch

    def program_id(self, axis: int, values: Array) -> int:
        """The bit of the program's number."""
        return _PROGRAM

    def loop(self, *bounds: Bound | None) -> int:
        """What the bounds come from."""
        origin = 0
        for bound in bounds:
            origin |= origin_of(getattr(bound, "handle", None))
        return origin

    def load(self, ptr: TensorHandle, mask: TensorHandle | None) -> int:
        """What is loaded from the program's own place is the program's own."""
        return (origin_of(ptr) | origin_of(mask)) & ~(_PROGRAM - 1)

    def touch(self, ptr: TensorHandle, mask: TensorHandle | None) -> None:
        """What an address is computed from."""
        self._watch.takes("an address", origin_of(ptr) | origin_of(mask))

    def write(self, value: TensorHandle) -> None:
        """What a stored value is computed from."""
        self._watch.takes("what is stored", origin_of(value))


# --- whether they are numbers of tiles ------------------------------------------------------------


def _judge(
    candidate: CandidateLoop, visits: _Visits, name: str | None, memory: Memory
) -> TileLoop | str | None:
    """The loop, or why its tiles cannot be renumbered; None where it deals in no tiles."""
    columns = _columns(candidate, visits)
    counts = {candidate.counts[-1 - at]: one for at, one in columns.items() if at < 0}
    numbers = {at: one for at, one in columns.items() if at >= 0 and _is_number(one)}
    if not numbers:
        return None
    program = np.concatenate(visits.program)
    places = sorted(numbers)
    if name is not None:
        places = [p for p in places if candidate.counters[p].name == name]
    if not places:
        return None
    first = places[0]
    number = numbers[first]
    counters = [candidate.counters[first]]
    loaded = visits.bounds | visits.origins.get(first, 0)
    storages = [n for at, n in enumerate(memory.numbers) if loaded >> at + 1 & 1]
    read = tuple(sorted(name for storage in storages for name in memory.names(storage)))
    for place, other in () if read else numbers.items():
        counter = candidate.counters[place]
        same = np.array_equal(other, number) and counter.name not in {c.name for c in counters}
        if same and (counter.name in candidate.carried or _is_target(candidate, counter)):
            counters.append(counter)
    turns = _turns(program)
    fitting = [
        one for one in candidate.counts if (counts.get(one, np.zeros(1)) == len(number)).all()
    ]
    flaw = _flaw(candidate, visits, counters)
    if flaw is None and not fitting and not read:
        flaw = f"no expression of the loop says that there are {len(number)}"
    if flaw is not None:
        return flaw if turns.any() else None  # else each program takes one
    owner, turn = np.empty(len(number), np.int32), np.empty(len(number), np.int32)
    owner[number], turn[number] = program, turns
    loop = TileLoop(candidate.line, "".join(fitting[:1]), tuple(counters), owner, turn)
    return _with_runs(candidate, loop, counts, read) if read else loop


def _with_runs(
    candidate: CandidateLoop,
    loop: TileLoop,
    counts: Mapping[str, Int64Array],
    read: tuple[str, ...],
) -> TileLoop | str:
    """As of `_judge`, of a loop whose bounds are read from memory."""
    told = f"its bounds are read from `{'`, `'.join(read)}`"
    name, base, count = candidate.span or ("", "", "")
    if name != loop.name or not _is_target(candidate, loop.counters[0]):
        return f"{told}, and its text does not tell that it takes each number once for all others"
    turn = loop.program[: int(loop.program.max()) + 1]
    if len(np.unique(turn)) < len(turn) or (np.resize(turn, loop.tiles) != loop.program).any():
        return f"{told}, and its programs do not take numbers in turn"
    ends = {*zip(counts[base].tolist(), counts[count].tolist(), strict=True)}
    runs = sorted(at for first, tiles in ends for at in range(first, first + tiles, LONGEST))
    return replace(loop, count=count, base=base, starts=tuple(runs), read_from=read)


def _flaw(candidate: CandidateLoop, visits: _Visits, counters: Sequence[Counter]) -> str | None:
    """Why tiles may not come in another order, by what the loop's body does; None if they may."""
    names = {counter.name for counter in counters}
    taken = [place for place, counter in enumerate(candidate.counters) if counter in counters]
    if carried := sorted(candidate.carried - names):
        return f"`{carried[0]}` is carried from one tile to the next"
    if left := sorted(candidate.read_after - names):
        return f"`{left[0]}` is read after the loop"
    for what, origin in visits.used.items():
        if _is_own(visits, origin, taken):
            return f"{what} in its body depends on the program's own number"
    return None


def _columns(candidate: CandidateLoop, visits: _Visits) -> dict[int, Int64Array]:
    """The values of the counters, and counts, that were known integers in every iteration."""
    columns = {}
    for place in range(-len(candidate.counts), len(candidate.counters)):
        rows = [row.get(place) for row in visits.values]
        known = [row for row in rows if row is not None]
        if rows and len(known) == len(rows):
            columns[place] = np.concatenate(known)
    return columns


def _is_number(values: Int64Array) -> bool:
    """Whether they are 0, 1, … in any order, each once."""
    return len(values) > 0 and np.array_equal(np.sort(values), np.arange(len(values)))


def _is_target(candidate: CandidateLoop, counter: Counter) -> bool:
    return bool(counter.line == candidate.loop.body[0].lineno)


def _turns(program: Int64Array) -> Int64Array:
    """How many rows of its program stand before each row."""
    order = np.argsort(program, kind="stable")
    begins = np.flatnonzero(np.diff(program[order], prepend=-1))
    lengths = np.diff(np.append(begins, len(program)))
    turn = np.empty(len(program), np.int64)
    turn[order] = np.arange(len(program)) - np.repeat(begins, lengths)
    return turn


def _is_own(visits: _Visits, origin: int, taken: Sequence[int]) -> bool:
    """Whether something follows from the program's number other than by the tile's."""
    followed: set[int] = set()
    while True:
        places = {place for place in visits.origins if origin & visits.first_bit << place}
        new = places - followed - {*taken}
        if not new:
            return bool(origin & _PROGRAM)
        followed |= new
        for place in new:
            origin |= visits.origins[place]
