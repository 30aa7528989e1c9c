# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A trace made in a child process, because a user's kernel may crash or hang."""

from __future__ import annotations

import json
import os
import pickle
import signal
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError

from intelliperf_swizzle.children import run_child
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.launches import save_launch
from intelliperf_swizzle.records import Launch, Trace
from intelliperf_swizzle.trace.dependence import Dependence, not_known
from intelliperf_swizzle.trace.files import load_trace

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
        return load_trace(folder / "trace.npz")


def dependences(launches: Sequence[Launch], *, timeout_seconds: float) -> list[Dependence]:
    """Which programs of each launch depend on each other; no trace is kept.

    Launches that differ only in what decides no access are traced once. What could not be traced,
    or not in time, is not known and says why.

    Args:
        launches: any.
        timeout_seconds: for all of them.
    """
    found: list[Dependence] = []
    with tempfile.TemporaryDirectory(prefix="swizzle-trace-") as name:
        folder = Path(name)
        (folder / "launches.pickle").write_bytes(pickle.dumps(launches))
        child = run_child(
            "intelliperf_swizzle.trace.dependence_child",
            folder,
            environment={**os.environ, "TRITON_INTERPRET": "1"},
            limit_seconds=timeout_seconds,
        )
        if (folder / "found.pickle").exists():
            with (
                (folder / "found.pickle").open("rb") as stream,
                suppress(EOFError, UnpicklingError),
            ):
                while True:
                    found.append(pickle.load(stream))
    ending = _ending(child.returncode) if child else f"had no more than {timeout_seconds:g} s"
    missing = not_known(f"the interpreter {ending}")
    return found + [missing] * (len(launches) - len(found))


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
