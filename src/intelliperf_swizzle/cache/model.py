# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The full look: launches replayed, and what the counters would read; and how that compares with
hardware (`benchmarks/model_accuracy.py` writes the file)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.cache.amd_replay import arithmetic, imbalance, replay_in_rounds, work
from intelliperf_swizzle.cache.nvidia_replay import replay_two_sides
from intelliperf_swizzle.cache.stream import (
    NO_TENSORS,
    ReferenceStream,
    Tensors,
    stream_of,
    tensors_of,
)
from intelliperf_swizzle.cache.traffic import (
    FULL,
    Physics,
    Traffic,
    memory_ms,
    overlap_levels,
    replayed_ms,
)
from intelliperf_swizzle.codec import decode
from intelliperf_swizzle.hardware import AmdGpu, NvidiaGpu, Target


class ReplayedLaunch(NamedTuple):
    """A launch to be replayed under a mapping.

    Attributes:
        trace: of the launch.
        tile: int64[tiles]; launch index, or number of a loop -> tile.
        launches: how often it was launched.
        occupancy: workgroups resident on one CU.
    """

    trace: records.Trace
    tile: records.Int64Array
    launches: int = 1
    occupancy: int = 1


def replay(
    runs: Sequence[tuple[records.Trace, records.Int64Array, int, int]],
    target: Target,
    physics: Physics = FULL,
    *,
    causes: bool = False,
) -> records.Measurement:
    """Replay launches under their orders and read the modelled counters.

    Every launch starts with cold caches. Hit rates are ratios of sums over all launches.

    Args:
        runs: `ReplayedLaunch`es, or tuples of the same fields; at least one.
        target: on which GPU.
        physics: which effects to take into account.
        causes: also find out why each request misses: half the time more at worst, where few lines
            are touched together, and a few hundredths where many are.

    Cost: 1 to 20 ns a line access on each core, for NVIDIA see `replay_two_sides`. Memory: 9 bytes
    a touched line and domain at work, 12 bytes a reference.

    Accuracy: mean error of the L2 hit rate in points: h200 1.3 (105 pairs), h200_held_out 1.1
    (85 pairs), h100 1.6 (190 pairs), h200_runs 3.4 (118 pairs), mi300x 2.5 (72 pairs), mi355x 3.6
    (6 pairs), mi300x_gemm 0.6 (1 pairs); docs/model-accuracy.md.
    """
    names: tuple[tuple[str, ...], ...] = ()
    if causes:
        names = tuple(dict.fromkeys(one.names for trace, *_ in runs for one in trace.segments))
    parts = [
        traffic(
            stream_of(trace),
            tile,
            target,
            occupancy,
            physics,
            tensors_of(trace, names) if causes else NO_TENSORS,
        )
        * launches
        for trace, tile, launches, occupancy in runs
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    streams = [(stream_of(trace), tile, count, held) for trace, tile, count, held in runs]
    measured = with_times(measurement(total, target, physics), streams, target)
    return replace(measured, causes=_causes(total, names))


def with_times(
    measured: records.Measurement,
    runs: Sequence[tuple[ReferenceStream, records.Int64Array, int, int]],
    target: Target,
) -> records.Measurement:
    """A measurement with what decides the time beside memory: arithmetic, and who ends last.

    Args:
        measured: of some launches.
        runs: as of `replay`, with streams in place of traces.
        target: the GPU.
    """
    computing = sum(_arithmetic_ms(stream, target) * count for stream, _, count, _ in runs)
    each = []
    for stream, tile, launches, occupancy in runs:
        taken = work(stream, target)[tile]
        if stream.program is not None:
            taken = np.bincount(stream.program, taken).astype(np.float64)
        each.append((taken, launches, occupancy))
    known = replace(
        measured, arithmetic_time_ms=computing or None, imbalance=imbalance(each, target)
    )
    return overlap_levels(known, target)


def _arithmetic_ms(stream: ReferenceStream, target: Target) -> float:
    """What the operations of a launch take on all CUs at once; 0 where none is known."""
    clocks = arithmetic(stream, target)
    if clocks is None or not target.clock_ghz:
        return 0.0
    return float(clocks.sum()) / target.cus / (target.clock_ghz * 1e6)


def _causes(
    total: Traffic, names: Sequence[tuple[str, ...]]
) -> tuple[records.MissCauses, ...] | None:
    """Those of each tensor that has requests, the most misses first; None if nobody asked."""
    if not names:
        return None
    rows = [
        records.MissCauses(one, *row)
        for one, row in zip(names, total.causes.tolist(), strict=True)
        if row[0]
    ]
    return tuple(sorted(rows, key=lambda one: (-one.misses, one.names)))


def traffic(
    stream: ReferenceStream,
    tile: records.Int64Array,
    target: Target,
    occupancy: int,
    physics: Physics = FULL,
    tensors: Tensors = NO_TENSORS,
) -> Traffic:
    """Replay one launch."""
    if stream.program is not None:
        stream = stream.whole_programs(tile, physics.turns)
        tile = np.arange(stream.tiles)
    resident = occupancy if physics.occupancy else 1
    if isinstance(target, NvidiaGpu):
        return replay_two_sides(stream, tile, target, resident, physics, tensors)
    assert isinstance(target, AmdGpu)
    return replay_in_rounds(stream, tile, target, resident, physics, tensors)


def measurement(total: Traffic, target: Target, physics: Physics = FULL) -> records.Measurement:
    """The counters' readings of some traffic, and the memory time that follows from it."""
    requests = int(total.requests.sum())
    has_llc = physics.llc and target.llc_bytes is not None
    fill_bytes = total.fill_lines * records.LINE_BYTES
    below_l2 = fill_bytes + total.written_bytes
    memory = below_l2 - total.llc_hit_lines * records.LINE_BYTES
    per_domain = tuple(
        1 - m / r if r else 0.0
        for m, r in zip(total.misses.tolist(), total.requests.tolist(), strict=True)
    )
    return records.Measurement(
        profiler="model",
        device=target.name,
        l2_hit_rate=1 - int(total.misses.sum()) / requests if requests else 0.0,
        llc_hit_rate=total.llc_hit_lines / total.fill_lines
        if has_llc and total.fill_lines
        else None,
        l2_requests=requests,
        l2_bytes=total.l2_bytes,
        llc_bytes=below_l2 if has_llc else None,
        memory_bytes=memory,
        compulsory_bytes=total.distinct_lines * records.LINE_BYTES,
        balance=float(total.requests.min() / total.requests.max()) if requests else None,
        l2_hit_rate_per_domain=per_domain,
        modelled_memory_time_ms=memory_ms(total, target, llc=has_llc),
        replayed_time_ms=replayed_ms(total, target),
        fabric_bytes=total.crossed_bytes if isinstance(target, NvidiaGpu) else None,
        l2_counter_hit_rate=_all_lookups(total, target),
    )


def _all_lookups(total: Traffic, target: Target) -> float | None:
    """The quotient of NVIDIA's own counter, which lookups from the other side are part of."""
    lookups = int(total.requests.sum()) + total.crossed_bytes // records.SECTOR_BYTES
    if not isinstance(target, NvidiaGpu) or lookups == 0:
        return None
    return 1 - (int(total.misses.sum()) + total.crossed_misses) / lookups


COMPARED = Path(__file__).with_name("accuracy.json")
MATRICES, OTHERS = "kernels that multiply matrices", "other kernels"
"""The kinds of kernels that are told apart."""


def accuracy_of(target: str, *, multiplies: bool) -> records.Accuracy | None:
    """What is known of a GPU and kernels that multiply matrices, or do not; None = nothing."""
    known = json.loads(COMPARED.read_text(encoding="utf-8")).get(target, {})
    of = known.get(MATRICES if multiplies else OTHERS)
    return decode(records.Accuracy, of) if of else None
