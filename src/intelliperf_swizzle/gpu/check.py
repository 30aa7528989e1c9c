# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: the original and candidates on one launch's own tensors, byte for byte.

    save what it writes; poison what it only writes;  original;  keep the outcome
    for each candidate:  restore and poison;  candidate;  compare;  have inputs changed?
    restore

So a validation costs two kernel runs, at most six passes over what the launch writes (save,
poison, keep, reset, compare, restore) and two over what it only reads, and twice the written
memory. Both kernels begin with the same bytes in memory, so what one of them leaves untouched
agrees only where the other does too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from intelliperf_swizzle.gpu.memory import digest, first_beyond, first_difference, poison
from intelliperf_swizzle.gpu.order import Task
from intelliperf_swizzle.gpu.trial import Check
from intelliperf_swizzle.records import DescriptorArgument, TensorArgument

Run = Callable[[], None]


class InputChangedError(Exception):
    """A candidate has written to an input, so the application cannot go on."""


class Bench:
    """One launch, prepared for comparisons.

    Args:
        task: the launch.
        memory: bytes of its storages, by number.
        original: runs the kernel as it is.
        tolerance: for summed floats.

    Raises:
        torch.cuda.OutOfMemoryError: there is no room for the copies.
    """

    def __init__(
        self, task: Task, memory: Mapping[int, Any], original: Run, tolerance: float
    ) -> None:
        self._task = task
        self._written = {number: memory[number] for number in sorted(task.written)}
        self._inputs = {n: view for n, view in memory.items() if n not in task.written}
        self._tolerance = tolerance
        self._original = original
        self._bytes = sum(view.nbytes for view in memory.values())
        begun = _now()
        self._before = {number: view.clone() for number, view in self._written.items()}
        self._digests = {number: digest(view) for number, view in self._inputs.items()}
        try:
            self._kernel_seconds = self._run(original, first=True)
            self._expected = {number: view.clone() for number, view in self._written.items()}
        except BaseException:
            self.restore()
            raise
        self._seconds = _now() - begun

    @property
    def original_seconds(self) -> float:
        """Of the original's run; the first one, which may have been slow."""
        return self._kernel_seconds

    def compare(self, candidate: Run) -> Check:
        """Runs a candidate and compares every byte.

        Raises:
            InputChangedError: it wrote to an input; `args` holds the check.
        """
        begun = _now()
        kernel_seconds = self._run(candidate)
        difference = self._difference()
        if difference is not None and (itself := self._unsteady()):
            difference = f"{difference}; {itself}"
        changed = [n for n, view in self._inputs.items() if digest(view) != self._digests[n]]
        if changed:
            difference = f"it writes to {self._names(changed[0])}, which is an input"
        copies = (*self._before.values(), *self._expected.values())
        check = Check(
            same=difference is None,
            difference=difference,
            loose=bool(self._task.summed),
            seconds=self._seconds + _now() - begun,
            kernel_seconds=self._kernel_seconds + kernel_seconds,
            tensor_bytes=self._bytes,
            extra_bytes=sum(copy.nbytes for copy in copies),
            written_bytes=sum(view.nbytes for view in self._written.values()),
        )
        if changed:
            raise InputChangedError(check)
        return check

    def restore(self) -> None:
        """Leaves memory as the application had it."""
        for number, view in self._written.items():
            view.copy_(self._before[number])
        torch.cuda.synchronize()

    def _run(self, kernel: Run, *, first: bool = False) -> float:
        """Runs a kernel on memory as it was, poison where it is only written; its seconds."""
        for number, view in self._written.items():
            if number not in self._task.read:
                poison(view)
            elif not first:
                view.copy_(self._before[number])
        begun = _now()
        kernel()
        return _now() - begun

    def _difference(self) -> str | None:
        for number, view in self._written.items():
            expected = self._expected[number]
            found = first_difference(view, expected)
            if found is None:
                continue
            place, count = found
            dtype = self._float_type(number) if number in self._task.summed else None
            if dtype is None:
                return self._words(number, place, f"{count} bytes")
            beyond = first_beyond(view, expected, dtype, self._tolerance)
            if beyond is not None:
                return self._words(number, beyond, f"more than {self._tolerance:g}")
        return None

    def _unsteady(self) -> str | None:
        """Says so if the original does not even agree with itself."""
        self._run(self._original)
        if self._difference() is None:
            return None
        return "but the kernel as it is does not leave the same bytes twice either"

    def _words(self, number: int, place: int, what: str) -> str:
        size = _element_bytes(self._task, number)
        return f"{self._names(number)} differs in {what}, first at element {place // size}"

    def _names(self, number: int) -> str:
        return " and ".join(f"`{name}`" for name, one in _tensors(self._task, number))

    def _float_type(self, number: int) -> Any:
        (_, tensor), *_others = _tensors(self._task, number)
        return _FLOATS.get(tensor.dtype)


_FLOATS = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
}


def _tensors(task: Task, number: int) -> list[tuple[str, TensorArgument]]:
    """Names and views of the arguments that lie in a storage."""
    found: list[tuple[str, TensorArgument]] = []

    def visit(name: str, argument: Any) -> None:
        if isinstance(argument, TensorArgument) and argument.storage == number:
            found.append((name, argument))
        elif isinstance(argument, DescriptorArgument):
            visit(name, argument.base)
        elif isinstance(argument, tuple):
            for item in argument:
                visit(name, item)

    for name, argument in task.launch.arguments.items():
        visit(name, argument)
    return found


def _element_bytes(task: Task, number: int) -> int:
    (_, tensor), *_others = _tensors(task, number)
    digits = "".join(c for c in tensor.dtype.partition("e")[0] if c.isdigit())
    return max(1, int(digits or 8) // 8)


def _now() -> float:
    """The time when all that was launched is done."""
    torch.cuda.synchronize()
    return time.perf_counter()
