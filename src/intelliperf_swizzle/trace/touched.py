# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which memory of a launch its programs read, write or update."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from intelliperf_swizzle.records import Access, Int64Array, Launch, Trace


def touched_storages(launch: Launch, trace: Trace, kinds: Sequence[Access]) -> frozenset[int]:
    """Numbers of the storages of which some program touches a byte so, of those in arguments."""
    lowest, highest = _shape_extent(trace)
    chosen = np.isin(trace.shape_kind, kinds)[trace.access_shape]
    base, shape = trace.access_base[chosen], trace.access_shape[chosen]
    first_line = [segment.first_line for segment in trace.segments]
    places = {
        int(place)
        for line in (base + lowest[shape], base + highest[shape])
        for place in np.unique(np.searchsorted(first_line, line, side="right") - 1)
    }
    storages = {name: tensor.storage for name, tensor in launch.tensors()}
    names = [name for place in places if place >= 0 for name in trace.segments[place].names]
    return frozenset(storages[name] for name in names if name in storages)


def _shape_extent(trace: Trace) -> tuple[Int64Array, Int64Array]:
    """Lowest and highest relative line of each shape."""
    starts = trace.shape_offset[:-1]
    lines = trace.shape_line.astype(np.int64)
    return np.minimum.reduceat(lines, starts), np.maximum.reduceat(lines, starts)
