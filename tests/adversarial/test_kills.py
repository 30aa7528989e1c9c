# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A few of the runs that `make kills` kills."""

from __future__ import annotations

from pathlib import Path

from kills import run_kills


def test_runs_that_are_killed_tear_and_leave_nothing(tmp_path: Path) -> None:
    """One that edits in place, one that does not."""
    assert sum(run_kills(tmp_path, 2, seed=1).values()) == 2
