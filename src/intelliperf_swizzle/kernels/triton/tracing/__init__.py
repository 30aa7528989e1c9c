# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A trace made in a child process, because a user's kernel may crash or hang."""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle.children import CallError, call, call_each
from intelliperf_swizzle.dependence import Dependence, not_known
from intelliperf_swizzle.errors import TraceError
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
    try:
        traced: Trace = call(
            "intelliperf_swizzle.kernels.triton.tracing.interpret:trace_here",
            launch,
            environment={"TRITON_INTERPRET": "1"},
            limit_seconds=timeout_seconds,
        )
    except CallError as error:
        if error.too_late:
            limit = f"{timeout_seconds:g} s"
            raise TraceError(
                f"tracing {launch.kernel} on grid {launch.grid} took longer than {limit}",
                hint="trace a smaller launch, or allow more time",
            ) from None
        raise TraceError(
            f"the interpreter {error.how} while tracing {launch.kernel}",
            details=error.ended.last_lines(_LAST_LINES),
        ) from None
    return traced


def trace_each(launches: Sequence[Launch], *, timeout_seconds: float = 600.0) -> list[Trace | None]:
    """The traces of launches, all made in one child process; None where there is none.

    Nothing is known of what comes after a launch that crashes the interpreter.
    """
    found, _ = call_each(
        "intelliperf_swizzle.kernels.triton.tracing.interpret:trace_each_here",
        launches,
        environment={"TRITON_INTERPRET": "1"},
        limit_seconds=timeout_seconds,
    )
    return found + [None] * (len(launches) - len(found))


def find_dependences(launches: Sequence[Launch], *, timeout_seconds: float) -> list[Dependence]:
    """Which programs of each launch depend on each other; no trace is kept.

    Launches that differ only in what decides no access are traced once. What could not be traced,
    or not in time, is not known and says why.

    Args:
        launches: any.
        timeout_seconds: for all of them.
    """
    found, error = call_each(
        "intelliperf_swizzle.kernels.triton.tracing.dependences:dependences_of",
        launches,
        environment={"TRITON_INTERPRET": "1"},
        limit_seconds=timeout_seconds,
    )
    if error is None:
        return found
    how = f"had no more than {timeout_seconds:g} s" if error.too_late else error.how
    return found + [not_known(f"the interpreter {how}")] * (len(launches) - len(found))
