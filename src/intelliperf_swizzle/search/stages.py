# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The stages of a candidate: proved, screened, edited, evaluated, guarded; and who evaluates.

Each stage takes only what the one before returns, so nothing is measured that was not proved. A
candidate that a stage refuses leaves as a `Verdict`. The attempt that a stage carries is the record
of it as it then stands.
"""

import math
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from intelliperf_swizzle import disk, errors, hardware, language, records
from intelliperf_swizzle.edit import PLACE, Edit, carry
from intelliperf_swizzle.mapping import certify, conditional
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.search.elsewhere import prove_on, refuse, refuse_elsewhere
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.subject import Subject, edit_launches, evaluate_on, tiles_of


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
        fingerprint: of the permutations of all traced launches.
        unchanged: whether every program computes the tile that it computes anyway.
    """

    candidate: records.Candidate
    swizzle: language.Swizzle
    subject: Subject
    target: hardware.Target
    fingerprint: str
    unchanged: bool

    def tiles(self) -> list[records.Int64Array]:
        """Program -> tile for each traced launch, evaluated again: 8 bytes per program."""
        return tiles_of(self.swizzle, self.subject.traced, self.target)

    def mapped(self) -> list[records.MappedLaunch]:
        """The traced launches with their tiles."""
        mapped = zip(self.subject.traced, self.tiles(), strict=True)
        return [records.MappedLaunch(t.launch, t.trace, tile) for t, tile in mapped]

    def certify(self) -> records.Certificate:
        """The proof with the sizes for which it holds; as of `mapping.certify`."""
        return certify(self.swizzle, self.subject.launches, **self.target.inputs)

    def placed(self) -> list[tuple[records.Launch, records.Int64Array]]:
        """All launches, also those that are not traced, with the mapping of each."""
        all_ = self.subject.launches
        return [(launch, evaluate_on(self.swizzle, launch, self.target)) for launch in all_]


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
    """An evaluated candidate whose text is a permutation at every size; `guard` alone finds one.

    For that, and where it would lose, it may test a condition; it is the same permutation of every
    recorded launch.
    """


def prove_candidate(
    candidate: records.Candidate, subject: Subject, target: hardware.Target
) -> Proved | records.Verdict:
    """Proves a candidate on every distinct launch, or says what is wrong with it."""
    if candidate.flaw is not None:
        return records.Verdict("not a swizzle", candidate.flaw)
    try:
        swizzle = language.parse(candidate.text)
        proofs = prove_on(swizzle, [t.launch for t in subject.traced], target)
        if isinstance(proofs, records.Witness):
            return refuse(proofs)
        for traced, proof in zip(subject.traced, proofs, strict=True):
            if reason := subject.unsafe_order(traced.launch, proof.tile):
                return records.Verdict("unsafe order", reason)
        if refusal := refuse_elsewhere(swizzle, subject, target):
            return refusal
    except errors.LanguageError as error:
        return records.Verdict("not a swizzle", str(error))
    fingerprint = "+".join(proof.fingerprint for proof in proofs)
    unchanged = all(np.array_equal(proof.tile, np.arange(len(proof.tile))) for proof in proofs)
    return Proved(candidate, swizzle, subject, target, fingerprint, unchanged)


def edit_source(
    screened: Screened, setup: RunContext, fixed: Sequence[str] = ()
) -> Edited | records.Verdict:
    """Puts the swizzle into the kernel's source, or says why that cannot be done.

    `fixed`: arguments to whose recorded values it is limited when the kernel is compiled.
    """
    proved = screened.proved
    launches = [replace(launch, fixed=tuple(fixed)) for launch in proved.subject.launches]
    try:
        edit = edit_launches(setup, launches, proved.swizzle, proved.candidate.name)
    except errors.SpliceError as error:
        return records.Verdict("not patched", str(error))
    return Edited(proved, screened.attempt, edit)


def under(
    condition: str | None, best: Edited, proof: records.Certificate, setup: RunContext,
    fixed: Sequence[str] = (),
) -> Guarded | records.Verdict | None:  # fmt: skip
    """The best attempt with a proof, under a condition if it needs one; `fixed` as above.

    A verdict if the kernel's text cannot be limited so. None if it is another permutation of a
    recorded launch then: a smaller one may fall under the condition.
    """
    if condition is None and not fixed:
        return Guarded(best.proved, replace(best.attempt, proof=proof), best.edit)
    text = best.attempt.candidate.text
    if condition is not None:
        text = conditional(text, best.proved.swizzle.outputs, condition, proof.condition is None)
    candidate = replace(best.attempt.candidate, text=text)
    proved = prove_candidate(candidate, best.proved.subject, setup.target)
    if isinstance(proved, records.Verdict) or proved.fingerprint != best.proved.fingerprint:
        return None
    edited = edit_source(Screened(proved, best.attempt), setup, fixed)
    if isinstance(edited, records.Verdict):
        return edited
    attempt = replace(best.attempt, candidate=candidate, proof=proof, diff=edited.edit.diff)
    return Guarded(proved, attempt, edited.edit)


def without_edit(screened: Screened) -> Edited:
    """For the model, to which the mapping is enough."""
    return Edited(screened.proved, screened.attempt, Edit({}, {}, {}, ""))


def carried_by_no_patch(screened: Screened, setup: RunContext) -> tuple[str, ...]:
    """The notes on a swizzle that no patch can carry."""
    edited = edit_source(screened, setup)
    if isinstance(edited, records.Verdict):
        return (f"neither a patch nor `apply` can carry it: {edited.reason}",)
    return edited.edit.notes


Remember: TypeAlias = Callable[[records.Attempt], records.Attempt]
"""Appends an attempt, as it now stands, to the history; returns it."""


MODEL_LINES = 2_700_000_000
"""Line accesses that the finalists may cost the model together: twenty mappings of a GEMM 8192³,
hundreds of a stencil; about half a minute on two cores."""


MOST_MODELLED = 100


@dataclass(frozen=True)
class EvaluationContext:
    """What every evaluator works with.

    Attributes:
        subject: the kernel.
        setup: of the run.
        remember: of the run's history.
        progress: receives each step.
        recording_seconds: what recording the application took.
    """

    subject: Subject
    setup: RunContext
    remember: Remember
    progress: Progress
    recording_seconds: float = 0.0

    @cached_property
    def unit_test(self) -> "UnitTest":
        """Must pass with the swizzled kernel."""
        return UnitTest(self.setup)

    def places(self, fewest: int) -> int:
        """How many mappings the model may replay."""
        places = MODEL_LINES // max(1, self.subject.line_accesses)
        return math.ceil(self.setup.share * min(max(places, fewest), MOST_MODELLED))


_TIMES, _LEAST_SECONDS = 5, 30.0
"""With a swizzle it may take this many times as long as without, or this long."""


class UnitTest:
    """Judges edits by `--unittest_command`; without one, or if nothing may be executed, all pass.

    Args:
        setup: of the run.
    """

    def __init__(self, setup: RunContext):
        self._setup = setup
        self._limit_seconds: float | None = None
        self._endless: str | None = None

    @property
    def runs(self) -> bool:
        """Whether there is a test to run."""
        return bool(self._setup.options.unittest_command) and self._setup.options.compute != "never"

    def judge(self, attempt: records.Attempt, edit: Edit) -> records.Attempt:
        """The attempt, refused if the test fails on it; if it passes, that is noted.

        Raises as `failure`.
        """
        if (failure := self.failure(edit)) is not None:
            return replace(attempt, verdict=records.Verdict("unit test failed", failure))
        if not self.runs or (validation := attempt.validation) is None:
            return attempt
        passed = self._setup.options.unittest_command
        return replace(attempt, validation=replace(validation, unit_test=passed))

    def check(self, progress: Progress | None = None) -> None:
        """Runs the test on the unmodified project, once; its limit on edits follows from that.

        If that takes too long, no edit passes.

        Raises:
            ValidationError: it does not pass.
        """
        if not self.runs or self._limit_seconds is not None:
            return
        (progress or Silent()).phase("running the unit test on the unmodified project")
        begun, self._limit_seconds = time.monotonic(), self._setup.options.limit_seconds
        without = self._run(None, self._limit_seconds)
        if self._endless:
            self._endless = f"without a swizzle, too, {without}; --limit_seconds allows more"
        elif without is not None:
            raise errors.ValidationError(
                f"without a swizzle, too, {without}",
                hint="--unittest_command must launch a kernel of the project and exit with 0; on a "
                "CPU, lanes wait for each other at barriers and shuffles alone",
            )
        most = max(_TIMES * (time.monotonic() - begun), _LEAST_SECONDS)
        self._limit_seconds = min(self._limit_seconds, most)

    def failure(self, edit: Edit) -> str | None:
        """Why the test does not pass on a copy of the project with the edit; None if it does.

        Once it has not ended on one edit, it is run on no other: programs that wait for each other
        hang in most orders. Raises as `check`.
        """
        if not self.runs:
            return None
        if not edit.files:
            return "it needs a patch, and only `apply` can carry this swizzle"
        self.check()
        return self._endless or self._run(edit, self._limit_seconds or 0)

    def _run(self, edit: Edit | None, limit_seconds: float) -> str | None:
        """Why the test does not pass on a copy with the edit, in that many seconds."""
        setup = self._setup
        command, project = str(setup.options.unittest_command), setup.project
        with disk.temporary_folder("unit-test") as folder:
            place = folder / PLACE
            try:
                words = shlex.split(command)
                carrier = carry(project, words, place, edit)
                for word, moved in zip(words, carrier.command, strict=True):
                    if word != moved:
                        command = command.replace(word, shlex.quote(moved))
                request = replace(
                    setup.record_request(folder / "records" / "capture"),
                    command=("sh", "-c", command), cwd=carrier.cwd, target=None,
                    limit_seconds=limit_seconds, compute="always",
                )  # fmt: skip
                tested = setup.language.record(request)
            except errors.SpliceError as error:
                return f"the unit test cannot run: {error.fact}"
            except errors.CaptureError as error:
                return f"the unit test launched no kernel: {error.fact}"
        if tested.exit_code == 0:
            return None
        if tested.exit_code is None:
            self._endless = f"the unit test took longer than {limit_seconds:.0f} s"
            return self._endless
        return f"the unit test failed with exit code {tested.exit_code}"
