# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The replay of one domain line by line, and of the last-level cache behind all domains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.cache.amd_replay import Drift
from intelliperf_swizzle.cache.compiled import mix
from intelliperf_swizzle.cache.compiled.causes import Causes, explain_unit, watch
from intelliperf_swizzle.cache.compiled.sectors import POPULATION
from intelliperf_swizzle.cache.compiled.slots import ELAPSED, Rounds, end_turn, next_turn, rounds
from intelliperf_swizzle.jit import Integer, jit, loop
from intelliperf_swizzle.records import Int32Array, Int64Array, UInt8Array


@jit
def sets_of(
    lines: Int32Array, channel_masks: Int64Array, set_masks: Int64Array, channels: int, sets: int
) -> Int32Array:
    """The set of each line, counted over all channels: `int32[n]` -> `int32[n]`.

    Bit `i` of the channel is the parity of the line number under `channel_masks[i]`, and so for
    the set within the channel; without masks, the index is a hash of all bits.
    """
    out = np.empty(len(lines), np.int32)
    for i in range(len(lines)):
        line = np.int64(lines[i])
        channel = _index(line, channel_masks, channels, 1)
        out[i] = channel * sets + _index(line, set_masks, sets, 2)
    return out


@jit
def _index(line: np.int64, masks: Int64Array, size: int, salt: int) -> Integer:
    if len(masks) == 0:
        return np.int64(mix(line * 4 + salt) % np.uint64(size))
    index = 0
    for b in range(len(masks)):
        x = line & masks[b]
        x ^= x >> 32
        x ^= x >> 16
        x ^= x >> 8
        x ^= x >> 4
        x ^= x >> 2
        x ^= x >> 1
        index |= (x & 1) << b
    return index


class References(NamedTuple):
    """What the tiles refer to; the fields of `stream.ReferenceStream` of these names."""

    tile_offset: Int64Array
    ref_unit: Int32Array
    ref_code: UInt8Array
    unit_offset: Int64Array


class Caches(NamedTuple):
    """The caches of a domain.

    Attributes:
        set_of: int32[lines touched]; the L2 set of each line of `unit_line`.
        ways: of the L2.
        lines: that the L2 holds.
        l1_lines: that an L1 holds; 0 = there is none.
        cus: CUs, each with an L1; slot `s` is on CU `s % cus`.
    """

    set_of: Int32Array
    ways: int
    lines: int
    l1_lines: int
    cus: int


class DomainTraffic(NamedTuple):
    """What was counted in one domain.

    Attributes:
        requests: int64[64]; lines requested of the L2, by reference code.
        misses: int64[64]; those that were not there.
        l1_hits: lines that reads found in an L1.
        written_sectors: sectors that are written back.
        log: of read misses: round, unit and lines of each reference with misses, or clock, piece
            of a unit and lines, int32[3, n].
        causes: of the misses, but for each unit's first, which needs a look at all domains.
        clocks: until the last workgroup was done; 0 where rounds stand for time.
    """

    requests: Int64Array
    misses: Int64Array
    l1_hits: int
    written_sectors: int
    log: Int32Array
    causes: Causes
    clocks: float


class Asked(NamedTuple):
    """What is asked of the causes of misses.

    Attributes:
        tensor: int32[units]; the tensor of each; empty = nothing is asked.
        tensors: how many there are.
        requests: int64[64]; L2 requests of a line, by reference code.
        misses: int64[64]; those of them that miss where the line does.
    """

    tensor: Int32Array
    tensors: int
    requests: Int64Array
    misses: Int64Array


class L1s(NamedTuple):
    """The units that each L1 holds. LRU over whole units is LRU over their lines, which are always
    touched together.

    Attributes:
        recent: int32[cus, lines]; newest first.
        counts: int64[cus, 2]; how many units these are, and their lines.
        unit_lines: int32[units]; lines of each unit.
        capacity: in lines.
    """

    recent: Int32Array
    counts: Int64Array
    unit_lines: Int32Array
    capacity: int


class Sets(NamedTuple):
    """An L2, line by line; lines as numbered in `unit_line`.

    Attributes:
        set_of: int32[lines].
        held: int64[sets, ways]; `line << 4 | sectors written`, newest first; -1 = nothing.
    """

    set_of: Int32Array
    held: Int64Array


@jit
def replay_domain(
    tiles: Int32Array, refs: References, caches: Caches, drift: Drift, domain: int, asked: Asked
) -> DomainTraffic:
    """Replay one domain's workgroups through its L1s and its L2, line by line, from cold.

    `tiles` are those of the domain's workgroups, in launch order.
    """
    l1s, l2 = cold(refs, caches)
    references = 0
    for tile in tiles:
        references += refs.tile_offset[tile + 1] - refs.tile_offset[tile]
    counts = no_counts(references)
    causes = watch(asked.tensor, asked.tensors, l1s.unit_lines, 1, caches.lines)
    turns = rounds(tiles, refs.tile_offset, drift, domain)
    _replay(turns, refs, l1s, l2, counts, asked, causes)
    return domain_traffic(counts, causes, 0.0)


@jit
def no_counts(most: int) -> Counts:
    """Nothing counted, and room for so many entries of the log."""
    zeros = np.zeros(64, np.int64)
    return Counts(zeros, zeros.copy(), np.zeros(3, np.int64), np.empty((3, most), np.int32))


@jit
def domain_traffic(counts: Counts, causes: Causes, clocks: float) -> DomainTraffic:
    """What was counted, by the end."""
    l1_hits, written, logged = counts.totals[L1_HITS], counts.totals[WRITTEN], counts.totals[LOGGED]
    log = counts.log[:, :logged].copy()
    return DomainTraffic(counts.requests, counts.misses, l1_hits, written, log, causes, clocks)


class Counts(NamedTuple):
    """What `DomainTraffic` is made of; `totals` are L1_HITS, sectors WRITTEN and entries LOGGED."""

    requests: Int64Array
    misses: Int64Array
    totals: Int64Array
    log: Int32Array


L1_HITS, WRITTEN, LOGGED = range(3)


@loop
def _replay(
    turns: Rounds,
    refs: References,
    l1s: L1s,
    l2: Sets,
    counts: Counts,
    asked: Asked,
    causes: Causes,
) -> None:
    s = next_turn(turns)
    while s >= 0:
        place = turns.slots.at[s]
        last = False
        while not last:
            u = refs.ref_unit[place]
            last = u >= 0
            if not last:
                u = ~u
            code = refs.ref_code[place]
            kind = code >> 4
            place += 1
            lines = l1s.unit_lines[u]
            if kind == 0 and l1s.capacity > 0 and in_l1(l1s, s % len(l1s.recent), u):
                counts.totals[L1_HITS] += lines
                continue
            sectors = code & 15 if kind != 0 else 0
            missed = 0
            for line in range(refs.unit_offset[u], refs.unit_offset[u + 1]):
                before = touch(l2.held[l2.set_of[line]], line, sectors)
                missed += before < 0
                counts.totals[WRITTEN] += POPULATION[sectors & ~max(before, 0)]
            counts.requests[code] += lines
            counts.misses[code] += missed
            if len(causes.tensor) > 0:
                requested, missing = lines * asked.requests[code], missed * asked.misses[code]
                explain_unit(causes, u, requested, missing, turns.state[ELAPSED])
            if missed > 0 and kind != 1:
                log_misses(counts, turns.state[ELAPSED], u, missed)
        end_turn(turns, s, place)
        s = next_turn(turns)


@loop
def log_misses(counts: Counts, now: Integer, u: Integer, missed: int) -> None:
    """Note when lines of a unit, or of a piece of one, were fetched."""
    entry = counts.totals[LOGGED]
    counts.log[0, entry] = now
    counts.log[1, entry] = u
    counts.log[2, entry] = missed
    counts.totals[LOGGED] += 1


@jit
def cold(refs: References, caches: Caches) -> tuple[L1s, Sets]:
    """The caches with nothing in them."""
    units = len(refs.unit_offset) - 1
    unit_lines = np.empty(units, np.int32)
    for u in range(units):
        unit_lines[u] = refs.unit_offset[u + 1] - refs.unit_offset[u]
    recent = np.empty((caches.cus, max(1, caches.l1_lines)), np.int32)
    l1s = L1s(recent, np.zeros((caches.cus, 2), np.int64), unit_lines, caches.l1_lines)
    lines = len(caches.set_of)
    sets = 1
    for k in range(lines):
        sets = max(sets, caches.set_of[k] + 1)
    return l1s, Sets(caches.set_of, np.full((sets, caches.ways), -1, np.int64))


@loop
def in_l1(l1s: L1s, cu: int, unit: int) -> bool:
    """Whether a CU's L1 holds a unit; it then is its newest, the oldest ones making room."""
    recent, counts = l1s.recent[cu], l1s.counts[cu]
    found = 0
    count = counts[0]
    while found < count and recent[found] != unit:
        found += 1
    hit = found < count
    if not hit:
        if l1s.unit_lines[unit] > l1s.capacity:
            return False
        counts[1] += l1s.unit_lines[unit]
        while counts[1] > l1s.capacity:
            count -= 1
            counts[1] -= l1s.unit_lines[recent[count]]
        found = count
        counts[0] = count + 1
    while found > 0:
        recent[found] = recent[found - 1]
        found -= 1
    recent[0] = unit
    return hit


@loop
def touch(held: Int64Array, line: int, sectors: Integer) -> int:
    """Makes a line the newest of its set, with more sectors written; -1 if it was not there, else
    those that were written before."""
    before = -1
    moved = np.int64(line) << 4 | sectors
    for way in range(len(held)):
        there = held[way]
        held[way] = moved
        if there >> 4 == line:
            before = there & 15
            held[0] |= before
            break
        moved = there
    return before


@jit
def llc_hits(unit: Int32Array, lines: Int32Array, units: int, capacity: int) -> int:
    """Lines found in a last-level cache that all domains share, LRU over units.

    `unit` and `lines` are the domains' logs of read misses, merged by round; `units` is how many
    units the stream has; `capacity` counts lines.
    """
    latest = np.full(units, -1, np.int64)
    held = np.zeros(units, np.int32)
    tail = 0
    used = 0
    hits = 0
    for head in range(len(unit)):
        u = unit[head]
        found = min(held[u], lines[head]) if latest[u] >= 0 else 0
        hits += found
        if latest[u] < 0:
            held[u] = 0
        held[u] += lines[head] - found
        used += lines[head] - found
        latest[u] = head
        while used > capacity:
            v = unit[tail]
            if latest[v] == tail:
                latest[v] = -1
                used -= held[v]
            tail += 1
    return hits
