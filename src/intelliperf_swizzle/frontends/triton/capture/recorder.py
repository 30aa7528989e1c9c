# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: launches are written down; without a GPU they are executed as allowed.

One launch at a time is recorded or executed. On a GPU, a launch like one before costs a look at its
arguments, some microseconds; integers are copied from it for the first launches of a kind.
"""

import atexit
import math
import os
import re
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path

import torch

from intelliperf_swizzle.codec import encode
from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.triton.capture import calls, tuning, unknown
from intelliperf_swizzle.frontends.triton.capture.counts import is_capturing
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch, describe
from intelliperf_swizzle.frontends.triton.capture.execution import execute, find_written
from intelliperf_swizzle.frontends.triton.capture.ledger import LaunchKind, Ledger, RecordedLaunch
from intelliperf_swizzle.frontends.triton.capture.settings import MOST_VARIANTS, Execution, Settings
from intelliperf_swizzle.frontends.triton.capture.uses import Uses

PROBE_SECONDS = 0.5
"""A launch runs this long before it is asked whether the budget suffices."""
INTEGER_SECONDS = 60.0
"""Of executing launches that write integers, all together, beside the budget of the others."""
_ROUNDED = re.compile(r"arith\.fpto[su]i .*[x ]i8\b|tt\.dot .*-> tensor<[\dx]+xi32>")
MOST_PROBES = 4
"""A kernel that was stopped so often on a grid is not begun again, unless it may write integers."""


def install(folder: Path, settings: Settings) -> None:
    """Record whatever Triton launches in this process, on its GPU or on none: `Settings.agent`."""
    uses = Uses(folder)
    uses.watch()
    tuning.watch(timed=settings.gpu is None)
    calls.around_each_launch(Recorder(folder, settings, uses).launch)


class Recorder:
    """Writes launches to a folder.

    Args:
        folder: of the capture; gets `launches/*.json`, `contents/*.npy` and `ttir/*`.
        settings: whether there is a GPU, and whether launches are executed without one.
        uses: of the process's jit functions.
    """

    def __init__(self, folder: Path, settings: Settings, uses: Uses) -> None:
        self._folder = folder
        self._ledger = Ledger(folder, uses)
        self._budget = Budget(folder, settings) if settings.gpu else None
        self._renew_lock()
        if settings.gpu is None:
            atexit.register(self._ledger.record_same)
        os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    def launch(self, bound: calls.BoundCall, launch: calls.Execute) -> None:
        """Records one launch, and makes it; on a GPU the first of its kind is timed."""
        with self._lock:
            timed = None if bound.empty else self._record(bound)
        if timed is None:
            launch()
            return
        timed.execution = Execution(computed=True, seconds=_seconds(launch))
        journal.write(self._folder, "ran", record=timed.name, **encode(timed.execution))

    def _record(self, bound: calls.BoundCall) -> RecordedLaunch | None:
        """Records a launch; returns it if it is to be timed."""
        kind, live = LaunchKind(), None
        try:
            if (kept := tuning.kept_in_trials(bound.call.kernel)) is not None:
                tried = describe(bound.call)
                reset = {view.storage for name, view in tried.launch.tensors() if name in kept}
                for number in find_written(bound.ttir, tried, locks=False) - reset:
                    unknown.mark(tried, number, is_unknown=True)
            kind = self._ledger.kind(bound)
            if kind.refused:
                self._leave(bound)
                return None
            if kind.records and not kind.integers:
                (record,) = kind.records.values()
            elif self._budget is None and (kind.looks > MOST_VARIANTS or is_capturing()):
                record = self._ledger.skip(bound, kind, compare=not is_capturing())
            else:
                live, record = self._ledger.look(bound, kind)
        except Exception as error:  # what cannot be recorded must not end the application
            self._ledger.refuse(bound, kind, error)
            self._leave(bound)
            return None
        again = partial(self.launch, bound, lambda: None) if self._budget else None
        self._ledger.counts.count(record.counter, again)
        if self._budget is not None:
            self._budget.execute(bound, kind, record, live)
            return None
        return record if record.new and record.execution is None else None

    def _leave(self, bound: calls.BoundCall) -> None:
        """A launch is not recorded, and without a GPU not executed."""
        if self._budget is not None:
            unknown.mark_arguments(bound.call.args)


def _seconds(launch: calls.Execute) -> float | None:
    """Makes a launch; returns its time on the GPU, None if that is not known."""
    if is_capturing() or not torch.cuda.is_available():
        launch()
        return None
    begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begun.record()
    launch()
    ended.record()
    ended.synchronize()
    return float(begun.elapsed_time(ended)) / 1e3


class Budget:
    """Which launches are executed without a GPU.

    Args:
        folder: of the capture.
        settings: of the recording.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        # by whether a launch may write integers
        self._seconds_left = {False: settings.compute_budget_seconds, True: INTEGER_SECONDS}
        self._stopped: Counter[tuple[str, object]] = Counter()
        unknown.watch_torch()

    def execute(
        self, bound: calls.BoundCall, kind: LaunchKind, record: RecordedLaunch,
        live: DescribedLaunch | None,
    ) -> None:  # fmt: skip
        """Executes a launch unless that would take too long; reports the first of each."""
        first = record.execution is None
        live = live or describe(bound.call)
        execution = Execution(computed=False, seconds=None)
        try:
            known = record.execution or execution
            # one that has integers may write them, and tells only when it runs
            always = self._settings.compute == "always" or kind.integers
            in_time = always or (known.seconds or 0.0) <= self._seconds_left[False]
            if first or (known.computed and in_time):
                execution = self._execute(bound, live)
        finally:
            if not execution.computed:
                for number in find_written(bound.ttir, live):
                    unknown.mark(live, number, is_unknown=True)
            if first:
                record.execution = execution
                if record.new:
                    journal.write(self._folder, "ran", record=record.name, **encode(execution))

    def _execute(self, bound: calls.BoundCall, live: DescribedLaunch) -> Execution:
        """Run all programs, unless that would take too long.

        One that writes integers has another budget: later launches may compute addresses of them,
        but for locks, bytes that floats were rounded to, or a product of matrices cut to.
        """
        place = (bound.name, bound.call.grid)
        numbers = find_written(bound.ttir, live, locks=False).intersection(live.integers)
        if _ROUNDED.search(bound.ttir or ""):
            numbers -= {view.storage for _, view in live.launch.tensors() if view.item_bytes == 1}
        hopeless = self._stopped[place] >= MOST_PROBES and not numbers
        if self._settings.compute == "never" or hopeless or bound.ttir is None:
            return Execution(computed=False, seconds=None)
        left = math.inf if self._settings.compute == "always" else self._seconds_left[bool(numbers)]
        stopwatch, computed = _Stopwatch(left), False
        try:
            execute(bound.ttir, live, stopwatch.ask)
            computed = True
        except LaunchEndedError:
            self._stopped[place] += 1
        except Exception as error:  # what cannot be interpreted must not end the recording
            note = f"`{bound.call.kernel.fn.__name__}` cannot be executed without a GPU: {error}"
            journal.write(self._folder, "note", text=note)
        finally:
            self._seconds_left[bool(numbers)] -= stopwatch.seconds
        return Execution(computed, stopwatch.seconds if computed else stopwatch.estimate)


class LaunchEndedError(Exception):
    """Ends the execution of a launch."""


class _Stopwatch:
    """Ends the execution of a launch that would exceed its budget.

    Asked now and then; after half a second, one second, two …: if the programs that remain take as
    long as those that ran, is there time for them?

    Attributes:
        estimate: seconds that the whole launch takes, as of the last question.
    """

    def __init__(self, budget: float) -> None:
        self.estimate = 0.0
        self._budget = budget
        self._start = time.process_time()
        self._next_question = PROBE_SECONDS

    @property
    def seconds(self) -> float:
        """Processor time since the start: how busy the machine is decides nothing."""
        return time.process_time() - self._start

    def ask(self, share: float) -> None:
        """Raises `LaunchEndedError` if the budget does not suffice.

        Args:
            share: of the work that is done.
        """
        seconds = self.seconds
        if seconds < self._next_question:
            return
        self._next_question = 2 * seconds
        self.estimate = seconds / max(share, 1e-9)
        if self.estimate > self._budget:
            raise LaunchEndedError
