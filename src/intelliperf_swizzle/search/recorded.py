# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The application's launches recorded, and the kernel chosen that could save most time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.errors import (
    ProfileError,
    SpliceError,
    SwizzleError,
    TraceError,
    UsageError,
)
from intelliperf_swizzle.frontends.ports import Builder, TileLoops
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Capture, KernelSummary, Launch, TileLoop
from intelliperf_swizzle.records.launches import as_text
from intelliperf_swizzle.search.builds import examine_kernel, look_closely
from intelliperf_swizzle.search.plan import rank_subjects
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject, check_editable, row_of

PROGRAM = "program"
"""What `--renumber` calls the programs themselves."""
READ = (
    "the number of tiles is read from `{}`: mappings are proved for every one, gains hold for this"
)
"""What is said of numbers of tiles that memory holds."""


@contextmanager
def record_application(setup: Setup, progress: Progress) -> Iterator[Capture]:
    """Records the application's launches; the records are removed at the end."""
    with temporary_folder("run") as folder:
        on_gpu = None if isinstance(setup.language, Builder) else setup.device  # else on a stand-in
        where = f" on {on_gpu.product}" if on_gpu else ""
        progress.phase(f"recording {' '.join(setup.command)}{where}")
        recorded = setup.language.record(setup.record_request(folder / "capture"))
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
        progress.phase(f"tracing {launches[0].kernel}")
        try:
            subject = _examine_numbered(launches, setup, progress, to_edit=to_edit)
            cautions = (*recorded.cautions, *subject.cautions)
            subjects.append(replace(subject, cautions=cautions))
        except (SpliceError, TraceError, ProfileError) as error:
            failures.append(error)
            rows.append(row_of(launches, error.fact))
    if not subjects:
        raise failures[0]
    _check_renumbered(subjects, setup.options.renumber)
    beyond = f"not looked at: --top_n {setup.options.top_n}"
    rows += [row_of(launches, beyond) for launches in chosen[setup.options.top_n :]]
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
                if loop.read_from:
                    told = READ.format("`, `".join(loop.read_from))
                    subject = replace(subject, cautions=(told, *subject.cautions))
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
    language = setup.language
    if not isinstance(language, TileLoops):
        return launches, ()

    def find() -> tuple[list[TileLoop | None], tuple[str, ...]]:
        looped, reasons = language.with_loops(launches, setup.options.renumber)
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


def _by_kernel(launches: Sequence[Launch]) -> list[list[Launch]]:
    """The launches of each kernel; two kernels may have one name."""
    grouped: dict[tuple[str, str, int], list[Launch]] = {}
    for launch in launches:
        entry = launch.source.entry
        grouped.setdefault((launch.kernel, entry.file, entry.first_line), []).append(launch)
    return list(grouped.values())


def _programs(launches: Sequence[Launch]) -> int:
    return sum(launch.programs * launch.count for launch in launches)
