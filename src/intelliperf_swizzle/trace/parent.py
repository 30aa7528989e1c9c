# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A trace made in a child process, because a user's kernel may crash or hang."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from pathlib import Path

from intelliperf_swizzle.children import run_child
from intelliperf_swizzle.codec import load_arrays
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.launches import save_launch
from intelliperf_swizzle.records import Launch, Trace

_LAST_LINES = 8


def trace(launch: Launch, *, timeout_seconds: float = 600.0) -> Trace:
    """Find the cache lines that each tile of a launch touches.

    Costs about a second for the child process, and then milliseconds to seconds; minutes where
    the plain interpreter must be used (`Trace.method` and `Trace.notes` say so).

    Raises:
        TraceError: the kernel cannot be interpreted, needs contents that were not recorded,
            crashed the interpreter or took longer than the limit.
    """
    with tempfile.TemporaryDirectory(prefix="swizzle-trace-") as name:
        folder = Path(name)
        save_launch(launch, folder / "launch.json")
        _run_child(launch, folder, timeout_seconds)
        refusal = folder / "refusal.json"
        if refusal.exists():
            stated = json.loads(refusal.read_text())
            raise TraceError(stated["fact"], hint=stated["hint"], details=tuple(stated["details"]))
        return load_arrays(Trace, folder / "trace.npz")


def _run_child(launch: Launch, folder: Path, timeout_seconds: float) -> None:
    child = run_child(
        "intelliperf_swizzle.trace.child",
        folder,
        environment={**os.environ, "TRITON_INTERPRET": "1"},
        limit_seconds=timeout_seconds,
    )
    if child is None:
        raise TraceError(
            f"tracing {launch.kernel} on grid {launch.grid} took longer than {timeout_seconds:g} s",
            hint="trace a smaller launch, or allow more time",
        )
    if child.returncode != 0:
        last = tuple(child.stderr.splitlines()[-_LAST_LINES:])
        raise TraceError(
            f"the interpreter {_ending(child.returncode)} while tracing {launch.kernel}",
            details=last,
        )


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
