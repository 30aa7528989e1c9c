# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Other tile sizes of a kernel whose grid can be computed anew."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.frontends.ports import Resizer
from intelliperf_swizzle.hardware.occupancy import Build
from intelliperf_swizzle.records import Access, Cure, Launch, Trace
from intelliperf_swizzle.search.builds import compile_variants, resident_workgroups
from intelliperf_swizzle.search.changed_launch import Case, cure_of

MOST_PROGRAMS = 1 << 16
"""Programs of a launch that is looked at; each launch is traced whole, a second or two."""
SECTORS = np.array([mask.bit_count() for mask in range(16)])
"""How many sectors a mask has."""


def find_tile_sizes(case: Case, least_ms: float = math.inf) -> list[Cure]:
    """The launch with one tile size halved or doubled, where that touches the same memory.

    None where arithmetic takes longer than memory, or the build would spill more registers than it
    does, or take more shared memory than a CU has.

    Args:
        case: the launch.
        least_ms: memory time with the best cure so far; if arithmetic takes as long, other tiles
            have nothing left to gain.
    """
    before = case.before
    least_ms = min(least_ms, before.modelled_memory_time_ms or 0.0)
    if (before.arithmetic_time_ms or 0.0) >= least_ms:
        return []
    language = case.setup.language
    every = language.retile(case.launch) if isinstance(language, Resizer) else ()
    launches = [one for one in every if one.programs <= MOST_PROGRAMS]
    if not launches:
        return []
    touched = _touched(case.traced.trace)

    def cure(launch: Launch, trace: Trace | None) -> Cure | None:
        if trace is None or trace.segments != case.traced.trace.segments:
            return None
        build = _build(case, launch) if _touched(trace) == touched else None
        if build is None:
            return None
        resident = resident_workgroups(build, case.setup.target)
        found = cure_of("tile size", case.replay(stream_of(trace), occupancy=resident))
        was = case.launch.constants
        changed = {name: value for name, value in launch.constants.items() if was[name] != value}
        return replace(found, arguments=changed)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        cures = pool.map(cure, launches, case.trace(launches))
        return [one for one in cures if one is not None]


def _build(case: Case, launch: Launch) -> Build | None:
    """How the launch is compiled; None where it cannot be, or no CU has room for it."""
    builds, _ = compile_variants([launch], case.setup)
    was = case.traced.build
    for build in builds.values():
        spills = (build.stack_bytes or 0) > ((was.stack_bytes if was else None) or 0)
        if not spills and build.lds_bytes <= case.setup.target.lds_bytes_per_cu:
            return build
    return None


def _touched(trace: Trace) -> tuple[bytes, bytes, int]:
    """Kind and line of all that a launch touches, and which sectors, each once; and how many
    sectors it stores in all."""
    key, times = np.unique(
        trace.access_shape.astype(np.int64) << 32 | trace.access_base, return_counts=True
    )
    shape = key >> 32
    lengths = np.diff(trace.shape_offset)[shape]
    begin = np.cumsum(lengths) - lengths
    place = np.repeat(trace.shape_offset[shape] - begin, lengths) + np.arange(lengths.sum())
    kind = np.repeat(trace.shape_kind[shape].astype(np.int64), lengths)
    at = kind << 32 | np.repeat(key & 0xFFFFFFFF, lengths) + trace.shape_line[place]
    sectors = trace.shape_sectors[place]
    stored = SECTORS[sectors] * np.repeat(times, lengths) * (kind != Access.READ)
    order = np.argsort(at, kind="stable")
    lines, first = np.unique(at[order], return_index=True)
    masks = np.bitwise_or.reduceat(sectors[order], first)
    return lines.tobytes(), masks.tobytes(), int(stored.sum())
