# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Does this host have what we need of it? Asked of its behaviour: it has no version to go by."""

from __future__ import annotations

import argparse
import importlib
import inspect
from dataclasses import dataclass
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

APPLICATION = (
    "name",
    "build_command",
    "instrument_command",
    "project_directory",
    "app_cmd",
    "unittest_command",
)
"""What we say of an application."""

METHODS = {
    "Application": {"build": (), "profile": ("top_n",)},
    "Logger": {
        "record": ("event_type", "data"),
        "save_iteration_code": ("kernel_name", "iteration_num", "code_content"),
        "flush": ("output_file",),
    },
}


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


@dataclass(frozen=True)
class Host:
    """The parts of the host that we use: its classes `Application` and `Logger`."""

    application: Any
    logger: Any


def probe(options: argparse.Namespace | None = None) -> Host:
    """The host's parts.

    Args:
        options: as the host's parser gave them, None where its command line is not used.

    Raises:
        DriftError: something is not there, or cannot be called as we call it; names all of it.
    """
    missing = [f"option --{name}" for name in OPTIONS if options and not hasattr(options, name)]
    application = _class("intelliperf.core.application", "Application", missing)
    logger = _class("intelliperf.core.logger", "Logger", missing)
    if application is not None:
        _check(application, "Application()", APPLICATION, missing)
    if logger is not None:
        _check(logger, "Logger()", ("run_name",), missing)
    if missing:
        raise DriftError(tuple(missing))
    return Host(application, logger)


def _class(module: str, name: str, missing: list[str]) -> Any:
    """The class of a module with the methods we call, None where it cannot be had."""
    try:
        found = getattr(importlib.import_module(module), name, None)
    except (Exception, SystemExit) as error:
        missing.append(f"module {module}: {type(error).__name__}: {error}")
        return None
    if found is None:
        missing.append(f"class {module}.{name}")
        return None
    for method, arguments in METHODS[name].items():
        if not hasattr(found, method):
            missing.append(f"method {name}.{method}")
        else:
            _check(getattr(found, method), f"{name}.{method}()", ("self", *arguments), missing)
    return found


def _check(callee: Any, called: str, arguments: tuple[str, ...], missing: list[str]) -> None:
    """Notes it where a callable does not take these arguments, by name."""
    try:
        inspect.signature(callee).bind(**dict.fromkeys(arguments))
    except TypeError as error:
        missing.append(f"{called}: {error}")
