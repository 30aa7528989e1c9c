# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces launches in child processes: as recorded, and at other sizes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.dependence import Dependence, find_each
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.cpp.record.device_code import read_kernel
from intelliperf_swizzle.frontends.in_child import (
    find_dependences_in_child,
    trace_each_in_child,
    trace_in_child,
)
from intelliperf_swizzle.frontends.other_sizes import scale_launch
from intelliperf_swizzle.records import Launch, Storage, Trace

_GRANULE = 1 << 21
"""Between allocations, as the stand-in has them."""
_TILES = (2, 4, 8, 16)
"""What a thread may compute along an axis."""


def trace(launch: Launch, *, timeout_seconds: float = 600.0) -> Trace:
    """Find the cache lines that each workgroup of a launch touches, wave by wave.

    Raises:
        TraceError: something that only the GPU knows decides an address, the contents of a buffer
            were not kept, or it takes too much time or memory.
    """
    function = "intelliperf_swizzle.frontends.cpp.trace.trace_slices:trace_here"
    return trace_in_child(function, launch, {}, timeout_seconds)


def find_dependences(launches: Sequence[Launch], *, timeout_seconds: float) -> list[Dependence]:
    """Which workgroups of each launch depend on each other; no trace is kept."""
    function = "intelliperf_swizzle.frontends.cpp.trace.tracing:dependences_of"
    return find_dependences_in_child(function, launches, {}, timeout_seconds)


def dependences_of(launches: Sequence[Launch], folder: Path) -> Iterator[Dependence]:
    """That of each launch, in the child process of `find_dependences`."""
    from intelliperf_swizzle.frontends.cpp.trace.trace_slices import trace_here

    return find_each(launches, lambda launch: trace_here(launch, folder))


def trace_each(launches: Sequence[Launch], *, timeout_seconds: float = 600.0) -> list[Trace | None]:
    """As `trace`, of several; None for what cannot be traced."""
    function = "intelliperf_swizzle.frontends.cpp.trace.tracing:traces_of"
    return trace_each_in_child(function, launches, {}, timeout_seconds)


def traces_of(launches: Sequence[Launch], folder: Path) -> Iterator[Trace | None]:
    """That of each launch, in the child process of `trace_each`."""
    from intelliperf_swizzle.frontends.cpp.trace.trace_slices import trace_here

    for launch in launches:
        try:
            yield trace_here(launch, folder)
        except TraceError:
            yield None


def resize(launch: Launch, counts: Callable[[int], Iterable[int]]) -> list[Launch]:
    """A launch at other sizes; as of `frontends.ports.Resizer`.

    None if it is traced by execution, or a structure that is passed by value decides.
    """
    kernel = read_kernel(launch)
    passed = [number for number, kind in enumerate(kernel.types) if kind == "byref"]
    if kernel.slice.executed is not None or kernel.slice.decisive.intersection(passed):
        return []
    block = launch.options["block"]
    own = dict.fromkeys((*block, math.prod(block)))
    literals = re.findall(r"(?<![\w.])\d+(?![\w.])", kernel.instance + launch.source.entry.text)
    more = [extent * each for each in _TILES for extent in own]
    blocks = dict.fromkeys((*own, *map(int, literals), *more))
    made = scale_launch(launch, counts, [one for one in blocks if one > 1])
    return [_with_memory(one, launch) for one in made]


def _with_memory(made: Launch, launch: Launch) -> Launch:
    """A launch of another size with room for its buffers; variables stay where they are."""
    pairs = [(made.constants[name], old) for name, old in launch.constants.items() if old > 0]
    growth = max(1, *(-(-new // old) for new, old in pairs), 1) * -(
        -made.programs // launch.programs
    )
    passed = {view.storage for _, view in launch.tensors()}
    addresses, storages = [*launch.options["addresses"]], dict(launch.storages)
    stay = [addresses[one] + storages[one].bytes for one in storages if one not in passed]
    free = max((min(addresses[one] for one in passed), *stay)) if passed else 0
    for number in sorted(passed, key=addresses.__getitem__):
        free = -(-free // _GRANULE) * _GRANULE
        addresses[number], size = free, storages[number].bytes * growth
        storages[number] = Storage(size)
        free += size + _GRANULE
    options = {**launch.options, "addresses": tuple(addresses)}
    return replace(made, storages=storages, options=options)
