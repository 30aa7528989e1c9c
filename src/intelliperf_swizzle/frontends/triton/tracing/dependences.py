# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces launches one by one and keeps no trace, in the child process of `find_dependences`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from intelliperf_swizzle.dependence import Dependence, find_each
from intelliperf_swizzle.frontends.triton.tracing.execute import trace_here
from intelliperf_swizzle.records import Launch


def dependences_of(launches: Sequence[Launch], folder: Path) -> Iterator[Dependence]:
    """That of each launch, in order."""
    return find_each(launches, lambda launch: trace_here(launch, folder))
