# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An L2 hit rate that no order of a launch's tiles can exceed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from intelliperf_swizzle.cache.counting import misses_per_line, stream_requests
from intelliperf_swizzle.cache.stream import ReferenceStream, stream_of
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Ceiling, Int64Array, Trace


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
    if target.l2_copies_remote_lines:
        return np.minimum(tiles, 1)
    room = np.bincount(target.domain_of(stream.runs_in), minlength=target.num_xcds)
    fits = np.concatenate(([0], np.cumsum(np.sort(room)[::-1])))
    return np.searchsorted(fits, tiles).astype(np.int64)
