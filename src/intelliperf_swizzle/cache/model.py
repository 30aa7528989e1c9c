# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The full look: launches replayed, and what the counters would read; the quick one, an L2 hit rate
in milliseconds, to decide what deserves it; and how the model compares with hardware
(`benchmarks/model_accuracy.py` writes the file)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.cache import amd_replay
from intelliperf_swizzle.cache import stream as streaming
from intelliperf_swizzle.cache.nvidia_replay import nvidia_replay
from intelliperf_swizzle.cache.traffic import (
    FULL,
    Physics,
    Traffic,
    memory_ms,
    misses_per_line,
    overlap_levels,
    replayed_ms,
    stream_requests,
)
from intelliperf_swizzle.codec import decode
from intelliperf_swizzle.hardware import AmdGpu, NvidiaGpu, Target
from intelliperf_swizzle.records import Int32Array, Int64Array, Trace

if TYPE_CHECKING:
    from intelliperf_swizzle.cache.compiled.merging import Pieces


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

    Cost: 1 to 20 ns a line access on each core, for NVIDIA see `nvidia_replay`. Memory: 9 bytes
    a touched line and domain at work, 12 bytes a reference.

    Accuracy: mean error of the L2 hit rate in points: h200 1.3 (105 pairs), h200_held_out 1.1
    (85 pairs), h100 1.6 (190 pairs), h200_runs 3.4 (118 pairs), mi300x 2.5 (72 pairs), mi355x 3.6
    (6 pairs), mi300x_gemm 0.6 (1 pairs); docs/model-accuracy.md.
    """
    names: tuple[tuple[str, ...], ...] = ()
    if causes:
        names = tuple(dict.fromkeys(s.names for trace, *_ in runs for s in trace.segments))
    parts, streams = [], []
    for trace, tile, launches, occupancy in runs:
        stream = streaming.stream_of(trace)
        tensors = streaming.tensors_of(trace, names) if causes else streaming.NO_TENSORS
        parts.append(traffic(stream, tile, target, occupancy, physics, tensors) * launches)
        streams.append((stream, tile, launches, occupancy))
    total = sum(parts[1:], parts[0])
    measured = with_times(measurement(total, target, physics), streams, target)
    return replace(measured, causes=_causes(total, names))


def with_times(
    measured: records.Measurement,
    runs: Sequence[tuple[streaming.ReferenceStream, records.Int64Array, int, int]],
    target: Target,
) -> records.Measurement:
    """A measurement with what decides the time beside memory: arithmetic, and who ends last.

    Args:
        measured: of some launches.
        runs: as of `replay`, with streams in place of traces.
        target: the GPU.
    """
    computing = sum(_arithmetic_ms(stream, target) * count for stream, _, count, _ in runs)
    rows = []
    for stream, tile, launches, occupancy in runs:
        taken = amd_replay.work(stream, target)[tile]
        if stream.program is not None:
            taken = np.bincount(stream.program, taken).astype(np.float64)
        rows.append((taken, launches, occupancy))
    imbalance = amd_replay.imbalance(rows, target)
    known = replace(measured, arithmetic_time_ms=computing or None, imbalance=imbalance)
    return overlap_levels(known, target)


def _arithmetic_ms(stream: streaming.ReferenceStream, target: Target) -> float:
    """What the operations of a launch take on all CUs at once; 0 if none is known."""
    clocks = amd_replay.arithmetic(stream, target)
    if clocks is None or not target.clock_ghz:
        return 0.0
    return float(clocks.sum()) / target.cus / (target.clock_ghz * 1e6)


def _causes(
    total: Traffic, names: Sequence[tuple[str, ...]]
) -> tuple[records.MissCauses, ...] | None:
    """Those of each tensor that has requests, the most misses first; None if not asked for."""
    if not names:
        return None
    counts = zip(names, total.causes.tolist(), strict=True)
    rows = [records.MissCauses(tensor, *row) for tensor, row in counts if row[0]]
    return tuple(sorted(rows, key=lambda row: (-row.misses, row.names)))


def traffic(
    stream: streaming.ReferenceStream,
    tile: records.Int64Array,
    target: Target,
    occupancy: int,
    physics: Physics = FULL,
    tensors: streaming.Tensors = streaming.NO_TENSORS,
) -> Traffic:
    """Replay one launch."""
    if stream.program is not None:
        stream = stream.whole_programs(tile, physics.turns)
        tile = np.arange(stream.tiles)
    resident = occupancy if physics.occupancy else 1
    if isinstance(target, NvidiaGpu):
        return nvidia_replay(stream, tile, target, resident, physics, tensors)
    assert isinstance(target, AmdGpu)
    return amd_replay.replay_in_rounds(stream, tile, target, resident, physics, tensors)


def measurement(total: Traffic, target: Target, physics: Physics = FULL) -> records.Measurement:
    """The counters' readings of some traffic, and the memory time that follows from it."""
    requests = int(total.requests.sum())
    has_llc = physics.llc and target.llc_bytes is not None
    looks_up_llc = has_llc and total.fill_lines
    below_l2 = total.fill_lines * records.LINE_BYTES + total.written_bytes
    memory = below_l2 - total.llc_hit_lines * records.LINE_BYTES
    counts = zip(total.misses.tolist(), total.requests.tolist(), strict=True)
    per_domain = tuple(1 - missed / asked if asked else 0.0 for missed, asked in counts)
    return records.Measurement(
        profiler="model",
        device=target.name,
        l2_hit_rate=1 - int(total.misses.sum()) / requests if requests else 0.0,
        llc_hit_rate=total.llc_hit_lines / total.fill_lines if looks_up_llc else None,
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
MATRICES, OTHERS = "kernels that multiply matrices", "kernels without matrix products"
"""The kinds of kernels that are distinguished."""


def accuracy_of(target: str, *, multiplies: bool) -> records.Accuracy | None:
    """What is known of a GPU and kernels that multiply matrices, or do not; None = nothing."""
    known = json.loads(COMPARED.read_text(encoding="utf-8")).get(target, {})
    of = known.get(MATRICES if multiplies else OTHERS)
    return decode(records.Accuracy, of) if of else None


MOST_PIECES = 4
"""Pieces a reference, on average, up to which the parts of an L2 are worth keeping apart. Where
strides are powers of two a block lies in one or two channels (a GEMM at 8192: 1.5), and conflicts
decide; where it lies in all of them it is spread evenly and conflicts are rare."""


class Screen:
    """A launch made ready, once, for the scoring of many orders.

    The physics is that of `replay` without the L1s and the last-level cache. Units are kept whole.
    The *parts* of an L2 are its channels, or its sets where the target does not hash them; each is
    taken as fully associative, and those that hold the same units alike are taken together. Where
    that does not make the work small, where the target hashes its channels, too, or where loads are
    issued ahead, step by step, each L2 is one part.

    Args:
        trace: of the launch.
        target: on which GPU.
        occupancy: workgroups resident on one CU.

    Attributes:
        parts: into how many an L2 is divided.
    """

    def __init__(self, trace: Trace, target: Target, occupancy: int) -> None:
        stream = streaming.stream_of(trace)
        self._requests = stream_requests(stream, target)
        self._turns = None
        programs = trace.tiles
        if trace.program is not None and trace.turn is not None:
            self._turns = streaming.Turns.of(trace.program, trace.turn)
            programs = len(self._turns.first) - 1
        domain = target.domain_of(np.arange(programs))
        self._by_domain = np.argsort(domain, kind="stable")
        domains = np.arange(target.num_xcds + 1)
        self._domain_offset = domain[self._by_domain].searchsorted(domains).astype(np.int64)
        slots = target.cus_per_xcd * occupancy
        self._drift = amd_replay.drift(target, slots, seed=0)
        parts = streaming.l2_parts(stream, target)
        if amd_replay.is_pipelined(stream, target, FULL):
            self._drift = amd_replay.lockstep(target, slots)
            parts = np.zeros_like(parts[0]), 1
        self.parts, self._stream = _in_pieces(stream, target, *parts)

    def hit_rate(self, tile: Int64Array) -> float:
        """The L2 hit rate of the order `tile: int64[tiles]`, from 0 to 1; 0 without requests.

        Cost: 5 to 20 ns a piece of a unit (a GEMM of 4096 tiles refers to 1.6 M).
        """
        from intelliperf_swizzle.cache.compiled.merging import screen_misses

        if self._requests == 0:
            return 0.0
        stream = self._stream
        if self._turns is not None:
            offset, at = self._turns.join(stream.tile_offset, tile)
            pieces, misses_of = stream.ref_piece[at], stream.ref_misses[at]
            stream = stream._replace(tile_offset=offset, ref_piece=pieces, ref_misses=misses_of)
            tile = np.arange(len(offset) - 1)
        tiles = tile[self._by_domain].astype(np.int32)
        return 1.0 - screen_misses(tiles, self._domain_offset, stream, self._drift) / self._requests


def _in_pieces(
    stream: streaming.ReferenceStream, target: Target, part_of: Int32Array, parts: int
) -> tuple[int, Pieces]:
    """The number of parts that are kept apart, and the stream in pieces.

    A *class* is the parts that hold equally many lines of each unit: they see the same and so do
    the same. A *piece* is what a unit has in the parts of one class.
    """
    from intelliperf_swizzle.cache.compiled import merging
    from intelliperf_swizzle.trace.shapes import distinct

    signature = merging.part_signatures(stream.unit_offset, part_of, parts)
    _, class_of = distinct(signature.reshape(-1, 1))
    class_parts = np.bincount(class_of)
    offset, piece_class, lines = merging.unit_pieces(
        stream.unit_offset, part_of, class_of, class_parts
    )
    total = int(np.diff(offset)[stream.plain_units].sum())
    if parts > 1 and total > MOST_PIECES * len(stream.ref_unit):
        return _in_pieces(stream, target, np.zeros_like(part_of), 1)
    misses, touched = misses_per_line(target)[stream.ref_code], lines * class_parts[piece_class]
    tile_offset, ref_piece, ref_misses = merging.expand(
        total, stream.tile_offset, stream.ref_unit, misses, offset, touched
    )
    capacity = target.l2_lines_per_xcd // parts
    return parts, merging.Pieces(
        tile_offset, ref_piece, ref_misses, piece_class, lines, capacity, len(class_parts)
    )
