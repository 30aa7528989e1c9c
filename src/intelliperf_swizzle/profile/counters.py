# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a hardware profiler read of single launches, and the sums over the launches of a kernel.

A profiler knows a launch by its kernel's name, grid and workgroup size. That is not always enough:
an autotuner launches variants of one kernel on one grid, and two kernels may have one name. Where
several machine codes answer to one recorded launch, the one is taken that has the shared memory
and registers of the launch as it compiles; where that does not decide, nothing is measured.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from intelliperf_swizzle import profile
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import BuildError, ProfileError
from intelliperf_swizzle.frontends.ports import Replay
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.hardware.target import Build
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.installed import Tool, without_counters
from intelliperf_swizzle.records import Grid, Launch, Measurement

DEFAULT_WARPS = 4
"""Triton's `num_warps` where a launch does not say."""

REPEATS = 3
"""How often a replay makes a launch with each variant of a kernel."""


@dataclass(frozen=True)
class KernelCounters:
    """One launch as a profiler saw it. None = not reported.

    Attributes:
        kernel: its plain name.
        grid: its workgroups along the axes; None if only `programs` is known.
        programs: its workgroups in all.
        threads: of a workgroup.
        counters: name -> value; those that were collected.
        time_ns: its duration.
        shared_bytes: shared memory of a workgroup.
        registers: 32-bit registers of a thread.
    """

    kernel: str
    grid: Grid | None
    programs: int | None
    threads: int | None
    counters: Mapping[str, float]
    time_ns: float | None = None
    shared_bytes: int | None = None
    registers: int | None = None


Rows: TypeAlias = Sequence[KernelCounters]
Compiler: TypeAlias = Callable[[Launch], Build]


@dataclass(frozen=True)
class Totals:
    """Sums over the launches of a kernel, each as often as it was seen.

    Attributes:
        counters: name -> sum, of the counters that were collected for each launch.
        time_ns: None if a duration is missing.
        launches: how many profiled launches were summed.
    """

    counters: Mapping[str, float]
    time_ns: float | None
    launches: int


def plain_name(signature: str) -> str:
    """A kernel's name without namespaces, template and function arguments and the suffix `.kd`."""
    named = signature.replace("<unnamed>::", "").replace("(anonymous namespace)::", "")
    words = named.split("(")[0].split("<")[0].split("::")[-1].split()
    return words[-1].removesuffix(".kd") if words else ""


def totals(
    launches: Sequence[TracedLaunch], rows: Rows, target: Target, compiled: Compiler
) -> Totals:
    """The sums over all launches: for each, the mean of its rows times how often it was seen.

    Args:
        launches: of one kernel.
        rows: of an application's run, of any kernels.
        target: the GPU.
        compiled: what a launch takes when it is compiled; only asked where its name, grid and
            workgroup size leave a choice.

    Raises:
        ProfileError: a launch is not in the profile, or which ones are its is unknown.
    """
    kernels = dict.fromkeys(traced.launch.kernel for traced in launches)
    named = {name: [row for row in rows if row.kernel == name] for name in kernels}
    for kernel in (name for name, own in named.items() if not own):
        seen = ", ".join(sorted({row.kernel for row in rows})) or "no kernel"
        raise ProfileError(f"the profile does not show `{kernel}`", details=(f"it shows: {seen}",))
    shapes = {(t.launch.kernel, t.launch.programs, t.launch.grid) for t in launches}
    alike = len({shape[:2] for shape in shapes}) < len(shapes)
    if alike and any(row.grid is None for row in rows):
        raise ProfileError(
            "a profile does not distinguish different grids with the same number of programs"
        )
    weighted = [
        (t.launch.count, _of_launch(t.launch, named[t.launch.kernel], target, compiled))
        for t in launches
    ]
    names = set.intersection(*(set(row.counters) for _, own in weighted for row in own))
    times = [row.time_ns for _, own in weighted for row in own]
    whole = sum(count * fmean(row.time_ns or 0.0 for row in own) for count, own in weighted)
    return Totals(
        counters={
            name: sum(count * fmean(r.counters[name] for r in own) for count, own in weighted)
            for name in sorted(names)
        },
        time_ns=None if None in times else whole,
        launches=len(times),
    )


Counters: TypeAlias = tuple[str, ...]


class CountingProfiler:
    """Runs the application, or a replay of its launches, under a tool that counts.

    What tools differ in is in those that inherit it: their command line, how what they write
    is read, whether they could count all that was asked for, and what a measurement is made of.

    Args:
        application: what to run.
        target: the GPU; its counters are read.
        tool: where the tool is.

    Attributes:
        sets: what a measurement is made of, each counted by itself: choices of counters, the
            largest first; what this GPU cannot count at once is removed, so that it is asked for
            no second time.
    """

    name: str
    sets: tuple[list[Counters], ...]

    def __init__(self, application: profile.Application, target: Target, tool: Tool):
        self._application, self._target = application, target
        self._executable = tool.path or tool.name
        self.device = application.device.product if application.device else target.product
        self._further: dict[object, list[Totals]] = {}

    def command(
        self, kernel: str, counters: Counters, folder: Path, *, every: bool = False
    ) -> list[str]:
        """What stands before the application; `every`: all launches are counted, not some."""
        raise NotImplementedError

    def read(self, ran: profile.Ran) -> Rows:
        """The launches that a run shows."""
        raise NotImplementedError

    def asks_too_much(self, ran: profile.Ran, rows: Rows, least: bool) -> bool:
        """Whether more was asked for than is counted at once; `least`: there is no less to ask."""
        raise NotImplementedError

    def explain(self, kernel: str, ran: profile.Ran) -> ProfileError:
        """Why a run has no readings of the kernel, or none to be trusted."""
        raise NotImplementedError

    def measurement(
        self, kernel: str, sums: Sequence[Totals], *, replayed: bool = False
    ) -> Measurement:
        """By the sums of each of `sets`; raises ProfileError if something is missing."""
        raise NotImplementedError

    def measure(self, launches: Sequence[TracedLaunch], edit: Edit | None = None) -> Measurement:
        """By runs that carry the edit; all but the first of `sets` are counted in the unmodified
        application alone, once, or with each edit where registers are spilled; raises as `totals`.
        """
        kernel, counted = launches[0].launch.kernel, edit if _spill(launches) else None
        which = ((traced.launch.grid, traced.launch.ordinal) for traced in launches)
        key = kernel, counted and counted.diff, *which
        if key not in self._further:
            sums = (self.totals(launches, choices, counted) for choices in self.sets[1:])
            self._further[key] = [*sums]
        first = self.totals(launches, self.sets[0], edit)
        return self.measurement(kernel, [first, *self._further[key]])

    def totals(
        self, launches: Sequence[TracedLaunch], choices: list[Counters], edit: Edit | None
    ) -> Totals:
        """The sums over launches, in a run of the application that carries an edit.

        Raises:
            ProfileError: no permission, a run that failed, or a launch that it does not show.
        """
        kernel = launches[0].launch.kernel

        def run(counters: Counters) -> AbstractContextManager[profile.Ran]:
            tool = partial(self.command, kernel, counters)
            return profile.run_under(self._application, kernel, edit, tool)

        return self._sums(launches, self._count(kernel, choices, run), edit)

    def begin(
        self, launches: Sequence[TracedLaunch], replay: Callable[[int], Replay]
    ) -> Callable[[Sequence[Edit]], list[Measurement]]:
        """Starts a session over a replay of the launches for each of `sets`; what counts in the
        first the unmodified kernel and each edit, and in the others the unmodified one alone, or
        each edit anew where registers are spilled."""
        kernel, limit = launches[0].launch.kernel, self._application.limit_seconds

        def session(counters: Counters) -> Callable[[Sequence[Edit]], Callable[[], profile.Ran]]:
            made = replay(REPEATS)
            command = [*self.command(kernel, counters, made.folder, every=True), *made.command]
            wait = profile.begin_profiler(command, made.folder, made.environment, made.folder)

            def go(edits: Sequence[Edit]) -> Callable[[], profile.Ran]:
                made.go(edits)
                return partial(wait, limit)

            return go

        begun = {choices[0]: session(choices[0]) for choices in self.sets}
        spilled = _spill(launches)

        def count(edits: Sequence[Edit]) -> list[Measurement]:
            wanted = [edits, *[edits if spilled else ()] * (len(self.sets) - 1)]
            by_choice = {c[0]: begun[c[0]](own) for c, own in zip(self.sets, wanted, strict=True)}

            def sums(choices: list[Counters], own: Sequence[Edit]) -> list[Totals]:
                variants = (None, *own)

                def run(counters: Counters) -> AbstractContextManager[profile.Ran]:
                    wait = by_choice.pop(counters, None) or session(counters)(own)
                    return nullcontext(wait())

                complete = len(launches) * len(variants) * REPEATS
                rows = self._count(kernel, choices, run, complete)
                parts = _by_variant(rows, len(variants))
                found = [*map(partial(self._sums, launches), parts, variants)]
                return found * ((1 + len(edits)) // len(variants))

            counted = zip(*map(sums, self.sets, wanted), strict=True)
            return [self.measurement(kernel, total, replayed=True) for total in counted]

        return count

    def _count(
        self,
        kernel: str,
        choices: list[Counters],
        run: Callable[[Counters], AbstractContextManager[profile.Ran]],
        complete: int | None = None,
    ) -> Rows:
        """Of a run in which everything was counted at once; `complete`: this many, or none."""
        while True:
            with run(choices[0]) as ran:
                rows, least = self.read(ran), len(choices) == 1
                if not self.asks_too_much(ran, rows, least):
                    if ran.exit_code or len(rows) != (complete or len(rows) or 1):
                        raise self.explain(kernel, ran)
                    return rows
                if least:
                    raise ProfileError(
                        f"{self.name} cannot count {' and '.join(choices[0])} at once on this GPU",
                        hint=without_counters(),
                        details=ran.last_lines(3),
                    )
            choices.pop(0)

    def _sums(self, launches: Sequence[TracedLaunch], rows: Rows, edit: Edit | None) -> Totals:
        build, target = self._application.language.build, self._target
        return totals(launches, rows, target, lambda launch: build(launch, target, edit))


def _spill(launches: Sequence[TracedLaunch]) -> bool:
    """Whether the kernel spills registers, which sends requests of its own."""
    return any(traced.build is not None and traced.build.stack_bytes for traced in launches)


def _by_variant(rows: Rows, variants: int) -> list[Rows]:
    """The rows of each variant in a replay, which makes each launch with each variant
    `REPEATS` times."""
    groups = [rows[at : at + REPEATS] for at in range(0, len(rows), REPEATS)]
    return [[row for group in groups[at::variants] for row in group] for at in range(variants)]


def _of_launch(launch: Launch, rows: Rows, target: Target, compiled: Compiler) -> Rows:
    """The rows of one recorded launch."""
    x, y, z = launch.grid
    grid = (x * int(launch.options.get("num_ctas", 1)), y, z)
    own = [row for row in rows if _is_on(row, grid)]
    if not own:
        seen = sorted({str(row.grid or row.programs) for row in rows})[:6]
        raise ProfileError(
            f"the profile shows no launch of `{launch.kernel}` on the grid {grid}",
            details=(f"it shows: {', '.join(seen)}",),
        )
    threads = int(launch.options.get("num_warps", DEFAULT_WARPS)) * target.warp_size
    own = [row for row in own if row.threads == threads] or own
    variants = defaultdict(list)
    for row in own:
        variants[row.threads, row.shared_bytes, row.registers].append(row)
    if len(variants) == 1:
        return own
    return _of_variant(launch, list(variants.values()), target, compiled)


def _is_on(row: KernelCounters, grid: Grid) -> bool:
    if row.grid is not None:
        return row.grid == grid
    return row.programs in (None, grid[0] * grid[1] * grid[2])


def _of_variant(
    launch: Launch, variants: Sequence[Rows], target: Target, compiled: Compiler
) -> Rows:
    """Of several machine codes, the rows of the one that the launch compiles to."""
    try:
        built = compiled(launch)
    except BuildError as error:
        raise _refusal(launch, variants, error.fact) from error
    memory, registers = target.lds_granule_bytes, target.register_granule
    alike = [own for own in variants if _alike(own[0].shared_bytes, built.lds_bytes, memory)]
    if len(alike) > 1:
        alike = [own for own in alike if _alike(own[0].registers, built.registers, registers)]
    if len(alike) != 1:
        needs = f"it compiles to {built.registers} registers and {built.lds_bytes} bytes"
        raise _refusal(launch, variants, needs)
    return alike[0]


def _alike(seen: int | None, built: int | None, granule: int) -> bool:
    """Equal as the hardware allocates it; AMD's profilers report allocated sizes."""
    if seen is None or built is None:
        return False
    return -(-seen // granule) == -(-built // granule)


def _refusal(launch: Launch, variants: Sequence[Rows], reason: str) -> ProfileError:
    shown = [
        f"{own[0].threads} threads, {own[0].registers} registers, {own[0].shared_bytes} bytes"
        for own in variants
    ]
    return ProfileError(
        f"{len(variants)} kernels named `{launch.kernel}` are launched on the grid "
        f"{launch.grid}: which one was recorded is unknown",
        details=(f"launched: {'; '.join(shown)}", reason),
    )
