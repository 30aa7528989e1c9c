# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The application's launches recorded, and its kernels examined."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle.cache import ceiling
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.errors import (
    BuildError,
    ProfileError,
    SpliceError,
    SwizzleError,
    TraceError,
    UsageError,
)
from intelliperf_swizzle.hardware import Target, targets
from intelliperf_swizzle.hardware.occupancy import Build, occupancy
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.modelled import model_launches
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Access, Capture, KernelSummary, Launch, Measurement, Trace
from intelliperf_swizzle.search.plan import rank_subjects
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject, edit_launches

MOST_LAUNCHES = 16
"""Distinct launches of one kernel that are measured and validated, the largest. All are proved and
checked for programs that depend on each other."""


DEPENDENCE_SECONDS = 300.0
"""For that check of all launches beyond those."""


@contextmanager
def record_application(setup: Setup, progress: Progress) -> Iterator[Capture]:
    """Records the application's launches; the records are removed at the end."""
    with temporary_folder("run") as folder:
        where = f" on {setup.device.product}" if setup.device else ""
        progress.phase(f"recording {' '.join(setup.command)}{where}")
        yield setup.language.record(setup.record_request(folder / "capture"))


def choose_kernel(
    recorded: Capture, setup: Setup, progress: Progress, *, to_edit: bool = False
) -> Subject:
    """The kernel that could save most time, of those that can be edited if that is wanted.

    On a GPU the model chooses: a hardware profiler takes a run of the application for each kernel.

    Raises:
        UsageError: no launch of the kernel that is asked for was recorded.
        SwizzleError: not one kernel could be traced; its reason.
    """
    subjects, _ = examine_kernels(recorded, setup, progress, to_edit=to_edit)
    return look_closely(subjects[0], setup, progress)


def look_closely(subject: Subject, setup: Setup, progress: Progress) -> Subject:
    """The subject with what is only looked for in a kernel that is worked on."""
    return add_cautions(add_dependences(subject, setup, progress), setup, progress)


def examine_kernels(
    recorded: Capture, setup: Setup, progress: Progress, *, to_edit: bool = False
) -> tuple[list[Subject], list[KernelSummary]]:
    """Traces and models the recorded kernels; the one that could save most time comes first.

    Returns:
        The subjects, and a row for each kernel that was not traced, or that cannot be edited if
        that is wanted.

    Raises:
        UsageError, SwizzleError: as of `choose_kernel`.
    """
    kernel = setup.options.kernel
    by_kernel = _by_kernel(recorded.launches)
    chosen = [one for one in by_kernel if kernel in (None, one[0].kernel)]
    if not chosen:
        raise UsageError(
            f"the application launched no kernel `{kernel}`",
            hint=f"it launched: {', '.join(sorted({one[0].kernel for one in by_kernel}))}",
            details=recorded.cautions,
        )
    chosen.sort(key=lambda launches: (-_programs(launches), launches[0].kernel))
    subjects: list[Subject] = []
    failures: list[SwizzleError] = []
    rows: list[KernelSummary] = []
    for launches in chosen[: setup.options.top_n]:
        name = launches[0].kernel
        progress.phase(f"tracing {name}")
        try:
            if to_edit:
                edit_launches(setup, launches, parse("pid = pid"), "unmodified")
            subject = _examine_kernel(launches, setup)
            cautions = (*recorded.cautions, *subject.cautions)
            subjects.append(replace(subject, cautions=cautions))
        except (SpliceError, TraceError, ProfileError) as error:
            failures.append(error)
            rows.append(_row(launches, error.fact))
    if not subjects:
        raise failures[0]
    beyond = f"not looked at: --top_n {setup.options.top_n}"
    rows += [_row(launches, beyond) for launches in chosen[setup.options.top_n :]]
    return rank_subjects(subjects, setup.target), rows


def _row(launches: Sequence[Launch], note: str) -> KernelSummary:
    """The row of a kernel of which no more is known."""
    return KernelSummary(
        kernel=launches[0].kernel,
        launches=sum(launch.count for launch in launches),
        distinct_launches=len(launches),
        programs=max(launch.programs for launch in launches),
        note=note,
    )


def add_cautions(subject: Subject, setup: Setup, progress: Progress) -> Subject:
    """The subject with a caution if the remap that its source has already drops tiles.

    Costs nothing if no program touches what another one stores, else a second or two for the
    largest such launch.
    """
    suspects = [one.launch for one in subject.traced if one.trace.shared_writes]
    if not suspects:
        return subject
    progress.phase(f"looking at who stores what in {subject.kernel}")
    found = setup.language.cautions(suspects[:1], _prove_command(setup, suspects[0]))
    return replace(subject, cautions=(*subject.cautions, *found))


def _prove_command(setup: Setup, launch: Launch) -> str:
    """Shell text that proves the remap which the kernel's source has already."""
    source = ["--source", launch.source.entry.file, "-k", launch.kernel]
    place = [] if setup.project == Path.cwd() else ["-p", str(setup.options.project_directory)]
    gpu = ["--target", setup.target.name] if setup.target.name in targets() else []
    words = ["intelliperf-swizzle", "prove", *source, *place, *gpu, "--", *setup.command]
    return shlex.join(words)


def add_dependences(subject: Subject, setup: Setup, progress: Progress) -> Subject:
    """The subject with the dependences of the launches that are not traced.

    Costs a child process, and in it one trace for all launches that differ in nothing that decides
    what they touch.
    """
    untraced = subject.untraced
    if not untraced:
        return subject
    progress.phase(f"checking {len(untraced)} further launches of {subject.kernel}")
    found = setup.language.find_dependences(untraced, timeout_seconds=DEPENDENCE_SECONDS)
    by_ordinal = {one.ordinal: of for one, of in zip(untraced, found, strict=True)}
    return replace(subject, dependences=by_ordinal)


def _by_kernel(launches: Sequence[Launch]) -> list[list[Launch]]:
    """The launches of each kernel; two kernels may have one name."""
    grouped: dict[tuple[str, str, int], list[Launch]] = {}
    for launch in launches:
        entry = launch.source.entry
        grouped.setdefault((launch.kernel, entry.file, entry.first_line), []).append(launch)
    return list(grouped.values())


def _programs(launches: Sequence[Launch]) -> int:
    return sum(launch.programs * launch.count for launch in launches)


def _examine_kernel(launches: Sequence[Launch], setup: Setup) -> Subject:
    kernel, target = launches[0].kernel, setup.target
    largest = sorted(launches, key=lambda one: (-one.programs * one.count, one.ordinal))
    largest = largest[:MOST_LAUNCHES]
    with ThreadPoolExecutor(2) as pool:  # both wait for a child process
        building = pool.submit(_builds, largest, setup)
        traces = list(pool.map(setup.language.trace, largest))
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
    return Subject(
        kernel=kernel,
        launches=tuple(sorted(launches, key=lambda one: one.ordinal)),
        traced=traced,
        baseline=_baseline(traced, setup),
        ceiling=ceiling(traces, target, [launch.count for launch in largest]),
        notes=tuple(dict.fromkeys(notes)),
        cautions=(*_out_of_bounds(traces), *_spills(builds.values())),
    )


def _baseline(traced: Sequence[TracedLaunch], setup: Setup) -> Measurement:
    """The unmodified kernel by the model, or by the profiler of a host that has run it already."""
    if setup.profiler is not None and setup.device is None:
        return setup.profiler.measure(traced)
    identity = [np.arange(one.launch.programs) for one in traced]
    return model_launches(traced, identity, setup.target)


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


def _builds(launches: Sequence[Launch], setup: Setup) -> tuple[dict[str, Build], tuple[str, ...]]:
    """The builds by how the kernel is compiled, and why there is none."""
    builds: dict[str, Build] = {}
    failures: list[str] = []
    for launch in variants(launches):
        try:
            builds[_compiled_as(launch)] = setup.language.build(launch, setup.target)
        except BuildError as error:
            failures.append(f"one workgroup a CU is assumed: {error.fact}")
    return builds, tuple(failures)


def _resident(build: Build | None, target: Target) -> int:
    """Workgroups that a CU holds; 1 where that is not known."""
    return 1 if build is None else occupancy(build, target)


def _spills(builds: Iterable[Build]) -> tuple[str, ...]:
    """Says so if the kernel spills registers."""
    stack = max((one.stack_bytes or 0 for one in builds), default=0)
    if not stack:
        return ()
    return (
        f"each thread has {stack} bytes of scratch or local memory, as a rule for spilled "
        "registers: a GPU's counters have that traffic, too, and modelled numbers leave it out; "
        "more warps a program, or smaller tiles, may end it",
    )
