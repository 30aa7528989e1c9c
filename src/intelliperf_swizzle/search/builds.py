# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How the kernel of some launches is compiled, and what follows from it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from intelliperf_swizzle.cache.model import measurement, traffic, with_times
from intelliperf_swizzle.cache.stream import ReferenceStream, stream_of
from intelliperf_swizzle.errors import BuildError
from intelliperf_swizzle.frontends.ports import Resizer
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.hardware.occupancy import Build, occupancy
from intelliperf_swizzle.launch_files import as_text
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.records import Cure, CureKind, Int64Array, Launch, Measurement, Trace
from intelliperf_swizzle.search.setup import Setup


def variants(launches: Sequence[Launch]) -> list[Launch]:
    """A launch for each way in which the kernel is compiled."""
    return list({compiled_as(launch): launch for launch in reversed(launches)}.values())


def compiled_as(launch: Launch) -> str:
    """Equal for launches that run the same machine code: types, constexprs, options."""
    types = {
        name: getattr(value, "dtype", value if name in launch.constexprs else type(value))
        for name, value in launch.arguments.items()
    }
    return repr((types, sorted(launch.options.items())))


def compile_variants(
    launches: Sequence[Launch], setup: Setup
) -> tuple[dict[str, Build], tuple[str, ...]]:
    """The builds by how the kernel is compiled, and why there is none or another compiler's."""
    builds: dict[str, Build] = {}
    cautions: list[str] = []
    gpu = setup.target
    for launch in variants(launches):
        try:
            builds[compiled_as(launch)] = setup.kept.call(
                "build",
                (as_text(launch), gpu.backend, gpu.arch, gpu.warp_size),
                functools.partial(setup.language.build, launch, gpu),
            )
        except BuildError as error:
            cautions.append(f"one workgroup a {gpu.cu_name} is assumed: {error.fact}")
    cautions += [one.caution for one in builds.values() if one.caution]
    return builds, tuple(dict.fromkeys(cautions))


def resident_workgroups(build: Build | None, target: Target) -> int:
    """Workgroups that a CU holds; 1 where that is not known."""
    return 1 if build is None else occupancy(build, target)


def compare_builds(before: TracedLaunch, after: Build, target: Target) -> str:
    """What a launch takes of a CU, before and with an edit, in words."""
    rows = [(f"workgroups a {target.cu_name}", before.occupancy, occupancy(after, target))]
    registers = before.build.registers if before.build else None
    if registers is not None and after.registers is not None:
        rows = [("registers a thread", registers, after.registers), *rows]
    return ", ".join(
        f"{now} {name}" + ("" if now == was else f" ({was} before)") for name, was, now in rows
    )


def note_spills(builds: Iterable[Build]) -> tuple[str, ...]:
    """Says so if the kernel spills registers."""
    stack = max((one.stack_bytes or 0 for one in builds), default=0)
    if not stack:
        return ()
    return (
        f"each thread has {stack} bytes of scratch or local memory, as a rule for spilled "
        "registers: a GPU's counters have that traffic, too, and modelled numbers leave it out; "
        "more warps a program, or smaller tiles, may end it",
    )


LEAST_GAIN = 0.01
"""Part of the modelled time that a cure must gain, and by which a dearer one must be better."""

LEAST_CAUSE = 0.01
"""Part of all requests that must miss for the reason which a cure is against."""

PROBE_PROGRAMS = 128
"""Programs that are traced to see what an argument does."""


def cure_of(kind: CureKind, measured: Measurement) -> Cure:
    """A cure by its measurement."""
    return Cure(kind, measured.l2_hit_rate, measured.modelled_memory_time_ms or 0.0)


@dataclass(frozen=True)
class Case:
    """A launch on the model, by itself.

    Attributes:
        setup: of the run.
        traced: the launch.
        known: what the model says of it as it is, where that is known.
    """

    setup: Setup
    traced: TracedLaunch
    known: Measurement | None = None

    @property
    def launch(self) -> Launch:
        """The launch."""
        return self.traced.launch

    @cached_property
    def before(self) -> Measurement:
        """The launch as it is."""
        return self.known or self.replay()

    def replay(
        self,
        stream: ReferenceStream | None = None,
        tile: Int64Array | None = None,
        occupancy: int | None = None,
    ) -> Measurement:
        """The launch as it is, or with other lines, in another order, or so many a CU."""
        stream = stream or stream_of(self.traced.trace)
        order = np.arange(stream.tiles) if tile is None else tile
        target, occupancy = self.setup.target, occupancy or self.traced.occupancy
        read = measurement(traffic(stream, order, target, occupancy), target)
        return with_times(read, [(stream, order, 1, occupancy)], target)

    def trace(self, launches: Sequence[Launch]) -> Sequence[Trace | None]:
        """Changed launches; None for those that cannot be run."""
        language = self.setup.language
        if isinstance(language, Resizer):
            return language.trace_each(launches)
        return [None for _ in launches]


def few_programs(launch: Launch, programs: int = PROBE_PROGRAMS) -> Launch:
    """The launch with its first programs only, along each axis as many as there may be.

    Of programs that take tiles in a loop, the first tile of each.
    """
    if launch.loop:
        launch = replace(launch, loop=replace(launch.loop, most_turns=1))
        programs = launch.programs if programs > 1 else 1
    left, grid = programs, []
    for extent in launch.grid:
        grid.append(max(1, min(extent, left)))
        left //= grid[-1]
    x, y, z = grid
    return replace(launch, grid=(x, y, z))


def with_arguments(
    launch: Launch,
    arguments: Mapping[str, int],
    room: Callable[[Launch], Launch] = lambda launch: launch,
) -> Launch:
    """The launch with other arguments; `room` makes its storages larger for them."""
    return room(replace(launch, arguments={**launch.arguments, **arguments}))
