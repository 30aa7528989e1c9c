# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which effects a replay takes into account, what it counts, and the times that follow.

A target's counters count a line in requests, of which some or all can miss; from that follows an
L2 hit rate that no order of a launch's tiles can exceed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.cache.stream import ReferenceStream, stream_of
from intelliperf_swizzle.hardware import AmdGpu, NvidiaGpu, Target


@dataclass(frozen=True)
class Physics:
    """Which effects a replay takes into account; each can be left out by itself.

    Attributes:
        dispatch: AMD: workgroups go to domains in the target's order; else each domain gets one run
            of launch indices.
        occupancy: as many workgroups are resident as the build allows; else one per CU.
        drift: workgroups start and drift apart as the target says; else they start together and
            advance access by access.
        sets: lines are confined to the sets of a channel; else to any place, which a hash of all
            bits stands for.
        l1: an L1 a CU in front of the L2.
        llc: the last-level cache behind the L2, where the target has one.
        seed: of all that is random.
        domains: how many are replayed, the first ones; None = all. Hit rates, not bytes, of fewer
            stand for all: on orders of a transpose 8192² one of eight gives the same order as all
            (Kendall's τ 0.99). On NVIDIA both are always replayed.
        turns: how many tiles of each program are replayed where it takes several; None = all.
    """

    dispatch: bool = True
    occupancy: bool = True
    drift: bool = True
    sets: bool = True
    l1: bool = True
    llc: bool = True
    seed: int = 0
    domains: int | None = None
    turns: int | None = None


FULL = Physics()
"""Everything the model knows."""


@dataclass(frozen=True)
class Traffic:
    """What went through the levels, summed over launches; lines and requests are exact counts.

    Attributes:
        requests: int64[domains]; L2 requests.
        misses: int64[domains]; those that missed.
        l2_bytes: bytes of these requests.
        l1_hit_lines: lines that reads found in an L1.
        fill_lines: lines that the L2s fetched for reads and atomics.
        llc_hit_lines: those of them found in the last-level cache.
        written_bytes: bytes that the L2s wrote back.
        distinct_lines: different lines touched, of each launch.
        crossed_bytes: NVIDIA: bytes that went from one side of the L2 to the other.
        crossed_misses: NVIDIA: sectors of them that were not there.
        causes: int64[tensors, 5]; of each tensor the requests, and the misses that are compulsory,
            of another domain, of capacity and of conflict. No tensor if not asked for.
        row_activations: NVIDIA: rows of memory that were opened.
        clocks: of a replay by time.
    """

    requests: records.Int64Array
    misses: records.Int64Array
    l2_bytes: int
    l1_hit_lines: int
    fill_lines: int
    llc_hit_lines: int
    written_bytes: int
    distinct_lines: int
    crossed_bytes: int = 0
    crossed_misses: int = 0
    causes: records.Int64Array = field(default_factory=lambda: np.zeros((0, 5), np.int64))
    row_activations: int = 0
    clocks: float = 0.0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(*(getattr(self, f) + getattr(other, f) for f in self.__dataclass_fields__))

    def __mul__(self, count: int) -> Traffic:
        return Traffic(*(getattr(self, f) * count for f in self.__dataclass_fields__))


def memory_ms(total: Traffic, target: Target, *, llc: bool) -> float:
    """Bytes over bandwidth and rows opened, summed over the levels as if none overlapped.

    Args:
        total: what went through them.
        target: the GPU.
        llc: whether there is a last-level cache.
    """
    below_l2 = total.fill_lines * records.LINE_BYTES + total.written_bytes
    memory = below_l2 - total.llc_hit_lines * records.LINE_BYTES
    seconds = total.l2_bytes / (target.l2_gb_s * 1e9) + memory / (target.memory_gb_s * 1e9)
    if llc and target.llc_gb_s:
        seconds += below_l2 / (target.llc_gb_s * 1e9)
    if isinstance(target, NvidiaGpu):
        seconds += 1e-9 * total.row_activations * target.row_activation_ns / target.memory_channels
    return 1e3 * seconds


def replayed_ms(total: Traffic, target: Target) -> float | None:
    """When a timed replay ends; None if rounds stand for time."""
    if not total.clocks or not target.clock_ghz:
        return None
    return total.clocks / (target.clock_ghz * 1e6)


def add_division_time(
    measured: records.Measurement, divisions: int, rounds: float, target: Target
) -> records.Measurement:
    """A measurement of a swizzle with the time of the divisions that it adds.

    A workgroup divides before its first load, and the model assumes that no other workgroup hides
    that time. On an H200 16 residents of a copy hide it (`divisions.csv` in
    `benchmarks/measured/h200_probe`); those of SpMV, a transpose and a stencil do not: one division
    costs them 96 to 104 clocks a round (`docs/results/h200.md`).

    Args:
        measured: without that time.
        divisions: on the longest chain, see `emit.serial_divisions`.
        rounds: workgroups over those that are resident at once.
        target: the GPU.
    """
    if not (measured.overlapped_time_ms and isinstance(target, NvidiaGpu)):
        return measured
    clocks = divisions * rounds * target.clocks_division
    known = measured.overlapped_time_ms + clocks / ((target.clock_ghz or 1.0) * 1e6)
    return replace(measured, overlapped_time_ms=known)


def overlap_levels(measured: records.Measurement, target: Target) -> records.Measurement:
    """A launch with the time in which its L2, memory and arithmetic are at work at once, in part.

    Each takes `t` by itself; together they take `(Σ t**p) ** (1/p)`, where `p` is `target.overlap`:
    their sum for 1, the longest for infinity. Where arithmetic is the longest and all workgroups
    have the same to do, data that come late hold it up, and the timed replay says by how much.
    """
    memory, power = measured.modelled_memory_time_ms, target.overlap
    if memory is None or measured.l2_bytes is None:
        return measured
    l2 = measured.l2_bytes / (target.l2_gb_s * 1e6)
    below_l2 = max(memory - l2, 0.0)
    computing = (measured.arithmetic_time_ms or 0.0) / target.achieved_arithmetic
    if computing >= max(l2, below_l2) and measured.imbalance is None:
        computing = max(computing, measured.replayed_time_ms or 0.0)
    levels: dict[records.Level, float] = {"L2": l2, "memory": below_l2, "arithmetic": computing}
    longest: records.Level = max(levels, key=levels.__getitem__)
    total = sum(level**power for level in levels.values()) ** (1 / power)
    if isinstance(target, AmdGpu):
        total = max(total, measured.replayed_time_ms or 0.0)
    return replace(measured, overlapped_time_ms=total, longest=longest)


AnyGpu = TypeVar("AnyGpu", bound=Target)

CODES = np.arange(64)
"""Every reference code, `kind << 4 | sectors`."""
_KIND = CODES >> 4
_SECTORS_A_LINE = records.LINE_BYTES // records.SECTOR_BYTES


def as_stored(stream: ReferenceStream, target: AnyGpu) -> AnyGpu:
    """The target, whose writes are as wide as the layout of what a launch stores makes them."""
    of_products = target.l2_product_write_request_bytes
    if of_products is None or not stream.multiplies:
        return target
    return replace(target, l2_write_request_bytes=of_products)


def requests_per_line(target: Target) -> records.Int64Array:
    """L2 requests that touching a line takes, by reference code: int64[64].

    A read takes one request for each piece of `l2_read_request_bytes` that it touches; a write or
    an atomic one for each of `l2_write_request_bytes`.
    """
    read = _pieces(target.l2_read_request_bytes)
    write = _pieces(target.l2_write_request_bytes)
    return np.where(_KIND == records.Access.READ, read, write)


def misses_per_line(target: Target) -> records.Int64Array:
    """Of those requests, how many are counted as misses if the line is not there: int64[64].

    Where one request covers a line, or where a write allocates (AMD), the first request of the
    line misses and brings it, and the others hit. Where the counter counts sectors (NVIDIA), each
    one misses, and a plain write may count as a hit whatever happens.
    """
    requests = requests_per_line(target)
    sectored = target.l2_read_request_bytes == records.SECTOR_BYTES
    misses = requests if sectored else np.minimum(requests, 1)
    if target.l2_writes_always_hit:
        misses = np.where(_KIND == records.Access.WRITE, 0, misses)
    return misses


def bytes_per_line(target: Target) -> records.Int64Array:
    """Bytes that the L2 moves for a line, by reference code: int64[64]."""
    read, write = target.l2_read_request_bytes, target.l2_write_request_bytes
    return requests_per_line(target) * np.where(_KIND == records.Access.READ, read, write)


def requests(trace: records.Trace, target: Target) -> int:
    """L2 requests of a launch whose L1s save none; the same for every order of its programs."""
    return stream_requests(stream_of(trace), target)


def stream_requests(stream: ReferenceStream, target: Target) -> int:
    """`requests` of a launch that is a stream already."""
    lines = stream.unit_lines[stream.plain_units].astype(np.int64)
    return int((lines * requests_per_line(as_stored(stream, target))[stream.ref_code]).sum())


def _pieces(request_bytes: int) -> records.Int64Array:
    """Aligned pieces of this size with a sector of the mask in them, by reference code."""
    sectors_a_piece = max(1, request_bytes // records.SECTOR_BYTES)
    piece = (1 << sectors_a_piece) - 1
    firsts = np.arange(0, _SECTORS_A_LINE, sectors_a_piece)[:, None]
    pieces: records.Int64Array = np.count_nonzero(CODES >> firsts & piece, axis=0)
    return pieces


def ceiling(
    traces: Sequence[records.Trace], target: Target, counts: Sequence[int] | None = None
) -> records.Ceiling:
    """The L2 hit rate that no permutation of the programs can exceed on the target.

    With M misses and R requests the hit rate is 1 - M/R. For every order M >= C and R <= Q, hence
    1 - M/R <= 1 - C/Q, where

    - Q counts every request that the program text makes. The L1s only take requests away.
    - C counts compulsory misses. Caches are cold at the start, so in each domain where a tile
      touches a line, the first touch misses. Which domain a launch index goes to is fixed and a
      domain gets m of the n tiles, so the tiles that touch a line, T of them, cannot lie in
      fewer than the least number of domains whose m add up to T. A first touch misses with as many
      requests as that kind of access counts (half a written line, the sectors of a read); where
      kinds differ, the least is taken, and none if the counter lets writes hit. Where a domain
      finds what another one has fetched (NVIDIA), only the first touch of all is compulsory.

    No property of the caches is used, not even their size, so the bound holds for the model under
    any physics, and for any hardware that counts and dispatches as the target says.

    Args:
        traces: of the launches; at least one.
        target: on which GPU.
        counts: how often each was launched. Without them, the greatest of the launches' bounds is
            taken, which is a bound whatever the counts (the mediant of ratios lies between them).

    Cost: linear in the references; 30 ms for a GEMM of 1.05 M references once it is merged.
    """
    bounds = [extremes(stream_of(trace), target) for trace in traces]
    if counts is None:
        bounds, counts = [min(bounds, key=lambda pair: pair[0] / max(pair[1], 1))], [1]
    pairs = list(zip(bounds, counts, strict=True))
    misses, requested = (sum(pair[k] * count for pair, count in pairs) for k in (0, 1))
    return records.Ceiling(
        l2_hit_rate=1 - misses / requested if requested else 1.0,
        derivation=(
            f"1 - {misses} / {requested}: at least this many compulsory misses (each line "
            f"once in each of the fewest L2s of {target.name} that its programs fit on) of at most "
            "this many requests (as if no L1 saved any)"
        ),
    )


def extremes(stream: ReferenceStream, target: Target) -> tuple[int, int]:
    """The fewest misses and the most requests that any order of a launch has."""
    from intelliperf_swizzle.cache.compiled.merging import unit_tiles

    lines = stream.unit_lines.astype(np.int64)
    ref_misses = misses_per_line(target)[stream.ref_code]
    tiles, first_touch = unit_tiles(stream.tile_offset, stream.ref_unit, ref_misses, stream.units)
    misses = lines * first_touch * _fewest_domains(tiles, stream, target)
    return int(misses.sum()), stream_requests(stream, target)


def _fewest_domains(
    tiles: records.Int64Array, stream: ReferenceStream, target: Target
) -> records.Int64Array:
    """The fewest domains in which that many tiles miss: int64[n] -> int64[n]."""
    if isinstance(target, NvidiaGpu):
        return np.minimum(tiles, 1)
    room = np.bincount(target.domain_of(stream.runs_in), minlength=target.num_xcds)
    fits = np.concatenate(([0], np.cumsum(np.sort(room)[::-1])))
    return np.searchsorted(fits, tiles).astype(np.int64)
