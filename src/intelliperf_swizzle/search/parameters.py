# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Values of a parameter that a kernel has, which renumber its tiles."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.records import Cure, Int64Array, Launch, Trace
from intelliperf_swizzle.search.changed_launch import (
    LEAST_CAUSE,
    PROBE_PROGRAMS,
    Case,
    cure_of,
    few_programs,
    with_arguments,
)
from intelliperf_swizzle.search.subject import Subject

GROUPS = (4, 8, 16)
"""Values that a parameter which renumbers tiles is tried with."""


def find_parameters(case: Case, subject: Subject) -> Iterator[Cure]:
    """Other values of constexprs that change which program computes which tile, and no more.

    Of each the value with the highest hit rate: the tiles are the same (decision 4).
    """
    requests = subject.baseline.l2_requests or 0
    causes = subject.baseline.causes or ()
    if sum(one.other_domain + one.capacity + one.conflict for one in causes) < (
        LEAST_CAUSE * requests
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
        traces = case.trace([with_arguments(launch, {name: value}) for value in values])
        same = [
            ({name: value}, one)
            for value, one in zip(values, traces, strict=True)
            if one is not None and np.array_equal(np.sort(_footprints(one)), tiles)
        ]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            measured = pool.map(lambda one: case.replay(stream_of(one[1])), same)
        found = [
            replace(cure_of("parameter", one), arguments=arguments)
            for one, (arguments, _) in zip(measured, same, strict=True)
        ]
        if found:
            yield max(found, key=lambda one: one.l2_hit_rate)


def _renumbering(case: Case, names: Sequence[str]) -> list[str]:
    """The parameters with which one program, and many, still make accesses of the same shapes."""
    for programs in (1, PROBE_PROGRAMS):
        few = few_programs(case.launch, programs)
        changed = [with_arguments(few, {name: _another(few, name)}) for name in names]
        same, *others = case.trace([few, *changed]) if names else [None]
        names = [name for name, one in zip(names, others, strict=True) if _alike(same, one)]
    return list(names)


def _another(launch: Launch, name: str) -> int:
    return 4 if launch.constants[name] == 8 else 8


def _alike(one: Trace | None, other: Trace | None) -> bool:
    """Whether programs make accesses of the same shapes, wherever they are."""
    return (
        one is not None
        and other is not None
        and np.array_equal(one.tile_offset, other.tile_offset)
        and np.array_equal(one.shape_line, other.shape_line)
        and np.array_equal(one.shape_sectors, other.shape_sectors)
        and np.array_equal(one.access_shape, other.access_shape)
    )


def _footprints(trace: Trace) -> Int64Array:
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
