# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Candidates judged on the cache model, or by a profiler of the host, and validated on the CPU."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from intelliperf_swizzle import rank
from intelliperf_swizzle.errors import BuildError, ProfileError, ValidationError
from intelliperf_swizzle.hardware.target import Build
from intelliperf_swizzle.records import Attempt, Measurement, Verdict
from intelliperf_swizzle.search.builds import compare_builds, compiled_as, variants
from intelliperf_swizzle.search.judging import EvaluationContext, find_difference
from intelliperf_swizzle.search.stages import Edited, Evaluated, Screened
from intelliperf_swizzle.search.subject import with_causes
from intelliperf_swizzle.stopping import spent

FEWEST_MODELLED = 20


WAVE = 4
"""Finalists that are replayed before it is asked which others can still win."""


class OnModel:
    """Evaluates on the cache model, or with a profiler of the host, and validates on the CPU."""

    predicted = None

    def __init__(self, setting: EvaluationContext):
        self._setting, self._setup = setting, setting.setup
        self._validated: dict[int, Evaluated] = {}
        self._always: frozenset[int] = frozenset()

    @property
    def baseline(self) -> Measurement:
        """The unmodified kernel's."""
        return self._setting.subject.baseline

    @property
    def confirmed(self) -> list[Evaluated]:
        """What was validated and is better."""
        attempts = [one.attempt for one in self._validated.values()]
        ranked = rank.order(attempts, self._setup.formula.rank)
        return [self._validated[one.number] for one in ranked if one.verdict.gains]

    def shortlist(self, screened: Sequence[Screened], always: Collection[int]) -> list[Screened]:
        """As many as the model can replay; with a profiler, as many as may be validated."""
        most = self._setup.options.num_attempts
        places = most if self._setup.profiler else self._setting.places(FEWEST_MODELLED)
        chosen = rank.finalists([one.attempt for one in screened], places)
        if self._setting.subject.baseline.imbalance is None:
            chosen = rank.distinct(chosen)
        self._always = frozenset(always if self._setup.profiler is None else ())
        numbers = {one.number for one in chosen} | self._always
        return [one for one in screened if one.attempt.number in numbers]

    def evaluate(self, edited: Sequence[Edited]) -> list[Evaluated]:
        """Measures each that has no measurement yet, as long as one can still win."""
        if not edited:
            return []
        setting = self._setting
        setting.progress.phase(f"evaluating {len(edited)} finalists ({self.baseline.profiler})")
        by_number = {one.attempt.number: one for one in edited}
        waiting = rank.by_screen([one.attempt for one in edited if one.attempt.measurement is None])
        new = {one.number for one in waiting}
        done = [self._evaluate(one) for one in edited if one.attempt.number not in new]
        while (waiting := self._within_reach(waiting, done)) and not (done and spent(0.6)):
            wave = [by_number[one.number] for one in waiting[:WAVE]]
            waiting = waiting[WAVE:]
            for one in wave:
                done.append(self._evaluate(one))
                leaders = rank.order([other.attempt for other in done], self._setup.formula.rank)
                leader = leaders[0] if leaders else done[-1].attempt
                setting.progress.step(len(done), len(edited), leader.verdict.reason)
        return done

    def _within_reach(self, waiting: list[Attempt], done: Sequence[Evaluated]) -> list[Attempt]:
        """Those that can still win; all of them where a profiler decides."""
        if self._setup.profiler:
            return waiting
        attempts = [one.attempt for one in done]
        reach = rank.within_reach(waiting, attempts, self._setup.formula.rank)
        numbers = {one.number for one in reach} | self._always
        return [one for one in waiting if one.number in numbers]

    def choose(self, evaluated: Sequence[Evaluated]) -> Evaluated | None:
        """The shortest of the best that are better, until `num_attempts` were refused."""
        ranked = rank.order([one.attempt for one in evaluated], self._setup.formula.rank)
        better = [one for one in ranked if one.verdict.gains]
        refused = [one for one in self._validated.values() if not one.attempt.verdict.gains]
        if not better or len(refused) >= self._setup.options.num_attempts:
            return None
        number = rank.shortest(better).number
        return next((one for one in evaluated if one.attempt.number == number), None)

    def count(self) -> None:
        """There is nothing that hardware could tell."""

    def settle(self, chosen: Edited) -> Evaluated | None:
        """Validates what is not validated yet."""
        number = chosen.attempt.number
        known = self._validated.get(number)
        if known is None or known.attempt.candidate != chosen.attempt.candidate:
            known = self._validated[number] = self.validate(chosen)
        return known if known.attempt.verdict.gains else None

    def validate(self, one: Edited) -> Evaluated:
        """Builds and compares; one that is refused comes back with the reason."""
        setting, attempt = self._setting, one.attempt
        largest = setting.subject.traced[0]
        setting.progress.phase(f"validating {attempt.candidate.name}")
        try:
            with ThreadPoolExecutor(3) as pool:  # beside the child processes that validate
                building = pool.submit(self._build, one)
                comparing = pool.submit(find_difference, one, self._setup.language)
                swizzle, traced = one.proved.swizzle, setting.subject.traced
                explaining = pool.submit(with_causes, attempt, swizzle, traced, self._setup.target)
                try:
                    outcome = self._setup.language.validate(
                        one.proved.mapped(),
                        one.edit,
                        tolerance=self._setup.options.accordo_absolute_tolerance,
                        budget_seconds=self._setup.options.validation_seconds,
                    )
                finally:
                    edited = building.result()
                difference = outcome.difference or comparing.result()
        except BuildError as error:
            return self._refuse(one, Verdict("does not build", str(error)))
        except ValidationError as error:
            return self._refuse(one, Verdict("not validated", str(error)))
        verdict = attempt.verdict
        if difference or not outcome.same_bits:
            verdict = Verdict("output differs", difference or "outputs differ")
            outcome = replace(outcome, same_bits=False, difference=difference)
        launches, built = len(setting.subject.launches), edited[compiled_as(largest.launch)]
        build = compare_builds(largest, built, self._setup.target)
        outcome = replace(outcome, distinct_launches=launches, build=build)
        attempt = replace(
            explaining.result(), validation=outcome, verdict=verdict, diff=one.edit.diff
        )
        if verdict.gains:
            attempt = setting.unit_test.judge(attempt, one.edit)
        return Evaluated(one.proved, setting.remember(attempt), one.edit)

    def _build(self, one: Edited) -> dict[str, Build]:
        """The edited kernel in each way in which it is launched; raises BuildError."""
        setting = self._setting
        return {
            compiled_as(launch): self._setup.language.build(launch, self._setup.target, one.edit)
            for launch in variants([traced.launch for traced in setting.subject.traced])
        }

    def _evaluate(self, one: Edited) -> Evaluated:
        attempt, setting = one.attempt, self._setting
        if attempt.measurement is None:
            try:
                measurement = self._measure(one)
            except ProfileError as error:
                return self._refuse(one, Verdict("not measured", str(error)))
            subject, target = setting.subject, self._setup.target
            launch_ms, known = subject.launch_ms(target), subject.tells_time(target)
            verdict = rank.judge(measurement, self.baseline, launch_ms, tells_time=known)
            attempt = replace(attempt, measurement=measurement, verdict=verdict)
            attempt = setting.remember(attempt)
        return Evaluated(one.proved, attempt, one.edit)

    def _measure(self, one: Edited) -> Measurement:
        if self._setup.profiler is not None:
            return self._setup.profiler.measure(self._setting.subject.traced, one.edit)
        return self._setting.modelled(one)

    def _refuse(self, one: Edited, verdict: Verdict) -> Evaluated:
        attempt: Attempt = self._setting.remember(replace(one.attempt, verdict=verdict))
        return Evaluated(one.proved, attempt, one.edit)
