# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The user's own commands: the build, and the test on a copy that carries the swizzle."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace

from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import Edit, copy
from intelliperf_swizzle.edit.copy import carry
from intelliperf_swizzle.errors import CaptureError, SpliceError, ValidationError
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.records import Attempt, Verdict
from intelliperf_swizzle.search.setup import Setup

LIMIT_SECONDS = 600.0
"""A user's test that takes longer on a CPU is not worth its wait."""


def run_build(setup: Setup) -> None:
    """Runs the user's build command in the project directory, if there is one.

    A language that must build a copy in its own way does so when it records.

    Raises:
        SwizzleError: it failed; with its last lines.
    """
    if setup.options.build_command and not setup.language.builds:
        copy.run_build(setup.options.build_command, setup.project, os.environ)


class UnitTest:
    """Judges edits by `--unittest_command`; without one, or if nothing may be executed, all pass.

    Args:
        setup: of the run.
    """

    def __init__(self, setup: Setup):
        self._setup = setup
        self._passes_unmodified = False

    def judge(self, attempt: Attempt, edit: Edit) -> Attempt:
        """The attempt, refused if the test fails on it; if it passes, that is noted.

        Raises:
            ValidationError: the test does not pass on the unmodified kernel either.
        """
        failure = self.failure(edit)
        if failure is None:
            options, validation = self._setup.options, attempt.validation
            if validation is None or options.compute == "never":
                return attempt
            passed = replace(validation, unit_test=options.unittest_command)
            return replace(attempt, validation=passed)
        if not self._passes_unmodified:
            without = self.failure(None)
            if without is not None:
                raise ValidationError(
                    f"without a swizzle too, {without}",
                    hint="--unittest_command must exit with 0 on the unchanged project",
                )
            self._passes_unmodified = True
        return replace(attempt, verdict=Verdict("unit test failed", failure))

    def failure(self, edit: Edit | None) -> str | None:
        """Why the test does not pass on a copy of the project with the edit; None if it does."""
        setup = self._setup
        command, project = setup.options.unittest_command, setup.project
        if not command or setup.options.compute == "never":
            return None
        with temporary_folder("unit-test") as folder:
            place = folder / "project"
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
                        limit_seconds=LIMIT_SECONDS,
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
            return f"the unit test took longer than {LIMIT_SECONDS:g} s"
        return f"the unit test failed with exit code {tested.exit_code}"
