# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a run is about: a kernel with its launches, what they touch, and what could be gained."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle import dependence, records
from intelliperf_swizzle.cache.model import accuracy_of
from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.context import HardwareContext
from intelliperf_swizzle.context.locality import describe_causes, hardware_context
from intelliperf_swizzle.edit import Edit, read_exactly
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import Owners, Swizzle, evaluate, parse
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.modelled import ModelScreen, model_launches
from intelliperf_swizzle.search.setup import RunContext

SAME = parse("pid = pid")
"""Every program computes the tile that it computes anyway."""


NOT_LOOKED_AT = dependence.not_known("the launch was not checked")
"""What is known of the dependences of such a launch."""


def prepare_screen(traced: Sequence[TracedLaunch], target: Target) -> Callable[[Swizzle], float]:
    """What gives the L2 hit rate of a swizzle as the fast model sees it, from 0 to 1; 0 where
    there is no trace."""
    if traced[0].trace.is_unknown:
        return lambda swizzle: 0.0
    screen = ModelScreen(traced, target)
    return lambda swizzle: screen.hit_rate(tiles_of(swizzle, traced, target))


def with_causes(
    attempt: records.Attempt, swizzle: Swizzle, traced: Sequence[TracedLaunch], target: Target
) -> records.Attempt:
    """An attempt with the causes of its misses, a replay; unchanged if no model measured it."""
    measured = attempt.measurement
    if measured is None or measured.profiler != "model" or measured.causes is not None:
        return attempt
    again = model_launches(traced, tiles_of(swizzle, traced, target), target)
    return replace(attempt, measurement=replace(measured, causes=again.causes))


def tiles_of(
    swizzle: Swizzle, traced: Sequence[TracedLaunch], target: Target
) -> list[records.Int64Array]:
    """Program, or number of a loop -> tile for each launch: 8 bytes each."""
    return [with_rest(evaluate_on(swizzle, t.launch, target), t.trace) for t in traced]


def evaluate_on(swizzle: Swizzle, launch: records.Launch, target: Target) -> records.Int64Array:
    """Program, or number of a loop -> tile."""
    owners = owners_of(launch)
    return evaluate(swizzle, launch.numbers, launch.constants, owners=owners, **target.inputs)


def owners_of(launch: records.Launch) -> Owners | None:
    """The programs that take the tiles of a loop; None if there is none."""
    loop = launch.loop
    return Owners(loop.program, launch.programs, loop.starts) if loop else None


def with_rest(tile: records.Int64Array, trace: records.Trace) -> records.Int64Array:
    """A mapping with what programs do outside of their loop, which stays where it is."""
    return np.append(tile, np.arange(len(tile), trace.tiles))


@dataclass(frozen=True, eq=False)
class Subject:
    """The unmodified kernel: its launches, what they touch, its hit rate and what could be gained.

    Attributes:
        kernel: its name.
        launches: the distinct launches; a swizzle must be a permutation on each.
        traced: the launches that the hit rate is taken over (the largest).
        baseline: the unchanged kernel's measurement.
        ceiling: a bound on any permutation's L2 hit rate.
        notes: sentences for the report.
        cautions: what makes its numbers doubtful, for beside the verdict.
        dependences: how programs of the untraced launches depend on each other, by ordinal.
        refusal: why its source cannot carry a swizzle, or None.
    """

    kernel: str
    launches: tuple[records.Launch, ...]
    traced: tuple[TracedLaunch, ...]
    baseline: records.Measurement
    ceiling: records.Ceiling
    notes: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    dependences: Mapping[int, dependence.Dependence] = field(default_factory=dict)
    refusal: str | None = None

    @property
    def is_traced(self) -> bool:
        """Whether it is known what the kernel touches; if not, no model and no order is."""
        return not self.traced[0].trace.is_unknown

    @property
    def headroom(self) -> float:
        """The bound minus the baseline's L2 hit rate."""
        return max(0.0, self.ceiling.l2_hit_rate - self.baseline.l2_hit_rate)

    @property
    def to_gain(self) -> float:
        """Headroom times traffic: L2 requests that could become hits."""
        return self.headroom * (self.baseline.l2_requests or 0)

    def read_file(self) -> str:
        """The text of the file that holds it; empty if no swizzle can be put into it."""
        return "" if self.refusal else read_exactly(Path(self.launches[0].source.entry.file))

    @property
    def untraced_factor(self) -> float:
        """All tiles of all launches, by those of the traced launches."""
        traced = sum(t.launch.tiles * t.launch.count for t in self.traced)
        return sum(launch.tiles * launch.count for launch in self.launches) / max(1, traced)

    @property
    def time_ms(self) -> float:
        """Modelled time of all launches; measured if there is no model, else 0."""
        measured = None if self.is_traced else self.baseline.time_ms
        return (measured or self.baseline.modelled_time_ms or 0.0) * self.untraced_factor

    def launch_ms(self, target: Target) -> float:
        """What launching takes of the traced launches, as often as they were made."""
        return sum(t.launch.count for t in self.traced) * target.launch_us / 1e3

    def accuracy(self, target: Target) -> records.Accuracy | None:
        """What is known of the model on a GPU and kernels like this one."""
        if not self.is_traced:
            return None
        multiplies = any(stream_of(t.trace).multiplies for t in self.traced)
        return accuracy_of(target.name, multiplies=multiplies)

    def tells_time(self, target: Target) -> bool:
        """Whether modelled times of kernels like this one are known to put times in order."""
        known = self.accuracy(target)
        return bool(known and known.tells_time)

    @property
    def untraced(self) -> list[records.Launch]:
        """The launches that are proved and checked for dependences, and not measured."""
        traced = {t.launch.ordinal for t in self.traced}
        return [launch for launch in self.launches if launch.ordinal not in traced]

    def alike(self, names: frozenset[str]) -> list[list[records.Launch]]:
        """The untraced launches, grouped by grid and by the constants of these names."""
        groups: dict[tuple[Any, ...], list[records.Launch]] = {}
        for launch in self.untraced:
            read = tuple(launch.constants.get(name) for name in sorted(names))
            cut = launch.loop and launch.loop.starts
            groups.setdefault((launch.grid, launch.numbers, cut, read), []).append(launch)
        return list(groups.values())

    def unsafe_order(self, launch: records.Launch, tile: records.Int64Array) -> str | None:
        """Why programs that depend on each other may not come in this order; None if they may."""
        if not self.is_traced:
            return None  # the report says so
        trace = next((t.trace for t in self.traced if t.launch is launch), None)
        if trace is not None:
            return dependence.safe_order(
                dependence.find_dependence(trace, launch), with_rest(tile, trace)
            )
        return dependence.safe_order(self.dependences.get(launch.ordinal, NOT_LOOKED_AT), tile)

    @property
    def has_dependences(self) -> bool:
        """Whether programs of a launch depend on each other, or may."""
        if not self.is_traced:
            return True
        own = (dependence.find_dependence(t.trace, t.launch) for t in self.traced)
        rest = (self.dependences.get(launch.ordinal, NOT_LOOKED_AT) for launch in self.untraced)
        return any(own) or any(rest)

    @property
    def deciding(self) -> tuple[str, ...]:
        """Tensors whose contents decide what programs of some launch access, and device variables
        if theirs do."""
        own = (dependence.deciding(t.trace, t.launch) for t in self.traced)
        rest = (self.dependences.get(x.ordinal, NOT_LOOKED_AT).deciding for x in self.untraced)
        return tuple(dict.fromkeys(chain(*own, *rest)))

    @property
    def apart(self) -> tuple[tuple[str, str], ...]:
        """Tensors that lie apart and may not in another run, of which programs store to one: parts
        of the same memory, and two that are alike."""
        kinds = records.Access.WRITE, records.Access.ATOMIC
        known = (t.trace.segments if t.trace.unseen else dependence.touched(t.trace, *kinds)
                 for t in self.traced)  # fmt: skip
        stored = {name for some in known for segment in some for name in segment.names}
        found: dict[tuple[str, str], None] = {}
        for launch in self.launches:
            for (name, one), (other, two) in combinations(launch.tensors(), 2):
                alike = (one.dtype, one.elements) == (two.dtype, two.elements)
                parts = one.storage == two.storage and one.offset_bytes != two.offset_bytes
                if stored & {name, other} and (parts or (alike and one.storage != two.storage)):
                    found[name, other] = None
        return tuple(found)

    @property
    def independence(self) -> records.Independence:
        """What the recorded launches say about programs that depend on each other."""
        return records.Independence(
            len(self.launches), self.has_dependences, contents=self.deciding, apart=self.apart
        )

    @property
    def line_accesses(self) -> int:
        """Lines touched by all traced launches: what it costs to replay one mapping."""
        return sum(t.trace.line_accesses for t in self.traced)

    @property
    def summary(self) -> records.KernelSummary:
        """Its row in the table of kernels."""
        return replace(
            row_of(self.launches, self.refusal),
            baseline_l2_hit_rate=self.baseline.l2_hit_rate,
            ceiling_l2_hit_rate=self.ceiling.l2_hit_rate,
            l2_requests=self.baseline.l2_requests,
            causes=describe_causes(causes) if (causes := self.baseline.causes) else "",
        )


def row_of(launches: Sequence[records.Launch], note: str | None = None) -> records.KernelSummary:
    """What is known of a kernel by its launches alone; `note`: why no more is."""
    return records.KernelSummary(
        kernel=launches[0].kernel,
        launches=sum(launch.count for launch in launches),
        distinct_launches=len(launches),
        programs=max(launch.programs for launch in launches),
        place=launches[0].place,
        note=note,
    )


def edit_launches(
    setup: RunContext, launches: Sequence[records.Launch], swizzle: Swizzle, name: str
) -> Edit:
    """A swizzle in the source of the kernel of these launches; raises SpliceError."""
    return setup.language.edit(launches, swizzle, setup.target, name=name, roots=setup.patch_roots)


def check_editable(setup: RunContext, launches: Sequence[records.Launch]) -> None:
    """Raises SpliceError if no swizzle could be put into the source of these launches' kernel."""
    edit_launches(setup, launches, SAME, "unmodified")


def describe(setup: RunContext, subject: Subject) -> HardwareContext:
    """Kernel and GPU as a language model is shown them; by the largest launch."""
    largest = subject.traced[0]
    return hardware_context(
        largest.launch, largest.trace, setup.target, occupancy=largest.occupancy,
        baseline=subject.baseline, ceiling=subject.ceiling, launches=subject.launches,
    )  # fmt: skip
