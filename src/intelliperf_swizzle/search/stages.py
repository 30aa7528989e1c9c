# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The stages of a candidate: proved, screened, edited, evaluated, guarded; and who evaluates.

Each stage takes only what the one before returns, so nothing is measured that was not proved. A
candidate that a stage refuses leaves as a `Verdict`. The attempt that a stage carries is the record
of it as it then stands.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import LanguageError, SpliceError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import Swizzle, parse
from intelliperf_swizzle.mapping import certify
from intelliperf_swizzle.records import Measurement
from intelliperf_swizzle.search.elsewhere import prove_on, refuse, refuse_elsewhere
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject, edit_launches, evaluate_on, tiles_of
from intelliperf_swizzle.units import points


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
            return refuse(proofs)
        for one, proof in zip(subject.traced, proofs, strict=True):
            if reason := subject.unsafe_order(one.launch, proof.tile):
                return records.Verdict("unsafe order", reason)
        if refusal := refuse_elsewhere(swizzle, subject, target):
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


def unedited(one: Screened) -> Edited:
    """For the model, to which the mapping is enough."""
    return Edited(one.proved, one.attempt, Edit({}, {}, {}, ""))


def carried_by_no_patch(one: Screened, setup: Setup) -> tuple[str, ...]:
    """What is to be said of a swizzle that no patch can carry."""
    try:
        own = one.proved
        return edit_launches(setup, own.subject.launches, own.swizzle, own.candidate.name).notes
    except SpliceError as error:
        return (f"neither a patch nor `apply` can carry it: {error.fact}",)


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
