# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`remove-hook`: undoes `install-hook`."""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import PROGRAM, Parser
from intelliperf_swizzle.hook import remove_hook


def run(arguments: Sequence[str]) -> int:
    """Removes the hook and prints its files."""
    Parser(
        prog=f"{PROGRAM} remove-hook",
        description=f"Remove the start-up file that `{PROGRAM} install-hook` wrote.",
    ).parse_args(arguments)
    for path in remove_hook():
        print(f"removed: {path}")
    return 0
