# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The application's launches recorded, and its kernels examined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle.cache import ceiling
from intelliperf_swizzle.cache.stream import ReferenceStream, adopt, stream_of
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.errors import (
    ProfileError,
    SpliceError,
    SwizzleError,
    TraceError,
    UsageError,
)
from intelliperf_swizzle.launch_files import as_text
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.modelled import model_launches
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import (
    Access,
    Capture,
    Ceiling,
    KernelSummary,
    Launch,
    Measurement,
    TileLoop,
    Trace,
)
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


PROGRAM = "program"
"""What `--renumber` calls the programs themselves."""


@contextmanager
def record_application(setup: Setup, progress: Progress) -> Iterator[Capture]:
    """Records the application's launches; the records are removed at the end."""
    with temporary_folder("run") as folder:
        where = f" on {setup.device.product}" if setup.device else ""
        progress.phase(f"recording {' '.join(setup.command)}{where}")
        recorded = setup.language.record(setup.record_request(folder / "capture"))
        if recorded.again:
            progress.note(
                "the records of an earlier run are used: all that the application opened is as it"
                " was then (--no_cache records anew)"
            )
        yield recorded


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
            subject = _examine_numbered(launches, setup, progress, to_edit=to_edit)
            cautions = (*recorded.cautions, *subject.cautions)
            subjects.append(replace(subject, cautions=cautions))
        except (SpliceError, TraceError, ProfileError) as error:
            failures.append(error)
            rows.append(_row(launches, error.fact))
    if not subjects:
        raise failures[0]
    _check_renumbered(subjects, setup.options.renumber)
    beyond = f"not looked at: --top_n {setup.options.top_n}"
    rows += [_row(launches, beyond) for launches in chosen[setup.options.top_n :]]
    return rank_subjects(subjects, setup.target), rows


def _examine_numbered(
    launches: Sequence[Launch], setup: Setup, progress: Progress, *, to_edit: bool
) -> Subject:
    """The kernel, by the tiles that its programs take in a loop if that can be, else by programs.

    Raises:
        SpliceError: it cannot be edited, and that is wanted.
        SwizzleError: as of `examine_kernel`.
    """
    asked = setup.options.renumber
    reasons: tuple[str, ...] = ()
    if asked != PROGRAM:
        looped, reasons = _with_loops(launches, setup)
        if loop := looped[0].loop:
            entry = looped[0].source.entry
            where = f"{Path(entry.file).name}:{entry.first_line + loop.line - 1}"
            most = max(looped, key=lambda one: one.tiles)
            note = f"`{loop.name}` is renumbered, which counts the tiles of the loop at {where}: "
            note += f"{most.tiles} on {most.programs} programs (--renumber {PROGRAM}: the programs)"
            try:
                if to_edit:
                    check_editable(setup, looped)
                subject = examine_kernel(looped, setup, progress)
                return replace(subject, notes=(note, *reasons, *subject.notes))
            except (SpliceError, TraceError) as error:
                reasons = (*reasons, f"the tiles of the loop at {where} keep their order: "
                                     f"{error.fact}")  # fmt: skip
    if to_edit:
        check_editable(setup, launches)
    subject = examine_kernel(launches, setup, progress)
    return replace(subject, notes=(*reasons, *subject.notes))


def _with_loops(
    launches: Sequence[Launch], setup: Setup
) -> tuple[Sequence[Launch], tuple[str, ...]]:
    """As of the language; what an earlier run has found is used again."""

    def find() -> tuple[list[TileLoop | None], tuple[str, ...]]:
        looped, reasons = setup.language.with_loops(launches, setup.options.renumber)
        return [one.loop for one in looped], reasons

    decided_by = ([as_text(one) for one in launches], setup.options.renumber)
    loops, reasons = setup.kept.call("loops", decided_by, find)
    both = zip(launches, loops, strict=True)
    return [replace(launch, loop=loop) for launch, loop in both], reasons


def _check_renumbered(subjects: Sequence[Subject], name: str | None) -> None:
    """Raises UsageError if no kernel is renumbered by the variable that is asked for."""
    loops = {one.launches[0].loop for one in subjects} - {None}
    if name in (None, PROGRAM) or any(loop and loop.name == name for loop in loops):
        return
    raise UsageError(
        f"no kernel takes tiles in a loop by `{name}`, each from 0 to their number once",
        hint=f"leave --renumber out, or --renumber {PROGRAM}",
        details=tuple(dict.fromkeys(note for one in subjects for note in one.notes)),
    )


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


def examine_kernel(launches: Sequence[Launch], setup: Setup, progress: Progress) -> Subject:
    """Traces and models the launches of one kernel.

    Raises:
        TraceError: one of the largest cannot be traced, or the kernel writes to no tensor.
        ProfileError: the profiler fails.
    """
    kernel, target = launches[0].kernel, setup.target
    largest = sorted(launches, key=lambda one: (-one.tiles * one.count, one.ordinal))
    largest = largest[:MOST_LAUNCHES]
    with ThreadPoolExecutor(2) as pool:  # both wait for a child process
        building = pool.submit(compile_variants, largest, setup)
        traces: list[Trace] = []
        for one in pool.map(lambda launch: _trace(launch, setup), largest):
            traces.append(one)
            if len(largest) > 1:
                progress.step(len(traces), len(largest), "launches")
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
    baseline, bound = _rates(traced, setup)
    return Subject(
        kernel=kernel,
        launches=tuple(sorted(launches, key=lambda one: one.ordinal)),
        traced=traced,
        baseline=baseline,
        ceiling=bound,
        notes=tuple(dict.fromkeys(notes)),
        cautions=(*_out_of_bounds(traces), *note_spills(builds.values())),
    )


def _trace(launch: Launch, setup: Setup) -> Trace:
    """The trace of a launch, ready for replay."""

    def make() -> tuple[Trace, ReferenceStream]:
        made = setup.language.trace(launch)
        return made, stream_of(made)

    return adopt(*setup.kept.call("trace", as_text(launch), make))


def _rates(traced: Sequence[TracedLaunch], setup: Setup) -> tuple[Measurement, Ceiling]:
    """The unmodified kernel by the model, and the ceiling of any order.

    A profiler of a host that has run it already takes the model's place.
    """

    def model() -> tuple[Measurement, Ceiling]:
        identity = [np.arange(one.trace.tiles) for one in traced]
        counts = [one.launch.count for one in traced]
        bound = ceiling([one.trace for one in traced], setup.target, counts)
        if setup.profiler is not None and setup.device is None:
            return setup.profiler.measure(traced), bound
        return model_launches(traced, identity, setup.target), bound

    if setup.profiler is not None:
        return model()
    each = [(as_text(one.launch), one.launch.count, one.occupancy) for one in traced]
    return setup.kept.call("rates", (each, setup.target), model)


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
