# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a proposer may have done to its candidates, and who wins in the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.rank import RANK, contenders, finalists, order
from intelliperf_swizzle.records import Attempt, Candidate
from intelliperf_swizzle.units import percent
from intelliperf_swizzle.workbench import Workbench

MEASURED_LINES = 2_700_000_000
"""Line accesses that the finalists may cost the profiler together: twenty mappings of a GEMM
8192³, hundreds of a stencil; about half a minute on two cores."""

LEADERS = 4
"""Fastest attempts whose hit rates are counted, which takes a run of the application each, and
that are timed once more against each other: with a dozen others, two that differ by 1 % may well
come in the other order."""

FEWEST_MEASURED = 20
MOST_MEASURED = 100


class Trials:
    """The bench of one run as a proposer sees it (`propose.Trial`).

    Args:
        bench: where candidates are worked on.
        progress: told of each step.
        budget: candidates that may be tried.
        num_attempts: attempts that `decide` may build and validate.
        rank: by what attempts are put in order, see `rank.order`.
        measured: attempts that `decide` may try out on the GPU, where there is one.
        unittest_command: must pass with the swizzled kernel, None = there is none.
        project_directory: where it runs.
    """

    def __init__(
        self,
        bench: Workbench,
        progress: Progress,
        *,
        budget: int,
        num_attempts: int,
        measured: int = 16,
        rank: Sequence[str] = RANK,
        unittest_command: str | None = None,
        project_directory: Path = Path(),
    ):
        self._bench = bench
        self._progress = progress
        self._budget = budget
        self._num_attempts = num_attempts
        self._measured = measured
        self._rank = rank
        self._unittest_command = unittest_command
        self._project_directory = project_directory
        self._best = bench.baseline_screen()
        self._settled: dict[int, Attempt] = {}

    @property
    def attempts(self) -> Sequence[Attempt]:
        """All attempts by number."""
        return self._bench.history.attempts

    def __call__(self, candidates: Sequence[Candidate]) -> Sequence[Attempt]:
        """Proves and screens candidates."""
        attempts = self._bench.screen(candidates)
        self._best = max([self._best, *(one.screened_l2_hit_rate or 0 for one in attempts)])
        done = min(self._bench.history.next_number() - 1, self._budget)
        below = self._bench.subject.ceiling.l2_hit_rate - self._best
        best = f"best {percent(self._best)}, {100 * max(0.0, below):.1f} points below the ceiling"
        self._progress.step(done, self._budget, best)
        return attempts

    @property
    def best(self) -> Attempt | None:
        """The best attempt that has passed all gates so far."""
        ranked = order(tuple(self._settled.values()), self._rank)
        return next((one for one in ranked if one.verdict.kind == "better"), None)

    def settle(self, attempt: Attempt) -> Attempt:
        """Measures an attempt; one that is better is validated, by the user's own test too.

        What an earlier run found the same is validated again: it may have been killed in between.
        """
        if attempt.number not in self._settled:
            self._settled[attempt.number] = self._settle(attempt)
        return self._settled[attempt.number]

    def _settle(self, attempt: Attempt) -> Attempt:
        attempt = self._bench.measure(attempt)
        if attempt.verdict.kind != "better":
            return attempt
        self._progress.phase(f"validating {attempt.candidate.name}")
        attempt = self._bench.validate(attempt)
        if attempt.verdict.kind == "better" and self._unittest_command:
            attempt = self._bench.unit_test(
                attempt, self._unittest_command, self._project_directory
            )
        return attempt

    def decide(self) -> Attempt | None:
        """Measures the finalists, then validates the better ones, best first, until one holds."""
        if self._bench.testbed is not None:
            return self._decide_on_gpu()
        places = self._places()
        if self._bench.profiler.runs_application:
            places = self._num_attempts
        chosen = finalists(self.attempts, places)
        self._progress.phase(f"measuring {len(chosen)} finalists ({self._bench.profiler.name})")
        measured = self._each(self._bench.measure, chosen)
        better = [one for one in order(measured, self._rank) if one.verdict.kind == "better"]
        for attempt in better[: self._num_attempts]:
            settled = self.settle(attempt)
            if settled.verdict.kind == "better":
                return settled
        return None

    def _places(self, fewest: int = FEWEST_MEASURED) -> int:
        """How many mappings the model may replay."""
        places = MEASURED_LINES // max(1, self._bench.subject.line_accesses)
        return min(max(places, fewest), MOST_MEASURED)

    def _each(
        self, work: Callable[[Attempt], Attempt], attempts: Sequence[Attempt]
    ) -> list[Attempt]:
        done: list[Attempt] = []
        for attempt in attempts:
            done.append(work(attempt))
            leaders = order(done, self._rank)
            reason = leaders[0].verdict.reason if leaders else done[-1].verdict.reason
            self._progress.step(len(done), len(attempts), reason)
        return done

    # --- on a GPU: the model screens, the hardware decides --------------------------------------

    def _decide_on_gpu(self) -> Attempt | None:
        """Predicts the finalists, times the contenders, counts the leaders, confirms the winner."""
        chosen = finalists(self.attempts, self._places(self._measured // 2))
        self._progress.phase(f"predicting {len(chosen)} finalists (model)")
        self._bench.predict(chosen)
        baseline = self._bench.predicted_baseline
        contending = self._bench.predict(contenders(self.attempts, baseline, self._measured))
        self._progress.phase(f"trying {len(contending)} contenders out on the GPU")
        self._bench.try_out(contending)
        leaders = self._leaders()[:LEADERS]
        self._progress.phase(f"counting {len(leaders)} leaders ({self._bench.profiler.name})")
        self._each(self._bench.count, leaders)
        refused: set[int] = set()
        while leaders := [one for one in self._leaders(better=True) if one.number not in refused]:
            winner = self._confirmed(leaders[:LEADERS])
            if winner is not None:
                return winner
            refused.update(one.number for one in leaders[:LEADERS])
        return None

    def _leaders(self, *, better: bool = False) -> list[Attempt]:
        """The attempts that the GPU has timed, best first."""
        timed = [one for one in self.attempts if one.measurement and one.measurement.timing]
        return [
            one for one in order(timed, self._rank) if one.verdict.kind == "better" or not better
        ]

    def _confirmed(self, leaders: Sequence[Attempt]) -> Attempt | None:
        """The best of the leaders, once all were timed against each other; None if none is."""
        others = f" against {len(leaders) - 1} more" if len(leaders) > 1 else ""
        self._progress.phase(f"confirming {leaders[0].candidate.name}{others}")
        again = [self._bench.count(one) for one in self._bench.confirm(leaders)]
        for attempt in order(again, self._rank):
            if attempt.verdict.kind != "better":
                continue
            settled = self._bench.validate(attempt)
            if self._unittest_command:
                settled = self._bench.unit_test(
                    settled, self._unittest_command, self._project_directory
                )
            self._settled[attempt.number] = settled
            if settled.verdict.kind == "better":
                return settled
        return None
