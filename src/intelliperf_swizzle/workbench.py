# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What can be done to a candidate: prove and screen it, measure it, splice, build and validate it.

The cheap half (`screen`) costs milliseconds and refuses most; the expensive half (`measure`,
`validate`) costs seconds. Each step appends what became of the attempt to the history, so nothing
is lost, and a permutation that the history knows is not tried again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.errors import (
    BuildError,
    LanguageError,
    ProfileError,
    SpliceError,
    SwizzleError,
    ValidationError,
)
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.history import History
from intelliperf_swizzle.kernel.build import build
from intelliperf_swizzle.kernel.splice import Edit, splice
from intelliperf_swizzle.language import Swizzle, parse
from intelliperf_swizzle.mapping import describe, sweep_grids
from intelliperf_swizzle.profile import Profiler
from intelliperf_swizzle.profile.model import ModelProfiler, ModelScreen
from intelliperf_swizzle.rank import judge
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Launch,
    Measurement,
    Proof,
    Timing,
    Validation,
    Verdict,
    VerdictKind,
    Witness,
)
from intelliperf_swizzle.subject import Subject, prove_on, variants
from intelliperf_swizzle.testbed import Testbed, Tried
from intelliperf_swizzle.trace import dependence
from intelliperf_swizzle.units import percent
from intelliperf_swizzle.validate import difference_of_text, safe_order, validate
from intelliperf_swizzle.validate.unit_test import unit_test

RANKING_STRIDE = 15
"""Of the sweep's grids every so-many-th tells how wide a proof is when attempts are ranked; odd, so
that all remainders by a power of two are met."""

UNIT_TEST_LIMIT_SECONDS = 600.0
"""A user's test that takes longer on a CPU is not worth its wait."""


@dataclass(frozen=True)
class _Permutation:
    """What is kept of a candidate that is proved; the tiles, 8 bytes a program, are not.

    Attributes:
        proof: on the largest launch, the certificate alone.
        fingerprint: of the permutations of all traced launches.
        unchanged: whether every program computes the tile that it computes anyway.
        l2_hit_rate: as the screen sees it.
    """

    proof: Proof
    fingerprint: str
    unchanged: bool
    l2_hit_rate: float


class Workbench:
    """The steps of a run on one kernel, with its history.

    Args:
        subject: the kernel as it is.
        target: the GPU.
        profiler: what measures; the cache model screens whatever it is.
        history: where attempts are remembered.
        tolerance: for outputs that atomics add up in any order.
        validation_seconds: budget of one validation; beyond it a sample of tiles is compared.
        testbed: tries attempts out on the GPU; None where there is none.
        roots: what the paths of a patch may be relative to, as of `splice`.
    """

    def __init__(
        self,
        subject: Subject,
        target: Target,
        profiler: Profiler,
        history: History,
        tolerance: float,
        validation_seconds: float,
        testbed: Testbed | None = None,
        roots: Sequence[Path] = (),
    ):
        self.subject = subject
        self.target = target
        self.profiler = profiler
        self.history = history
        self._tolerance = tolerance
        self._validation_seconds = validation_seconds
        self.testbed = testbed
        self._roots = roots
        self._predictor = ModelProfiler(target)
        self._model = ModelScreen(subject.traced, target)
        self._baseline_screen = self._model.baseline()
        self._known = history.known()
        self._edits: dict[int, Edit] = {}
        self._groups: dict[frozenset[str], list[list[Launch]]] = {}
        self._passes_unchanged = False
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)

    # --- the cheap half -------------------------------------------------------------------------

    def screen(self, candidates: Sequence[Candidate]) -> list[Attempt]:
        """Proves and screens candidates on all cores; an attempt each, in order.

        A permutation that is known already gives the attempt that it was first; a language
        model's becomes an attempt of its own, refused as repeated.
        """
        outcomes = list(self._pool.map(self._look, candidates))
        return [
            self._screened(candidate, outcome)
            for candidate, outcome in zip(candidates, outcomes, strict=True)
        ]

    def baseline_screen(self) -> float:
        """The unchanged kernel's L2 hit rate as the screen sees it."""
        return self._baseline_screen

    def _look(self, candidate: Candidate) -> _Permutation | Verdict:
        """Proves and screens one candidate; its tiles live no longer than that takes."""
        proofs = self._prove(candidate)
        if isinstance(proofs, Verdict):
            return proofs
        fingerprint = "+".join(proof.fingerprint for proof in proofs)
        tiles = [proof.tile for proof in proofs]
        known = self._known.get(fingerprint)
        rate = known.screened_l2_hit_rate if known else None
        return _Permutation(
            proof=proofs[0].certificate(),
            fingerprint=fingerprint,
            unchanged=all(np.array_equal(tile, np.arange(len(tile))) for tile in tiles),
            l2_hit_rate=self._model.hit_rate(tiles) if rate is None else rate,
        )

    def _prove(self, candidate: Candidate) -> tuple[Proof, ...] | Verdict:
        if candidate.flaw is not None:
            return Verdict("not a swizzle", candidate.flaw)
        try:
            swizzle = parse(candidate.text)
            launches = [one.launch for one in self.subject.traced]
            proofs = prove_on(swizzle, launches, self.target)
            elsewhere = None if isinstance(proofs, Witness) else self._elsewhere(swizzle)
        except LanguageError as error:
            return Verdict("not a swizzle", str(error))
        if isinstance(proofs, Witness):
            return _not_a_permutation(proofs)
        unsafe = self._unsafe(proofs)
        return Verdict("unsafe order", unsafe) if unsafe else elsewhere or proofs

    def _elsewhere(self, swizzle: Swizzle) -> Verdict | None:
        """The refusal of a swizzle that a launch which is not traced forbids.

        One permutation at a time, for all launches on which the swizzle is the same.
        """
        for launches in self._alike(swizzle.names):
            proofs = prove_on(swizzle, launches[:1], self.target)
            if isinstance(proofs, Witness):
                return _not_a_permutation(proofs)
            for launch in launches:
                if reason := safe_order(self.subject.dependence(launch), proofs[0].tile):
                    where = f"launch {launch.ordinal + 1}, on the grid {launch.grid}"
                    return Verdict("unsafe order", f"{where}: {reason}")
        return None

    def _alike(self, names: frozenset[str]) -> list[list[Launch]]:
        """The untraced launches, grouped by grid and by the constants of these names."""
        if names not in self._groups:
            groups: dict[tuple[Any, ...], list[Launch]] = {}
            for launch in self.subject.untraced:
                constants = launch.constants
                read = tuple(constants.get(name) for name in sorted(names))
                groups.setdefault((launch.grid, read), []).append(launch)
            self._groups[names] = list(groups.values())
        return self._groups[names]

    def _unsafe(self, proofs: Sequence[Proof]) -> str | None:
        """Why programs that depend on each other would no longer come in order, or None."""
        for one, proof in zip(self.subject.traced, proofs, strict=True):
            if reason := safe_order(dependence(one.trace), proof.tile):
                return reason
        return None

    def _screened(self, candidate: Candidate, outcome: _Permutation | Verdict) -> Attempt:
        number = self.history.next_number()
        if isinstance(outcome, Verdict):
            return self.history.record(Attempt(number, candidate, outcome))
        known = self._known.get(outcome.fingerprint)
        if known is not None:
            return self._repeated(candidate, known) if candidate.origin == "llm" else known
        if candidate.origin == "llm" and outcome.unchanged:
            unchanged = Verdict("no difference", "this is the order as it is, `pid = pid`")
            return self.history.record(
                Attempt(number, candidate, unchanged, fingerprint=outcome.fingerprint)
            )
        attempt = Attempt(
            number,
            candidate,
            Verdict("screened out", self._screened_at(outcome.l2_hit_rate)),
            fingerprint=outcome.fingerprint,
            proof=outcome.proof,
            screened_l2_hit_rate=outcome.l2_hit_rate,
        )
        self._known[outcome.fingerprint] = attempt
        return self.history.record(attempt)

    def _screened_at(self, rate: float) -> str:
        return (
            f"screened at {percent(rate)}, the kernel as it is at {percent(self._baseline_screen)}"
        )

    def _repeated(self, candidate: Candidate, known: Attempt) -> Attempt:
        """A language model is told that it repeats an attempt, however it has written it."""
        reason = (
            f"the same permutation as attempt {known.number} ({known.candidate.name}): "
            f"{known.verdict.kind}, {known.verdict.reason}"
        )
        return self.history.record(
            Attempt(
                self.history.next_number(),
                candidate,
                Verdict("repeated", reason),
                fingerprint=known.fingerprint,
            )
        )

    # --- the expensive half ---------------------------------------------------------------------

    def measure(self, attempt: Attempt) -> Attempt:
        """Measures a screened attempt and judges it against the baseline.

        On a GPU it is predicted, tried out and counted. One that an earlier run measured keeps its
        numbers and is given its proof again.
        """
        if attempt.measurement is not None:
            return self._ready_to_rank(attempt) if attempt.verdict.kind == "better" else attempt
        if self.testbed is not None:
            [attempt] = self.try_out(self.predict([attempt]))
            return self.count(attempt) if attempt.verdict.eligible else attempt
        return self._profiled(attempt)

    def _profiled(self, attempt: Attempt) -> Attempt:
        """What the profiler reads of it."""
        proofs = self.proofs(attempt)
        try:
            edit = self.edit(attempt) if self.profiler.runs_application else None
            measurement = self.profiler.measure(self.subject.traced, proofs, edit)
        except SpliceError as error:
            return self._refused(attempt, "does not build", error)
        except ProfileError as error:
            return self._refused(attempt, "not measured", error)
        timing = attempt.measurement.timing if attempt.measurement else None
        if timing is not None:
            measurement = replace(measurement, time_ms=timing.time_ms.median, timing=timing)
        verdict = judge(measurement, self.subject.baseline)
        if verdict.kind == "better":
            attempt = self._ready_to_rank(attempt)
        return self.history.record(replace(attempt, measurement=measurement, verdict=verdict))

    # --- on a GPU -------------------------------------------------------------------------------

    def predict(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """What the cache model says of them, on all cores; that decides nothing."""
        todo = [one for one in attempts if one.predicted is None]
        found = self._pool.map(
            lambda one: self._predictor.measure(self.subject.traced, self.proofs(one)), todo
        )
        done = {}
        for attempt, predicted in zip(todo, found, strict=True):
            said = judge(predicted, self.predicted_baseline)
            reason = f"predicted, not measured: {said.kind}, {said.reason}"
            verdict = Verdict("screened out", reason)
            attempt = replace(attempt, predicted=predicted, verdict=verdict)
            done[attempt.number] = self.history.record(attempt)
        return [done.get(one.number, one) for one in attempts]

    def try_out(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Compares and times predicted attempts, all in one run of the application.

        Their hit rates are those that were predicted until `count` has read them.
        """
        assert self.testbed is not None
        edits: dict[int, Edit] = {}
        tried: dict[int, Attempt] = {}
        for attempt in attempts:
            if attempt.measurement is not None:
                continue
            refusal = self._refusal_of_text(attempt)
            if refusal is None:
                edits[attempt.number] = self.edit(attempt)
            else:
                tried[attempt.number] = self.history.record(replace(attempt, verdict=refusal))
        try:
            outcomes = self.testbed.try_out(edits) if edits else {}
        except ValidationError as error:
            outcomes = {number: Tried(Verdict("not validated", str(error))) for number in edits}
        for attempt in attempts:
            if attempt.number in outcomes:
                tried[attempt.number] = self._tried(attempt, outcomes[attempt.number])
        return [tried.get(attempt.number, attempt) for attempt in attempts]

    def _refusal_of_text(self, attempt: Attempt) -> Verdict | None:
        """Why its text cannot be what was proved."""
        try:
            edit = self.edit(attempt)
        except SpliceError as error:
            return Verdict("does not build", str(error))
        difference = difference_of_text(
            [one.launch for one in self.subject.traced],
            edit,
            self.proofs(attempt),
            [one.trace for one in self.subject.traced],
        )
        return Verdict("output differs", difference) if difference else None

    def _tried(self, attempt: Attempt, outcome: Tried) -> Attempt:
        attempt = replace(attempt, validation=self._counted(outcome.validation))
        if outcome.refusal is not None:
            return self.history.record(replace(attempt, verdict=outcome.refusal))
        assert outcome.timing is not None
        assert attempt.predicted is not None
        self._time_baseline(outcome.timing)
        attempt = replace(attempt, diff=self.edit(attempt).diff, measurement=attempt.predicted)
        return self._timed(attempt, outcome.timing)

    def _timed(self, attempt: Attempt, timing: Timing) -> Attempt:
        """The attempt with other times, judged by them."""
        assert attempt.measurement is not None
        measurement = replace(attempt.measurement, time_ms=timing.time_ms.median, timing=timing)
        counted = measurement.profiler == self.subject.baseline.profiler
        baseline = self.subject.baseline if counted else self.predicted_baseline
        verdict = judge(measurement, baseline)
        if verdict.kind == "better":
            attempt = self._ready_to_rank(attempt)
        return self.history.record(replace(attempt, measurement=measurement, verdict=verdict))

    def _time_baseline(self, timing: Timing) -> None:
        baseline = replace(self.subject.baseline, time_ms=timing.original_ms.median)
        self.subject = replace(self.subject, baseline=baseline)

    def count(self, attempt: Attempt) -> Attempt:
        """Reads the hit rate of an attempt that was tried out, if the hardware tells it."""
        if not self.profiler.runs_application or attempt.measurement is None:
            return attempt
        if attempt.measurement.profiler == self.profiler.name:
            return attempt
        return self._profiled(attempt)

    def confirm(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Times attempts once more, against the kernel as it is and each other.

        Returns:
            Those of which times were taken, with the new ones.
        """
        assert self.testbed is not None
        edits = {attempt.number: self.edit(attempt) for attempt in attempts}
        try:
            timings = self.testbed.time_again(edits)
        except ValidationError:
            return []
        for taken in filter(None, timings.values()):
            self._time_baseline(taken)
        return [
            self._timed(attempt, timing)
            for attempt in attempts
            if (timing := timings[attempt.number]) is not None
        ]

    @property
    def predicted_baseline(self) -> Measurement:
        """What the cache model says of the kernel as it is."""
        return self.subject.predicted or self.subject.baseline

    # --- the gates ------------------------------------------------------------------------------

    def validate(self, attempt: Attempt) -> Attempt:
        """Splices, builds and compares an attempt; refused ones come back with the reason."""
        if attempt.validation is not None and attempt.validation.method == "gpu":
            return self.history.record(replace(attempt, proof=self._widened(attempt, 1)))
        launches = [one.launch for one in self.subject.traced]
        try:
            edit = self.edit(attempt)
            for launch in variants(launches):
                build(launch, self.target, edit.functions)
            outcome = validate(
                launches,
                edit,
                self.proofs(attempt),
                traces=[one.trace for one in self.subject.traced],
                tolerance=self._tolerance,
                budget_seconds=self._validation_seconds,
            )
        except (SpliceError, BuildError) as error:
            return self._refused(attempt, "does not build", error)
        except ValidationError as error:
            return self._refused(attempt, "not validated", error)
        verdict = attempt.verdict
        if not outcome.same_bits:
            verdict = Verdict("output differs", outcome.difference or "outputs differ")
        return self.history.record(
            replace(
                attempt,
                proof=self._widened(attempt, 1),
                validation=self._counted(outcome),
                verdict=verdict,
                diff=edit.diff,
            )
        )

    def _counted(self, outcome: Validation | None) -> Validation | None:
        """The outcome with the number of launches that there are."""
        distinct = len(self.subject.launches)
        return replace(outcome, distinct_launches=distinct) if outcome else None

    def _ready_to_rank(self, attempt: Attempt) -> Attempt:
        """The attempt with its proof tried on further grids, unless that was done before."""
        if attempt.proof is not None and attempt.proof.grids_checked > 1:
            return attempt
        return replace(attempt, proof=self._widened(attempt, RANKING_STRIDE))

    def _widened(self, attempt: Attempt, stride: int) -> Proof:
        """The proof on the largest launch, tried on every so-many-th grid of the sweep too."""
        launch = self.subject.traced[0].launch
        sweep = sweep_grids(launch.grid)[::stride]
        proofs = prove_on(_swizzle(attempt), [launch], self.target, sweep)
        assert not isinstance(proofs, Witness)
        return proofs[0].certificate()

    def unit_test(self, attempt: Attempt, command: str, project: Path) -> Attempt:
        """Runs the user's own test on the swizzled kernel, where launches are computed at all.

        Raises:
            ValidationError: the test does not pass on the kernel as it is either.
        """
        if not self.subject.computed:
            return attempt
        failure = self._failure(command, project, self.edit(attempt))
        if failure is None:
            return attempt
        if not self._passes_unchanged:
            without = self._failure(command, project, None)
            if without is not None:
                raise ValidationError(
                    f"without a swizzle too, {without}",
                    hint="--unittest_command must exit with 0 on the unchanged project",
                )
            self._passes_unchanged = True
        return self.history.record(replace(attempt, verdict=Verdict("output differs", failure)))

    def _failure(self, command: str, project: Path, edit: Edit | None) -> str | None:
        gpu = self.testbed.environment if self.testbed else None
        limit = UNIT_TEST_LIMIT_SECONDS
        return unit_test(command, project, edit, limit_seconds=limit, gpu=gpu)

    def _refused(self, attempt: Attempt, kind: VerdictKind, error: SwizzleError) -> Attempt:
        return self.history.record(replace(attempt, verdict=Verdict(kind, str(error))))

    def proofs(self, attempt: Attempt) -> tuple[Proof, ...]:
        """The permutation of each traced launch, found anew: attempts keep the certificate only."""
        launches = [one.launch for one in self.subject.traced]
        proofs = prove_on(_swizzle(attempt), launches, self.target)
        assert not isinstance(proofs, Witness)
        return proofs

    def edit(self, attempt: Attempt) -> Edit:
        """The attempt spliced into the kernel's source; raises SpliceError."""
        if attempt.number not in self._edits:
            self._edits[attempt.number] = splice(
                self.subject.launches[0].source,
                _swizzle(attempt),
                target=self.target,
                launches=self.subject.launches,
                name=attempt.candidate.name,
                roots=self._roots,
            )
        return self._edits[attempt.number]


def _not_a_permutation(witness: Witness) -> Verdict:
    return Verdict("not a permutation", "; ".join(describe(witness)), witness)


def _swizzle(attempt: Attempt) -> Swizzle:
    return parse(attempt.candidate.text)
