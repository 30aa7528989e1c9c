# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`patterns`: list the catalogue."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import PROGRAM, Parser


def run(arguments: Sequence[str]) -> int:
    """Prints the catalogue."""
    Parser(prog=f"{PROGRAM} patterns", description="List the catalogue.").parse_args(arguments)
    from intelliperf_swizzle.formulas import patterns
    from intelliperf_swizzle.report.terminal import catalogue, show

    show(catalogue(patterns()), sys.stdout)
    return 0
