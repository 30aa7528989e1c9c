# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a trial means for an edit."""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle.frontends.ports import GpuOutcome
from intelliperf_swizzle.frontends.trials.trial import Trial
from intelliperf_swizzle.records import Validation

RACE_SECONDS = 6.0
"""For the times of all candidates of one trial; a race of a dozen GEMMs of 5 ms has 100 rounds."""


def outcome_of(
    trial: Trial, tiles: Sequence[int], tolerance: float, what: str = "the swizzled kernel"
) -> GpuOutcome:
    """The outcome, by what was compared and timed.

    Args:
        trial: over all tasks.
        tiles: of each task.
        tolerance: within which floats that atomics add up were compared.
        what: was tried, in words.
    """
    if trial.failure is not None:
        kind, text = trial.failure.kind, trial.failure.text
        if kind == "does not build" or kind == "not validated":
            return GpuOutcome((kind, text))
        return GpuOutcome(("output differs", f"{what} {kind}: {text}"))
    validation = _validation(trial, tiles, tolerance)
    if not validation.same_bits:
        return GpuOutcome(("output differs", trial.difference or ""), validation)
    if len(trial.checks) < len(tiles):
        missing = len(tiles) - len(trial.checks)
        how = f"were not compared: {trial.note}" if trial.note else "did not come again"
        reason = f"{missing} of {len(tiles)} recorded launches {how}"
        return GpuOutcome(("not validated", reason), validation)
    if trial.timing is None:
        return GpuOutcome(("not measured", trial.note or "no times were taken"), validation)
    return GpuOutcome(None, validation, trial.timing)


def _validation(trial: Trial, tiles: Sequence[int], tolerance: float) -> Validation:
    compared = [tiles[task] for task in trial.checks]
    loose = any(check.loose for check in trial.checks.values())
    return Validation(
        method="gpu",
        launches=len(compared),
        tiles_compared=sum(compared),
        tiles=sum(tiles),
        same_bits=trial.difference is None,
        rule="tolerance" if loose else "bits",
        tolerance=tolerance if loose else None,
        difference=trial.difference,
    )
