# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A finished run."""

from __future__ import annotations

from dataclasses import dataclass

from intelliperf_swizzle.records.attempts import Attempt, Ceiling, Measurement, Usage
from intelliperf_swizzle.records.cures import Cures
from intelliperf_swizzle.records.pictures import Picture
from intelliperf_swizzle.records.quantities import Constants, Grid
from intelliperf_swizzle.records.sizes import Sizes


@dataclass(frozen=True)
class KernelSummary:
    """One row of the table of recorded kernels.

    Attributes:
        kernel: its name.
        launches: as often as the application launched it while it was recorded.
        distinct_launches: those that differ in grid or arguments.
        programs: of the largest launch.
        baseline_l2_hit_rate: of the unmodified kernel, None if it could not be traced.
        ceiling_l2_hit_rate: no permutation exceeds it.
        l2_requests: of all its launches.
        time_share: its part of the time of all recorded kernels, modelled memory time unless every
            kernel was timed; None if it could not be traced.
        best_l2_hit_rate: with the best swizzle; None without one.
        time_saved: the part of the time of all recorded kernels that the best swizzle saves.
        verdict: what came of the search, or why there was none, in a few words.
        note: why it could not be traced, edited or searched, or None.
    """

    kernel: str
    launches: int
    distinct_launches: int
    programs: int
    baseline_l2_hit_rate: float | None = None
    ceiling_l2_hit_rate: float | None = None
    l2_requests: int | None = None
    time_share: float | None = None
    best_l2_hit_rate: float | None = None
    time_saved: float | None = None
    verdict: str = ""
    note: str | None = None


@dataclass(frozen=True)
class Run:
    """A finished run: what was tried on which kernel, and what came of it.

    Attributes:
        kernel: the kernel that was worked on.
        kernels: all that were recorded, what saves most time first.
        formula: the optimization target (`swizzle`).
        target: name of the GPU.
        profiler: what measured.
        proposer: who offered candidates.
        seed: of every random choice.
        grid: of the kernel's largest launch.
        constants: its integer arguments and constexprs.
        launches: distinct launches of the kernel.
        baseline: the unchanged kernel's measurement.
        ceiling: the bound.
        best: the attempt that is named, None where none is eligible and better.
        attempts: all of them by number.
        nothing_to_gain: the bound leaves less than a point, or no time; nothing was tried.
        notes: sentences for the report.
        history: path of the history file.
        usage: what the language model took; None where there was none.
        invocation: shell text that repeats the run; empty where it was no command line.
        picture: what its pictures are drawn from; None where there is none.
        file: the user's file that holds the kernel, an absolute path; empty where it is not known.
        predicted: the model's measurement of the unchanged kernel, where hardware measures.
        cautions: what makes the numbers doubtful, a sentence each; they stand beside the verdict.
        domain_name: what the target calls an L2 with the CUs that it serves.
        interrupted: a signal ended the search; `best` is the best so far.
        cures: what could be done about the misses; None where it does not matter, or was not asked.
        sizes: how the best does at other sizes; None where there is none, or it is not known.
    """

    kernel: str
    kernels: tuple[KernelSummary, ...]
    formula: str
    target: str
    profiler: str
    proposer: str
    seed: int
    grid: Grid
    constants: Constants
    launches: int
    baseline: Measurement
    ceiling: Ceiling
    best: Attempt | None
    attempts: tuple[Attempt, ...]
    nothing_to_gain: bool
    notes: tuple[str, ...]
    history: str
    usage: Usage | None = None
    invocation: str = ""
    picture: Picture | None = None
    file: str = ""
    predicted: Measurement | None = None
    cautions: tuple[str, ...] = ()
    domain_name: str = "XCD"
    interrupted: bool = False
    cures: Cures | None = None
    sizes: Sizes | None = None

    @property
    def modelled(self) -> bool:
        """Whether the numbers come from the cache model and not from hardware."""
        return self.profiler == "model"
