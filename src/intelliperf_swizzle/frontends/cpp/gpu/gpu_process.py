# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The user's program, started with the library that tries candidates in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from intelliperf_swizzle.children import Child
from intelliperf_swizzle.errors import ValidationError
from intelliperf_swizzle.frontends.applications import LOG, last_lines
from intelliperf_swizzle.frontends.cpp.compile.gpu_builds import GpuProgram, preloaded
from intelliperf_swizzle.frontends.trials.journal import Journal
from intelliperf_swizzle.frontends.trials.processes import Process


def start_program(
    program: GpuProgram, shim: Path, folder: Path, environment: Mapping[str, str]
) -> Process:
    """Starts a program; its order is in the folder, its journal and what it prints go there.

    Raises:
        ValidationError: it cannot be started.
    """
    variables = preloaded(
        shim, {**environment, **program.variables, "SWIZZLE_TRIAL_FOLDER": str(folder)}
    )
    try:
        with (folder / LOG).open("wb") as log:
            child = Child(program.command, cwd=program.folder, environment=variables, output=log)
    except OSError as error:
        raise ValidationError(f"`{program.command[0]}` cannot be started: {error}") from error
    return Process(child, Journal(folder).unread, lambda: last_lines(folder))


def why_absent(folder: Path | None) -> str:
    """What a process launched instead of the recorded launches, by its folder."""
    events = Journal(folder).unread() if folder else []
    for event in reversed(events):
        if event["event"] == "note":
            return str(event["text"])
        if event["event"] == "seen":
            return f"launched were {', '.join(event['launched'][:6]) or 'none'}"
    if events:
        return "the program has ended before"
    return (
        "nothing was launched through a shared runtime: the program may call the driver, or have "
        "been linked with the static runtime by another linker than ld"
    )
