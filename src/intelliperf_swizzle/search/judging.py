# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What judges candidates: what every evaluator works with, and the user's own test."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import PLACE, Edit, carry
from intelliperf_swizzle.errors import CaptureError, SpliceError, ValidationError
from intelliperf_swizzle.frontends.ports import CodeComparer, KernelLanguage
from intelliperf_swizzle.profile.readings import model_swizzle
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Attempt, Measurement, Verdict
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Edited, Screened
from intelliperf_swizzle.search.subject import Subject

Remember: TypeAlias = Callable[[Attempt], Attempt]
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
        progress: told of each step.
    """

    subject: Subject
    setup: Setup
    remember: Remember
    progress: Progress

    @cached_property
    def unit_test(self) -> UnitTest:
        """Must pass with the swizzled kernel."""
        return UnitTest(self.setup)

    def modelled(self, one: Screened, *, causes: bool = False) -> Measurement:
        """A candidate by the model with full physics, maybe with why requests miss."""
        traced, tiles = self.subject.traced, one.proved.tiles()
        return model_swizzle(one.proved.swizzle, traced, tiles, self.setup.target, causes=causes)

    def places(self, fewest: int) -> int:
        """How many mappings the model may replay."""
        places = MODEL_LINES // max(1, self.subject.line_accesses)
        return math.ceil(self.setup.share * min(max(places, fewest), MOST_MODELLED))


def find_difference(one: Edited, language: KernelLanguage) -> str | None:
    """Where the edited kernel is another one, in a launch that is not traced or a configuration
    that no launch has; None also of a language that compares no code.

    Raises:
        ValidationError: the code of the unmodified kernel cannot be had.
    """
    if isinstance(language, CodeComparer):
        return language.find_difference(one.proved.placed(), one.edit)
    return None


LIMIT_SECONDS = 600.0
"""A user's test that takes longer on a CPU is not worth its wait."""


_TIMES, _LEAST_SECONDS = 5, 30.0
"""With a swizzle it may take so many times as long as without, or so long."""


class UnitTest:
    """Judges edits by `--unittest_command`; without one, or if nothing may be executed, all pass.

    Args:
        setup: of the run.
    """

    def __init__(self, setup: Setup):
        self._setup = setup
        self._limit_seconds: float | None = None
        self._endless: str | None = None

    @property
    def runs(self) -> bool:
        """Whether there is a test to run."""
        return bool(self._setup.options.unittest_command) and self._setup.options.compute != "never"

    def judge(self, attempt: Attempt, edit: Edit) -> Attempt:
        """The attempt, refused if the test fails on it; if it passes, that is noted.

        Raises as `failure`.
        """
        failure = self.failure(edit)
        if failure is not None:
            return replace(attempt, verdict=Verdict("unit test failed", failure))
        options, validation = self._setup.options, attempt.validation
        if validation is None or options.compute == "never":
            return attempt
        return replace(attempt, validation=replace(validation, unit_test=options.unittest_command))

    def check(self, progress: Progress | None = None) -> None:
        """Runs the test on the unmodified project, once; its limit on edits follows from that.

        Raises:
            ValidationError: it does not pass.
        """
        if not self.runs or self._limit_seconds is not None:
            return
        (progress or Silent()).phase("running the unit test on the unmodified project")
        begun = time.monotonic()
        if (without := self._run(None, LIMIT_SECONDS)) is not None:
            raise ValidationError(
                f"without a swizzle too, {without}",
                hint="--unittest_command must launch a kernel of the project and exit with 0",
            )
        most = max(_TIMES * (time.monotonic() - begun), _LEAST_SECONDS)
        self._limit_seconds = min(LIMIT_SECONDS, most)

    def failure(self, edit: Edit) -> str | None:
        """Why the test does not pass on a copy of the project with the edit; None if it does.

        Once it has not ended on one edit, it is run on no other: programs that wait for each other
        hang in most orders. Raises as `check`.
        """
        if not self.runs:
            return None
        if not edit.files:
            return "it is run on a patch, and this swizzle is for `apply` alone"
        self.check()
        return self._endless or self._run(edit, self._limit_seconds or LIMIT_SECONDS)

    def _run(self, edit: Edit | None, limit_seconds: float) -> str | None:
        """Why the test does not pass on a copy with the edit, in so many seconds."""
        setup = self._setup
        command, project = str(setup.options.unittest_command), setup.project
        with temporary_folder("unit-test") as folder:
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
            except SpliceError as error:
                return f"the unit test cannot run: {error.fact}"
            except CaptureError as error:
                return f"the unit test launched no kernel: {error.fact}"
        if tested.exit_code == 0:
            return None
        if tested.exit_code is None:
            self._endless = f"the unit test took longer than {limit_seconds:.0f} s"
            return self._endless
        return f"the unit test failed with exit code {tested.exit_code}"
