# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Where hit rates come from: the cache model (`profile.readings`), or a hardware profiler.

`profile.choose` picks one; `profile.installed` says which hardware profilers are here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.frontends.ports import Replay
from intelliperf_swizzle.hardware.target import Build
from intelliperf_swizzle.profile.application import Application
from intelliperf_swizzle.records import Launch, Measurement, Trace


@dataclass(frozen=True)
class TracedLaunch:
    """A launch, what it touches, how many of its workgroups a CU holds at once, and its build."""

    launch: Launch
    trace: Trace
    occupancy: int
    build: Build | None = None


class Profiler(Protocol):
    """Reads hit rates off hardware; a measurement takes a run of the application or more.

    Attributes:
        name: as `--profiler` takes it.
        device: what it measures on.
    """

    name: str
    device: str

    def measure(self, launches: Sequence[TracedLaunch], edit: Edit | None = None) -> Measurement:
        """One measurement over all launches of a kernel; raises ProfileError.

        Args:
            launches: of one kernel.
            edit: the source that renumbers them; None for the unmodified kernel.
        """

    def begin(
        self, launches: Sequence[TracedLaunch], replay: Callable[[int], Replay]
    ) -> Callable[[Sequence[Edit]], list[Measurement]]:
        """Starts to count; what measures the unmodified kernel and each of some edits.

        Args:
            launches: of one kernel.
            replay: makes them so often with each.
        """
