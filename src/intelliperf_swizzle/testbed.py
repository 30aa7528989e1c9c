# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run's kernel on its GPU: what is asked of `gpu.Rig`, and what its trials mean for attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from intelliperf_swizzle.gpu import Rig, Task, Trial
from intelliperf_swizzle.kernel.edit import Edit
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.records import Access, Timing, Validation, Verdict
from intelliperf_swizzle.validate import touched_storages

RACE_SECONDS = 6.0
"""For the times of all candidates of one trial; a race of a dozen GEMMs of 5 ms has 100 rounds."""


@dataclass(frozen=True)
class Tried:
    """What a trial means for an attempt.

    Attributes:
        refusal: why it may not be ranked; None where it may.
        validation: what was compared; None where nothing was.
        timing: None where it was refused.
    """

    refusal: Verdict | None
    validation: Validation | None = None
    timing: Timing | None = None


class Testbed:
    """Tries edits of one kernel out in its application, on the GPU.

    Args:
        rig: how the application is started.
        launches: at which the kernel is compared and timed.
        tolerance: absolute and relative, for floats that atomics add up in any order.
    """

    def __init__(self, rig: Rig, launches: Sequence[TracedLaunch], tolerance: float):
        self._rig = rig
        self._tasks = tasks_of(launches)
        self._tolerance = tolerance

    @property
    def environment(self) -> Mapping[str, str]:
        """What shows an application the GPU."""
        return self._rig.environment

    def try_out(self, edits: Mapping[int, Edit]) -> dict[int, Tried]:
        """Compares each edit with the kernel as it is, and times those that agree.

        Raises:
            ValidationError: the application failed, or never launches the kernel.
        """
        trials = self._run(edits, checked=False)
        return {number: self._tried(trial) for number, trial in trials.items()}

    def time_again(self, edits: Mapping[int, Edit]) -> dict[int, Timing | None]:
        """Times edits that agree once more, against the kernel as it is and each other."""
        trials = self._run(edits, checked=True)
        return {number: trial.timing for number, trial in trials.items()}

    def _run(self, edits: Mapping[int, Edit], *, checked: bool) -> dict[int, Trial]:
        return self._rig.try_out(
            self._tasks,
            {number: edit.functions for number, edit in edits.items()},
            tolerance=self._tolerance,
            race_seconds=RACE_SECONDS,
            checked=checked,
        )

    def _tried(self, trial: Trial) -> Tried:
        if trial.failure is not None:
            kind, text = trial.failure.kind, trial.failure.text
            if kind in ("does not build", "not validated"):
                return Tried(Verdict(kind, text))
            return Tried(Verdict("output differs", f"the swizzled kernel {kind}: {text}"))
        validation = self._validation(trial)
        if not validation.same_bits:
            return Tried(Verdict("output differs", trial.difference or ""), validation)
        if len(trial.checks) < len(self._tasks):
            missing = len(self._tasks) - len(trial.checks)
            reason = f"{missing} of {len(self._tasks)} recorded launches did not come again"
            return Tried(Verdict("not validated", reason), validation)
        if trial.timing is None:
            return Tried(Verdict("not measured", trial.note or "no times were taken"), validation)
        return Tried(None, validation, trial.timing)

    def _validation(self, trial: Trial) -> Validation:
        compared = [self._tasks[task].launch.programs for task in trial.checks]
        loose = any(check.loose for check in trial.checks.values())
        return Validation(
            method="gpu",
            launches=len(compared),
            tiles_compared=sum(compared),
            tiles=sum(task.launch.programs for task in self._tasks),
            same_bits=trial.difference is None,
            rule="tolerance" if loose else "bits",
            tolerance=self._tolerance if loose else None,
            difference=trial.difference,
        )


def tasks_of(launches: Sequence[TracedLaunch]) -> tuple[Task, ...]:
    """What the launches read and write, as their traces tell."""
    return tuple(map(_task, launches))


def _task(one: TracedLaunch) -> Task:
    launch, trace = one.launch, one.trace
    summed = touched_storages(launch, trace, (Access.ATOMIC,)) if trace.order_matters else ()
    return Task(
        launch=launch,
        read=touched_storages(launch, trace, (Access.READ, Access.ATOMIC)),
        written=touched_storages(launch, trace, (Access.WRITE, Access.ATOMIC)),
        summed=frozenset(summed),
    )
