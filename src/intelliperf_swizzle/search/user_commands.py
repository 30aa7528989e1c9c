# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The user's own commands: the build, and the test on a copy that carries the swizzle."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import replace

from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import Edit, copy
from intelliperf_swizzle.edit.copy import carry
from intelliperf_swizzle.errors import CaptureError, SpliceError, ValidationError
from intelliperf_swizzle.frontends.ports import Builder, RecordRequest
from intelliperf_swizzle.records import Attempt, Verdict
from intelliperf_swizzle.search.setup import Setup

LIMIT_SECONDS = 600.0
"""A user's test that takes longer on a CPU is not worth its wait."""
_TIMES, _LEAST_SECONDS = 5, 30.0
"""With a swizzle it may take so many times as long as without, or so long."""


def run_build(setup: Setup) -> None:
    """Runs the user's build command in the project directory, if there is one.

    A language that must build a copy in its own way does so when it records.

    Raises:
        SwizzleError: it failed; with its last lines.
    """
    if setup.options.build_command and not isinstance(setup.language, Builder):
        copy.run_build(setup.options.build_command, setup.project, os.environ)


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
        passed = replace(validation, unit_test=options.unittest_command)
        return replace(attempt, validation=passed)

    def failure(self, edit: Edit | None) -> str | None:
        """Why the test does not pass on a copy of the project with the edit; None if it does.

        Once it has not ended on one edit, it is run on no other: programs that wait for each other
        hang in most orders.

        Raises:
            ValidationError: the test does not pass on the unmodified project.
        """
        if not self.runs:
            return None
        if edit is None:
            return self._run(None, LIMIT_SECONDS)
        if self._limit_seconds is None:
            begun = time.monotonic()
            without = self.failure(None)
            if without is not None:
                raise ValidationError(
                    f"without a swizzle too, {without}",
                    hint="--unittest_command must exit with 0 on the unchanged project",
                )
            taken = time.monotonic() - begun
            self._limit_seconds = min(LIMIT_SECONDS, max(_TIMES * taken, _LEAST_SECONDS))
        return self._endless or self._run(edit, self._limit_seconds)

    def _run(self, edit: Edit | None, limit_seconds: float) -> str | None:
        """Why the test does not pass on a copy with the edit, in so many seconds."""
        setup = self._setup
        command, project = str(setup.options.unittest_command), setup.project
        with temporary_folder("unit-test") as folder:
            place = folder / copy.PLACE
            try:
                words = shlex.split(command)
                carrier = carry(project, words, place, edit)
                for word, moved in zip(words, carrier.command, strict=True):
                    if word != moved:
                        command = command.replace(word, shlex.quote(moved))
                tested = setup.language.record(
                    RecordRequest(
                        command=("sh", "-c", command),
                        cwd=carrier.cwd,
                        folder=folder / "records" / "capture",
                        device=setup.device,
                        limit_seconds=limit_seconds,
                        compute="always",
                        build_command=setup.options.build_command,
                    )
                )
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
