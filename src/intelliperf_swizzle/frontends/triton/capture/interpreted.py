# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, without a GPU: each launch is written down, and executed as allowed."""

from __future__ import annotations

import math
import time
import types
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from intelliperf_swizzle.codec import encode
from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.triton.capture.calls import Call, Execute, JitFunction
from intelliperf_swizzle.frontends.triton.capture.identity import Identified
from intelliperf_swizzle.frontends.triton.capture.ledger import (
    LaunchKind,
    Ledger,
    RecordedLaunch,
    integers,
)
from intelliperf_swizzle.frontends.triton.capture.settings import Execution, Settings
from intelliperf_swizzle.frontends.triton.capture.uses import Uses
from intelliperf_swizzle.frontends.triton.interpreter.fixes import reaching
from intelliperf_swizzle.records import Grid, UInt8Array

PROBE_SECONDS = 0.5
"""A launch runs this long before it is asked whether the budget suffices."""
MOST_PROBES = 4
"""A kernel that was stopped so often on a grid is not begun again there, unless it may write
integers: each launch of a long loop may have a seed of its own."""


class InterpretedRecorder:
    """Writes launches to a folder and knows which of them are executed.

    Args:
        folder: of the capture; gets `launches/*.json` and `contents/*.npy`.
        settings: whether launches are executed.
        uses: of the process's jit functions.
    """

    def __init__(self, folder: Path, settings: Settings, uses: Uses) -> None:
        self._folder = folder
        self._settings = settings
        self._seconds_left = settings.compute_budget_seconds
        self._stopped: Counter[tuple[JitFunction, Grid]] = Counter()
        self._ledger = Ledger(folder, uses, "was neither recorded nor executed")

    def launch(self, call: Call, execute: Execute) -> None:
        """Record one call and execute it, or not."""
        found = self._ledger.identify(call)
        kind = self._ledger.kind(found)
        if kind is not None and not kind.integers:
            record, new = kind.last, False
        else:
            kind, record, new = self._look(call, found, kind)
        if record is None:
            return
        self._ledger.count(record)
        if record.execution is None or self._is_worth_repeating(kind, record):
            execution = Execution(computed=False, seconds=None)
            try:
                execution = self._execute(record, integers(kind, found), call, execute)
                record.execution = execution
            finally:
                if new:
                    journal.write(self._folder, "ran", record=record.name, **encode(execution))

    def _look(
        self, call: Call, found: Identified, kind: LaunchKind | None
    ) -> tuple[LaunchKind, RecordedLaunch | None, bool]:
        """Kind and record of a launch that may be new, and whether it is."""
        if kind is not None and (record := self._ledger.look_up(kind, integers(kind, found))):
            return kind, record, False
        kind, new = self._ledger.write(call, found)
        return kind, kind.last, new

    # --- execution ------------------------------------------------------------------------------

    def _is_worth_repeating(self, kind: LaunchKind, record: RecordedLaunch) -> bool:
        """Whether a launch that was executed before is executed again: if there is time for it.

        One that has integers may write them, and tells only when it runs.
        """
        known = record.execution
        if known is None or not known.computed:
            return False
        always = self._settings.compute == "always" or bool(kind.integers)
        return always or (known.seconds or 0.0) <= self._seconds_left

    def _execute(
        self, record: RecordedLaunch, integers: Sequence[UInt8Array], call: Call, execute: Execute
    ) -> Execution:
        """Run all programs, unless that would take too long."""
        place = (call.kernel, record.grid)
        hopeless = self._stopped[place] >= MOST_PROBES and not integers
        if self._settings.compute == "never" or hopeless:
            return Execution(computed=False, seconds=None)
        before = [one.copy() for one in integers]

        def writes_integers() -> bool:
            return any(not np.array_equal(*both) for both in zip(before, integers, strict=True))

        always = self._settings.compute == "always"
        stopwatch = _Stopwatch(
            record.grid,
            budget=math.inf if always else self._seconds_left,
            budget_for_integers=(self._settings.deadline - time.monotonic()) / 2,
            writes_integers=writes_integers,
        )
        try:
            with stopwatch, reaching(record.reach):
                execute()
            computed = True
        except _LaunchEndedError:
            computed = False
            self._stopped[place] += 1
        except Exception as error:  # what the interpreter cannot do must not end the recording
            if always:
                raise
            computed = False
            sentence = f"the interpreter failed on `{call.kernel.fn.__name__}`: {error}"
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
        grid: Grid,
        *,
        budget: float,
        budget_for_integers: float,
        writes_integers: Callable[[], bool],
    ) -> None:
        self.estimate = 0.0
        self.for_integers = False
        self._programs = math.prod(grid)
        self._grid = grid
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
        interpreter._interpreter = _BudgetedModule(self._native, self._ask)
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


class _BudgetedModule:
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
