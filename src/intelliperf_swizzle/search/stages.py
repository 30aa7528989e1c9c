# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The stages of a candidate: proved, screened, edited, evaluated.

Each stage takes only what the one before returns, so nothing is measured that was not proved. A
candidate that a stage refuses leaves as a `Verdict`. The attempt that a stage carries is the record
of it as it then stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import LanguageError, SpliceError
from intelliperf_swizzle.frontends.ports import CodeComparer, KernelLanguage
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import Swizzle, parse
from intelliperf_swizzle.mapping import LONGEST, describe, prove, sweep_grids
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Certificate,
    Int64Array,
    Launch,
    MappedLaunch,
    Proof,
    Verdict,
    Witness,
)
from intelliperf_swizzle.search.scoring import evaluate_on, owners_of, tiles_of
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject, edit_launches
from intelliperf_swizzle.units import points

RANKING_STRIDE = 15
"""Of the sweep's grids every so-many-th tells how wide a proof is when attempts are ranked; odd, so
that all remainders by a power of two are met."""


EVERY_COUNT = range(1, LONGEST + 1)
"""Numbers of tiles that memory may hold (longer runs are cut); what is proposed is tried on few."""
FEW_COUNTS = (*range(1, 33), *range(33, LONGEST + 1, 271))


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

    candidate: Candidate
    swizzle: Swizzle
    subject: Subject
    target: Target
    proof: Certificate
    fingerprint: str
    unchanged: bool

    def tiles(self) -> list[Int64Array]:
        """Program -> tile for each traced launch, evaluated anew: 8 bytes a program."""
        return tiles_of(self.swizzle, self.subject.traced, self.target)

    def mapped(self) -> list[MappedLaunch]:
        """The traced launches with their tiles."""
        return [
            MappedLaunch(one.launch, one.trace, tile)
            for one, tile in zip(self.subject.traced, self.tiles(), strict=True)
        ]

    def placed(self) -> list[tuple[Launch, Int64Array]]:
        """All launches, also those that are not traced, with the mapping of each."""
        return [
            (launch, evaluate_on(self.swizzle, launch, self.target))
            for launch in self.subject.launches
        ]

    def widened(self, stride: int) -> Certificate:
        """The proof, tried on every so-many-th grid of the sweep too."""
        launch = self.subject.traced[0].launch
        sweep = sweep_grids(launch.numbers)[::stride]
        wider = _prove_launch(self.swizzle, launch, self.target, sweep)
        return self.proof if isinstance(wider, Witness) else wider.certificate()


@dataclass(frozen=True)
class Screened:
    """A proved candidate with the hit rate of the fast model, as an attempt of the run."""

    proved: Proved
    attempt: Attempt


@dataclass(frozen=True)
class Edited(Screened):
    """A screened candidate in the kernel's source."""

    edit: Edit


@dataclass(frozen=True)
class Evaluated(Edited):
    """An edited candidate that was measured or modelled, and judged against the baseline."""


def prove_candidate(candidate: Candidate, subject: Subject, target: Target) -> Proved | Verdict:
    """Proves a candidate on every distinct launch, or says what is wrong with it."""
    if candidate.flaw is not None:
        return Verdict("not a swizzle", candidate.flaw)
    try:
        swizzle = parse(candidate.text)
        proofs = prove_on(swizzle, [one.launch for one in subject.traced], target)
        if isinstance(proofs, Witness):
            return _refuse(proofs)
        for one, proof in zip(subject.traced, proofs, strict=True):
            if reason := subject.unsafe_order(one.launch, proof.tile):
                return Verdict("unsafe order", reason)
        if refusal := refuse_other_counts(swizzle, subject.launches, target, FEW_COUNTS):
            return refusal
        if refusal := _refuse_elsewhere(swizzle, subject, target):
            return refusal
    except LanguageError as error:
        return Verdict("not a swizzle", str(error))
    return Proved(
        candidate=candidate,
        swizzle=swizzle,
        subject=subject,
        target=target,
        proof=proofs[0].certificate(),
        fingerprint="+".join(proof.fingerprint for proof in proofs),
        unchanged=all(np.array_equal(one.tile, np.arange(len(one.tile))) for one in proofs),
    )


def _refuse_elsewhere(swizzle: Swizzle, subject: Subject, target: Target) -> Verdict | None:
    """The refusal of a swizzle that a launch which is not traced forbids.

    One permutation at a time, for all launches on which the swizzle is the same.
    """
    for launches in subject.alike(swizzle.names):
        proofs = prove_on(swizzle, launches[:1], target)
        if isinstance(proofs, Witness):
            return _refuse(proofs)
        for launch in launches:
            if reason := subject.unsafe_order(launch, proofs[0].tile):
                where = f"launch {launch.ordinal + 1}, on the grid {launch.grid}"
                return Verdict("unsafe order", f"{where}: {reason}")
    return None


def refuse_other_counts(
    swizzle: Swizzle, launches: Sequence[Launch], target: Target, counts: Sequence[int]
) -> Verdict | None:
    """The refusal of a swizzle that is no permutation of some count which memory may hold."""
    read = [launch for launch in launches if launch.loop and launch.loop.read_from]
    constants = {frozenset((n, one.constants.get(n)) for n in swizzle.names): one for one in read}
    for launch in constants.values():
        told = "the number of tiles is read from memory, and"
        if "program" in swizzle.names:
            return Verdict("not a permutation", f"{told} with it `program` of each changes")
        proof = _prove_launch(swizzle, launch, target, [(count, 1, 1) for count in counts])
        holds = "none" if isinstance(proof, Witness) else proof.condition
        if holds:
            return Verdict("not a permutation", f"{told} it is one for {holds} only")
    return None


def _refuse(witness: Witness) -> Verdict:
    return Verdict("not a permutation", "; ".join(describe(witness)), witness)


def prove_on(
    swizzle: Swizzle, launches: Sequence[Launch], target: Target
) -> tuple[Proof, ...] | Witness:
    """A proof for each launch, or the witness of the first launch on which it fails."""
    proofs = []
    for launch in launches:
        verdict = _prove_launch(swizzle, launch, target, ())
        if isinstance(verdict, Witness):
            return verdict
        proofs.append(verdict)
    return tuple(proofs)


def screen_candidate(proved: Proved, number: int, rate: float, baseline: float) -> Screened:
    """The candidate as an attempt, ranked by the fast model alone until it is evaluated."""
    reason = f"{points(baseline, rate)} by the screen, a quick model; not evaluated"
    return Screened(
        proved,
        Attempt(
            number,
            proved.candidate,
            Verdict("screened out", reason),
            fingerprint=proved.fingerprint,
            proof=proved.proof,
            screened_l2_hit_rate=rate,
        ),
    )


def edit_source(screened: Screened, setup: Setup) -> Edited | Verdict:
    """Puts the swizzle into the kernel's source, or says why that cannot be done."""
    proved = screened.proved
    launches = proved.subject.launches
    if refusal := refuse_other_counts(proved.swizzle, launches, proved.target, EVERY_COUNT):
        return refusal
    try:
        edit = edit_launches(setup, proved.subject.launches, proved.swizzle, proved.candidate.name)
    except SpliceError as error:
        return Verdict("not patched", str(error))
    return Edited(proved, screened.attempt, edit)


def find_difference(one: Edited, language: KernelLanguage) -> str | None:
    """Where the edited kernel is another one, in a launch that is not traced or a configuration
    that no launch has; None also of a language that compares no code.

    Raises:
        ValidationError: the code of the unmodified kernel cannot be had.
    """
    if not isinstance(language, CodeComparer):
        return None
    return language.find_difference(one.proved.placed(), one.edit)


def finish_proof(attempt: Attempt, proved: Proved) -> Attempt:
    """The attempt with a proof that was tried on further grids, which ranks it; once."""
    if attempt.proof is not None and attempt.proof.grids_checked > 1:
        return attempt
    return replace(attempt, proof=proved.widened(RANKING_STRIDE))


def _prove_launch(
    swizzle: Swizzle, launch: Launch, target: Target, sweep: Sequence[tuple[int, int, int]]
) -> Proof | Witness:
    return prove(
        swizzle,
        launch.numbers,
        launch.constants,
        num_xcds=target.num_xcds,
        cus_per_xcd=target.cus_per_xcd,
        sweep=sweep,
        owners=owners_of(launch),
    )
