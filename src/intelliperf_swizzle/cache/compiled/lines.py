# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The replay of one domain line by line, and of the last-level cache behind all domains."""

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.cache.amd_replay import Drift
from intelliperf_swizzle.cache.compiled import POPULATION, Causes, explain_unit, mix
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
        for shift in (32, 16, 8, 4, 2, 1):
            x ^= x >> shift
        index |= (x & 1) << b
    return index


class References(NamedTuple):
    """What the tiles refer to; the fields of `stream.ReferenceStream` of these names."""

    tile_offset: Int64Array
    ref_unit: Int32Array
    ref_code: UInt8Array
    unit_offset: Int64Array


class Domain(NamedTuple):
    """The caches of a domain, and what was counted there.

    Attributes:
        unit_lines: int32[units]; lines of each.
        recent: int32[cus, lines]; the units that each L1 holds, newest first. LRU over whole units
            is LRU over their lines, which are always touched together. Slot `s` is on CU `s % cus`.
        counts: int64[cus, 2]; how many units these are, and their lines.
        l1_lines: that an L1 holds; 0 = there is none.
        set_of: int32[lines touched]; the L2 set of each line of `unit_line`.
        held: int64[sets, ways]; `line << 4 | sectors written`, newest first; -1 = nothing.
        weights: int64[2, 64]; L2 requests of a line, and those of them that miss where the line
            does, by reference code.
        causes: of the misses, but for each unit's first, which needs a look at all domains.
        requests: int64[64]; lines requested of the L2, by reference code.
        misses: int64[64]; those that were not there.
        totals: int64[3]; lines that reads found in an L1, L1_HITS, sectors that are written back,
            WRITTEN, and entries LOGGED.
        log: of read misses: round, unit and lines of each reference with misses, or clock, piece
            of a unit and lines, int32[3, n].
    """

    unit_lines: Int32Array
    recent: Int32Array
    counts: Int64Array
    l1_lines: int
    set_of: Int32Array
    held: Int64Array
    weights: Int64Array
    causes: Causes
    requests: Int64Array
    misses: Int64Array
    totals: Int64Array
    log: Int32Array


L1_HITS, WRITTEN, LOGGED = range(3)


@jit
def replay_domain(
    tiles: Int32Array, refs: References, domain: Domain, drift: Drift, number: int
) -> None:
    """Replay the workgroups of a domain through its L1s and its L2, line by line.

    `tiles` are those of the domain's workgroups, in launch order.
    """
    _replay(rounds(tiles, refs.tile_offset, drift, number), refs, domain)


@loop
def _replay(turns: Rounds, refs: References, domain: Domain) -> None:
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
            place += 1
            if code >> 4 == 0 and in_l1(domain, s % len(domain.recent), u):
                continue
            missed = look_up(domain, refs.unit_offset[u], refs.unit_offset[u + 1], code)
            count(domain, u, code, missed, turns.state[ELAPSED])
            if missed > 0 and code >> 4 != 1:
                log_misses(domain, turns.state[ELAPSED], u, missed)
        end_turn(turns, s, place)
        s = next_turn(turns)


@loop
def look_up(domain: Domain, begin: int, end: int, code: Integer) -> int:
    """Touches lines in the L2; how many were not there."""
    sectors = code & 15 if code >> 4 != 0 else 0
    missed = 0
    for line in range(begin, end):
        before = _touch(domain.held[domain.set_of[line]], line, sectors)
        missed += before < 0
        domain.totals[WRITTEN] += POPULATION[sectors & ~max(before, 0)]
    return missed


@loop
def count(domain: Domain, u: int, code: Integer, missed: int, now: Integer) -> None:
    """Counts a reference to a unit of which that many lines were absent."""
    lines = domain.unit_lines[u]
    domain.requests[code] += lines
    domain.misses[code] += missed
    if len(domain.causes.tensor) > 0:
        requested, missing = lines * domain.weights[0, code], missed * domain.weights[1, code]
        explain_unit(domain.causes, u, requested, missing, now)


@loop
def log_misses(domain: Domain, now: Integer, u: Integer, missed: int) -> None:
    """Note when lines of a unit, or of a piece of one, were fetched."""
    entry = domain.totals[LOGGED]
    domain.log[0, entry] = now
    domain.log[1, entry] = u
    domain.log[2, entry] = missed
    domain.totals[LOGGED] += 1


@loop
def in_l1(domain: Domain, cu: int, unit: int) -> bool:
    """Whether a CU's L1 holds a unit; it then is its newest, the oldest ones making room."""
    if domain.l1_lines == 0:
        return False
    recent, counts, lines = domain.recent[cu], domain.counts[cu], domain.unit_lines
    found = 0
    units = counts[0]
    while found < units and recent[found] != unit:
        found += 1
    hit = found < units
    if not hit:
        if lines[unit] > domain.l1_lines:
            return False
        counts[1] += lines[unit]
        while counts[1] > domain.l1_lines:
            units -= 1
            counts[1] -= lines[recent[units]]
        found = units
        counts[0] = units + 1
    else:
        domain.totals[L1_HITS] += lines[unit]
    while found > 0:
        recent[found] = recent[found - 1]
        found -= 1
    recent[0] = unit
    return hit


@loop
def _touch(held: Int64Array, line: int, sectors: Integer) -> int:
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
