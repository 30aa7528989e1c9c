# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The replay of L2s that know nothing of each other, by time or round by round (AMD)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from intelliperf_swizzle.cache.counting import (
    as_stored,
    bytes_per_line,
    misses_per_line,
    requests_per_line,
)
from intelliperf_swizzle.cache.drift import clocks_of, drift, is_pipelined, lockstep, stages_of
from intelliperf_swizzle.cache.screen import cores
from intelliperf_swizzle.cache.stream import ReferenceStream, Tensors, l2_sets
from intelliperf_swizzle.cache.traffic import Physics, Traffic
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import LINE_BYTES, SECTOR_BYTES, Access, Int32Array, Int64Array

if TYPE_CHECKING:
    from intelliperf_swizzle.cache.compiled.lines import Asked, Caches, DomainTraffic


def replay_in_rounds(
    stream: ReferenceStream,
    tile: Int64Array,
    target: Target,
    occupancy: int,
    physics: Physics,
    tensors: Tensors,
) -> Traffic:
    """Replay one launch from cold: domains side by side, then their misses through what they share.

    Where loops multiply matrices, loads are issued ahead, and the time that each takes decides how
    far workgroups drift apart (`pipelined`); elsewhere they drift apart at random, round by round.

    Cost and memory: see `model.replay`.
    """
    from intelliperf_swizzle.cache.compiled.lines import Asked

    target = as_stored(stream, target)
    per_miss = misses_per_line(target)
    caches = _caches(stream, target, physics)
    asked = Asked(*tensors, requests_per_line(target), per_miss)
    tiles = _tiles_of_domains(tile, target, physics)
    domains = _domains(stream, tiles, target, occupancy, physics, caches, asked)
    hits = 0
    if physics.llc and target.llc_bytes is not None:
        hits = _llc_hits(domains, target.llc_bytes)
    requested = np.stack([one.requests for one in domains])
    missed = np.stack([one.misses for one in domains])
    return Traffic(
        requests=requested @ requests_per_line(target),
        misses=missed @ per_miss,
        l2_bytes=int((requested @ bytes_per_line(target)).sum()),
        l1_hit_lines=sum(one.l1_hits for one in domains),
        fill_lines=int(missed[:, np.arange(64) >> 4 != Access.WRITE].sum()),
        llc_hit_lines=hits,
        written_bytes=sum(one.written_sectors for one in domains) * SECTOR_BYTES,
        distinct_lines=len(stream.unit_line),
        causes=_causes(domains, tensors),
        clocks=max(one.clocks for one in domains),
    )


def _causes(domains: list[DomainTraffic], tensors: Tensors) -> Int64Array:
    """The causes of all domains. Of a unit's first misses, one in each domain, that of the earliest
    round is compulsory, in a round that of the first domain, and the others are another domain's.
    """
    from intelliperf_swizzle.cache.compiled.causes import COMPULSORY, OTHER_DOMAIN

    counted: Int64Array = np.sum([one.causes.counted for one in domains], axis=0)
    if not tensors.number:
        return counted
    first = np.stack([one.causes.first for one in domains])
    missed = np.stack([one.causes.first_requests for one in domains])
    earliest = np.where(first < 0, np.iinfo(np.int32).max, first).argmin(axis=0)
    compulsory = missed[earliest, np.arange(len(earliest))]
    for column, misses in (
        (COMPULSORY, compulsory),
        (OTHER_DOMAIN, missed.sum(axis=0) - compulsory),
    ):
        by_tensor = np.bincount(tensors.of_unit, misses, tensors.number)
        counted[:, column] += by_tensor.astype(np.int64)
    return counted


def _caches(stream: ReferenceStream, target: Target, physics: Physics) -> Caches:
    from intelliperf_swizzle.cache.compiled.lines import Caches

    if not physics.sets:
        target = dataclasses.replace(target, l2_channel_bits=None, l2_set_bits=None)
    return Caches(
        l2_sets(stream, target),
        target.l2_ways,
        target.l2_lines_per_xcd,
        target.l1_bytes // LINE_BYTES if physics.l1 else 0,
        target.cus_per_xcd,
    )


def _tiles_of_domains(tile: Int64Array, target: Target, physics: Physics) -> list[Int32Array]:
    """The tiles of each domain's workgroups, in launch order."""
    index = np.arange(len(tile))
    domain = index * target.num_xcds // max(1, len(tile))
    if physics.dispatch:
        domain = target.domain_of(index)
    of_each = range(physics.domains or target.num_xcds)
    return [tile[domain == one].astype(np.int32) for one in of_each]


def _domains(
    stream: ReferenceStream,
    tiles: Sequence[Int32Array],
    target: Target,
    occupancy: int,
    physics: Physics,
    caches: Caches,
    asked: Asked,
) -> list[DomainTraffic]:
    """Each domain by itself, on all cores."""
    from intelliperf_swizzle.cache.compiled.latencies import replay_in_time
    from intelliperf_swizzle.cache.compiled.lines import References, replay_domain

    slots = target.cus_per_xcd * occupancy
    turns = drift(target, slots, physics.seed) if physics.drift else lockstep(target, slots)
    refs = References(stream.tile_offset, stream.ref_unit, stream.ref_code, stream.unit_offset)
    in_time = is_pipelined(stream, target, physics)
    clocks, stages = clocks_of(target), stages_of(stream, target)

    def one(d: int) -> DomainTraffic:
        if in_time:
            return replay_in_time(tiles[d], slots, refs, caches, clocks, stages, asked)
        return replay_domain(tiles[d], refs, caches, turns, d, asked)

    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(one, range(len(tiles))))


def _llc_hits(domains: list[DomainTraffic], capacity_bytes: int) -> int:
    """Merge the domains' logs by time and run them through the shared cache."""
    from intelliperf_swizzle.cache.compiled.lines import llc_hits

    rounds, unit, lines = np.concatenate([one.log for one in domains], axis=1)
    order = np.argsort(rounds, kind="stable")
    units = int(unit.max(initial=-1)) + 1
    return int(llc_hits(unit[order], lines[order], units, capacity_bytes // LINE_BYTES))
