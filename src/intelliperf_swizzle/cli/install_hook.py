# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`install-hook`: lets `intelliperf --formula swizzle` find our formulas."""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import PROGRAM, Parser
from intelliperf_swizzle.hook import install_hook


def run(arguments: Sequence[str]) -> int:
    """Installs the hook and prints its files."""
    Parser(
        prog=f"{PROGRAM} install-hook",
        description="Write a start-up file into this Python environment, which adds our formulas to"
        f" IntelliPerf's command line. `{PROGRAM} remove-hook` undoes it.",
    ).parse_args(arguments)
    for path in install_hook():
        print(f"written: {path}")
    return 0
