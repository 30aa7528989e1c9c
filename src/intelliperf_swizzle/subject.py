# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a run is about: the captured kernels, their traces, and the one with the most to gain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from intelliperf_swizzle.cache import ceiling
from intelliperf_swizzle.errors import (
    BuildError,
    ProfileError,
    SpliceError,
    SwizzleError,
    TraceError,
    UsageError,
)
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.kernel.build import Build, build, occupancy
from intelliperf_swizzle.language import Swizzle, parse
from intelliperf_swizzle.mapping import prove
from intelliperf_swizzle.profile import Profiler, TracedLaunch
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import (
    Access,
    Capture,
    Ceiling,
    Grid,
    KernelSummary,
    Launch,
    Measurement,
    Proof,
    Trace,
    Witness,
)
from intelliperf_swizzle.source_proofs import prove_launches
from intelliperf_swizzle.trace import Dependence, dependences, not_known, trace

MOST_LAUNCHES = 16
"""Distinct launches of one kernel that are measured and validated, the largest. All are proved and
checked for programs that depend on each other."""

DEPENDENCE_SECONDS = 300.0
"""For that check of all launches beyond those."""

IDENTITY = "pid = pid"

LOOK_SECONDS = 20.0
"""For finding out unasked whether a kernel drops tiles."""


@dataclass(frozen=True)
class Subject:
    """A kernel as it is: its launches, what they touch, its hit rate and what could be gained.

    Attributes:
        kernel: its name.
        launches: the distinct launches; a swizzle must be a permutation on each.
        traced: the launches that the hit rate is taken over (the largest).
        baseline: the unchanged kernel's measurement.
        ceiling: a bound on any permutation's L2 hit rate.
        notes: sentences for the report.
        predicted: the model's measurement of the unchanged kernel, where hardware measures.
        cautions: what makes its numbers doubtful, for beside the verdict.
        dependences: how programs of the untraced launches depend on each other, by ordinal.
    """

    kernel: str
    launches: tuple[Launch, ...]
    traced: tuple[TracedLaunch, ...]
    baseline: Measurement
    ceiling: Ceiling
    notes: tuple[str, ...]
    predicted: Measurement | None = None
    cautions: tuple[str, ...] = ()
    dependences: Mapping[int, Dependence] = field(default_factory=dict)

    @property
    def headroom(self) -> float:
        """The bound minus the baseline's L2 hit rate."""
        return max(0.0, self.ceiling.l2_hit_rate - self.baseline.l2_hit_rate)

    @property
    def to_gain(self) -> float:
        """Headroom times traffic: L2 requests that could become hits."""
        return self.headroom * (self.baseline.l2_requests or 0)

    @property
    def computed(self) -> bool:
        """Whether all launches were executed when they were recorded."""
        return all(launch.computed for launch in self.launches)

    @property
    def untraced(self) -> list[Launch]:
        """The launches that are proved and checked for dependences, and not measured."""
        traced = {one.launch.ordinal for one in self.traced}
        return [launch for launch in self.launches if launch.ordinal not in traced]

    def dependence(self, launch: Launch) -> Dependence:
        """How the programs of an untraced launch depend on each other."""
        return self.dependences.get(launch.ordinal, not_known("the launch was not looked at"))

    @property
    def line_accesses(self) -> int:
        """Lines touched by all traced launches: what it costs to replay one mapping."""
        return sum(one.trace.line_accesses for one in self.traced)

    @property
    def summary(self) -> KernelSummary:
        """Its row in the table of kernels."""
        return KernelSummary(
            kernel=self.kernel,
            launches=len(self.launches),
            programs=max(launch.programs for launch in self.launches),
            baseline_l2_hit_rate=self.baseline.l2_hit_rate,
            ceiling_l2_hit_rate=self.ceiling.l2_hit_rate,
            l2_requests=self.baseline.l2_requests,
        )


def examine(
    capture: Capture,
    target: Target,
    profiler: Profiler,
    *,
    kernel: str | None,
    top_n: int,
    progress: Progress,
    check: Callable[[Sequence[Launch]], None] = lambda _: None,
) -> tuple[list[Subject], list[KernelSummary]]:
    """Traces and measures the captured kernels; the one with the most to gain comes first.

    Returns:
        The subjects, and a row for each kernel that could not be traced or failed the check.

    Args:
        capture: what the application launched.
        target: the GPU.
        profiler: what measures the kernels as they are.
        kernel: only this one, None for the `top_n` with the most programs launched.
        top_n: kernels that are looked at.
        progress: told of each kernel.
        check: raises SpliceError for the launches of a kernel that is not to be looked at.

    Raises:
        UsageError: no launch of that kernel was captured.
        SwizzleError: not one kernel could be traced and passed the check; the reason of the first.
    """
    by_kernel = _by_kernel(capture.launches)
    chosen = [one for one in by_kernel if kernel in (None, one[0].kernel)]
    if not chosen:
        raise UsageError(
            f"the application launched no kernel `{kernel}`",
            hint=f"it launched: {', '.join(sorted({one[0].kernel for one in by_kernel}))}",
        )
    chosen.sort(key=lambda launches: (-_programs(launches), launches[0].kernel))
    subjects: list[Subject] = []
    failures: list[SwizzleError] = []
    rows: list[KernelSummary] = []
    for launches in chosen[:top_n]:
        name = launches[0].kernel
        progress.phase(f"tracing {name}")
        try:
            check(launches)
            subjects.append(_examine_kernel(name, launches, target, profiler))
        except (SpliceError, TraceError, ProfileError) as error:
            failures.append(error)
            largest = max(launch.programs for launch in launches)
            rows.append(KernelSummary(name, len(launches), largest, note=error.fact))
    if not subjects:
        raise failures[0]
    subjects.sort(key=lambda subject: (-subject.to_gain, subject.kernel))
    return subjects, rows


def measured(subject: Subject, target: Target, profiler: Profiler) -> Subject:
    """The subject that a model has chosen, with the baseline that a hardware profiler reads.

    Raises:
        ProfileError: it reads none.
    """
    launches = [one.launch for one in subject.traced]
    identity = prove_on(parse(IDENTITY), launches, target)
    assert not isinstance(identity, Witness)
    read = profiler.measure(subject.traced, identity)
    baseline = replace(read, time_ms=None)  # a profiler's own times are not compared
    return replace(subject, predicted=subject.baseline, baseline=baseline)


def doubted(subject: Subject, prove_command: str, progress: Progress) -> Subject:
    """The subject with a caution where the remap that its source has already drops tiles.

    Costs nothing where no program touches what another one stores, else a second or two for the
    largest such launch.

    Args:
        subject: the kernel.
        prove_command: what shows the whole verdict.
        progress: told where there is something to look at.
    """
    suspects = [one.launch for one in subject.traced if one.trace.shared_writes]
    if not suspects:
        return subject
    progress.phase(f"looking at who stores what in {subject.kernel}")
    [verdict] = prove_launches(suspects[:1], timeout_seconds=LOOK_SECONDS)
    if not verdict.drops_tiles:
        return subject
    caution = (
        f"{subject.kernel} as it is computes some tiles twice and others never: {verdict.reason}, "
        f"{verdict.evidence[0]} ({prove_command})"
    )
    return replace(subject, cautions=(*subject.cautions, caution))


def checked(subject: Subject, progress: Progress) -> Subject:
    """The subject with the dependences of the launches that are not traced.

    Costs a child process, and in it one trace for all launches that differ in nothing that decides
    what they touch.
    """
    untraced = subject.untraced
    if not untraced:
        return subject
    progress.phase(f"checking {len(untraced)} further launches of {subject.kernel}")
    found = dependences(untraced, timeout_seconds=DEPENDENCE_SECONDS)
    by_ordinal = {one.ordinal: of for one, of in zip(untraced, found, strict=True)}
    return replace(subject, dependences=by_ordinal)


def prove_on(
    swizzle: Swizzle, launches: Sequence[Launch], target: Target, sweep: Sequence[Grid] = ()
) -> tuple[Proof, ...] | Witness:
    """A proof for each launch, or the witness of the first launch on which it fails."""
    proofs = []
    for launch in launches:
        verdict = prove(
            swizzle,
            launch.grid,
            launch.constants,
            num_xcds=target.num_xcds,
            cus_per_xcd=target.cus_per_xcd,
            sweep=sweep,
        )
        if isinstance(verdict, Witness):
            return verdict
        proofs.append(verdict)
    return tuple(proofs)


def _by_kernel(launches: Sequence[Launch]) -> list[list[Launch]]:
    """The launches of each kernel; two kernels may have one name."""
    grouped: dict[tuple[str, str, int], list[Launch]] = {}
    for launch in launches:
        entry = launch.source.entry
        grouped.setdefault((launch.kernel, entry.file, entry.first_line), []).append(launch)
    return list(grouped.values())


def _programs(launches: Sequence[Launch]) -> int:
    return sum(launch.programs * launch.count for launch in launches)


def _examine_kernel(
    kernel: str, launches: Sequence[Launch], target: Target, profiler: Profiler
) -> Subject:
    largest = sorted(launches, key=lambda one: (-one.programs * one.count, one.ordinal))
    largest = largest[:MOST_LAUNCHES]
    with ThreadPoolExecutor(2) as pool:  # both wait for a child process
        building = pool.submit(_builds, largest, target)
        traces = list(pool.map(trace, largest))
        builds, failures = building.result()
    if not any(_writes(one) for one in traces):
        raise TraceError(
            f"`{kernel}` writes to none of its tensors, so outputs cannot be compared",
            hint="memory that it reaches through an array of pointers is not recorded",
        )
    notes = [*failures, *(note for one in traces for note in one.notes)]
    traced = tuple(
        TracedLaunch(launch, one, _resident(builds.get(_compiled_as(launch)), target))
        for launch, one in zip(largest, traces, strict=True)
    )
    identity = prove_on(parse(IDENTITY), largest, target)
    assert not isinstance(identity, Witness)
    return Subject(
        kernel=kernel,
        launches=tuple(sorted(launches, key=lambda one: one.ordinal)),
        traced=traced,
        baseline=profiler.measure(traced, identity),
        ceiling=ceiling(traces, target, [launch.count for launch in largest]),
        notes=tuple(dict.fromkeys(notes)),
        cautions=(*_out_of_bounds(traces), *_spills(builds.values())),
    )


def _writes(one: Trace) -> bool:
    """Whether some program writes to a tensor."""
    return bool(np.isin(one.shape_kind, (Access.WRITE, Access.ATOMIC))[one.access_shape].any())


def _out_of_bounds(traces: Sequence[Trace]) -> tuple[str, ...]:
    """Says so where tiles access what lies outside every tensor."""
    outside = sum(one.tiles_outside for one in traces)
    if not outside:
        return ()
    elements = sum(one.elements_outside for one in traces)
    return (
        f"{outside} of {sum(one.tiles for one in traces)} tiles access {elements} elements outside "
        "every tensor: the numbers leave these accesses out, and a GPU may fault on them",
    )


def variants(launches: Sequence[Launch]) -> list[Launch]:
    """A launch for each way in which the kernel is compiled."""
    return list({_compiled_as(launch): launch for launch in reversed(launches)}.values())


def _compiled_as(launch: Launch) -> str:
    """Equal for launches that run the same machine code: types, constexprs, options."""
    types = {
        name: getattr(value, "dtype", value if name in launch.constexprs else type(value))
        for name, value in launch.arguments.items()
    }
    return repr((types, sorted(launch.options.items())))


def _builds(launches: Sequence[Launch], target: Target) -> tuple[dict[str, Build], tuple[str, ...]]:
    """The builds by how the kernel is compiled, and why there is none."""
    builds: dict[str, Build] = {}
    failures: list[str] = []
    for launch in variants(launches):
        try:
            builds[_compiled_as(launch)] = build(launch, target)
        except BuildError as error:
            failures.append(f"one workgroup a CU is assumed: {error.fact}")
    return builds, tuple(failures)


def _resident(build: Build | None, target: Target) -> int:
    """Workgroups that a CU holds; 1 where that is not known."""
    return 1 if build is None else occupancy(build, target)


def _spills(builds: Iterable[Build]) -> tuple[str, ...]:
    """Says so where threads have memory of their own."""
    stack = max((one.stack_bytes or 0 for one in builds), default=0)
    if not stack:
        return ()
    return (
        f"each thread has {stack} bytes of its own in memory, as a rule because registers do not "
        "suffice: counters of a GPU have that traffic, too, and modelled numbers leave it out; "
        "more warps a program, or smaller tiles, may end it",
    )
