# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What could be done about a kernel's misses: the swizzle, padded rows, a parameter.

All are compared by the model on the kernel's largest launch. What is not the swizzle is advice: it
changes what the application passes to the kernel, not the kernel.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import get_args

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.rank import MODEL_RATE_ERROR, TIME_TOLERANCE, least_gain
from intelliperf_swizzle.search import builds
from intelliperf_swizzle.search.padding import find_paddings
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Edited
from intelliperf_swizzle.search.subject import Subject

GROUPS = (4, 8, 16)
"""Values that a parameter which renumbers tiles is tried with."""


def find_parameters(case: builds.Case, subject: Subject) -> Iterator[records.Cure]:
    """Other values of constexprs that change which program computes which tile, and no more.

    The tiles are the same.
    """
    requests = subject.baseline.l2_requests or 0
    causes = subject.baseline.causes or ()
    if sum(one.other_domain + one.capacity + one.conflict for one in causes) < (
        builds.LEAST_CAUSE * requests
    ):
        return
    launch = case.launch
    names = [
        name
        for name in launch.constexprs
        if name in launch.constants and name not in case.traced.trace.immaterial
    ]
    tiles = np.sort(_footprints(case.traced.trace))
    for name in _renumbering(case, names):
        values = [value for value in GROUPS if value != launch.constants[name]]
        traces = case.trace([builds.with_arguments(launch, {name: value}) for value in values])
        same = [
            ({name: value}, one)
            for value, one in zip(values, traces, strict=True)
            if one is not None and np.array_equal(np.sort(_footprints(one)), tiles)
        ]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            measured = pool.map(lambda one: case.replay(stream_of(one[1])), same)
        for one, (arguments, _) in zip(measured, same, strict=True):
            yield replace(builds.cure_of("parameter", one), arguments=arguments)


def _renumbering(case: builds.Case, names: Sequence[str]) -> list[str]:
    """The parameters with which one program, and many, still make accesses of the same shapes."""
    for programs in (1, builds.PROBE_PROGRAMS):
        few = builds.few_programs(case.launch, programs)
        changed = [builds.with_arguments(few, {name: _another(few, name)}) for name in names]
        same, *others = case.trace([few, *changed]) if names else [None]
        names = [name for name, one in zip(names, others, strict=True) if _alike(same, one)]
    return list(names)


def _another(launch: records.Launch, name: str) -> int:
    return 4 if launch.constants[name] == 8 else 8


def _alike(one: records.Trace | None, other: records.Trace | None) -> bool:
    """Whether programs make accesses of the same shapes, wherever they are."""
    return (
        one is not None
        and other is not None
        and np.array_equal(one.tile_offset, other.tile_offset)
        and np.array_equal(one.shape_line, other.shape_line)
        and np.array_equal(one.shape_sectors, other.shape_sectors)
        and np.array_equal(one.access_shape, other.access_shape)
    )


def _footprints(trace: records.Trace) -> records.Int64Array:
    """A number for what each tile touches, in its order: int64[tiles], wrapping."""
    with np.errstate(over="ignore"):
        place = np.arange(len(trace.access_base)) - np.repeat(
            trace.tile_offset[:-1], np.diff(trace.tile_offset)
        )
        shapes = np.array(
            [
                hash(
                    (int(kind), trace.shape_line[a:b].tobytes(), trace.shape_sectors[a:b].tobytes())
                )
                for kind, a, b in zip(
                    trace.shape_kind, trace.shape_offset[:-1], trace.shape_offset[1:], strict=True
                )
            ],
            np.int64,
        )
        access = trace.access_base.astype(np.int64) * 0x9E3779B97F4A7C1
        access += shapes[trace.access_shape]
        mixed = (access ^ access >> 29) * (2 * place + 1)
        mixed = np.concatenate((np.zeros(1, np.int64), np.cumsum(mixed ^ mixed >> 31)))
        return np.diff(mixed[trace.tile_offset])


def case_of(setup: Setup, subject: Subject) -> tuple[builds.Case, bool]:
    """The largest launch by itself, and whether it is the only one."""
    largest = subject.traced[0]
    alone = len(subject.traced) == largest.launch.count == 1
    return builds.Case(setup, largest, _modelled(subject.baseline) if alone else None), alone


def compare_cures(
    setup: Setup,
    subject: Subject,
    best: Edited | None,
    progress: Progress,
    parameters: Callable[[], Sequence[records.Cure]] | None = None,
) -> records.Cures | None:
    """The cures of a kernel; None if its launches are too short for any to matter.

    Args:
        setup: of the run.
        subject: the kernel.
        best: the best swizzle, if there is one.
        progress: told of what is looked at.
        parameters: what waits for `find_parameters`, if that was begun before.

    Cost: a replay for each cure, an interpretation of a few programs for each argument that may be
    a stride or a parameter, and of the whole launch for each padding and each value of a parameter.
    """
    case, alone = case_of(setup, subject)
    before = case.before
    time, least = before.modelled_time_ms or 0.0, least_gain(before)
    if time < setup.target.launch_us / 1e3:
        return None
    if subject.baseline.bound_by_arithmetic or subject.baseline.only_compulsory:
        return records.Cures(before.l2_hit_rate, time, (), _no_cure(subject, before))
    progress.phase(f"comparing cures for {subject.kernel} (model)")
    found = []
    if best:
        known = _modelled(best.attempt.measurement) or best.attempt.predicted if alone else None
        found.append(builds.cure_of("swizzle", known or case.replay(tile=best.proved.tiles()[0])))
    arguments = tuple(parameters() if parameters else find_parameters(case, subject))
    found += arguments
    # beside a gain that a GPU has measured, no modelled one is needed
    found += () if setup.device and best else find_paddings(case, subject, best)
    by_rate = not (setup.device or subject.tells_time(setup.target))
    gaining = [one for one in found if one.time_ms < time * (1 - least)]
    if by_rate:
        more = before.l2_hit_rate + MODEL_RATE_ERROR
        found = [one for one in found if one.time_ms <= time * (1 + TIME_TOLERANCE)]
        gaining = [one for one in found if one.l2_hit_rate > more]
    cures = tuple(_ranked(gaining, least, by_rate)) if gaining else ()
    reason = None if cures else _no_cure(subject, before)
    return records.Cures(before.l2_hit_rate, time, cures, reason, arguments)


def _modelled(measured: records.Measurement | None) -> records.Measurement | None:
    return measured if measured and measured.profiler == "model" else None


def _ranked(cures: Sequence[records.Cure], least: float, by_rate: bool) -> list[records.Cure]:
    """The cheapest that the model cannot tell from the best, then the best of each other kind.

    By time; `by_rate`: by hit rate, where nothing is claimed of time.
    """

    def price(one: records.Cure) -> tuple[int, int, float]:
        more = one.padding.bytes if one.padding else 0
        return get_args(records.CureKind).index(one.kind), more, one.time_ms

    by_time = sorted(cures, key=lambda one: one.time_ms)
    equals = [one for one in cures if one.time_ms <= by_time[0].time_ms * (1 + least)]
    if by_rate:
        most = max(one.l2_hit_rate for one in cures)
        equals = [one for one in cures if one.l2_hit_rate >= most - MODEL_RATE_ERROR]
    first = min(equals, key=price)
    others = {one.kind: one for one in reversed(by_time) if one.kind != first.kind}
    return [first, *sorted(others.values(), key=lambda one: one.time_ms)]


def _no_cure(subject: Subject, before: records.Measurement) -> str:
    """Why nothing helps."""
    if subject.baseline.only_compulsory:
        return "nearly all misses are compulsory: every line is fetched once"
    if subject.baseline.bound_by_arithmetic:
        return "the kernel is bound by arithmetic"
    if subject.ceiling.l2_hit_rate - before.l2_hit_rate < builds.LEAST_GAIN:
        return "the L2 hit rate is at its ceiling"
    return "nothing that was tried gains more than the model can tell"
