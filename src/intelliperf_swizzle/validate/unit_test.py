# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The user's own test, run on a copy of the project that carries the swizzle."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from pathlib import Path

from intelliperf_swizzle.capture import capture
from intelliperf_swizzle.errors import CaptureError
from intelliperf_swizzle.kernel.edit import Edit

NOT_COPIED = (".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "swizzle-out")
"""What a test of a kernel does not need and a copy should not cost."""


def unit_test(command: str, project: Path, edit: Edit, *, limit_seconds: float) -> str | None:
    """Runs the command with every launch executed; why it did not pass, or None if it did.

    Args:
        command: as a shell would split it; run in a copy of the project, which is removed again.
        project: the project directory; the edited files must lie in it.
        edit: the swizzled kernel.
        limit_seconds: a test that takes longer has not passed.
    """
    root = project.resolve()
    outside = [path for path in edit.files if root not in Path(path).resolve().parents]
    if outside:
        return f"the unit test cannot run: {outside[0]} lies outside {project}"
    with tempfile.TemporaryDirectory(prefix="swizzle-unit-test-") as folder:
        copy = Path(folder) / "project"
        ignored = shutil.ignore_patterns(*NOT_COPIED)
        shutil.copytree(root, copy, symlinks=True, ignore=ignored, ignore_dangling_symlinks=True)
        for path, text in edit.files.items():
            (copy / Path(path).resolve().relative_to(root)).write_bytes(text.encode())
        try:
            tested = capture(
                shlex.split(command),
                folder=Path(folder) / "records",
                cwd=copy,
                quiet_seconds=limit_seconds,
                limit_seconds=limit_seconds,
                compute="always",
            )
        except CaptureError as error:
            return f"the unit test launched no kernel: {error.fact}"
    if tested.exit_code == 0:
        return None
    if tested.exit_code is None:
        return f"the unit test took longer than {limit_seconds:g} s"
    return f"the unit test failed with exit code {tested.exit_code}"
