# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What we use of the host, asked of its behaviour: it has no version to go by."""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Sequence
from typing import Any

from intelliperf_swizzle.errors import UsageError

TESTED = ("6bd1939", "a8ffd40", "172b698")
"""Commits of github.com/AMDResearch/intelliperf that this was tested with."""

OPTIONS = (
    "accordo_absolute_tolerance",
    "build_command",
    "in_place",
    "instrument_command",
    "kernel",
    "num_attempts",
    "output_file",
    "project_directory",
    "remaining",
    "top_n",
    "trace_path",
    "unittest_command",
)
"""What we read of the host's command line."""

METHODS = {
    "record": ("event_type", "data"),
    "save_iteration_code": ("kernel_name", "iteration_num", "code_content"),
    "flush": ("output_file",),
}
"""What we call of its logger."""


class DriftError(UsageError):
    """The host is not as we know it."""

    def __init__(self, missing: tuple[str, ...]):
        super().__init__(
            "this IntelliPerf is not one that the swizzle formula knows",
            details=missing,
            hint=(
                f"it was tested with a checkout (pip install -e) at {', '.join(TESTED)}; "
                "`intelliperf-swizzle` takes the same command line and needs no IntelliPerf"
            ),
        )


def probe(options: argparse.Namespace) -> Any:
    """The host's class `Logger`.

    Args:
        options: as the host's parser gave them.

    Raises:
        DriftError: something is not there, or cannot be called as we call it; names all of it.
    """
    missing = [f"option --{name}" for name in OPTIONS if not hasattr(options, name)]
    logger = None
    try:
        logger = getattr(importlib.import_module("intelliperf.core.logger"), "Logger", None)
    except (Exception, SystemExit) as error:
        missing.append(f"module intelliperf.core.logger: {type(error).__name__}: {error}")
    else:
        _check(logger, "Logger", ("run_name",), missing)
    for method, arguments in METHODS.items() if logger else ():
        _check(getattr(logger, method, None), f"Logger.{method}", ("self", *arguments), missing)
    if missing:
        raise DriftError(tuple(missing))
    return logger


def _check(callee: Any, called: str, arguments: Sequence[str], missing: list[str]) -> None:
    """Notes it where there is no such callable, or one that does not take these by name."""
    try:
        inspect.signature(callee).bind(**dict.fromkeys(arguments))
    except TypeError as error:
        missing.append(f"{called}(): {error}" if callee else f"no {called}")
