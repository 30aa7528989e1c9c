# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Loads, stores and atomics of many programs at once; programs that wait for each other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.frontends.triton.walk.blocks import (
    Array,
    Block,
    Element,
    NotKnownError,
    Programs,
    align,
    terms_of,
    unknown,
)
from intelliperf_swizzle.frontends.triton.walk.memory import Lanes, Memory
from intelliperf_swizzle.frontends.triton.walk.operations import as_unsigned
from intelliperf_swizzle.records import Access, Int64Array
from intelliperf_swizzle.trace.observer import EXCHANGES, BlockAccess, Observer, Update

_NEW: Mapping[str, Callable[[Array, Array], Array]] = {
    "atomic_add": np.add, "atomic_fadd": np.add, "atomic_and": np.bitwise_and,
    "atomic_or": np.bitwise_or, "atomic_xor": np.bitwise_xor, "atomic_max": np.maximum,
    "atomic_min": np.minimum, "atomic_umax": as_unsigned(np.maximum),
    "atomic_umin": as_unsigned(np.minimum), "atomic_xchg": lambda old, new: new,
}  # fmt: skip


def update_words(
    memory: Memory,
    operation: str,
    addresses: Int64Array,
    lanes: Lanes,
    values: Sequence[Array],
    element: Element,
) -> tuple[Array, bool]:
    """Updates words in the order of the lanes; lanes of one word follow each other.

    Returns:
        What each lane found, zero where it is not active, and whether all of that was known.
    """
    found = np.zeros(addresses.shape, element.array)
    active = np.flatnonzero(lanes)
    words = addresses.reshape(-1)[active]
    given = [np.broadcast_to(v, addresses.shape).reshape(-1)[active] for v in values]
    turn = _turns(words)
    known = True
    for number in range(int(turn.max(initial=-1)) + 1):  # each word once in a turn
        now = turn == number
        everywhere = np.ones(int(now.sum()), np.bool_)
        old, _, missing = memory.read(words[now], everywhere, np.zeros(1, element.array), element)
        if operation == "atomic_cas":
            new = np.where(old == given[0][now], given[1][now], old)
        else:
            new = _NEW[operation](old, given[0][now].astype(element.array))
        known = known and not missing
        memory.write(words[now], everywhere, new, element, known)
        found.reshape(-1)[active[now]] = old
    return found, known


def _turns(words: Int64Array) -> Int64Array:
    """How many lanes before each one have the same word."""
    order = np.argsort(words, kind="stable")
    ordered = words[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    turn = np.empty(len(words), np.int64)
    sizes = np.diff(np.append(begins, len(words)))
    turn[order] = np.arange(len(words)) - np.repeat(begins, sizes)
    return turn


VAIN_POLLS = 3
"""Polls of the same word after which a program is taken to wait, and the awaited value guessed."""
GUESSES = (1, 0, -1, 2, 3, 4)
"""What a waiting program may wait for, most likely first; each is offered twice."""
ORDER = frozenset(("the order of the programs",))
"""Why the answer of an atomic is not known."""


@dataclass
class Noticed:
    """What was noticed while programs of a launch were executed.

    Attributes:
        arithmetic: int64[programs of the launch, 3]; see `walker.arithmetic_of`.
        waits: whether a program waited for another, or might have.
        control: bit set of the storages whose contents decided something; bit `1 + place` for
            the storage at `place` in `Memory.numbers`.
    """

    arithmetic: Int64Array
    waits: bool = False
    control: int = 0


@dataclass
class Now:
    """What is being carried out.

    Attributes:
        update: the atomic operation.
        op: the access to memory.
        values: of the kernel, so far.
        made: accesses of which some lane of some program took part; outcomes of `flow.folds`.
    """

    update: Update = field(default_factory=lambda: Update("", False))
    op: Op | None = None
    made: set[Op | tuple[Op, int] | None] = field(default_factory=set)
    values: Mapping[str, Block] = field(default_factory=dict)

    def where(self, kernel: Kernel) -> str:
        """File and line of the access."""
        return kernel.line(self.op) if self.op is not None else "?"


def update_of(operation: str, element: Element, used: bool) -> Update:
    """An atomic; those of one width and kind of number commute."""
    if operation not in EXCHANGES:
        operation = f"{operation} {element.bits}{element.array.kind}"
    return Update(operation, used)


@dataclass
class SpinLoad:
    """The last load or compare-and-swap, if it was of a single word.

    Attributes:
        word: its address and mask.
        active: who made it.
        block: what it brought.
        number: of the access.
        repeats: how often the same load came again, with no other access in between.
    """

    word: tuple[bytes, bytes]
    active: Lanes
    block: Block
    number: int
    repeats: int = 0


@dataclass(eq=False)
class Accesses:
    """The memory of a batch as its programs see it.

    Attributes:
        memory: of the launch.
        recorder: receives every access.
        noticed: of the whole run.
        programs: of the batch.
        now: receives what is being carried out.
        compute: whether stores and atomics are carried out.
        value_loads: storages (a bit set) by the number of an access whose value was taken there.
    """

    memory: Memory
    recorder: Observer
    noticed: Noticed
    programs: Programs
    now: Now
    compute: bool = True
    value_loads: dict[int, int] = field(default_factory=dict, init=False)
    _poll: SpinLoad | None = field(default=None, init=False)

    def touch(self, kind: Access, pointer: Block, mask: Block | None) -> int:
        """Record an access; its number in the batch."""
        return self.recorder.access(self.block(kind, pointer, mask))

    def block(self, kind: Access, pointer: Block, mask: Block | None) -> BlockAccess:
        """What the active programs access."""
        rank = len(pointer.shape)
        masks = [] if mask is None else terms_of(mask, rank)
        bytes_each, active = pointer.element.target.bytes, self.programs.active
        if all(term.any() for term in masks):
            self.now.made.add(self.now.op)
        return BlockAccess(kind, terms_of(pointer, rank), masks, bytes_each, active)

    # --- loads ----------------------------------------------------------------------------------

    def load(
        self, pointer: Block, mask: Block | None, other: Block | None, *, wanted: bool
    ) -> Block | None:
        """A load; a repeated one of a single word does not count; the value only if `wanted`."""
        found = self._repeat(pointer, mask) if pointer.single else None
        if found is not None:
            return found
        number = self.touch(Access.READ, pointer, mask)
        block = self._read(pointer, mask, other, number) if wanted else None
        self._watch(pointer, mask, block, number)
        return block

    def _watch(self, pointer: Block, mask: Block | None, read: Block | None, number: int) -> None:
        self._poll = None
        if pointer.single:
            block = read or unknown(pointer.element.target, pointer.shape, ORDER)
            self._poll = SpinLoad(_word(pointer, mask), self.programs.active, block, number)

    def _read(self, pointer: Block, mask: Block | None, other: Block | None, number: int) -> Block:
        element, shape = pointer.element.target, pointer.shape
        if other is not None and not other.known:
            return unknown(element, shape, other.why)
        zero = np.zeros((1,) * (len(shape) + 1), element.array)
        addresses, lanes, others = self.lanes(
            pointer, mask, zero if other is None else align(other.data, len(shape))
        )
        values, places, missing = self.memory.read(addresses, lanes, others, element)
        for place in places:
            self.value_loads[number] = self.value_loads.get(number, 0) | 2 << place
        if missing:
            why = frozenset(self.memory.why_not(number) for number in missing)
            return unknown(element, shape, why)
        if element.pointee:
            values = self.memory.translate(values)
        return Block((values,), element, shape)

    def lanes(
        self, pointer: Block, mask: Block | None, values: Array
    ) -> tuple[Int64Array, Lanes, Array]:
        """Addresses, who is active, and values, of as many lanes and programs each."""
        rank = len(pointer.shape)
        inputs = [pointer.data, np.ones(1, np.bool_) if mask is None else mask.data, values]
        inputs = [align(array, rank) for array in inputs]
        common = np.broadcast_shapes(*(array.shape for array in inputs))
        if self.compute:
            common = (len(self.programs.numbers), *pointer.shape)
        self.programs.check_size(int(np.prod(common)))
        addresses, lanes, others = (np.broadcast_to(array, common) for array in inputs)
        active = self.programs.active
        if common[0] == len(active):
            lanes = lanes & active.reshape(-1, *(1,) * rank)
        return addresses, lanes, others

    # --- programs that wait ---------------------------------------------------------------------

    def _repeat(self, pointer: Block, mask: Block | None) -> Block | None:
        """What a repeated load of one word brings; after some, the awaited value is guessed."""
        poll, element = self._poll, pointer.element.target
        if poll is None or _word(pointer, mask) != poll.word:
            return None
        if (self.programs.active & ~poll.active).any():
            return None
        poll.repeats += 1
        if poll.repeats <= VAIN_POLLS or element.floating:
            return poll.block
        self.noticed.waits = True
        self.value_loads.pop(poll.number, None)
        guess = (poll.repeats - VAIN_POLLS - 1) // 2
        if guess >= len(GUESSES):
            raise NotKnownError("a program waits for an unknown value")
        value = np.full((1,) * (1 + len(pointer.shape)), GUESSES[guess])
        return Block((value.astype(element.array),), element, pointer.shape)

    def poll(self, pointer: Block, expected: Block) -> None:
        """A program waits until a word has a value, which is taken to come."""
        self._poll = None
        self.noticed.waits = True
        self.touch(Access.READ, pointer, None)

    # --- stores and atomics ---------------------------------------------------------------------

    def store(self, pointer: Block, value: Block | None, mask: Block | None) -> None:
        """A store."""
        self._poll = None
        self.touch(Access.WRITE, pointer, mask)
        if self.compute and value is not None:
            self.put(pointer, value, mask)

    def put(self, pointer: Block, value: Block, mask: Block | None) -> None:
        """Writes values."""
        addresses, lanes, values = self.lanes(pointer, mask, value.data)
        element = pointer.element.target
        if element.pointee and value.known:
            values = self.memory.original(values)
        self.memory.write(addresses, lanes, values, element, value.known)

    def update(
        self, operation: str, pointer: Block, values: list[Block | None], mask: Block | None,
        used: bool,
    ) -> Block:  # fmt: skip
        """An atomic; what it answers depends on the order of the programs.

        A compare-and-swap (of two values) is a lock: it is taken to succeed at once, unless it is
        polled.
        """
        element = pointer.element.target
        self.now.update = update_of(operation, element, used)
        if operation == "atomic_cas" and not self.compute:
            return self._lock(pointer, values[0], used)
        self._poll = None
        self.touch(Access.ATOMIC, pointer, mask)
        if self.compute and all(value is not None and value.known for value in values):
            return self.change(operation, pointer, [v for v in values if v is not None], mask)
        return unknown(element, pointer.shape, ORDER)

    def _lock(self, pointer: Block, expected: Block | None, used: bool) -> Block:
        element, shape = pointer.element.target, pointer.shape
        block = self._repeat(pointer, None) if pointer.single else None
        if block is None:
            number = self.touch(Access.ATOMIC, pointer, None)
            self.noticed.waits |= used
            block = unknown(element, shape, ORDER)
            if expected is not None:
                block = Block(terms_of(expected, len(shape)), element, shape, expected.why)
            self._watch(pointer, None, block, number)
        return block

    def change(
        self, operation: str, pointer: Block, values: list[Block], mask: Block | None
    ) -> Block:
        """Carries out an atomic, lane by lane in order; what was there before."""
        element, rank = pointer.element.target, len(pointer.shape)
        addresses, lanes, first = self.lanes(pointer, mask, values[0].data)
        further = [np.broadcast_to(align(v.data, rank), addresses.shape) for v in values[1:]]
        before, known = update_words(
            self.memory, operation, addresses, lanes, [first, *further], element
        )
        if not known:
            return unknown(element, pointer.shape, ORDER)
        return Block((before,), element, pointer.shape)


def _word(pointer: Block, mask: Block | None) -> tuple[bytes, bytes]:
    return pointer.data.tobytes(), b"" if mask is None else mask.data.tobytes()
