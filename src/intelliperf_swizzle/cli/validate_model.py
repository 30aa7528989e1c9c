# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`validate-model`: the cache model beside measured counters, by a checkout's `benchmarks/`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from intelliperf_swizzle.errors import UsageError


def run(arguments: Sequence[str]) -> int:
    """Prints the comparison; the exit code is 1 if something measured could not be compared."""
    benchmarks = Path(__file__).resolve().parents[3] / "benchmarks"
    if not (benchmarks / "accuracy").is_dir():
        raise UsageError(
            "validate-model is no part of an installed package",
            hint="pip install -e . in a checkout of intelliperf-swizzle",
        )
    sys.path.append(str(benchmarks))
    return int(import_module("accuracy.command").main(arguments))
