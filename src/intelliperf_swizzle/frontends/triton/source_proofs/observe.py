# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A launch executed without its arithmetic, while it is noted who accesses what."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.ssa import reached
from intelliperf_swizzle.frontends.triton.ir import kernel_of
from intelliperf_swizzle.frontends.triton.ir.flow import ACCESSES, Sources
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.frontends.triton.source_proofs.judge import Loads, Observation, Output
from intelliperf_swizzle.frontends.triton.walk.blocks import Block, NotKnownError, align
from intelliperf_swizzle.frontends.triton.walk.memory import Memory
from intelliperf_swizzle.frontends.triton.walk.running import Live, make_live, run_together
from intelliperf_swizzle.records import Access, Int64Array, Launch, TensorArgument
from intelliperf_swizzle.trace.observer import Bits, BlockAccess, Observer
from intelliperf_swizzle.trace.sharing import SHARED, STORED, UPDATED, Writers

MOST_ELEMENTS = 1 << 28
"""Elements of all tensors written to that are checked one by one (1.3 GB)."""
MOST_BLOCKS = 1 << 22
"""Blocks that are loaded by programs, which are kept of a launch (100 MB)."""


class Written:
    """Notes who writes each element; complete as soon as all programs have been seen.

    Args:
        launch: whose tensors.
        memory: where they lie.
    """

    def __init__(self, launch: Launch, memory: Memory) -> None:
        self._memory = memory
        self._views = list(launch.tensors())
        self._writers: dict[int, Writers] = {}
        self._by: dict[int, set[tuple[str, bool]]] = {}
        self._elements = 0
        self.lanes_outside = 0

    def write(self, block: BlockAccess, programs: Int64Array, line: str) -> Bits:
        """The active programs of a batch write; returns which of the batch write at all."""
        wrote = np.zeros(len(programs), np.bool_)
        for rows, lanes, covered in block.lanes():
            wrote[rows] = covered.any(axis=1)
            if covered.any():
                self._note(block, programs[rows], lanes, covered, line)
        return wrote

    def _note(
        self, block: BlockAccess, programs: Int64Array, lanes: Int64Array, covered: Bits, line: str
    ) -> None:
        inside = 0
        used = lanes if covered.all() else lanes[covered]
        first, last = np.searchsorted(self._memory.begin, (used.min(), used.max()), side="right")
        for place in range(max(0, int(first) - 1), int(last)):
            writers = self._writers_of(place)
            inside += writers.note(block.kind, programs, lanes, covered, block.item_bytes)
            self._by.setdefault(place, set()).add((line, lanes.shape[1] > 1))
        if self._elements <= MOST_ELEMENTS:  # else nothing is known
            self.lanes_outside += used.size - inside

    def _writers_of(self, place: int) -> Writers:
        if place not in self._writers:
            number = self._memory.numbers[place]
            grain = min(view.item_bytes for _, view in self._views if view.storage == number)
            begin, end = self._memory.begin[[place]], self._memory.end[[place]]
            self._elements += -(-int(end[0] - begin[0]) // grain)
            kept = end if self._elements <= MOST_ELEMENTS else begin
            self._writers[place] = Writers(begin, kept, grain)
        return self._writers[place]

    def outputs(self, loaded: Collection[int]) -> tuple[Output, ...] | None:
        """The tensors that were written to; None if they have too many elements.

        Args:
            loaded: places of the storages that are loaded from.
        """
        if self._elements > MOST_ELEMENTS:
            return None
        numbers = {self._memory.numbers[place] for place in loaded}
        lengths = {view.elements for _, view in self._views if view.storage in numbers}
        found = []
        for place, writers in sorted(self._writers.items()):
            number, by = self._memory.numbers[place], sorted(self._by[place])
            for name, view in self._views:
                if view.storage == number:
                    output = _output(name, view, writers, by, view.elements in lengths)
                    found += [output] if output.unwritten < output.elements else []
        return tuple(found)


def _output(
    name: str, view: TensorArgument, writers: Writers, by: Sequence[tuple[str, bool]], as_long: bool
) -> Output:
    state = _elements_of(view, writers.state, writers.grain)
    missing = state == 0
    axes = range(missing.ndim)
    bounds = []
    for axis in axes:
        places = np.flatnonzero(missing.any(axis=tuple(other for other in axes if other != axis)))
        bounds.append((int(places[0]), int(places[-1])) if len(places) else (0, -1))
    element, first, second = (int(part) for part in writers.clash)
    index = view.index(element * writers.grain) if element >= 0 else None
    storers = _elements_of(view, writers.first, writers.grain)[(state & STORED) != 0]
    return Output(
        name=name,
        shape=view.shape,
        elements=state.size,
        unwritten=int(missing.sum()),
        shared=int(((state & SHARED) != 0).sum()),
        updated=int(((state & UPDATED) != 0).sum()),
        programs=int(np.count_nonzero(np.bincount(storers))),
        unwritten_range=tuple(bounds) if missing.any() else (),
        clash=None if index is None else (index, first, second),
        blocks=any(several for _, several in by),
        as_long=as_long,
        lines=tuple(dict.fromkeys(line for line, _ in by)),
    )


def _elements_of(view: TensorArgument, array: npt.NDArray[Any], grain: int) -> npt.NDArray[Any]:
    """The entries of a tensor's elements, in the tensor's shape (no copy)."""
    step = view.item_bytes // grain
    return np.lib.stride_tricks.as_strided(
        array[view.offset_bytes // grain :],
        view.shape,
        tuple(stride * step * array.itemsize for stride in view.strides),
    )


class Loaded:
    """Notes which blocks of tensors are loaded, if these are runs of memory of one length.

    Attributes:
        places: the storages that are loaded from.
    """

    def __init__(self, launch: Launch, memory: Memory) -> None:
        self._launch, self._memory = launch, memory
        self._begins: dict[int, list[tuple[int, Int64Array, Int64Array]]] = {}
        self._count = 0
        self.places: set[int] = set()

    def load(self, block: BlockAccess, programs: Int64Array, *, numbered: bool) -> None:
        """The active programs of a batch load; `numbered`: by their numbers, not by a list."""
        rows = np.flatnonzero(block.active)
        ends = (
            sum(term.reshape(len(term), -1)[:, at] for term in block.addresses) for at in (0, -1)
        )
        first, last = (np.broadcast_to(end, len(programs))[rows] for end in ends)
        places = np.searchsorted(self._memory.begin, first, side="right") - 1
        place = int(np.bincount(np.maximum(places, 0)).argmax())
        self.places.add(place)
        size = block.item_bytes * math.prod(block.extents)
        if numbered and (last - first + block.item_bytes == size).all():
            self._count += len(rows)
            if self._count <= MOST_BLOCKS:
                self._begins.setdefault(place, []).append((size, programs[rows], first))

    def left(self) -> tuple[Loads, ...]:
        """The tensors of which blocks are left."""
        views = ((view.storage, name) for name, view in self._launch.tensors())
        names = dict(reversed([*views]))
        found = []
        for place, loads in self._begins.items() if self._count <= MOST_BLOCKS else ():
            size, *others = {load[0] for load in loads}
            begin, end = int(self._memory.begin[place]), int(self._memory.end[place])
            programs, first = (np.concatenate([load[n] for load in loads]) for n in (1, 2))
            pairs = np.unique(np.stack((programs, first - begin)), axis=1)
            taken = np.unique(pairs[1][(pairs[1] >= 0) & (pairs[1] < end - begin)])
            blocks = -(-(end - begin) // size)
            if not others and not (taken % size).any() and len(taken) < blocks == pairs.shape[1]:
                found.append(Loads(names[self._memory.numbers[place]], blocks, len(taken)))
        return tuple(found)


def observe_each(launches: Sequence[Launch], _: Path) -> Iterator[Observation | str]:
    """What is seen of each launch, or why nothing is; in a child process."""
    for launch in launches:
        try:
            yield observe(launch, kernel_of(launch))
        except (NotKnownError, TraceError) as refusal:
            yield str(refusal)


def observe(launch: Launch, kernel: Kernel) -> Observation:
    """Execute all programs of a launch.

    Raises:
        NotKnownError: a value that is not known decides what a program does.
        TraceError: the arguments do not fit the kernel.
    """
    numbers = {op: _numbers(kernel, op) for op in kernel.every()}
    wanted = [value for values in numbers.values() for value in values]
    live = make_live(launch, kernel, whole=False, wanted=wanted)
    watcher = Watcher(launch, live, numbers)
    run_together(live, watcher)
    return watcher.observation()


def _numbers(kernel: Kernel, op: Op) -> list[str]:
    """What a stored value is computed from, beside what was loaded, that follows from program ids.

    It is part of what a program does.
    """
    if op.name not in ACCESSES or op.name == "tt.load":
        return []
    sources = Sources(kernel)
    found: list[str] = []

    def before(value: str) -> Iterable[str]:
        if not any(leaf.name == "tt.get_program_id" for leaf in sources.leaves(value)):
            return ()
        if not sources.read_memory([value]):
            found.append(value)
            return ()
        made = kernel.defs.get(value)
        return () if made is not None and made.name in ACCESSES else sources.before(value)

    reached((v for i, v in enumerate(op.operands) if i not in ACCESSES[op.name]), before)
    return found


class Watcher(Observer):
    """Takes the accesses of batches; see `Observer`.

    Args:
        launch: that is executed.
        live: the same.
        numbers: of each store, the values that `_numbers` found.
    """

    def __init__(self, launch: Launch, live: Live, numbers: Mapping[Op, Sequence[str]]) -> None:
        self._live, self._numbers = live, numbers
        self._written, self._loaded = Written(launch, live.memory), Loaded(launch, live.memory)
        self._work = np.zeros(launch.programs, np.uint64)
        self._writes = np.zeros(launch.programs, np.bool_)
        self._sources = Sources(live.plan.kernel)
        self._decides: dict[Op, set[str]] = {}

    def begin(self, programs: Int64Array) -> None:
        """A batch begins."""
        self._programs = programs
        self._work[programs], self._writes[programs] = 0, False

    def access(self, block: BlockAccess) -> int:
        """The active programs access a block."""
        op = self._live.now.op
        assert op is not None
        hash_ = self._work[self._programs]
        hashed = hash_ * _ODD[0] + _mix(
            _lanes_hash(block) + np.uint64(int(block.kind) << 8 | block.item_bytes)
        )
        # a value of a branch that no program takes is none
        for value in filter(None, map(self._live.now.values.get, self._numbers[op])):
            hashed = _mix(hashed) * _ODD[1] + _value_hash(value)
        self._work[self._programs] = np.where(block.active, _mix(hashed), hash_)
        if op not in self._decides:
            decisive = (op.operands[i] for i in ACCESSES[op.name] if i < len(op.operands))
            leaves = set[Op]().union(*map(self._sources.leaves, decisive))
            self._decides[op] = {"tt.load" if x.name in ACCESSES else x.name for x in leaves}
        if block.kind == Access.READ:
            decides = self._decides[op] & {"tt.load", "tt.get_program_id"}
            self._loaded.load(block, self._programs, numbered=decides == {"tt.get_program_id"})
        else:
            line = self._live.plan.kernel.line(op)
            self._writes[self._programs] |= self._written.write(block, self._programs, line)
        return 0

    def observation(self) -> Observation:
        """All that was seen."""
        return Observation(
            work=self._work,
            writes=self._writes,
            outputs=self._written.outputs(self._loaded.places),
            lanes_outside=self._written.lanes_outside,
            places_loaded=any("tt.load" in names for names in self._decides.values()),
            loads=self._loaded.left(),
        )


# --- a number for what a program accesses --------------------------------------------------------

_ODD = np.random.default_rng(0).integers(0, 1 << 63, 8, np.uint64) * np.uint64(2) + np.uint64(1)


@cache
def _weights_of(axis: int, extent: int) -> npt.NDArray[np.uint64]:
    """Fixed random weights of the lanes along an axis; their sum is odd."""
    weights = np.random.default_rng((axis, extent)).integers(0, 1 << 63, extent, np.uint64)
    weights[-1] += np.uint64(1) - weights.sum() % np.uint64(2)
    return weights


def _lanes_hash(block: BlockAccess) -> npt.NDArray[np.uint64]:
    """uint64[programs or 1]: equal where all addresses and all terms of the mask are.

    The hash of addresses is linear, so that it does not depend on how a sum is kept apart.
    """
    hashed = np.zeros(1, np.uint64)
    for term in block.addresses:
        hashed = hashed + _weigh(term.view(np.uint64), block.extents)
    for bits in block.mask:
        hashed = hashed + _mix(_weigh(bits.astype(np.uint64), block.extents))
    return hashed


def _value_hash(block: Block) -> npt.NDArray[np.uint64]:
    """uint64[programs or 1]: equal where a block is."""
    if not block.known:
        return np.zeros(1, np.uint64)
    data = block.data
    bits = data if data.dtype == np.bool_ else data.view(f"u{data.dtype.itemsize}")
    return _weigh(bits.astype(np.uint64), block.shape)


def _weigh(term: npt.NDArray[np.uint64], extents: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    """The sum over all lanes of value times weight."""
    summed: npt.NDArray[Any] = align(term, len(extents))
    for axis in reversed(range(len(extents))):
        weights = _weights_of(axis, extents[axis])
        lanes = summed.shape[axis + 1]
        summed = summed.sum(axis=-1) * weights.sum() if lanes == 1 else summed @ weights
    return summed


def _mix(number: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of splitmix64, a bijection."""
    number = (number ^ number >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ number >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return number ^ number >> np.uint64(31)
