# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The kernels of an application, recorded and examined: as many as there is time for."""

import math
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Semaphore

from intelliperf_swizzle import errors
from intelliperf_swizzle.children import cores
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.frontends.ports import Builder, SourceExaminer, TileLoops
from intelliperf_swizzle.profile.modelled import load_model
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Capture, KernelSummary, Launch, TileLoop, as_text
from intelliperf_swizzle.search.builds import examine_kernel
from intelliperf_swizzle.search.plan import rank_subjects
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.subject import Subject, check_editable, row_of
from intelliperf_swizzle.stopping import abandoned, ahead, left

TRACING_SHARE = 0.75
"""Part of `--seconds` after which kernels are left untraced."""


PROGRAM = "program"
"""What `--renumber` calls the programs themselves."""


READ = "the number of tiles is read from `{}`: proved for any count; gain is for the recorded one"
"""The note on numbers of tiles that memory holds."""


@contextmanager
def record_application(setup: RunContext, progress: Progress) -> Iterator[Capture]:
    """Records the application's launches; the records are removed at the end."""
    setup.build()
    with temporary_folder("run") as folder:
        on_gpu = None if isinstance(setup.language, Builder) else setup.device  # else on a stand-in
        where = f" on {on_gpu.product}" if on_gpu else ""
        progress.phase(f"recording {' '.join(setup.command)}{where}")
        ahead(partial(load_model, setup.target))
        yield setup.language.record(setup.record_request(folder / "capture"))


def choose_kernel(recorded: Capture, setup: RunContext, progress: Progress) -> Subject:
    """The kernel that could save most time, if possible one that can be edited.

    On a GPU the model chooses: a hardware profiler takes a run of the application for each kernel.

    Raises:
        UsageError: no launch of the kernel that is asked for was recorded.
        SwizzleError: not one kernel could be traced; its reason.
    """
    return check_dependences(examine_kernels(recorded, setup, progress)[0][0], setup, progress)


def examine_kernels(
    recorded: Capture, setup: RunContext, progress: Progress
) -> tuple[list[Subject], list[KernelSummary]]:
    """Traces and models the recorded kernels; the one that could save most time comes first.

    Returns:
        The subjects, and a row for each kernel that was not traced. Those whose source cannot
        carry a swizzle say why, and come last.

    Raises:
        UsageError, SwizzleError: as of `choose_kernel`.
    """
    kernel = setup.options.kernel
    by_kernel = _by_kernel(recorded.launches)
    chosen = [some for some in by_kernel if kernel in (None, *(launch.kernel for launch in some))]
    if not chosen:
        raise errors.UsageError(
            f"the application launched no kernel `{kernel}`",
            hint=f"it launched: {', '.join(sorted({some[0].kernel for some in by_kernel}))}",
            details=recorded.cautions,
        )
    chosen.sort(key=lambda some: (-sum(x.programs * x.count for x in some), some[0].kernel))
    subjects: list[Subject] = []
    failures: list[errors.SwizzleError] = []
    rows: list[KernelSummary] = []
    looked = chosen[: setup.options.top_n]
    names = [launches[0].kernel for launches in looked]
    progress.phase(f"tracing {names[0] if len(names) == 1 else f'{len(names)} kernels'}")
    own = progress if len(names) == 1 else Silent()
    gate = Semaphore(cores())
    abandoned.clear()

    def examine(launches: list[Launch]) -> Subject:
        with gate:
            if abandoned.is_set():
                raise TimeoutError
            return _examine_numbered(launches, setup, own)

    found = [ahead(partial(examine, launches)) for launches in looked]
    for number, (launches, finish) in enumerate(zip(looked, found, strict=True)):
        if len(names) > 1:
            progress.step(number, len(names), launches[0].kernel)
        try:
            subject = finish(left(TRACING_SHARE))
            cautions = (*recorded.cautions, *subject.cautions)
            baseline = replace(subject.baseline, time_ms=_time_ms(recorded, subject))
            subjects.append(replace(subject, cautions=cautions, baseline=baseline))
        except (errors.TraceError, errors.ProfileError, TimeoutError) as error:
            late = f"{TRACING_SHARE:.0%} of --seconds were over before it was traced"
            failures.append(errors.TraceError(late) if isinstance(error, TimeoutError) else error)
            rows.append(row_of(launches, failures[-1].fact))
    if not subjects:
        failures[0].kernels = tuple(rows) if isinstance(failures[0], errors.TraceError) else ()
        raise failures[0]
    _check_renumbered(subjects, setup.options.renumber)
    beyond = f"not traced: --top_n {setup.options.top_n}"
    rows += [row_of(launches, beyond) for launches in chosen[setup.options.top_n :]]
    return rank_subjects(subjects, setup.target), rows


def _time_ms(recorded: Capture, subject: Subject) -> float | None:
    """What the traced launches took on the GPU while they were recorded; None if one is unknown."""
    known, traced = recorded.gpu_seconds, [t.launch for t in subject.traced]
    seconds = sum(known.get(launch.ordinal, math.nan) * launch.count for launch in traced)
    return subject.baseline.time_ms if math.isnan(seconds) else 1e3 * seconds


def _examine_numbered(launches: Sequence[Launch], setup: RunContext, progress: Progress) -> Subject:
    """The kernel, by the tiles that its programs take in a loop if that can be, else by programs.

    Raises:
        SwizzleError: as of `examine_kernel`.
    """
    asked = setup.options.renumber
    reasons: tuple[str, ...] = ()
    if asked != PROGRAM:
        looped, reasons = _with_loops(launches, setup)
        if loop := looped[0].loop:
            entry = looped[0].source.entry
            where = f"{Path(entry.file).name}:{entry.first_line + loop.line - 1}"
            most = max(looped, key=lambda launch: launch.tiles)
            note = f"renumbering loop variable `{loop.name}` ({where}): {most.tiles} tiles on "
            note += f"{most.programs} programs (--renumber {PROGRAM}: the programs)"
            try:
                check_editable(setup, looped)
                subject = examine_kernel(looped, setup, progress)
                if loop.read_from:
                    fact = READ.format("`, `".join(loop.read_from))
                    subject = replace(subject, cautions=(fact, *subject.cautions))
                return replace(subject, notes=(note, *reasons, *subject.notes))
            except (errors.SpliceError, errors.TraceError) as error:
                reasons = (*reasons, f"tiles of the loop at {where} cannot be renumbered: "
                                     f"{error.fact}")  # fmt: skip
    subject = examine_kernel(launches, setup, progress)
    subject = replace(subject, notes=(*reasons, *subject.notes))
    try:
        check_editable(setup, launches)
    except errors.SpliceError as error:
        fact = f"no swizzle can be put into its source: {error.fact}"
        subject = replace(subject, refusal=error.fact, cautions=(*subject.cautions, fact))
    return subject


def _with_loops(
    launches: Sequence[Launch], setup: RunContext
) -> tuple[Sequence[Launch], tuple[str, ...]]:
    """As of the language; what an earlier run has found is used again."""
    language = setup.language
    if not isinstance(language, TileLoops):
        return launches, ()

    def find() -> tuple[list[TileLoop | None], tuple[str, ...]]:
        looped, reasons = language.with_loops(launches, setup.options.renumber)
        return [launch.loop for launch in looped], reasons

    decided_by = ([as_text(launch) for launch in launches], setup.options.renumber)
    loops, reasons = setup.kept.get_or_compute("loops", decided_by, find)
    both = zip(launches, loops, strict=True)
    return [replace(launch, loop=loop) for launch, loop in both], reasons


def _check_renumbered(subjects: Sequence[Subject], name: str | None) -> None:
    """Raises UsageError if no kernel is renumbered by the variable that is asked for."""
    loops = {subject.launches[0].loop for subject in subjects} - {None}
    if name in (None, PROGRAM) or any(loop and loop.name == name for loop in loops):
        return
    raise errors.UsageError(
        f"no kernel has a loop whose variable `{name}` takes the number of each tile once",
        hint=f"leave --renumber out, or --renumber {PROGRAM}",
        details=tuple(dict.fromkeys(note for subject in subjects for note in subject.notes)),
    )


def _by_kernel(launches: Sequence[Launch]) -> list[list[Launch]]:
    """The launches of each kernel; two may have one name, and one text names that a macro makes."""
    grouped: dict[tuple[str, str, int], list[Launch]] = {}
    for launch in launches:
        entry = launch.source.entry
        name = launch.kernel if re.search(rf"\b{re.escape(launch.kernel)}\b", entry.text) else ""
        grouped.setdefault((name, entry.file, entry.first_line), []).append(launch)
    return list(grouped.values())


DEPENDENCE_SECONDS = 300.0
"""For checking all launches that are not traced."""


LOOK_SECONDS = 20.0
"""For finding out unasked whether a kernel drops tiles."""


def check_dependences(subject: Subject, setup: RunContext, progress: Progress) -> Subject:
    """The subject with what is only looked for in a kernel that is worked on."""
    return add_cautions(add_dependences(subject, setup, progress), setup, progress)


RANKING_SECONDS = 8.0
"""After which no further configuration of a kernel is traced to rank it."""

RANKING_LINES = 1_000_000_000
"""Line accesses of all configurations beyond which few could be ranked by then, and none is."""


def add_configs(subject: Subject, setup: RunContext, progress: Progress) -> Subject:
    """The subject with a note on which configuration of a tuned kernel all numbers are of.

    Without a GPU nothing is timed, and the model ranks those of the largest launch: a trace and a
    replay for each.
    """
    launch = subject.traced[0].launch
    if len(launch.configs) < 2:
        return subject
    timed = subject.baseline.time_ms is not None
    how = "the fastest" if timed else "the first that its pruning leaves; nothing is timed"
    if launch.tuned and not timed and subject.is_traced:
        number, times = len(launch.tuned), dict[str, float]()
        if number * subject.line_accesses <= RANKING_LINES:
            progress.phase(f"ranking {number} configurations of {subject.kernel} (model)")
            times = _model_configs(launch, setup)
        best = sorted(times, key=times.__getitem__)[:3]
        ranked = ", ".join(f"{name} {1e3 * times[name]:.3g} µs" for name in best)
        how += f"; of {len(times)} by modelled time the best: {ranked}" if times else ""
        how += f"; not ranked: {number - len(times)}" if len(times) < number else ""
    shown = launch.name_configs(dict.fromkeys(x.config for x in subject.launches))
    note = f"`{subject.kernel}` is tuned: all numbers are of {shown} of {len(launch.configs)}, "
    note += f"{how}; a patch changes nothing in configurations with other constexprs"
    return replace(subject, notes=(*subject.notes, note))


def _model_configs(launch: Launch, setup: RunContext) -> dict[str, float]:
    """Modelled time of each configuration for which there is time, by its words."""
    ends, times = time.monotonic() + RANKING_SECONDS, dict[str, float]()
    for configured in map(launch.with_config, launch.tuned):
        with suppress(errors.TraceError, errors.ProfileError):
            if time.monotonic() < ends:
                words = launch.name_configs([configured.config])
                times[words] = examine_kernel([configured], setup, Silent()).time_ms
    return times


def add_cautions(subject: Subject, setup: RunContext, progress: Progress) -> Subject:
    """The subject with a caution if the remap that its source has already drops tiles.

    Costs nothing if no program touches what another one stores, else a second or two for the
    largest such launch.
    """
    suspects = [t.launch for t in subject.traced if t.trace.shared_writes]
    if not suspects or not isinstance(setup.language, SourceExaminer):
        return subject
    progress.phase(f"checking which program stores each element in {subject.kernel}")
    [verdict] = setup.language.prove_launches(
        suspects[:1], timeout_seconds=LOOK_SECONDS, kept=setup.kept
    )
    if not verdict.drops_tiles:
        return subject
    prove = setup.prove_command(suspects[0].source.entry.file, subject.kernel)
    caution = (
        f"{subject.kernel} computes some tiles twice and others never, unmodified: "
        f"{verdict.reason}, {verdict.evidence[0]} ({prove})"
    )
    return replace(subject, cautions=(*subject.cautions, caution))


def add_dependences(subject: Subject, setup: RunContext, progress: Progress) -> Subject:
    """The subject with the dependences of the launches that are not traced.

    Costs a child process, and in it one trace for all launches that differ in nothing that decides
    what they touch.
    """
    untraced = subject.untraced
    if not untraced or not subject.is_traced:
        return subject
    progress.phase(f"checking {len(untraced)} further launches of {subject.kernel}")
    found = setup.kept.get_or_compute(
        "dependences",
        [(as_text(launch), launch.count) for launch in untraced],
        lambda: setup.language.find_dependences(untraced, timeout_seconds=DEPENDENCE_SECONDS),
        is_final=lambda them: not any(d.unknown for d in them),
    )
    by_ordinal = {launch.ordinal: of for launch, of in zip(untraced, found, strict=True)}
    return replace(subject, dependences=by_ordinal)
