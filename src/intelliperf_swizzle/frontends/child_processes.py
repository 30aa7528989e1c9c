# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The processes of front ends: applications that are recorded, and children that trace.

A user's kernel may crash or hang, so traces are made in child processes, of whatever language. An
application is watched to its end; so are the sentences on how it ended.
"""

import itertools
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias

from intelliperf_swizzle.children import CallError, Child, call, call_each, cores, signal_name
from intelliperf_swizzle.dependence import Dependence, find_each, not_known
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.records import Launch, Trace

LARGE_TILES = 1024
"""From here on a trace takes longer than the start of a child."""


@dataclass(frozen=True)
class ChildTracer:
    """Traces launches by a module that a child process imports.

    Attributes:
        module: has `trace_here(launch, folder, inside=False)`, which raises TraceError; `inside`,
            also where an access is outside of every tensor, as no application's would be.
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
                details=error.ended.last_lines(8),
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
        how = f"took over {timeout_seconds:g} s" if error.too_late else error.how
        return found + [not_known(f"the interpreter {how}")] * (len(launches) - len(found))

    def trace_each(
        self, launches: Sequence[Launch], *, timeout_seconds: float = 600.0
    ) -> list[Trace | None]:
        """The traces of launches; None if there is none.

        Small launches are traced in one child, large ones in a child for each core. Nothing is
        known of a launch that comes after one which crashes their child.
        """

        def trace_together(numbers: Sequence[int]) -> list[tuple[int, Trace]]:
            found, _ = call_each(
                f"{__name__}:traces_of", (self.module, [launches[number] for number in numbers]),
                environment=self.environment, limit_seconds=timeout_seconds,
            )  # fmt: skip
            return list(zip(numbers, found, strict=False))

        small = [n for n, launch in enumerate(launches) if launch.tiles < LARGE_TILES]
        large = [n for n, launch in enumerate(launches) if launch.tiles >= LARGE_TILES]
        large.sort(key=lambda n: launches[n].tiles, reverse=True)
        with ThreadPoolExecutor(cores()) as pool:
            groups = [small, *(large[core :: cores()] for core in range(cores()))]
            every = pool.map(trace_together, [group for group in groups if group])
            traces: dict[int, Trace] = dict(itertools.chain.from_iterable(every))
        return [traces.get(number) for number in range(len(launches))]


def traces_of(request: tuple[str, Sequence[Launch]], folder: Path) -> Iterator[Trace | None]:
    """In the child process: the trace of each made-up launch, in order; None if there is none."""
    trace_here = import_module(request[0]).trace_here
    for launch in request[1]:
        try:
            yield trace_here(launch, folder, inside=True)
        except TraceError:
            yield None


def dependences_of(request: tuple[str, Sequence[Launch]], folder: Path) -> Iterator[Dependence]:
    """In the child process: the dependence of each launch, in order."""
    trace_here = import_module(request[0]).trace_here
    return find_each(request[1], lambda launch: trace_here(launch, folder))


def start(command: Sequence[str], folder: Path, cwd: Path, environment: Mapping[str, str]) -> Child:
    """Starts an application, whose output goes to `LOG` in the folder; raises as `Child`."""
    with (folder / LOG).open("wb") as log:
        return Child(command, cwd=cwd, environment=environment, output=log)


LOG = "app.log"
"""What the application prints, in the folder that it is started with."""
PATIENCE_SECONDS = 2.0
"""Between asking the application to end and killing it."""
_LAST_BYTES = 1 << 18
_LAST_LINES = 20
_ERROR_LINES = 5
_TRACEBACK = "Traceback (most recent call last):"
_RANK = re.compile(r"^\[\w+\]: ?")
"""Before each line of a process of PyTorch's launchers."""

EndedBy: TypeAlias = Literal["exit", "limit"]


@dataclass(frozen=True)
class Ending:
    """How an application ended.

    Attributes:
        ended_by: itself or the recording.
        exit_code: of it, None if it was ended.
        request: that it was started for.
        last_lines: that it has printed.
    """

    ended_by: EndedBy
    exit_code: int | None
    request: RecordRequest
    last_lines: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The same as text."""
        if self.ended_by == "limit":
            return (
                f"the application was ended at the time limit of {self.request.limit_seconds:g} s"
            )
        return f"the application {how_ended(self.exit_code)}"

    def cautions(self, computed: bool) -> tuple[str, ...]:
        """What may be missing, if the application did not come to a good end.

        Args:
            computed: whether all launches were executed.
        """
        if self.exit_code == 0:
            return ()
        remedy = ""
        if self.ended_by == "limit":
            remedy = "; --limit_seconds gives it more time"
        elif self.exit_code and self.exit_code > 0 and not computed:
            remedy = "; --compute always executes what it may have checked"
        return (
            f"{self.sentence}: launches are counted until then, and what it launches later is"
            f" missing{remedy}",
        )


def watch_to_end(
    application: Child, request: RecordRequest, folder: Path, deadline: float
) -> Ending:
    """Waits until an application exits, or its time is up; nothing is left of it.

    Args:
        application: just started.
        request: that it was started for.
        folder: of its log.
        deadline: on the monotonic clock.
    """
    try:
        exit_code = application.wait(max(0.0, deadline - time.monotonic()))
    finally:
        application.end(PATIENCE_SECONDS)
    return Ending("limit" if exit_code is None else "exit", exit_code, request, last_lines(folder))


def how_ended(exit_code: int | None) -> str:
    """What a process did at its end."""
    if exit_code is not None and exit_code < 0:
        return f"was killed by {signal_name(-exit_code)}"
    return f"ended with exit status {exit_code}"


def last_lines(folder: Path) -> tuple[str, ...]:
    """The last lines that the application printed, and before them the first error, if that is cut.

    A launcher such as `torchrun` prints more after a child's error than fits.
    """
    with (folder / LOG).open("rb") as log:
        log.seek(0, os.SEEK_END)
        log.seek(max(0, log.tell() - _LAST_BYTES))
        text = log.read().decode("utf-8", "replace")
    printable = "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    lines = [line.rstrip() for line in printable.splitlines()]
    first = _first_error(lines[:-_LAST_LINES])
    return (*first, *(["…"] if first else []), *lines[-_LAST_LINES:])


def _first_error(lines: Sequence[str]) -> list[str]:
    """The end of the first traceback; empty if there is none."""
    texts = [_RANK.sub("", line) for line in lines]
    if _TRACEBACK not in texts:
        return []
    begin = texts.index(_TRACEBACK)
    ends = (at for at in range(begin + 1, len(texts)) if not texts[at].startswith(" "))
    end = next(ends, -1) + 1
    return list(lines[max(begin, end - _ERROR_LINES) : end])
