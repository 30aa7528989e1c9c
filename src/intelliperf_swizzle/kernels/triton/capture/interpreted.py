# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, without a GPU: each launch is written down, and executed as allowed."""

from __future__ import annotations

import math
import time
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np

from intelliperf_swizzle.codec import encode
from intelliperf_swizzle.kernels.triton.capture import journal
from intelliperf_swizzle.kernels.triton.capture.calls import Call, Execute
from intelliperf_swizzle.kernels.triton.capture.describe import DescribedLaunch, describe
from intelliperf_swizzle.kernels.triton.capture.journal import Execution
from intelliperf_swizzle.kernels.triton.capture.settings import Settings
from intelliperf_swizzle.kernels.triton.capture.sources import UnreadableKernelError
from intelliperf_swizzle.kernels.triton.capture.store import Store
from intelliperf_swizzle.kernels.triton.capture.uses import Uses
from intelliperf_swizzle.records import Launch, UInt8Array

PROBE_SECONDS = 0.5
"""A launch runs this long before it is asked whether the budget suffices."""


class InterpretedRecorder:
    """Writes launches to a folder and knows which of them are executed.

    Args:
        folder: of the capture; gets `launches/*.json` and `contents/*.npy`.
        settings: whether launches are executed.
        uses: of the process's jit functions.
    """

    def __init__(self, folder: Path, settings: Settings, uses: Uses) -> None:
        self._folder = folder
        self._uses = uses
        self._settings = settings
        self._seconds_left = settings.compute_budget_seconds
        self._left_out: set[str] = set()
        self._store = Store(folder)

    def launch(self, call: Call, execute: Execute) -> None:
        """Record one call and execute it, or not."""
        try:
            live = describe(call)
            if not live.launch.programs:  # Triton launches nothing then, and says nothing
                return
            before = {number: live.contents(number).copy() for number in live.integers}
            name, seen = self._store.keep(live, before)
        except (UnreadableKernelError, OSError) as error:
            sentence = f"`{call.kernel.fn.__name__}` was neither recorded nor executed: {error}"
            journal.write(self._folder, "refused", text=sentence)
            return
        if seen == "again":
            journal.write(self._folder, "again", record=name)
            if name not in self._left_out:
                self._execute(live, before, execute)
            return
        self._uses.tell()
        journal.write(self._folder, seen, record=name)
        execution = Execution(computed=False, seconds=None)
        try:
            execution = self._execute(live, before, execute)
        finally:
            journal.write(self._folder, "ran", record=name, **encode(execution))
        if not execution.computed:
            self._left_out.add(name)

    # --- execution ------------------------------------------------------------------------------

    def _execute(
        self, live: DescribedLaunch, before: dict[int, UInt8Array], execute: Execute
    ) -> Execution:
        """Run all programs, unless that would take too long."""
        if self._settings.compute == "never":
            return Execution(computed=False, seconds=None)

        def writes_integers() -> bool:
            return any(not np.array_equal(before[n], live.contents(n)) for n in live.integers)

        always = self._settings.compute == "always"
        stopwatch = _Stopwatch(
            live.launch,
            budget=math.inf if always else self._seconds_left,
            budget_for_integers=(self._settings.deadline - time.monotonic()) / 2,
            writes_integers=writes_integers,
        )
        try:
            with stopwatch:
                execute()
            computed = True
        except _LaunchEndedError:
            computed = False
        except Exception as error:  # what the interpreter cannot do must not end the recording
            if always:
                raise
            computed = False
            sentence = f"the interpreter failed on `{live.launch.kernel}`: {error}"
            journal.write(self._folder, "note", text=sentence)
        finally:
            self._seconds_left -= stopwatch.seconds
        seconds = stopwatch.seconds if computed else stopwatch.estimate
        return Execution(computed, seconds, stopwatch.for_integers)


class _LaunchEndedError(BaseException):
    """Ends the execution of a launch; not an Exception, which the interpreter would wrap."""


class _Stopwatch:
    """While active, ends the interpreter's run of a launch that would exceed the budget.

    Asked at every load, after half a second, one second, two … : if the programs that remain take
    as long as those that ran, is there time for them? A launch that has written integers by then
    has another budget: later launches may compute addresses from them.

    Attributes:
        estimate: seconds that the whole launch takes, as of the last question.
        for_integers: whether it is only the integers for which it went on.
    """

    def __init__(
        self,
        launch: Launch,
        *,
        budget: float,
        budget_for_integers: float,
        writes_integers: Callable[[], bool],
    ) -> None:
        self.estimate = 0.0
        self.for_integers = False
        self._programs = launch.programs
        self._grid = launch.grid
        self._budget = budget
        self._budget_for_integers = budget_for_integers
        self._writes_integers = writes_integers
        self._begun = 0
        self._start = time.monotonic()
        self._next_question = PROBE_SECONDS

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._start

    def __enter__(self) -> None:
        from triton.runtime import interpreter

        self._native = interpreter._interpreter
        self._select = interpreter.interpreter_builder.set_grid_idx
        interpreter._interpreter = _Asking(self._native, self._ask)
        interpreter.interpreter_builder.set_grid_idx = self._begin_program

    def __exit__(self, *_: object) -> None:
        from triton.runtime import interpreter

        interpreter._interpreter = self._native
        interpreter.interpreter_builder.set_grid_idx = self._select

    def _begin_program(self, x: int, y: int, z: int) -> None:
        if not self._begun:
            self._start = time.monotonic()  # until now the interpreter has read the kernel's text
        self._ask()
        program = x + self._grid[0] * (y + self._grid[1] * z)
        self._begun = max(self._begun, program + 1)  # a program that waited is selected again
        self._select(x, y, z)

    def _ask(self) -> None:
        seconds = self.seconds
        if seconds < self._next_question:
            return
        self._next_question = 2 * seconds
        self.estimate = seconds * self._programs / max(self._begun, 1)
        if self.estimate <= self._budget:
            return
        self.for_integers = self._writes_integers() and self.estimate <= self._budget_for_integers
        if not self.for_integers:
            raise _LaunchEndedError


class _Asking:
    """The interpreter's C++ module, with a question before each load."""

    def __init__(self, native: types.ModuleType, ask: Callable[[], None]) -> None:
        self._native = native
        self._ask = ask

    def __getattr__(self, name: str) -> object:
        return getattr(self._native, name)

    def load(self, *operands: object) -> object:
        """Read memory."""
        self._ask()
        return self._native.load(*operands)
