# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Scripts run in a child process, because the interpreter must be chosen before Triton's import."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

ZOO = Path(__file__).parents[1] / "trace"


@pytest.fixture
def interpreted(tmp_path: Path) -> Callable[[str], str]:
    """Run a script under the interpreter in an empty folder; returns what it prints."""

    def run(script: str) -> str:
        (tmp_path / "script.py").write_text(textwrap.dedent(script))
        child = subprocess.run(
            [sys.executable, "script.py"],
            cwd=tmp_path,
            env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ZOO)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert child.returncode == 0, child.stderr
        return child.stdout

    return run
