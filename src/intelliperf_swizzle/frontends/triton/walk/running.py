# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Executes a launch: many programs at once, or one by one where they depend on each other."""

import itertools
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir import flow
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.frontends.triton.walk.accesses import Accesses, Noticed, Now, update_of
from intelliperf_swizzle.frontends.triton.walk.blocks import (
    MOST_NUMBERS,
    Block,
    NotKnownError,
    NotWantedError,
    Programs,
    TooWideError,
)
from intelliperf_swizzle.frontends.triton.walk.memory import (
    Fill,
    Memory,
    bind_arguments,
    pairs_of,
    scalar_values,
)
from intelliperf_swizzle.frontends.triton.walk.scalars import NotComputableError, Scalars
from intelliperf_swizzle.frontends.triton.walk.walker import Plan, Walker
from intelliperf_swizzle.records import Access, Grid, Int64Array, Launch, TensorArgument, as_written
from intelliperf_swizzle.trace.observer import Observer

MOST_PROGRAMS = 16384
"""Programs of one batch: enough that Python's share vanishes, few enough for the memory limit."""


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

    @classmethod
    def of(cls, plan: Plan, launch: Launch, fill: Fill | None = None) -> "Live":
        """A launch, by the plan of its kernel, with its memory; see `Memory`."""
        memory = Memory(launch, fill)
        return cls(plan, launch.grid, memory, bind_arguments(plan.kernel, launch, memory))

    @property
    def programs(self) -> int:
        """How many there are."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    def false_assumptions(self, launch: Launch) -> Iterator[Op]:
        """The `tl.assume` of the kernel's first block that do not hold for all programs."""
        scalars = Scalars(launch, self.plan.kernel)
        for op in self.plan.kernel.entry.regions[0][0].ops:
            if op.name == "llvm.intr.assume":
                with suppress(NotComputableError):
                    if not scalars.value(op.operands[0], np.arange(self.programs)).all():
                        yield op

    def storages(self, names: frozenset[str] | None) -> set[int]:
        """Those that arguments point into; all, if it is not known through which."""
        at = [int(self.arguments[name].data.reshape(-1)[0]) for name in names or ()]
        places = self.memory.place(np.array(at, np.int64))
        numbers = self.memory.numbers
        return {*numbers} if names is None else {numbers[place] for place in places if place >= 0}

    def immaterial(self, launch: Launch, control: int) -> tuple[str, ...]:
        """The arguments that decided nothing; `control` as of `Noticed`."""
        numbers = enumerate(self.memory.numbers)
        undecided = [number for place, number in numbers if not control >> place + 1 & 1]
        tensors = [name for number in undecided for name in self.memory.names(number)]
        scalars, decisive = scalar_values(self.plan.kernel, launch), self.plan.executed.values
        return (*tensors, *(name for name, value in scalars.items() if value not in decisive))

    def deciding_numbers(self, launch: Launch) -> list[str]:
        """Floats, and numbers in tuples, of which what decides is made, as the kernel names them;
        1 is compiled in."""
        values = {name: value for value, name, _ in pairs_of(self.plan.kernel, launch)}
        decisive = self.plan.executed.values
        return [
            as_written(name)
            for name, leaf in launch.leaves()
            if isinstance(leaf, int | float)
            if isinstance(launch.arguments[name.partition(".")[0]], tuple | float)
            if name not in values or values[name] in decisive
        ]


def make_live(
    launch: Launch,
    kernel: Kernel,
    *,
    whole: bool,
    wanted: Iterable[str] = (),
    fill: Fill | None = None,
) -> Live:
    """A launch that can be executed: the whole kernel, or what decides its accesses and values.

    Args:
        launch: any.
        kernel: of it.
        whole: whether all of the kernel is executed.
        wanted: values that are computed beside what decides accesses.
        fill: see `Memory`.

    Raises:
        TraceError: the loop in which the launch takes tiles is not in the IR.
    """
    tiles = _find_tiles(kernel, launch)
    numbers = (tiles[1],) if tiles else ()
    slice_ = flow.everything(kernel) if whole else flow.address_slice(kernel, [*wanted, *numbers])
    given = [(value, own) for value, _, own in pairs_of(kernel, launch)]
    views = [(value, own) for value, own in given if isinstance(own, TensorArgument)]
    pairs = itertools.permutations(views, 2)
    meeting = frozenset((one, other) for (one, a), (other, b) in pairs if a.meets(b))
    return Live.of(Plan(kernel, slice_, tiles, meeting), launch, fill)


def _find_tiles(kernel: Kernel, launch: Launch) -> tuple[Op, str] | None:
    """The operation that is `launch.loop`, and the value that is the number of a tile.

    Raises:
        TraceError: there is none in the IR.
    """
    if launch.loop is None:
        return None
    entry = launch.source.entry
    first = entry.first_line - 1
    place = (entry.file, first + launch.loop.line)
    for op in kernel.ops():
        if op.name in ("scf.for", "scf.while") and kernel.place(op) == place:
            number = _number(kernel, op, launch.loop.name, first + launch.loop.counters[0].line)
            if number is not None:
                return op, number
    raise TraceError(f"the loop at line {place[1]} is not in the IR of {launch.kernel}")


def _number(kernel: Kernel, loop: Op, name: str, read_from: int) -> str | None:
    """The value that a variable holds in a loop's body before the line from which it is read."""
    body = loop.regions[-1][0]
    for value in body.args:
        if re.fullmatch(rf"%{re.escape(name)}(_\d+|'\d+)*", value):
            return value
    named = (op for op in body.ops if op.results and kernel.name(op) == name)
    made = [op.results[0] for op in named if (kernel.place(op) or ("", 0))[1] < read_from]
    return made[-1] if made else None


def run_together(
    live: Live, recorder: Observer, programs: Int64Array | None = None, *, compute: bool = False
) -> Noticed:
    """Execute programs in batches.

    With `compute`, stores and atomics are carried out, provided that no program reads what another
    one writes and none uses what an atomic answers; it is for the caller to know that.

    Raises:
        NotKnownError: a value that is not known decides what a program does.
    """
    noticed = Noticed(np.zeros((live.programs, 3), np.int64))
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
                with suppress(NotWantedError):
                    Walker(live.plan, batch, accesses, live.arguments).run()
            except TooWideError:
                if len(piece) == 1:
                    raise NotKnownError("a single program needs too much memory") from None
                pending.extend(np.array_split(piece, min(8, len(piece)))[::-1])
                continue
            recorder.end(np.ones(len(piece), np.bool_), accesses.value_loads)
            for bits in accesses.value_loads.values():
                noticed.control |= bits
            noticed.arithmetic[piece] = batch.arithmetic
    return noticed


def _most_programs(plan: Plan) -> int:
    """So many that no block of the kernel gets too large."""
    largest = max((int(np.prod(shape)) for _, shape in plan.types.values()), default=1)
    return max(1, min(MOST_PROGRAMS, MOST_NUMBERS // 8 // largest))


# --- one by one ---------------------------------------------------------------------------------

MOST_POLLS = 50
"""Polls of an unchanged word after which a program is taken to wait for another."""
MOST_WAITING_PROGRAMS = 4096
"""Each waiting program holds a thread; more than this is taken for a kernel that cannot end."""


class DeadlockError(Exception):
    """A program waits for memory that no remaining program changes."""


class Scheduler:
    """Runs programs as coroutines: exactly one runs at any time.

    Without waiting, all programs run in order on the caller's thread. A program that polls memory
    in vain calls `wait`: its thread is parked and another goes on, first with programs that have
    not begun, then with parked ones, in the order of parking.
    """

    def __init__(self, programs: Iterable[int], run: Callable[[int], None]) -> None:
        self._pending = deque(programs)
        self._run = run
        self._parked: deque[threading.Semaphore] = deque()
        self._vain_waits = 0
        self._failure: BaseException | None = None
        self._done = threading.Event()
        self.current = -1
        self.waited = False

    def run_all(self) -> None:
        """Run every program to its end.

        Raises:
            DeadlockError: all remaining programs wait, and none changes memory.
        """
        self._work()
        self._done.wait()
        if self._failure is not None:
            raise self._failure

    def memory_changed(self) -> None:
        """Note that a store or a successful atomic may end another program's waiting."""
        self._vain_waits = 0

    def wait(self) -> None:
        """Let others run; return when it is this program's turn again."""
        self.waited = True
        program, turn = self.current, threading.Semaphore(0)
        self._vain_waits += 1
        if not self._pending and self._vain_waits > len(self._parked) + 1:
            raise DeadlockError(f"program {program} waits, and no program is left to release it")
        if len(self._parked) >= MOST_WAITING_PROGRAMS:
            raise DeadlockError(f"more than {MOST_WAITING_PROGRAMS} programs wait at once")
        self._parked.append(turn)
        if self._pending:
            self._vain_waits = 0
            threading.Thread(target=self._work, daemon=True).start()
        else:
            self._parked.popleft().release()
        turn.acquire()
        self.current = program
        if self._failure is not None:
            raise _AbandonedError

    def _work(self) -> None:
        try:
            while self._pending and self._failure is None:
                self.current = self._pending.popleft()
                self._run(self.current)
                self._vain_waits = 0
        except _AbandonedError:
            pass
        except BaseException as failure:
            self._failure = self._failure or failure
        if self._parked:
            self._parked.popleft().release()
        else:
            self._done.set()


class _AbandonedError(Exception):
    """Ends a parked program after another one failed."""


@dataclass(eq=False)
class OneByOne(Accesses):
    """The memory of a program that runs alone; what it does not know, later programs do not.

    Attributes:
        scheduler: lets other programs run while this one waits.
    """

    scheduler: Scheduler = field(kw_only=True)
    _last: tuple[object, ...] | None = field(default=None, init=False)
    _polls: int = field(default=0, init=False)

    def load(
        self, pointer: Block, mask: Block | None, other: Block | None, *, wanted: bool
    ) -> Block | None:
        """A load; the first poll of a word is reported, its repetitions are not."""
        if not pointer.single:
            self._report(Access.READ, pointer, mask)
            return self._read(pointer, mask, other, 0)
        return self._poll_word(
            Access.READ, pointer, mask, (), lambda: self._read(pointer, mask, other, 0)
        )

    def poll(self, pointer: Block, expected: Block) -> None:
        """A program waits until a word has a value."""
        while True:
            found = self.load(pointer, None, None, wanted=True)
            if found is None or not found.known:
                raise NotKnownError("a program waits for an unknown value")
            if (found.data == expected.data).all():
                return

    def store(self, pointer: Block, value: Block | None, mask: Block | None) -> None:
        """A store."""
        self._report(Access.WRITE, pointer, mask)
        self.scheduler.memory_changed()
        if value is not None:
            self.put(pointer, value, mask)

    def update(
        self, operation: str, pointer: Block, values: list[Block | None], mask: Block | None,
        used: bool,
    ) -> Block:  # fmt: skip
        """An atomic."""
        element = pointer.element.target
        self.now.update = update_of(operation, element, used)
        self.noticed.waits |= used and operation == "atomic_cas"
        given = [value for value in values if value is not None]

        def change() -> Block:
            if all(value.known for value in given):
                return self.change(operation, pointer, given, mask)
            why = frozenset().union(*(value.why for value in given))
            self.put(pointer, Block(given[0].terms, element, pointer.shape, why), mask)
            return Block(given[0].terms, element, pointer.shape, why)

        if not pointer.single:
            self.scheduler.memory_changed()
            self._report(Access.ATOMIC, pointer, mask)
            return change()
        state = (operation, *(value.data.tobytes() for value in given))
        return self._poll_word(Access.ATOMIC, pointer, mask, state, change)

    def _poll_word(
        self,
        kind: Access,
        pointer: Block,
        mask: Block | None,
        operands: tuple[object, ...],
        access: Callable[[], Block],
    ) -> Block:
        """One access of one word; vain repetitions of the same make the program wait."""
        lanes = mask is None or bool(mask.data.all())
        poll = (kind, int(pointer.data.reshape(-1)[0]), lanes, *operands)
        repeated = poll == self._last
        if not repeated:
            self._report(kind, pointer, mask)
        before = self._value(pointer)
        answer = access()
        unchanged = before == self._value(pointer)
        if not unchanged:
            self.scheduler.memory_changed()
        self._last = poll if unchanged else None
        self._polls = self._polls + 1 if repeated else 0
        if self._polls >= MOST_POLLS and unchanged:
            self.scheduler.wait()
            self._polls = 0
        return answer

    def _value(self, pointer: Block) -> object:
        element, address = pointer.element.target, pointer.data.reshape(-1)[:1]
        everywhere, zero = np.ones(1, np.bool_), np.zeros(1, element.array)
        return self.memory.read(address, everywhere, zero, element)[0].tobytes()

    def _report(self, kind: Access, pointer: Block, mask: Block | None) -> None:
        self._last = None
        self.recorder.observe(int(self.programs.numbers[0]), self.block(kind, pointer, mask))


def run_one_by_one(
    live: Live, *, programs: Iterable[int] | None = None, observer: Observer | None = None
) -> Noticed:
    """Execute programs one after the other, in the given order; one that waits lets others run.

    The plan must be of everything. A poll repeated without any other access in between is reported
    once. Lanes outside every storage read zero and write nothing.

    Raises:
        DeadlockError: programs wait for each other for ever.
        NotKnownError: a value that is not known decides what a program does.
    """
    noticed = Noticed(np.zeros((live.programs, 3), np.int64))
    order = range(live.programs) if programs is None else programs

    def run(program: int) -> None:
        batch = Programs(live.grid, np.array([program], np.int64))
        observed = observer or Observer()
        accesses = OneByOne(live.memory, observed, noticed, batch, live.now, scheduler=scheduler)
        with np.errstate(all="ignore"):
            Walker(live.plan, batch, accesses, live.arguments).run()
        noticed.arithmetic[program] = batch.arithmetic[0]

    scheduler = Scheduler(order, run)
    scheduler.run_all()
    noticed.waits |= scheduler.waited
    return noticed
