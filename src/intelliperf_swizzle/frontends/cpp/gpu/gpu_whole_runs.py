# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Patched programs run whole beside the unmodified one, if one process cannot try them all.

So it is if a program's memory cannot be copied and put back. Each program makes its own launches;
the preloaded library takes the times of the recorded ones, or hashes what they leave:

    {"event": "ran", "launch": l, "ns": n, "seconds": s, "left": [[name, bytes, hash], …]}

`ns` is the kernel's time, `seconds` that of all of it, and `left` all memory of the program.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from intelliperf_swizzle.errors import ValidationError
from intelliperf_swizzle.frontends.trials.processes import (
    PATIENCE_SECONDS,
    Limits,
    Process,
    how_ended,
)
from intelliperf_swizzle.frontends.trials.statistics import timing
from intelliperf_swizzle.frontends.trials.trial import Check, Failure, Trial

ROUNDS = 7
"""Of one run each; of fewer than six the median has no interval of 95 %."""
RACING = 4
"""Candidates that are timed in rounds: the fastest in the run in which they were compared."""
UNNAMED = "an allocation"
"""What the library calls memory that no argument points to."""

Ran = Sequence[Mapping[str, Any]]
"""What a process has told, by task."""


@dataclass(frozen=True)
class WholeRuns:
    """Runs programs whole.

    Args:
        start: starts the program of a candidate, or for None the unmodified one; its memory is
            hashed if that is asked for.
        counts: how often the application launches the kernel of each task.
        written_bytes: of the storages that each task writes.
        limits: of each process.
    """

    start: Callable[[int | None, bool], Process]
    counts: Sequence[int]
    written_bytes: Sequence[int]
    limits: Limits

    def try_out(self, candidates: Collection[int], *, checked: bool) -> dict[int, Trial]:
        """What comes of each candidate.

        Args:
            candidates: their numbers.
            checked: whether they are known to agree, and are only timed.

        Raises:
            ValidationError: the unmodified program fails, or does not make the launches again.
        """
        checks: dict[int, dict[int, Check]] = {}
        failures: dict[int, Failure] = {}
        racing = list(candidates)
        if not checked:
            twice = [self._unmodified(hashed=True) for _ in range(2)]
            for number in candidates:
                ran = self._run(number, hashed=True)
                if isinstance(ran, Failure):
                    failures[number] = ran
                else:
                    checks[number] = self._compared(twice, ran)
            agree = [n for n, all_of in checks.items() if all(one.same for one in all_of.values())]
            racing = sorted(agree, key=lambda number: self._seconds(checks[number]))[:RACING]
        rounds = self._rounds(racing, failures)
        timings = {
            number: timing(times, self.counts, self.limits.device)
            for number, times in rounds.items()
            if number not in failures
        }
        note = f"{RACING} others were faster in a run of each"
        return {
            number: Trial(
                checks.get(number, {}), failures.get(number), timings.get(number), note,
                whole_runs=True,
            )
            for number in candidates
        }  # fmt: skip

    def _seconds(self, checks: Mapping[int, Check]) -> float:
        """Of all launches, by one run."""
        return sum(one.kernel_seconds * self.counts[task] for task, one in checks.items())

    def _rounds(
        self, candidates: Sequence[int], failures: dict[int, Failure]
    ) -> dict[int, list[list[tuple[float, float]]]]:
        """For each candidate and task, (original, candidate) times in ns of each round."""
        rounds: dict[int, list[list[tuple[float, float]]]]
        rounds = {one: [[] for _ in self.counts] for one in candidates}
        draw = random.Random(0)
        for _ in range(ROUNDS if candidates else 0):
            original = self._unmodified(hashed=False)
            for number in draw.sample(candidates, len(candidates)):
                ran = failures.get(number) or self._run(number, hashed=False)
                if isinstance(ran, Failure):
                    failures[number] = ran
                    continue
                for task, times in enumerate(rounds[number]):
                    times.append((original[task]["ns"], ran[task]["ns"]))
        return rounds

    def _unmodified(self, *, hashed: bool) -> Ran:
        ran = self._run(None, hashed=hashed)
        if isinstance(ran, Failure):
            raise ValidationError(f"the unmodified program cannot be run whole: {ran.text}")
        return ran

    def _run(self, number: int | None, *, hashed: bool) -> Ran | Failure:
        process = self.start(number, hashed)
        try:
            exit_code = process.child.wait(self.limits.process_seconds)
        finally:
            process.child.end(PATIENCE_SECONDS)
        told = {one["launch"]: one for one in process.unread() if one["event"] == "ran"}
        if exit_code is None:
            return Failure("hung", f"it took longer than {self.limits.process_seconds:.0f} s")
        missing = len(self.counts) - len(told)
        if exit_code < 0 or (exit_code and missing):  # else a check of its own may have failed
            said = "".join(f": {line}" for line in process.last_lines()[-1:])
            return Failure("faulted", f"{how_ended(process.child)}{said}")
        if missing:
            reason = f"{missing} of {len(self.counts)} recorded launches did not come again"
            return Failure("not validated", reason)
        return [told[task] for task in range(len(self.counts))]

    def _compared(self, twice: Sequence[Ran], ran: Ran) -> dict[int, Check]:
        checks = {}
        for task, (first, second, found) in enumerate(zip(*twice, ran, strict=True)):
            difference = _difference(first["left"], second["left"], found["left"])
            every = sum(size for _, size, _ in found["left"])
            checks[task] = Check(
                same=difference is None, difference=difference, loose=False,
                seconds=found["seconds"], kernel_seconds=found["ns"] / 1e9, tensor_bytes=every,
                extra_bytes=0, written_bytes=self.written_bytes[task], moved_bytes=every,
            )  # fmt: skip
        return checks


def _difference(first: Sequence[Any], second: Sequence[Any], found: Sequence[Any]) -> str | None:
    """In words, what a candidate leaves that two runs of the original do not."""
    if [one[:2] for one in found] != [one[:2] for one in first]:
        return "it has other memory than the unmodified program"
    for (name, _, one), (*_, two), (*_, three) in zip(first, second, found, strict=True):
        if one != two and name != UNNAMED:
            return f"`{name}` differs between two runs of the unmodified program, too"
        if one == two != three:
            return f"`{name}` differs"
    return None
