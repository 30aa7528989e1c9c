# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: the original and candidates on one launch's inputs, byte for byte.

    digest the inputs;  fill the first copy;  original
    for each candidate:  fill the second copy;  candidate;  compare the copies;  digest the inputs

Kernels write to copies of what the launch writes. They are filled with poison, or with what the
application's memory holds where the launch reads it, too. So both kernels begin with the same bytes
in memory, and what one of them leaves untouched agrees only where the other does too. The
application's own tensors are read only, and there is nothing to restore.

A validation costs two kernel runs; two digests of what is only read; two fills and a comparison of
what is written; and twice the written memory. Nothing waits for the host in between.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from intelliperf_swizzle.frontends.trials import Check
from intelliperf_swizzle.frontends.triton.gpu import passes
from intelliperf_swizzle.frontends.triton.gpu.moved import Arguments, Launch, device_of, moved
from intelliperf_swizzle.frontends.triton.gpu.order import Task
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
            passes.add_digest(self.memory[number], digest)

    def _run(self, kernel: Launch, copies: Mapping[int, torch.Tensor]) -> None:
        """Has a kernel write to copies of what it writes."""
        for number, copy in copies.items():
            if number in self.task.read:
                copy.copy_(self.memory[number])
            else:
                passes.poison(copy)
        places = {self.memory[number].data_ptr(): copy for number, copy in copies.items()}
        kernel(*moved(self.arguments, places))

    def _difference(self) -> str | None:
        """The first difference between the two copies; waits until all is done."""
        counts = self._counters(self._written)
        for number, count in zip(self._written, counts, strict=True):
            passes.add_differing(self._outcome[number], self._expected[number], count)
        for number, count in zip(self._written, counts.tolist(), strict=True):
            if count and (words := self._words(number)):
                return words
        return None

    def _words(self, number: int) -> str | None:
        """How the copies of a storage differ; None if the tolerance allows it."""
        outcome, expected = self._outcome[number], self._expected[number]
        dtype = self._float_type(number) if number in self.task.summed else None
        if dtype is None:
            place, count = passes.first_difference(outcome, expected)
            what = f"{count} bytes"
        else:
            beyond = passes.first_beyond(outcome, expected, dtype, self.tolerance)
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
        return " and ".join(f"`{name}`" for name, one in _tensors(self.task, number))

    def _float_type(self, number: int) -> torch.dtype | None:
        """Of its elements; None if arguments see it as different ones."""
        dtypes = {tensor.dtype for _, tensor in _tensors(self.task, number)}
        return _FLOATS.get(dtypes.pop()) if len(dtypes) == 1 else None


_FLOATS = {
    "fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64,
}  # fmt: skip


def _tensors(task: Task, number: int) -> list[tuple[str, TensorArgument]]:
    """Names and views of the arguments that lie in a storage."""
    return [one for one in task.launch.tensors() if one[1].storage == number]
