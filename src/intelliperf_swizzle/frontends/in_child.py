# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces made in child processes, because a user's kernel may crash or hang; of any language."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from intelliperf_swizzle.children import CallError, call, call_each
from intelliperf_swizzle.dependence import Dependence, find_each, not_known
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.records import Launch, Trace

_LAST_LINES = 8
LARGE_TILES = 1024
"""From here on a trace takes longer than the start of a child."""


@dataclass(frozen=True)
class ChildTracer:
    """Traces launches by a module that a child process imports.

    Attributes:
        module: has `trace_here(launch, folder)`, which raises TraceError, and, for `trace_each`,
            `trace_each_here(launches, folder)`, which yields traces, or None where there is none.
        environment: of the child, where it differs from ours.
    """

    module: str
    environment: Mapping[str, str]

    def trace(self, launch: Launch, *, timeout_seconds: float = 600.0) -> Trace:
        """Find the cache lines that each tile of a launch touches.

        Costs about a second for the child process, and then milliseconds to seconds; minutes if
        programs must be run one by one (`Trace.method` and `Trace.notes` say so).

        Raises:
            TraceError: something that is not known decides an access, contents were not recorded,
                the kernel crashed, or it takes too much time or memory.
        """
        function = f"{self.module}:trace_here"
        try:
            traced: Trace = call(
                function, launch, environment=self.environment, limit_seconds=timeout_seconds
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

    def find_dependences(
        self, launches: Sequence[Launch], *, timeout_seconds: float
    ) -> list[Dependence]:
        """Which programs of each launch depend on each other; no trace is kept.

        Launches that differ only in what decides no access are traced once. What could not be
        traced, or not in time, is not known and says why.

        Args:
            launches: any.
            timeout_seconds: for all of them.
        """
        found, error = call_each(
            f"{__name__}:dependences_of", (self.module, launches),
            environment=self.environment, limit_seconds=timeout_seconds,
        )  # fmt: skip
        if error is None:
            return found
        how = f"had no more than {timeout_seconds:g} s" if error.too_late else error.how
        return found + [not_known(f"the interpreter {how}")] * (len(launches) - len(found))

    def trace_each(
        self, launches: Sequence[Launch], *, timeout_seconds: float = 600.0
    ) -> list[Trace | None]:
        """The traces of launches; None where there is none.

        Small launches are traced in one child, large ones in a child for each core. Nothing is
        known of a launch that comes after one which crashes their child.
        """

        def trace_together(numbers: Sequence[int]) -> list[tuple[int, Trace]]:
            found, _ = call_each(
                f"{self.module}:trace_each_here", [launches[number] for number in numbers],
                environment=self.environment, limit_seconds=timeout_seconds,
            )  # fmt: skip
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


def dependences_of(request: tuple[str, Sequence[Launch]], folder: Path) -> Iterator[Dependence]:
    """In the child process: the dependence of each launch, in order."""
    trace_here = import_module(request[0]).trace_here
    return find_each(request[1], lambda launch: trace_here(launch, folder))
