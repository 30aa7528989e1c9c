# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How a target's counters count a line: in requests, of which some or all can miss;
and from that an L2 hit rate that no order of a launch's tiles can exceed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from intelliperf_swizzle.cache.stream import ReferenceStream, stream_of
from intelliperf_swizzle.hardware import NvidiaGpu, Target
from intelliperf_swizzle.records import LINE_BYTES, SECTOR_BYTES, Access, Ceiling, Int64Array, Trace

AnyGpu = TypeVar("AnyGpu", bound=Target)

CODES = np.arange(64)
"""Every reference code, `kind << 4 | sectors`."""
_KIND = CODES >> 4
_SECTORS_A_LINE = LINE_BYTES // SECTOR_BYTES


def as_stored(stream: ReferenceStream, target: AnyGpu) -> AnyGpu:
    """The target, whose writes are as wide as the layout of what a launch stores makes them."""
    of_products = target.l2_product_write_request_bytes
    if of_products is None or not stream.multiplies:
        return target
    return replace(target, l2_write_request_bytes=of_products)


def requests_per_line(target: Target) -> Int64Array:
    """L2 requests that touching a line takes, by reference code: int64[64].

    A read takes one request for each piece of `l2_read_request_bytes` that it touches; a write or
    an atomic one for each of `l2_write_request_bytes`.
    """
    read = _pieces(target.l2_read_request_bytes)
    write = _pieces(target.l2_write_request_bytes)
    return np.where(_KIND == Access.READ, read, write)


def misses_per_line(target: Target) -> Int64Array:
    """Of those requests, how many are counted as misses if the line is not there: int64[64].

    Where one request covers a line, or where a write allocates (AMD), the first request of the
    line misses and brings it, and the others hit. Where the counter counts sectors (NVIDIA), each
    one misses, and a plain write may count as a hit whatever happens.
    """
    requests = requests_per_line(target)
    sectored = target.l2_read_request_bytes == SECTOR_BYTES
    misses = requests if sectored else np.minimum(requests, 1)
    if target.l2_writes_always_hit:
        misses = np.where(_KIND == Access.WRITE, 0, misses)
    return misses


def bytes_per_line(target: Target) -> Int64Array:
    """Bytes that the L2 moves for a line, by reference code: int64[64]."""
    size = np.where(
        _KIND == Access.READ, target.l2_read_request_bytes, target.l2_write_request_bytes
    )
    return requests_per_line(target) * size


def requests(trace: Trace, target: Target) -> int:
    """L2 requests of a launch whose L1s save none; the same for every order of its programs."""
    return stream_requests(stream_of(trace), target)


def stream_requests(stream: ReferenceStream, target: Target) -> int:
    """`requests` of a launch that is a stream already."""
    lines = stream.unit_lines[stream.plain_units].astype(np.int64)
    per_line = requests_per_line(as_stored(stream, target))
    return int((lines * per_line[stream.ref_code]).sum())


def _pieces(request_bytes: int) -> Int64Array:
    """Aligned pieces of this size with a sector of the mask in them, by reference code."""
    sectors_a_piece = max(1, request_bytes // SECTOR_BYTES)
    piece = (1 << sectors_a_piece) - 1
    pieces: Int64Array = np.sum(
        [(CODES >> first & piece) > 0 for first in range(0, _SECTORS_A_LINE, sectors_a_piece)],
        axis=0,
        dtype=np.int64,
    )
    return pieces


@dataclass(frozen=True)
class Extremes:
    """What every order of one launch has in common.

    Attributes:
        misses: no order has fewer L2 misses.
        requests: no order has more L2 requests.
    """

    misses: int
    requests: int

    @property
    def hit_rate(self) -> float:
        """No order's hit rate is greater; 1 where nothing is requested."""
        return 1 - self.misses / self.requests if self.requests else 1.0


def ceiling(
    traces: Sequence[Trace], target: Target, counts: Sequence[int] | None = None
) -> Ceiling:
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
    each = [extremes(stream_of(trace), target) for trace in traces]
    if counts is None:
        best = max(each, key=lambda one: one.hit_rate)
    else:
        best = Extremes(
            misses=sum(one.misses * n for one, n in zip(each, counts, strict=True)),
            requests=sum(one.requests * n for one, n in zip(each, counts, strict=True)),
        )
    return Ceiling(
        l2_hit_rate=best.hit_rate,
        derivation=(
            f"1 - {best.misses} / {best.requests}: at least so many compulsory misses (each line "
            f"once in each of the fewest L2s of {target.name} that its programs fit on) of at most "
            "so many requests (as if no L1 saved any)"
        ),
    )


def extremes(stream: ReferenceStream, target: Target) -> Extremes:
    """The fewest misses and the most requests of any order of a launch."""
    from intelliperf_swizzle.cache.compiled.merging import unit_tiles

    lines = stream.unit_lines.astype(np.int64)
    ref_misses = misses_per_line(target)[stream.ref_code]
    tiles, first_touch = unit_tiles(stream.tile_offset, stream.ref_unit, ref_misses, stream.units)
    misses = lines * first_touch * _fewest_domains(tiles, stream, target)
    return Extremes(misses=int(misses.sum()), requests=stream_requests(stream, target))


def _fewest_domains(tiles: Int64Array, stream: ReferenceStream, target: Target) -> Int64Array:
    """The fewest domains in which so many tiles miss: int64[n] -> int64[n]."""
    if isinstance(target, NvidiaGpu):
        return np.minimum(tiles, 1)
    room = np.bincount(target.domain_of(stream.runs_in), minlength=target.num_xcds)
    fits = np.concatenate(([0], np.cumsum(np.sort(room)[::-1])))
    return np.searchsorted(fits, tiles).astype(np.int64)
