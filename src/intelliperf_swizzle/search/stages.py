# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The stages of a candidate: proved, screened, edited, evaluated, guarded; and who evaluates.

Each stage takes only what the one before returns, so nothing is measured that was not proved. A
candidate that a stage refuses leaves as a `Verdict`. The attempt that a stage carries is the record
of it as it then stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import LanguageError, SpliceError
from intelliperf_swizzle.frontends.ports import CodeComparer, KernelLanguage
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import Swizzle, parse
from intelliperf_swizzle.mapping import LONGEST, certify, describe, prove
from intelliperf_swizzle.profile.readings import model_swizzle
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Attempt, Measurement
from intelliperf_swizzle.search.setup import Setup, UnitTest
from intelliperf_swizzle.search.subject import Subject, ask_on, edit_launches, evaluate_on, tiles_of
from intelliperf_swizzle.units import points

FEW_COUNTS = (*range(1, 33), *range(33, LONGEST + 1, 271))
"""Numbers of tiles that memory may hold (longer runs are cut) and that all proposed is tried on."""


@dataclass(frozen=True)
class Proved:
    """A candidate that keeps every launch right; `prove_candidate` alone makes one.

    On each distinct launch every tile is computed exactly once, and programs that depend on each
    other come in the order in which they came.

    Attributes:
        candidate: as it was offered.
        swizzle: its text, parsed.
        subject: the kernel.
        target: the GPU.
        proof: on the largest launch, a certificate without the tiles.
        fingerprint: of the permutations of all traced launches.
        unchanged: whether every program computes the tile that it computes anyway.
    """

    candidate: records.Candidate
    swizzle: Swizzle
    subject: Subject
    target: Target
    proof: records.Certificate
    fingerprint: str
    unchanged: bool

    def tiles(self) -> list[records.Int64Array]:
        """Program -> tile for each traced launch, evaluated anew: 8 bytes a program."""
        return tiles_of(self.swizzle, self.subject.traced, self.target)

    def mapped(self) -> list[records.MappedLaunch]:
        """The traced launches with their tiles."""
        return [
            records.MappedLaunch(one.launch, one.trace, tile)
            for one, tile in zip(self.subject.traced, self.tiles(), strict=True)
        ]

    def certify(self) -> records.Certificate:
        """The proof with the sizes for which it holds; as of `mapping.certify`."""
        return certify(self.swizzle, self.subject.launches, **self.target.inputs)

    def placed(self) -> list[tuple[records.Launch, records.Int64Array]]:
        """All launches, also those that are not traced, with the mapping of each."""
        return [
            (launch, evaluate_on(self.swizzle, launch, self.target))
            for launch in self.subject.launches
        ]


@dataclass(frozen=True)
class Screened:
    """A proved candidate with the hit rate of the fast model, as an attempt of the run."""

    proved: Proved
    attempt: records.Attempt


@dataclass(frozen=True)
class Edited(Screened):
    """A screened candidate in the kernel's source."""

    edit: Edit


@dataclass(frozen=True)
class Evaluated(Edited):
    """An edited candidate that was measured or modelled, and judged against the baseline."""


@dataclass(frozen=True)
class Guarded(Edited):
    """An evaluated candidate whose text is a permutation at every size; `guard` alone makes one.

    For that, and where it would lose, it may test a condition; it is the same permutation of every
    recorded launch.
    """


def prove_candidate(
    candidate: records.Candidate, subject: Subject, target: Target
) -> Proved | records.Verdict:
    """Proves a candidate on every distinct launch, or says what is wrong with it."""
    if candidate.flaw is not None:
        return records.Verdict("not a swizzle", candidate.flaw)
    try:
        swizzle = parse(candidate.text)
        proofs = prove_on(swizzle, [one.launch for one in subject.traced], target)
        if isinstance(proofs, records.Witness):
            return _refuse(proofs)
        for one, proof in zip(subject.traced, proofs, strict=True):
            if reason := subject.unsafe_order(one.launch, proof.tile):
                return records.Verdict("unsafe order", reason)
        if refusal := _refuse_other_counts(swizzle, subject.launches, target):
            return refusal
        if refusal := _refuse_elsewhere(swizzle, subject, target):
            return refusal
    except LanguageError as error:
        return records.Verdict("not a swizzle", str(error))
    return Proved(
        candidate=candidate,
        swizzle=swizzle,
        subject=subject,
        target=target,
        proof=records.Certificate(),
        fingerprint="+".join(proof.fingerprint for proof in proofs),
        unchanged=all(np.array_equal(one.tile, np.arange(len(one.tile))) for one in proofs),
    )


def _refuse_elsewhere(swizzle: Swizzle, subject: Subject, target: Target) -> records.Verdict | None:
    """The refusal of a swizzle that a launch which is not traced forbids.

    One permutation at a time, for all launches on which the swizzle is the same.
    """
    for launches in subject.alike(swizzle.names):
        proofs = prove_on(swizzle, launches[:1], target)
        if isinstance(proofs, records.Witness):
            return _refuse(proofs)
        for launch in launches:
            if reason := subject.unsafe_order(launch, proofs[0].tile):
                where = f"launch {launch.ordinal + 1}, on the grid {launch.grid}"
                return records.Verdict("unsafe order", f"{where}: {reason}")
    return None


def _refuse_other_counts(
    swizzle: Swizzle, launches: Sequence[records.Launch], target: Target
) -> records.Verdict | None:
    """The refusal of a swizzle that is no permutation of some count which memory may hold."""
    read = [launch for launch in launches if launch.loop and launch.loop.read_from]
    constants = {frozenset((n, one.constants.get(n)) for n in swizzle.names): one for one in read}
    for launch in constants.values():
        told = "the number of tiles is read from memory, and"
        if "program" in swizzle.names:
            return records.Verdict("not a permutation", f"{told} with it `program` of each changes")
        assert launch.loop is not None
        for count in FEW_COUNTS:
            turns = np.arange(count, dtype=np.int32) % launch.programs
            loop = replace(launch.loop, program=turns, turn=turns, starts=(0,))
            if isinstance(prove_on(swizzle, [replace(launch, loop=loop)], target), records.Witness):
                return records.Verdict("not a permutation", f"{told} it is none of {count} tiles")
    return None


def _refuse(witness: records.Witness) -> records.Verdict:
    return records.Verdict("not a permutation", "; ".join(describe(witness)), witness)


def prove_on(
    swizzle: Swizzle, launches: Sequence[records.Launch], target: Target
) -> tuple[records.Proof, ...] | records.Witness:
    """A proof for each launch, or the witness of the first launch on which it fails."""
    proofs = []
    for launch in launches:
        verdict = ask_on(prove, swizzle, launch, target)
        if isinstance(verdict, records.Witness):
            return verdict
        proofs.append(verdict)
    return tuple(proofs)


def screen_candidate(proved: Proved, number: int, rate: float, baseline: float) -> Screened:
    """The candidate as an attempt, ranked by the fast model alone until it is evaluated."""
    reason = f"{points(baseline, rate)} by the screen, a quick model; not evaluated"
    reason = reason if proved.subject.is_traced else "not tried"
    return Screened(
        proved,
        records.Attempt(
            number,
            proved.candidate,
            records.Verdict("screened out", reason),
            fingerprint=proved.fingerprint,
            proof=proved.proof,
            screened_l2_hit_rate=rate,
        ),
    )


def edit_source(screened: Screened, setup: Setup) -> Edited | records.Verdict:
    """Puts the swizzle into the kernel's source, or says why that cannot be done."""
    proved = screened.proved
    try:
        edit = edit_launches(setup, proved.subject.launches, proved.swizzle, proved.candidate.name)
    except SpliceError as error:
        return records.Verdict("not patched", str(error))
    return Edited(proved, screened.attempt, edit)


def find_difference(one: Edited, language: KernelLanguage) -> str | None:
    """Where the edited kernel is another one, in a launch that is not traced or a configuration
    that no launch has; None also of a language that compares no code.

    Raises:
        ValidationError: the code of the unmodified kernel cannot be had.
    """
    if isinstance(language, CodeComparer):
        return language.find_difference(one.proved.placed(), one.edit)
    return None


Remember: TypeAlias = Callable[[Attempt], Attempt]
"""Appends an attempt, as it now stands, to the history; returns it."""

MODEL_LINES = 2_700_000_000
"""Line accesses that the finalists may cost the model together: twenty mappings of a GEMM 8192³,
hundreds of a stencil; about half a minute on two cores."""

MOST_MODELLED = 100


class Evaluator(Protocol):
    """Judges candidates against the unmodified kernel."""

    @property
    def baseline(self) -> Measurement:
        """The unmodified kernel, as attempts are compared with it."""

    @property
    def predicted(self) -> Measurement | None:
        """The model's reading of it if hardware measures, else None."""

    @property
    def confirmed(self) -> list[Evaluated]:
        """What was guarded and validated so far and is better, the best first."""

    def shortlist(self, screened: Sequence[Screened], always: Collection[int]) -> list[Screened]:
        """The candidates worth what an evaluation costs.

        Args:
            screened: all that were proved.
            always: numbers of those that are replayed in full whatever they promise.
        """

    def evaluate(self, edited: Sequence[Edited]) -> list[Evaluated]:
        """Measures or models each, and judges it; one that is refused has no measurement."""

    def choose(self, evaluated: Sequence[Evaluated]) -> Evaluated | None:
        """The best that is better; None if none is.

        Args:
            evaluated: any, of `evaluate`.
        """

    def count(self) -> None:
        """Reads what a report tells of the leaders and decides nothing; beside a guard's work.

        Raises:
            ProfileError: the profiler that is asked for fails.
        """

    def settle(self, chosen: Edited) -> Evaluated | None:
        """What was chosen, or the same under a guard, validated; None if it does not hold.

        Raises:
            ValidationError: the user's own test fails without a swizzle, too.
        """


@dataclass(frozen=True)
class EvaluationContext:
    """What every evaluator works with.

    Attributes:
        subject: the kernel.
        setup: of the run.
        remember: of the run's history.
        progress: told of each step.
        unit_test: must pass with the swizzled kernel.
    """

    subject: Subject
    setup: Setup
    remember: Remember
    progress: Progress
    unit_test: UnitTest

    def modelled(self, one: Screened, *, causes: bool = False) -> Measurement:
        """A candidate by the model with full physics, maybe with why requests miss."""
        traced, tiles = self.subject.traced, one.proved.tiles()
        return model_swizzle(one.proved.swizzle, traced, tiles, self.setup.target, causes=causes)

    def places(self, fewest: int) -> int:
        """How many mappings the model may replay."""
        places = MODEL_LINES // max(1, self.subject.line_accesses)
        return math.ceil(self.setup.share * min(max(places, fewest), MOST_MODELLED))
