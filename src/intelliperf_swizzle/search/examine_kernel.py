# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The launches of one kernel traced, built and modelled as they are."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle.cache import ceiling
from intelliperf_swizzle.cache.stream import ReferenceStream, adopt, stream_of
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.ports import SourceExaminer
from intelliperf_swizzle.hardware import targets
from intelliperf_swizzle.launch_files import as_text
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.readings import model_launches
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Access, Ceiling, Launch, Measurement, TensorArgument, Trace
from intelliperf_swizzle.search.builds import (
    compile_variants,
    compiled_as,
    note_spills,
    resident_workgroups,
)
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject
from intelliperf_swizzle.trace.touched import touched_storages

MOST_LAUNCHES = 16
"""Distinct launches of one kernel that are measured and validated, the largest. All are proved and
checked for programs that depend on each other."""


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
            hint="with the inputs that were recorded; run it on others",
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
        cautions=(
            *_cautions(traces),
            *((FLOAT_SUMS,) if any(map(_adds_floats_up, largest, traces)) else ()),
            *note_spills(builds.values()),
        ),
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


FLOAT_SUMS = (
    "programs sum floats with atomics: a swizzle changes the order of additions, so the last bits "
    "may differ, as they may between two launches of the unmodified kernel on a GPU"
)


def _adds_floats_up(launch: Launch, trace: Trace) -> bool:
    """Whether several programs of a launch update a float by atomics."""
    sums = touched_storages(launch, trace, (Access.ATOMIC,)) if trace.order_matters else ()
    tensors = (one for one in launch.arguments.values() if isinstance(one, TensorArgument))
    return any(one.storage in sums and one.dtype.startswith(("fp", "bf")) for one in tensors)


def _cautions(traces: Sequence[Trace]) -> tuple[str, ...]:
    """What makes traces doubtful; of tiles that access what lies outside every tensor, too."""
    own = tuple(dict.fromkeys(caution for one in traces for caution in one.cautions))
    outside = sum(one.tiles_outside for one in traces)
    if not outside:
        return own
    elements = sum(one.elements_outside for one in traces)
    return (
        *own,
        f"{outside} of {sum(one.tiles for one in traces)} tiles access {elements} elements outside "
        "every tensor: the numbers leave these accesses out, and a GPU may fault on them",
    )


DEPENDENCE_SECONDS = 300.0
"""For checking all launches that are not traced."""


def look_closely(subject: Subject, setup: Setup, progress: Progress) -> Subject:
    """The subject with what is only looked for in a kernel that is worked on."""
    return add_cautions(add_dependences(subject, setup, progress), setup, progress)


def add_cautions(subject: Subject, setup: Setup, progress: Progress) -> Subject:
    """The subject with a caution if the remap that its source has already drops tiles.

    Costs nothing if no program touches what another one stores, else a second or two for the
    largest such launch.
    """
    suspects = [one.launch for one in subject.traced if one.trace.shared_writes]
    if not suspects or not isinstance(setup.language, SourceExaminer):
        return subject
    progress.phase(f"looking at who stores what in {subject.kernel}")
    found = setup.language.cautions(suspects[:1], _prove_command(setup, suspects[0]), setup.kept)
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
    found = setup.kept.call(
        "dependences",
        [(as_text(one), one.count) for one in untraced],
        lambda: setup.language.find_dependences(untraced, timeout_seconds=DEPENDENCE_SECONDS),
        is_final=lambda them: not any(one.unknown for one in them),
    )
    by_ordinal = {one.ordinal: of for one, of in zip(untraced, found, strict=True)}
    return replace(subject, dependences=by_ordinal)
