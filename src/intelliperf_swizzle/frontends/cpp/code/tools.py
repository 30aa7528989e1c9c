# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Compilers and tools beside them, run with a time limit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle import children

_LIMIT_SECONDS = 600.0
"""A compiler that takes longer on one file hangs."""


def run_tool(
    command: Sequence[str],
    environment: Mapping[str, str] = os.environ,
    cwd: str | os.PathLike[str] = Path(),
) -> children.Ended:
    """Runs a tool to its end; raises OSError if it is not there."""
    return children.run(command, cwd=cwd, environment=environment, limit_seconds=_LIMIT_SECONDS)
