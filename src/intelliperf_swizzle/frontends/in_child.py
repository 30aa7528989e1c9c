# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A trace made in a child process, because a user's kernel may crash or hang; of any language."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from intelliperf_swizzle.children import CallError, call, call_each
from intelliperf_swizzle.dependence import Dependence, not_known
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.records import Launch, Trace

_LAST_LINES = 8
LARGE_TILES = 1024
"""From here on a trace takes longer than the start of a child."""


def trace_in_child(
    function: str, launch: Launch, environment: Mapping[str, str], timeout_seconds: float
) -> Trace:
    """Calls `module:name` with a launch and a folder; it traces.

    Raises:
        TraceError: the function raised it, crashed or took longer than the limit.
    """
    try:
        traced: Trace = call(
            function, launch, environment=environment, limit_seconds=timeout_seconds
        )
    except CallError as error:
        if error.too_late:
            limit = f"{timeout_seconds:g} s"
            raise TraceError(
                f"tracing {launch.kernel} on grid {launch.grid} took longer than {limit}",
                hint="run the application on a smaller problem",
            ) from None
        raise TraceError(
            f"the interpreter {error.how} while tracing {launch.kernel}",
            details=error.ended.last_lines(_LAST_LINES),
        ) from None
    return traced


def find_dependences_in_child(
    function: str,
    launches: Sequence[Launch],
    environment: Mapping[str, str],
    timeout_seconds: float,
) -> list[Dependence]:
    """Calls `module:name` with launches and a folder; it yields the dependence of each.

    What could not be traced, or not in time, is not known and says why.
    """
    found, error = call_each(
        function, launches, environment=environment, limit_seconds=timeout_seconds
    )
    if error is None:
        return found
    how = f"had no more than {timeout_seconds:g} s" if error.too_late else error.how
    return found + [not_known(f"the interpreter {how}")] * (len(launches) - len(found))


def trace_each_in_child(
    function: str,
    launches: Sequence[Launch],
    environment: Mapping[str, str],
    timeout_seconds: float,
) -> list[Trace | None]:
    """The traces that a function yields for launches; None where there is none.

    Small launches are traced in one child, large ones in a child for each core. Nothing is known of
    a launch that comes after one which crashes their child.
    """

    def trace_together(numbers: Sequence[int]) -> list[tuple[int, Trace]]:
        some = [launches[number] for number in numbers]
        found, _ = call_each(function, some, environment=environment, limit_seconds=timeout_seconds)
        return list(zip(numbers, found, strict=False))

    small = [n for n, launch in enumerate(launches) if launch.tiles < LARGE_TILES]
    large = [n for n, launch in enumerate(launches) if launch.tiles >= LARGE_TILES]
    large.sort(key=lambda n: launches[n].tiles, reverse=True)
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        groups = [small, *(large[core::cores] for core in range(cores))]
        every = pool.map(trace_together, [one for one in groups if one])
        traces: dict[int, Trace] = dict(itertools.chain.from_iterable(every))
    return [traces.get(number) for number in range(len(launches))]
