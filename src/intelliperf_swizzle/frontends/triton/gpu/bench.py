# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: the original and candidates on one launch's inputs, byte for byte, and timed.

    digest the inputs;  fill the first copy;  original
    for each candidate:  fill the second copy;  candidate;  compare the copies;  digest the inputs

Kernels write to copies of what the launch writes. They are filled with poison, or with what the
application's memory holds where the launch reads it, too. So both kernels begin with the same bytes
in memory, and what one of them leaves untouched agrees only where the other does too. The
application's own tensors are read only, and there is nothing to restore.

A validation costs two kernel runs; two digests of what is only read; two fills and a comparison of
what is written; and twice the written memory. Nothing waits for the host in between.

Then original and candidates run in turns. Each round launches every kernel once, in an order drawn
anew, and each launch takes the next of several sets of tensors, which together exceed the caches.
Nothing waits for the host within a round. Behind a launch, untimed, what it reads and writes is as
it was again: else a kernel that advances an index would leave its tensor.
"""

import itertools
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import torch

from intelliperf_swizzle.frontends.trials.journal import Check
from intelliperf_swizzle.frontends.triton.gpu import memory as bytes_
from intelliperf_swizzle.frontends.triton.gpu.memory import Arguments, Launch, device_of, move
from intelliperf_swizzle.frontends.triton.gpu.order import Order, Task
from intelliperf_swizzle.records import TensorArgument

BOUNDARY = 512
"""Bytes; where PyTorch puts tensors, so that copies are as aligned as what they are copies of."""


class InputChangedError(Exception):
    """A candidate has written to an input, so the application cannot go on."""


@dataclass(eq=False)
class Bench:
    """One launch, prepared for comparisons.

    Attributes:
        task: the launch.
        arguments: of it.
        memory: bytes of its storages, by number.
        original: runs the unmodified kernel.
        tolerance: for summed floats.
        original_seconds: of the original's run; the first one, which may have been slow.

    Raises:
        torch.cuda.OutOfMemoryError: there is no room for the copies.
        UnreachableMemoryError: memory of the launch cannot be replaced by copies.
    """

    task: Task
    arguments: Arguments
    memory: Mapping[int, torch.Tensor]
    original: Launch
    tolerance: float

    def __post_init__(self) -> None:
        self._written = sorted(self.task.written)
        self._inputs = [number for number in self.memory if number not in self.task.written]
        self._device = device_of(self.memory)
        self._expected, self._outcome = self._copies()
        self._digests = self._counters(self._inputs)
        self._add_digests(self._digests)
        torch.cuda.synchronize()
        begun = time.perf_counter()
        self._run(self.original, self._expected)
        torch.cuda.synchronize()
        self.original_seconds = time.perf_counter() - begun

    def compare(self, candidate: Launch) -> Check:
        """Runs a candidate and compares every byte.

        Raises:
            InputChangedError: it wrote to an input; `args` holds the check.
        """
        self._run(candidate, self._outcome)
        digests = self._counters(self._inputs)
        self._add_digests(digests)
        difference = self._difference()
        if difference is not None and (itself := self._unsteady()):
            difference = f"{difference}; {itself}"
        pairs = zip(self._inputs, digests.tolist(), self._digests.tolist(), strict=True)
        changed = [number for number, now, before in pairs if now != before]
        if changed:
            difference = f"it writes to {self._names(changed[0])}, which is an input"
        check = Check(difference is None, difference, bool(self.task.summed))
        if changed:
            raise InputChangedError(check)
        return check

    def _copies(self) -> tuple[dict[int, torch.Tensor], dict[int, torch.Tensor]]:
        """Memory for each storage that is written, twice, in one allocation: each costs 0.1 ms."""
        sizes = [self.memory[number].nbytes for number in self._written]
        rooms = [-(-size // BOUNDARY) * BOUNDARY for size in sizes]
        whole = torch.empty(2 * sum(rooms), dtype=torch.uint8, device=self._device)
        parts = [part[:size] for part, size in zip(whole.split(2 * rooms), 2 * sizes, strict=True)]
        return (
            dict(zip(self._written, parts[: len(sizes)], strict=True)),
            dict(zip(self._written, parts[len(sizes) :], strict=True)),
        )

    def _counters(self, numbers: Sequence[int]) -> torch.Tensor:
        """A zero for each, on the GPU."""
        return torch.zeros(len(numbers), dtype=torch.int64, device=self._device)

    def _add_digests(self, digests: torch.Tensor) -> None:
        for number, digest in zip(self._inputs, digests, strict=True):
            bytes_.add_digest(self.memory[number], digest)

    def _run(self, kernel: Launch, copies: Mapping[int, torch.Tensor]) -> None:
        """Has a kernel write to copies of what it writes."""
        for number, copy in copies.items():
            if number in self.task.read:
                copy.copy_(self.memory[number])
            else:
                bytes_.poison(copy)
        places = {self.memory[number].data_ptr(): copy for number, copy in copies.items()}
        kernel(*move(self.arguments, places))

    def _difference(self) -> str | None:
        """The first difference between the two copies; waits until all is done."""
        counts = self._counters(self._written)
        for number, count in zip(self._written, counts, strict=True):
            bytes_.add_differing(self._outcome[number], self._expected[number], count)
        for number, count in zip(self._written, counts.tolist(), strict=True):
            if count and (words := self._words(number)):
                return words
        return None

    def _words(self, number: int) -> str | None:
        """How the copies of a storage differ; None if the tolerance allows it."""
        outcome, expected = self._outcome[number], self._expected[number]
        dtype = self._float_type(number) if number in self.task.summed else None
        if dtype is None:
            place, count = bytes_.first_difference(outcome, expected)
            what = f"{count} bytes"
        else:
            beyond = bytes_.first_beyond(outcome, expected, dtype, self.tolerance)
            if beyond is None:
                return None
            place, what = beyond, f"more than {self.tolerance:g}"
        element = self.task.launch.element(number, place)
        return f"{self._names(number)} differs in {what}, first at {element}"

    def _unsteady(self) -> str | None:
        """Says so if the original does not even agree with itself."""
        self._run(self.original, self._outcome)
        if self._difference() is None:
            return None
        return "but the unmodified kernel does not leave the same bytes twice either"

    def _names(self, number: int) -> str:
        return " and ".join(f"`{name}`" for name, _ in _tensors(self.task, number))

    def _float_type(self, number: int) -> torch.dtype | None:
        """Of its elements; None if arguments see it as different ones."""
        dtypes = {tensor.dtype for _, tensor in _tensors(self.task, number)}
        return _FLOATS.get(dtypes.pop()) if len(dtypes) == 1 else None


_FLOATS = {
    "fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64,
}  # fmt: skip


def _tensors(task: Task, number: int) -> list[tuple[str, TensorArgument]]:
    """Names and views of the arguments that lie in a storage."""
    return [tensor for tensor in task.launch.tensors() if tensor[1].storage == number]


# --- times --------------------------------------------------------------------------------------

_Put: TypeAlias = list[tuple[torch.Tensor, torch.Tensor]]
"""Tensors, each with what it held before the launch."""

MOST_SETS = 64
FEWEST_ROUNDS, MOST_ROUNDS = 11, 200
"""Of nine rounds or more a 95 % interval leaves out the extremes."""
_WARM_UP = 3
_HOST_CYCLES = 60_000
"""About 30 µs of a GPU's clock: what the host may take to launch one kernel, or one copy."""


def race(
    kernels: Sequence[Launch], arguments: Arguments, memory: Mapping[int, torch.Tensor],
    order: Order, task: Task, *, on_gpu: bool,
) -> list[list[int]]:  # fmt: skip
    """A row of nanoseconds per round, in the order of the kernels, on copies of the arguments.

    Args:
        kernels: the original first.
        arguments: of the launch.
        memory: bytes of its storages, by number.
        order: how long to take, about; a fewest number of rounds is run in any case.
        task: the launch.
        on_gpu: whether there is a GPU at all.

    Raises:
        torch.cuda.OutOfMemoryError: there is no room for two sets.
    """
    count = _sets(sum(view.nbytes for view in memory.values()), order.cache_bytes)
    sets = [_copy(arguments, memory, task.read & task.written) for _ in range(count)]
    turns = itertools.cycle(sets)
    copies = len(sets[0][1])

    def one_round(turn: Sequence[int]) -> list[int]:
        timed = partial(torch.cuda.Event, enable_timing=True)
        events = [(timed(), timed()) for _ in kernels]
        if on_gpu:  # lets the host get ahead, so that no kernel waits for its launch
            torch.cuda._sleep(_HOST_CYCLES * (len(kernels) * (1 + copies) + 2))
        for index in turn:
            own, put = next(turns)
            events[index][0].record()
            kernels[index](*own)
            events[index][1].record()
            for tensor, before in put:
                tensor.copy_(before)
        torch.cuda.synchronize()
        return [max(1, round(1e6 * start.elapsed_time(end))) for start, end in events]

    every, seconds = range(len(kernels)), order.race_seconds / len(order.tasks)
    warm = [one_round(every) for _ in range(_WARM_UP)]
    rounds = min(MOST_ROUNDS, max(FEWEST_ROUNDS, int(1e9 * seconds / sum(warm[-1]))))
    # Behind one that leaves the GPU cool, or data in its caches, a kernel is up to 3 % faster.
    draw = random.Random(0)
    return [one_round(draw.sample(every, len(kernels))) for _ in range(rounds)]


def _sets(bytes_: int, cache_bytes: int) -> int:
    """Several, larger than the caches together twice over, and no more than fit."""
    wanted = min(MOST_SETS, max(2, -(-2 * cache_bytes // max(1, bytes_)) + 1))
    free, _ = torch.cuda.mem_get_info()
    return max(2, min(wanted, int(free * 0.6) // max(1, bytes_)))


def _copy(
    arguments: Arguments, memory: Mapping[int, torch.Tensor], advanced: frozenset[int]
) -> tuple[Arguments, _Put]:
    """One set, with what the launch both reads and writes of it, beside what that held."""
    own = {number: view.clone() for number, view in memory.items()}
    copies = move(arguments, {memory[number].data_ptr(): copy for number, copy in own.items()})
    put = [
        (copy, memory[number] if copy.equal(memory[number]) else copy.clone())  # with addresses
        for number, copy in own.items()
        if number in advanced
    ]
    return copies, put
