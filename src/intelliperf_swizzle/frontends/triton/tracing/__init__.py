# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A launch interpreted in a child process."""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle.dependence import Dependence
from intelliperf_swizzle.frontends.in_child import (
    find_dependences_in_child,
    trace_each_in_child,
    trace_in_child,
)
from intelliperf_swizzle.frontends.triton.walk import CHILD_ENVIRONMENT
from intelliperf_swizzle.records import Launch, Trace


def trace(launch: Launch, *, timeout_seconds: float = 600.0) -> Trace:
    """Find the cache lines that each tile of a launch touches.

    Costs about a second for the child process, and then milliseconds to seconds; minutes where
    the plain interpreter must be used (`Trace.method` and `Trace.notes` say so).

    Raises:
        TraceError: the kernel cannot be interpreted, needs contents that were not recorded,
            crashed the interpreter or took longer than the limit.
    """
    function = "intelliperf_swizzle.frontends.triton.tracing.execute:trace_here"
    return trace_in_child(function, launch, CHILD_ENVIRONMENT, timeout_seconds)


def trace_each(launches: Sequence[Launch], *, timeout_seconds: float = 600.0) -> list[Trace | None]:
    """The traces of launches, all made in one child process; None where there is none."""
    function = "intelliperf_swizzle.frontends.triton.tracing.execute:trace_each_here"
    return trace_each_in_child(function, launches, CHILD_ENVIRONMENT, timeout_seconds)


def find_dependences(launches: Sequence[Launch], *, timeout_seconds: float) -> list[Dependence]:
    """Which programs of each launch depend on each other; no trace is kept.

    Launches that differ only in what decides no access are traced once. What could not be traced,
    or not in time, is not known and says why.

    Args:
        launches: any.
        timeout_seconds: for all of them.
    """
    function = "intelliperf_swizzle.frontends.triton.tracing.execute:dependences_of"
    return find_dependences_in_child(function, launches, CHILD_ENVIRONMENT, timeout_seconds)
