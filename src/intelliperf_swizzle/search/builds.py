# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the launches of a kernel touch, how it is compiled, and what follows from both."""

import functools
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from intelliperf_swizzle import cache, dependence, errors, hardware, profile, records
from intelliperf_swizzle.cache.stream import ReferenceStream, adopt, stream_of
from intelliperf_swizzle.hardware.target import Build, occupancy
from intelliperf_swizzle.profile.modelled import model_launches
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.subject import Subject


def variants(launches: Sequence[records.Launch]) -> list[records.Launch]:
    """A launch for each way in which the kernel is compiled."""
    return list({compiled_as(launch): launch for launch in reversed(launches)}.values())


def compiled_as(launch: records.Launch) -> str:
    """Equal for launches that run the same machine code: types, constexprs, options."""
    types = {
        name: getattr(value, "dtype", value if name in launch.constexprs else type(value))
        for name, value in launch.arguments.items()
    }
    return repr((types, sorted(launch.options.items())))


def compile_variants(
    launches: Sequence[records.Launch], setup: RunContext
) -> tuple[dict[str, Build], tuple[str, ...]]:
    """The builds by how the kernel is compiled, and why there is none."""
    builds: dict[str, Build] = {}
    cautions: list[str] = []
    gpu = setup.target
    for launch in variants(launches):
        try:
            builds[compiled_as(launch)] = setup.kept.get_or_compute(
                "build",
                (records.as_text(launch), gpu.backend, gpu.arch, gpu.warp_size),
                functools.partial(setup.language.build, launch, gpu),
            )
        except errors.BuildError as error:
            cautions.append(f"one workgroup per {gpu.cu_name} is assumed: {error.fact}")
    return builds, tuple(dict.fromkeys(cautions))


def compare_builds(before: profile.TracedLaunch, after: Build, target: hardware.Target) -> str:
    """Registers per thread and workgroups per CU, with an edit and, if they differ, before."""
    held = occupancy(after, target)
    rows = [(f"workgroup{'s' * (held != 1)} per {target.cu_name}", before.occupancy, held)]
    registers = before.build.registers if before.build else None
    if registers is not None and after.registers is not None:
        rows = [("registers per thread", registers, after.registers), *rows]
    return ", ".join(
        f"{now} {name}" + ("" if now == was else f" ({was} before)") for name, was, now in rows
    )


def note_spills(builds: Iterable[Build]) -> tuple[str, ...]:
    """Says so if the kernel spills registers."""
    stack = max((build.stack_bytes or 0 for build in builds), default=0)
    if not stack:
        return ()
    return (
        f"register spilling ({stack} B per thread), whose traffic modelled numbers leave out; try "
        "more warps or smaller tiles",
    )


MOST_LAUNCHES = 16
"""Distinct launches of one kernel that are measured and validated, the largest. All are proved and
checked for programs that depend on each other."""


def examine_kernel(
    launches: Sequence[records.Launch], setup: RunContext, progress: Progress
) -> Subject:
    """Traces and models the launches of one kernel.

    Raises:
        TraceError: one of the largest cannot be traced, or the kernel writes to no tensor.
        ProfileError: the profiler fails.
    """
    kernel, target = launches[0].kernel, setup.target
    largest = sorted(launches, key=lambda launch: (-launch.tiles * launch.count, launch.ordinal))
    largest = largest[:MOST_LAUNCHES]
    with ThreadPoolExecutor(2) as pool:  # both wait for a child process
        building = pool.submit(compile_variants, largest, setup)
        traces: list[records.Trace] = []
        untraced: tuple[str, ...] = ()
        try:
            for trace in pool.map(lambda launch: _trace(launch, setup), largest):
                traces.append(trace)
                if len(largest) > 1:
                    progress.step(len(traces), len(largest), "launches")
        except errors.TraceError as error:
            if not (setup.device and setup.profiler) or largest[0].loop:
                raise
            traces, untraced = [*map(_no_trace, largest)], (NO_MODEL.format(error.fact),)
        builds, failures = building.result()
    if not untraced and not any(
        dependence.touched(trace, records.Access.WRITE, records.Access.ATOMIC) for trace in traces
    ):
        raise errors.TraceError(
            f"`{kernel}` writes to none of its tensors, so outputs cannot be compared",
            hint="it may do so with other inputs",
        )
    notes = dict.fromkeys([*failures, *(note for trace in traces for note in trace.notes)])
    sums = (FLOAT_SUMS,) if any(map(_adds_floats_up, largest, traces)) else ()
    cautions = (*untraced, *_cautions(traces), *sums, *note_spills(builds.values()))
    built = [builds.get(compiled_as(launch)) for launch in largest]
    traced = tuple(
        profile.TracedLaunch(launch, trace, occupancy(build, target) if build else 1, build)
        for launch, trace, build in zip(largest, traces, built, strict=True)
    )
    baseline, bound = _rates(traced, setup)
    in_order = tuple(sorted(launches, key=lambda launch: launch.ordinal))
    return Subject(kernel, in_order, traced, baseline, bound, tuple(notes), cautions)


def _trace(launch: records.Launch, setup: RunContext) -> records.Trace:
    """The trace of a launch, ready for replay."""

    def make() -> tuple[records.Trace, ReferenceStream]:
        made = setup.language.trace(launch)
        return made, stream_of(made)

    return adopt(*setup.kept.get_or_compute("trace", records.as_text(launch), make))


def _rates(
    traced: Sequence[profile.TracedLaunch], setup: RunContext
) -> tuple[records.Measurement, records.Ceiling]:
    """The unmodified kernel by the model, and the ceiling of any order.

    A profiler of a host that has run it already takes the model's place.
    """

    def model() -> tuple[records.Measurement, records.Ceiling]:
        identity = [np.arange(t.trace.tiles) for t in traced]
        counts = [t.launch.count for t in traced]
        if traced[0].trace.is_unknown and measuring:
            return measuring.measure(traced), records.Ceiling(1.0, "nothing is known: no trace")
        bound = cache.ceiling([t.trace for t in traced], setup.target, counts)
        if measuring:
            return measuring.measure(traced), bound
        return model_launches(traced, identity, setup.target), bound

    measuring = None if setup.device and not traced[0].trace.is_unknown else setup.profiler
    runs = [(records.as_text(t.launch), t.launch.count, t.occupancy) for t in traced]
    return model() if measuring else setup.kept.get_or_compute("rates", (runs, setup.target), model)


NO_MODEL = (
    "it cannot be modelled, and whether its programs depend on each other is unknown: {}; "
    "so candidates are only proved, compared, timed and profiled"
)


def _no_trace(launch: records.Launch) -> records.Trace:
    """Of a launch of which nothing is known."""
    none, nothing, offset = np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(1, np.int64)
    tiles = np.zeros(launch.tiles + 1, np.int64)
    shapes = offset, none, nothing, nothing
    return records.Trace(launch.grid, tiles, none, none, *shapes, (), "sequential")


FLOAT_SUMS = (
    "programs sum floats with atomics: a swizzle changes the order of additions, so the last bits "
    "may differ, as they may between two launches of the unmodified kernel on a GPU"
)


def _adds_floats_up(launch: records.Launch, trace: records.Trace) -> bool:
    """Whether several programs of a launch update a float by atomics."""
    sums = dependence.summed_storages(launch, trace)
    tensors = (v for v in launch.arguments.values() if isinstance(v, records.TensorArgument))
    return any(v.storage in sums and v.dtype.startswith(("fp", "bf")) for v in tensors)


def _cautions(traces: Sequence[records.Trace]) -> tuple[str, ...]:
    """What makes traces doubtful; of tiles that access what lies outside every tensor, too."""
    own = tuple(dict.fromkeys(caution for trace in traces for caution in trace.cautions))
    outside = sum(trace.tiles_outside for trace in traces)
    if not outside:
        return own
    elements = sum(trace.elements_outside for trace in traces)
    return (
        *own,
        f"{outside} of {sum(t.tiles for t in traces)} tiles access {elements} elements outside "
        "every tensor: the numbers leave these accesses out, and a GPU may fault on them",
    )
