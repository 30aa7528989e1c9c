# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces launches one by one and keeps no trace, in the child process of `find_dependences`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle.dependence import (
    Dependence,
    find_dependence,
    not_known,
    same_trace,
)
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.kernels.triton.tracing.interpret import trace_here
from intelliperf_swizzle.records import Launch, Trace

MOST_REMEMBERED = 64
"""Launches whose trace another one may turn out to have."""


def dependences_of(launches: Sequence[Launch], folder: Path) -> Iterator[Dependence]:
    """That of each launch, in order."""
    known: list[tuple[Launch, Trace, Dependence]] = []
    for launch in launches:
        found = next((one[2] for one in known if same_trace(one[1], one[0], launch)), None)
        if found is None:
            found = _traced(launch, folder, known)
            del known[:-MOST_REMEMBERED]
        yield found


def _traced(
    launch: Launch, folder: Path, known: list[tuple[Launch, Trace, Dependence]]
) -> Dependence:
    try:
        trace = trace_here(launch, folder)
    except TraceError as error:
        return not_known(error.fact)
    found = find_dependence(trace, launch)
    known.append((launch, _without_accesses(trace), found))
    return found


def _without_accesses(trace: Trace) -> Trace:
    """What `same_trace` needs of it."""
    nothing = np.zeros(0, np.int32)
    return replace(trace, access_base=nothing, access_shape=nothing, tile_arithmetic=None)
