# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Starts the application on its GPU, has candidates tried there, and survives what they do to it.

A candidate that faults, hangs or writes where it must not takes the application's process with it.
The parent knows from the journal what was being tried, and goes on with the others in a fresh
process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from intelliperf_swizzle.children import Child, signal_name
from intelliperf_swizzle.codec import decode
from intelliperf_swizzle.errors import ValidationError
from intelliperf_swizzle.kernels.triton.capture.journal import Journal
from intelliperf_swizzle.kernels.triton.capture.process import PATIENCE_SECONDS, last_lines, start
from intelliperf_swizzle.kernels.triton.capture.settings import Gpu, Settings, save_settings
from intelliperf_swizzle.kernels.triton.gpu.order import UNPADDED, Order, Task, save_order
from intelliperf_swizzle.kernels.triton.gpu.statistics import timing, with_energy
from intelliperf_swizzle.kernels.triton.gpu.trial import Check, Failure, FailureKind, Trial
from intelliperf_swizzle.records import Padding

AGENT = "intelliperf_swizzle.kernels.triton.gpu.agent"
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Rig:
    """How the application is started for trials.

    Attributes:
        command: as the user would type it.
        cwd: where it runs.
        folder: for orders, journals and what the application prints.
        device: what its GPU is called.
        environment: of the command; it shows the one GPU to be used.
        cache_bytes: of all caches of the GPU.
        gpu: None; a stand-in, under Triton's interpreter, where there is no GPU.
        run_seconds: what a candidate may take in any case; more if the original is slow.
        limit_seconds: one process is ended after this time in any case.
        goodbye_seconds: what the application may take to its end after the last trial.
    """

    command: tuple[str, ...]
    cwd: Path
    folder: Path
    device: str
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    cache_bytes: int = 0
    gpu: Gpu | None = None
    run_seconds: float = 20.0
    limit_seconds: float = 300.0
    goodbye_seconds: float = 3.0

    def try_out(
        self,
        tasks: Sequence[Task],
        candidates: Mapping[int, Mapping[str, str]],
        *,
        tolerance: float,
        race_seconds: float,
        checked: bool = False,
        padding: Padding = UNPADDED,
    ) -> dict[int, Trial]:
        """Compares candidates with the original at each task, and times those that agree.

        Args:
            tasks: recorded launches of one kernel, and what they read and write.
            candidates: function key -> text with the swizzle in it, by number.
            tolerance: absolute and relative, for floats that atomics add up.
            race_seconds: for the times of all tasks together; 0 = none are taken.
            checked: whether the candidates are known to agree, and are only timed.
            padding: of the candidates' tensors, which one task has.

        Returns:
            What came of each candidate.

        Raises:
            ValidationError: the application failed before anything could be tried.
        """
        record = _TrialsSoFar(tuple(tasks))
        while True:
            known = len(record.checks) + len(record.failures) + len(record.rounds)
            order = Order(
                tasks=record.tasks,
                candidates=candidates,
                checked=frozenset(
                    ((t, c) for t in range(len(tasks)) for c in candidates)
                    if checked
                    else record.checks
                ),
                failed=frozenset(record.failed),
                raced=frozenset(record.rounds),
                race_seconds=race_seconds,
                cache_bytes=self.cache_bytes,
                run_seconds=self.run_seconds,
                tolerance=tolerance,
                padding=padding,
            )
            whole = self._run(order, record)
            progress = len(record.checks) + len(record.failures) + len(record.rounds) - known
            if whole or not progress or set(candidates) <= record.failed:
                break
        return {number: record.trial(number, self.device) for number in candidates}

    def _run(self, order: Order, record: _TrialsSoFar) -> bool:
        """One process of the application; whether it came to its end or was done."""
        folder = self._fresh_folder()
        settings = Settings(AGENT, self.gpu, "always", 0.0, 0.0)
        save_settings(settings, folder)
        save_order(order, folder)
        journal = Journal(folder)
        application = start(
            self.command, folder, self.cwd, self.environment, interpreted=self.gpu is not None
        )
        watch = _ProcessWatch(record, time.monotonic(), self.limit_seconds)
        try:
            while application.exit_code is None:
                watch.take(journal.unread())
                if watch.late:
                    break
                if watch.done(len(order.tasks)) and watch.quiet(self.goodbye_seconds):
                    break
                application.wait(_POLL_SECONDS)
        finally:
            application.end(PATIENCE_SECONDS)
        watch.take(journal.unread())
        if watch.working is None:
            if not record.anything and application.exit_code:
                raise ValidationError(
                    f"the application failed: {_how(application)}", details=last_lines(folder)
                )
            return True
        candidate, what = watch.working["candidate"], watch.working["what"]
        if candidate in record.failed:  # it was said before the process ended itself
            return False
        how = "took too long" if watch.late else _how(application)
        if candidate is None:
            if what != "timing":
                raise ValidationError(
                    f"the unmodified kernel could not be run again: {how}",
                    details=last_lines(folder),
                )
            record.unraced[watch.working["launch"]] = f"timing failed: {how}"
            record.rounds[watch.working["launch"]] = {}
            return False
        kind: FailureKind = "hung" if watch.late else "faulted"
        lines = last_lines(folder)
        text = f"{how} while {what}" + (f": {lines[-1]}" if lines and not watch.late else "")
        record.failures[candidate] = Failure(kind, text)
        return False

    def _fresh_folder(self) -> Path:
        number = 1
        while (folder := self.folder / f"trial-{number}").exists():
            number += 1
        folder.mkdir(parents=True)
        return folder.resolve()


@dataclass
class _TrialsSoFar:
    """What all processes have told so far."""

    tasks: tuple[Task, ...]
    checks: dict[tuple[int, int], Check] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)
    rounds: dict[int, dict[int, list[tuple[float, float]]]] = field(default_factory=dict)
    joules: dict[int, dict[int, tuple[float, float]]] = field(default_factory=dict)
    unraced: dict[int, str] = field(default_factory=dict)

    @property
    def anything(self) -> bool:
        """Whether any trial was made."""
        return bool(self.checks or self.failures or self.rounds)

    @property
    def failed(self) -> set[int]:
        """Candidates that need not be tried any more."""
        differing = {candidate for (_, candidate), one in self.checks.items() if not one.same}
        return differing | set(self.failures)

    def trial(self, candidate: int, device: str) -> Trial:
        """What came of one candidate."""
        checks = {task: one for (task, number), one in self.checks.items() if number == candidate}
        rounds = [self.rounds.get(task, {}).get(candidate) for task in range(len(self.tasks))]
        complete = [one for one in rounds if one]
        timed = None
        if len(complete) == len(self.tasks) and candidate not in self.failed:
            joules = [self.joules.get(task, {}).get(candidate) for task in range(len(self.tasks))]
            counts = [task.launch.count for task in self.tasks]
            timed = with_energy(timing(complete, counts, device), joules, counts)
        return Trial(
            checks=checks,
            failure=self.failures.get(candidate),
            timing=timed,
            note=next(iter(self.unraced.values()), None),
        )


@dataclass
class _ProcessWatch:
    """One process, as its journal tells of it."""

    record: _TrialsSoFar
    begun: float
    limit_seconds: float
    working: dict[str, Any] | None = None
    _since: float = field(default_factory=time.monotonic)
    _done: int = 0

    def take(self, events: Sequence[dict[str, Any]]) -> None:
        """Takes in what the journal has to tell."""
        for event in events:
            self._since = time.monotonic()
            kind = event["event"]
            if kind == "working":
                self.working = event
            elif kind == "idle":
                self.working = None
                self._done += 1
            elif kind == "checked":
                key = (event["launch"], event["candidate"])
                self.record.checks[key] = decode(Check, event["check"])
            elif kind == "failed":
                self.record.failures[event["candidate"]] = decode(Failure, event["failure"])
            elif kind == "not raced":
                self.record.unraced[event["launch"]] = event["text"]
            elif kind == "raced":
                self.record.rounds[event["launch"]] = _by_candidate(event, event["rounds_ns"])
                if event["joules"] is not None:
                    pairs = _by_candidate(event, [event["joules"]])
                    self.record.joules[event["launch"]] = {c: one for c, (one,) in pairs.items()}

    @property
    def late(self) -> bool:
        """Whether what is being tried takes too long, or the whole process."""
        now = time.monotonic()
        if self.working is not None and now - self._since > self.working["limit_seconds"]:
            return True
        return now - self.begun > self.limit_seconds

    def done(self, tasks: int) -> bool:
        """Whether all tasks are over."""
        return self._done >= tasks

    def quiet(self, seconds: float) -> bool:
        """Whether nothing was told for so long."""
        return time.monotonic() - self._since > seconds


def _by_candidate(
    event: Mapping[str, Any], rows: Sequence[Sequence[float]]
) -> dict[int, list[tuple[float, float]]]:
    """Pairs of the original and each candidate, a row each."""
    return {
        candidate: [(row[0], row[place]) for row in rows]
        for place, candidate in enumerate(event["candidates"], 1)
    }


def _how(application: Child) -> str:
    """How a process ended."""
    code = application.exit_code
    if code is not None and code < 0:
        return f"the process was killed by {signal_name(-code)}"
    return f"the process ended with exit status {code}"
