# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The application's launches recorded, and its kernels examined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from intelliperf_swizzle.cache import ceiling
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.errors import (
    ProfileError,
    SpliceError,
    SwizzleError,
    TraceError,
    UsageError,
)
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.modelled import model_launches
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Access, Capture, KernelSummary, Launch, Measurement, Trace
from intelliperf_swizzle.search.builds import (
    compile_variants,
    compiled_as,
    note_spills,
    resident_workgroups,
)
from intelliperf_swizzle.search.look_closely import look_closely
from intelliperf_swizzle.search.plan import rank_subjects
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject, check_editable

MOST_LAUNCHES = 16
"""Distinct launches of one kernel that are measured and validated, the largest. All are proved and
checked for programs that depend on each other."""


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
                check_editable(setup, launches)
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
        building = pool.submit(compile_variants, largest, setup)
        traces = list(pool.map(setup.language.trace, largest))
        builds, failures = building.result()
    if not any(_writes(one) for one in traces):
        raise TraceError(
            f"`{kernel}` writes to none of its tensors, so outputs cannot be compared",
            hint="memory that it reaches through an array of pointers is not recorded",
        )
    notes = [*failures, *(note for one in traces for note in one.notes)]
    built = [builds.get(compiled_as(launch)) for launch in largest]
    traced = tuple(
        TracedLaunch(launch, one, resident_workgroups(build, target), build)
        for launch, one, build in zip(largest, traces, built, strict=True)
    )
    return Subject(
        kernel=kernel,
        launches=tuple(sorted(launches, key=lambda one: one.ordinal)),
        traced=traced,
        baseline=_baseline(traced, setup),
        ceiling=ceiling(traces, target, [launch.count for launch in largest]),
        notes=tuple(dict.fromkeys(notes)),
        cautions=(*_out_of_bounds(traces), *note_spills(builds.values())),
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
