# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`targets`: list the GPUs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import PROGRAM, Parser


def run(arguments: Sequence[str]) -> int:
    """Prints the GPUs."""
    Parser(prog=f"{PROGRAM} targets", description="List the GPUs.").parse_args(arguments)
    from intelliperf_swizzle.hardware import load_target, targets
    from intelliperf_swizzle.report.terminal import gpus, show

    show(gpus([load_target(name) for name in targets()]), sys.stdout)
    return 0
