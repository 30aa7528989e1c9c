# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces a recorded launch in a child process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from intelliperf_swizzle.dependence import Dependence, find_each
from intelliperf_swizzle.frontends.in_child import find_dependences_in_child, trace_in_child
from intelliperf_swizzle.records import Launch, Trace


def trace(launch: Launch, *, timeout_seconds: float = 600.0) -> Trace:
    """Find the cache lines that each workgroup of a launch touches, wave by wave.

    Raises:
        TraceError: something that only the GPU knows decides an address, the contents of a buffer
            were not kept, or it takes too much time or memory.
    """
    function = "intelliperf_swizzle.frontends.cpp.trace.trace_slices:trace_here"
    return trace_in_child(function, launch, {}, timeout_seconds)


def find_dependences(launches: Sequence[Launch], *, timeout_seconds: float) -> list[Dependence]:
    """Which workgroups of each launch depend on each other; no trace is kept."""
    function = "intelliperf_swizzle.frontends.cpp.trace.tracing:dependences_of"
    return find_dependences_in_child(function, launches, {}, timeout_seconds)


def dependences_of(launches: Sequence[Launch], folder: Path) -> Iterator[Dependence]:
    """That of each launch, in the child process of `find_dependences`."""
    from intelliperf_swizzle.frontends.cpp.trace.trace_slices import trace_here

    return find_each(launches, lambda launch: trace_here(launch, folder))
