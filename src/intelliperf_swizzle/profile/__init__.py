# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Where a measurement comes from: the cache model, or a hardware profiler.

`profile.choose` picks one; `profile.tools` says which hardware profilers are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from intelliperf_swizzle.kernel.edit import Edit
from intelliperf_swizzle.profile.application import Application
from intelliperf_swizzle.records import Launch, Measurement, Proof, Trace

__all__ = ["Application", "Profiler", "TracedLaunch"]


@dataclass(frozen=True)
class TracedLaunch:
    """A launch, what it touches, and how many of its workgroups a CU holds at once."""

    launch: Launch
    trace: Trace
    occupancy: int


class Profiler(Protocol):
    """Reads the hit rates of a kernel whose launches are renumbered by proved permutations.

    Attributes:
        name: as `--profiler` takes it.
        device: what it measures on.
        runs_application: whether it runs the application with the edit in it; it is given one
            then, and costs as much as a run.
    """

    name: str
    device: str
    runs_application: bool

    def measure(
        self,
        launches: Sequence[TracedLaunch],
        proofs: Sequence[Proof],
        edit: Edit | None = None,
    ) -> Measurement:
        """One measurement over all launches, a proof each; raises ProfileError.

        Args:
            launches: of one kernel.
            proofs: what each is renumbered by.
            edit: the source that renumbers them so; None for the kernel as it is, and where the
                profiler does not run the application.
        """
