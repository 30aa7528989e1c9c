# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Has candidates tried in processes of an application, and survives what they do to it.

A candidate that faults, hangs or writes where it must not takes the application's process with it.
The parent knows from the journal what was being tried, and goes on with the others in a fresh
process. The lines of the journal:

    {"event": "working", "launch": l, "candidate": c, "what": …, "limit_seconds": s}
                                    from now on, nothing may take longer than that
    {"event": "checked", "launch": l, "candidate": c, …}      fields of `journal.Check`
    {"event": "failed", "launch": l, "candidate": c, …}       fields of `journal.Failure`
    {"event": "raced", "launch": l, "candidates": […], "rounds_ns": [[…], …]}
                                    a row of a round: the original first, then the candidates
    {"event": "not raced", "launch": l, "text": …}
    {"event": "idle"}               the application goes on

The clock of a GPU drifts by percents within seconds, and both kernels of a round meet the same
clock. So candidates are compared by the median of their ratios within rounds.
"""

import math
import statistics
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from intelliperf_swizzle import children, codec, errors, records
from intelliperf_swizzle.frontends.child_processes import PATIENCE_SECONDS, how_ended, last_lines
from intelliperf_swizzle.frontends.ports import GpuOutcome
from intelliperf_swizzle.frontends.trials.journal import (
    Check,
    Failure,
    FailureKind,
    Journal,
    Known,
    Trial,
)

_POLL_SECONDS = 0.05


Begun: TypeAlias = tuple[Path, children.Child]
"""A process of the application that tries candidates, and the folder with its journal and log."""


@dataclass(frozen=True)
class Limits:
    """Of one process.

    Attributes:
        device: what its GPU is called.
        process_seconds: it is ended after this time in any case.
        goodbye_seconds: what the application may take to its end after the last trial.
    """

    device: str
    process_seconds: float = 300.0
    goodbye_seconds: float = 3.0


def fresh_folder(parent: Path) -> Path:
    """A new folder for the order and the journal of one process."""
    number = 1
    while (folder := parent / f"trial-{number}").exists():
        number += 1
    folder.mkdir(parents=True)
    return folder.resolve()


def try_out(
    start: Callable[[Known], Begun], counts: list[int], candidates: Collection[int], limits: Limits
) -> dict[int, Trial]:
    """What comes of each candidate at each task, in as many processes as it takes.

    Args:
        start: starts the application, which tries what is not known yet.
        counts: how often the application launches the kernel of each task.
        candidates: their numbers.
        limits: of each process.

    Raises:
        ValidationError: the application failed before anything could be tried.
    """
    record = _TrialsSoFar(tuple(counts))
    while True:
        known = record.size
        done = Known(frozenset(record.checks), frozenset(record.failed), frozenset(record.rounds))
        whole = _run(start(done), record, limits)
        if whole or record.size == known or set(candidates) <= record.failed:
            return {number: record.trial(number, limits.device) for number in candidates}


def _run(begun: Begun, record: "_TrialsSoFar", limits: Limits) -> bool:
    """One process of the application; whether it came to its end or was done."""
    folder, child = begun
    journal = Journal(folder)
    watch, end = _ProcessWatch(record), time.monotonic() + limits.process_seconds
    record.cut, late, over = None, False, False
    try:
        while child.exit_code is None:
            watch.take(journal.read_new())
            late, over = watch.late, time.monotonic() > end  # which no candidate is to blame for
            if late or over:
                break
            if watch.done(len(record.counts)) and watch.quiet(limits.goodbye_seconds):
                break
            child.wait(_POLL_SECONDS)
    finally:
        child.end(PATIENCE_SECONDS)
    watch.take(journal.read_new())
    if over and not late and not watch.done(len(record.counts)):
        record.cut = f"the application was ended after {limits.process_seconds:.0f} s"
        return False
    if watch.working is None:
        if not record.size and child.exit_code:
            lines = last_lines(folder)
            raise errors.ValidationError(
                f"the application failed: the process {how_ended(child.exit_code)}", details=lines
            )
        return True
    _note_loss(begun, record, watch.working, late=late)
    return False


def _note_loss(
    begun: Begun, record: "_TrialsSoFar", working: Mapping[str, Any], *, late: bool
) -> None:
    """Notes what was being tried when the process was lost."""
    candidate, what = working["candidate"], working["what"]
    if candidate in record.failed:  # it was reported before the process ended itself
        return
    if working["launch"] in record.unraced:
        record.rounds[working["launch"]] = {}
        return
    how = "took too long" if late else f"the process {how_ended(begun[1].exit_code)}"
    lines = last_lines(begun[0])
    if candidate is None:
        if what != "timing":
            raise errors.ValidationError(
                f"the unmodified kernel could not be run again: {how}", details=lines
            )
        record.unraced[working["launch"]] = f"timing failed: {how}"
        record.rounds[working["launch"]] = {}
        return
    text = f"{how} while {what}" + (f": {lines[-1]}" if lines and not late else "")
    kind: FailureKind = "hung" if late else "faulted"
    if what == "building":
        kind = "not validated" if late else "does not build"
    record.failures[candidate] = Failure(kind, text)


@dataclass
class _TrialsSoFar:
    """What all processes have reported so far."""

    counts: tuple[int, ...]
    checks: dict[tuple[int, int], Check] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)
    rounds: dict[int, dict[int, list[tuple[float, float]]]] = field(default_factory=dict)
    unraced: dict[int, str] = field(default_factory=dict)
    cut: str | None = None

    @property
    def size(self) -> int:
        """How much is known."""
        return len(self.checks) + len(self.failures) + len(self.rounds)

    @property
    def failed(self) -> set[int]:
        """Candidates that need not be tried any more."""
        differing = {candidate for (_, candidate), check in self.checks.items() if not check.same}
        return differing | set(self.failures)

    def trial(self, candidate: int, device: str) -> Trial:
        """What came of one candidate."""
        checks = {task: c for (task, number), c in self.checks.items() if number == candidate}
        rounds = [self.rounds.get(task, {}).get(candidate) for task in range(len(self.counts))]
        complete = [pairs for pairs in rounds if pairs]
        timed, missing = None, len(checks) < len(self.counts)
        if len(complete) == len(self.counts) and candidate not in self.failed:
            timed = timing(complete, self.counts, device)
        note = self.cut if missing else next(iter(self.unraced.values()), self.cut)
        return Trial(checks, self.failures.get(candidate), timed, note)


@dataclass
class _ProcessWatch:
    """One process, by its journal."""

    record: _TrialsSoFar
    working: dict[str, Any] | None = None
    _since: float = field(default_factory=time.monotonic)
    _done: int = 0

    def take(self, events: Sequence[dict[str, Any]]) -> None:
        """Reads what is new in the journal."""
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
                self.record.checks[key] = codec.decode(Check, event["check"])
            elif kind == "failed":
                self.record.failures[event["candidate"]] = codec.decode(Failure, event["failure"])
            elif kind == "not raced":
                self.record.unraced[event["launch"]] = event["text"]
            elif kind == "raced":
                self.record.rounds[event["launch"]] = {
                    candidate: [(row[0], row[place]) for row in event["rounds_ns"]]
                    for place, candidate in enumerate(event["candidates"], 1)
                }

    @property
    def late(self) -> bool:
        """Whether what is being tried takes too long."""
        return self.working is not None and self.quiet(self.working["limit_seconds"])

    def done(self, tasks: int) -> bool:
        """Whether all tasks are over."""
        return self._done >= tasks

    def quiet(self, seconds: float) -> bool:
        """Whether nothing was reported for that long."""
        return time.monotonic() - self._since > seconds


# --- what trials mean ---------------------------------------------------------------------------


def median_interval(samples: Sequence[float]) -> records.Interval:
    """The median and its 95 % interval from order statistics, which needs no distribution.

    Of n samples the k-th smallest and the k-th largest enclose the true median with probability
    1 - 2 P(Binomial(n, 1/2) < k). Source: H. A. David, Order Statistics, 2.5.
    """
    ordered = sorted(samples)
    count = len(ordered)
    rank, outside = 0, 0.0
    while rank < count // 2:
        outside += math.comb(count, rank) / 2**count
        if 2 * outside > 1 - 0.95:
            break
        rank += 1
    first = max(rank - 1, 0)
    return records.Interval(statistics.median(ordered), ordered[first], ordered[count - 1 - first])


def timing(
    rounds_by_task: Sequence[Sequence[tuple[float, float]]], counts: Sequence[int], device: str
) -> records.Timing:
    """Combines tasks; bounds are added as if all were wrong the same way.

    Args:
        rounds_by_task: for each task, (original, candidate) times in ns of each round.
        counts: how often the application launches each.
        device: the GPU.
    """
    originals = [median_interval([o for o, _ in rounds]) for rounds in rounds_by_task]
    candidates = [median_interval([c for _, c in rounds]) for rounds in rounds_by_task]
    ratios = [median_interval([c / o for o, c in rounds]) for rounds in rounds_by_task]
    weights = [interval.median * count for interval, count in zip(originals, counts, strict=True)]
    share = [weight / sum(weights) for weight in weights]
    in_ms = [count / 1e6 for count in counts]
    return records.Timing(
        device=device,
        original_ms=_sum(originals, in_ms),
        time_ms=_sum(candidates, in_ms),
        ratio=_sum(ratios, share),
        rounds=min(map(len, rounds_by_task)),
        ratios=tuple(ratios),
    )


def _sum(intervals: Sequence[records.Interval], weights: Sequence[float]) -> records.Interval:
    pairs = list(zip(intervals, weights, strict=True))
    return records.Interval(
        sum(interval.median * weight for interval, weight in pairs),
        sum(interval.low * weight for interval, weight in pairs),
        sum(interval.high * weight for interval, weight in pairs),
    )


RACE_SECONDS = 1.5
"""For the times of all candidates of one trial; a race of a dozen GEMMs of 5 ms has 25 rounds, and
one of the best alone, to confirm it, 150."""


def outcome_of(trial: Trial, tiles: Sequence[int], tolerance: float) -> GpuOutcome:
    """The outcome, by what was compared and timed.

    Args:
        trial: over all tasks.
        tiles: of each task.
        tolerance: within which floats that atomics add up were compared.
    """
    if trial.failure is not None:
        kind, text = trial.failure.kind, trial.failure.text
        if kind == "does not build" or kind == "not validated":
            return GpuOutcome((kind, text))
        return GpuOutcome(("output differs", f"the swizzled kernel {kind}: {text}"))
    compared = [tiles[task] for task in trial.checks]
    loose = any(check.loose for check in trial.checks.values())
    validation = records.Validation(
        method="gpu",
        launches=len(compared),
        tiles_compared=sum(compared),
        tiles=sum(tiles),
        same_bits=trial.difference is None,
        difference=trial.difference,
    )
    if loose:
        validation = replace(validation, rule="tolerance", tolerance=tolerance)
    if not validation.same_bits:
        return GpuOutcome(("output differs", trial.difference or ""), validation)
    if len(trial.checks) < len(tiles):
        missing = len(tiles) - len(trial.checks)
        how = f"were not compared: {trial.note}" if trial.note else "were not repeated"
        reason = f"{missing} of {len(tiles)} recorded launches {how}"
        return GpuOutcome(("not validated", reason), validation)
    if trial.timing is None:
        return GpuOutcome(("not measured", trial.note or "no times were taken"), validation)
    return GpuOutcome(None, validation, trial.timing)
