# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The user's own test, run on a copy of the project that carries the swizzle."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from intelliperf_swizzle.capture import capture
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.errors import CaptureError, SpliceError
from intelliperf_swizzle.kernel.copy import copy_project, moved_command
from intelliperf_swizzle.kernel.edit import Edit


def unit_test(
    command: str,
    project: Path,
    edit: Edit | None,
    *,
    limit_seconds: float,
    gpu: Mapping[str, str] | None = None,
) -> str | None:
    """Runs the command with every launch executed; why it did not pass, or None if it did.

    Args:
        command: as a shell would split it; run in a copy of the project, which is removed again.
        project: the project directory; the edited files must lie in it.
        edit: the swizzled kernel; None = the project as it is.
        limit_seconds: a test that takes longer has not passed.
        gpu: the environment in which it runs on a GPU; None = there is none.
    """
    with temporary_folder("unit-test") as folder:
        copy = folder / "project"
        try:
            copy_project(project, copy, edit)
            tested = capture(
                moved_command(shlex.split(command), project, copy),
                folder=folder / "records" / "capture",
                cwd=copy,
                quiet_seconds=limit_seconds,
                limit_seconds=limit_seconds,
                compute="always",
                environment=gpu,
                on_gpu=gpu is not None,
            )
        except SpliceError as error:
            return f"the unit test cannot run: {error.fact}"
        except CaptureError as error:
            return f"the unit test launched no kernel: {error.fact}"
    if tested.exit_code == 0:
        return None
    if tested.exit_code is None:
        return f"the unit test took longer than {limit_seconds:g} s"
    return f"the unit test failed with exit code {tested.exit_code}"
