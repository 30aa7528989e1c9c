# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The compiled inner loops of the cache model. Everything here imports numba, so import it late.

A *domain's tiles* are those of the workgroups that land on one L2, in launch order. What the arrays
hold is documented in `stream.ReferenceStream` and `amd_replay.Drift`.
"""

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.jit import Integer, jit, loop
from intelliperf_swizzle.records import Int32Array, Int64Array, UInt8Array

POPULATION = np.array([bin(mask).count("1") for mask in range(16)], np.int64)
"""Sectors of a mask."""


@jit
def mix(value: Integer) -> np.uint64:
    """A 64-bit finaliser (splitmix64), after Steele, Lea and Flood, OOPSLA 2014."""
    x = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Lru(NamedTuple):
    """Fully associative caches that hold items, each with its lines, and drop the oldest.

    Attributes:
        lines: int32[items]; lines of each.
        older: int32[items + caches]; the item touched before each one; -1 = it is not held.
        newer: int32[items + caches]; the item touched after it. The entry of a cache, after all
            items, closes its list to a ring: it is newer than the newest and older than the oldest.
        held: int64[caches]; lines.
        room: int64[caches]; lines that each may hold.
    """

    lines: Int32Array
    older: Int32Array
    newer: Int32Array
    held: Int64Array
    room: Int64Array


@jit
def nothing_held(lines: Int32Array, caches: int, capacity: int) -> Lru:
    """Caches with nothing in them."""
    links = np.empty((len(lines) + caches, 2), np.int32)  # both of an item lie together
    held, room = np.empty(caches, np.int64), np.full(caches, capacity)
    lru = Lru(lines, links[:, 0], links[:, 1], held, room)
    forget(lru)
    return lru


@loop
def forget(lru: Lru) -> None:
    """Empties the caches."""
    items = len(lru.lines)
    for item in range(items):
        lru.older[item] = -1
    for cache in range(len(lru.held)):
        lru.older[items + cache] = lru.newer[items + cache] = items + cache
        lru.held[cache] = 0


@loop
def hold(lru: Lru, item: int, cache: int) -> bool:
    """Makes an item the newest; the oldest ones make room. Whether it was held before."""
    was = renew(lru, item, cache)
    while lru.held[cache] > lru.room[cache]:
        drop_oldest(lru, cache)
    return was


@loop
def renew(lru: Lru, item: int, cache: int) -> bool:
    """Makes an item the newest, room or not. Whether it was held before."""
    older, newer = lru.older, lru.newer
    end = len(lru.lines) + cache
    if older[end] == item:
        return True
    was = older[item] >= 0
    if was:
        _take_out(older, newer, item)
    else:
        lru.held[cache] += lru.lines[item]
    newest = older[end]
    older[item], newer[item] = newest, end
    newer[newest] = older[end] = item
    return was


@loop
def drop_oldest(lru: Lru, cache: int) -> int:
    """Takes the oldest item out; which it was."""
    oldest = lru.newer[len(lru.lines) + cache]
    _take_out(lru.older, lru.newer, oldest)
    lru.older[oldest] = -1
    lru.held[cache] -= lru.lines[oldest]
    return oldest


@loop
def _take_out(older: Int32Array, newer: Int32Array, item: int) -> None:
    newer[older[item]] = newer[item]
    older[newer[item]] = older[item]


@jit
def llc_hits(unit: Int32Array, lines: Int32Array, units: int, capacity: int) -> int:
    """Lines found in a last-level cache that all domains share, LRU over units.

    `unit` and `lines` are the domains' logs of read misses, merged by round; `units` is how many
    units the stream has; `capacity` counts lines.
    """
    lru = nothing_held(np.zeros(units, np.int32), 1, capacity)
    hits = 0
    for i in range(len(unit)):
        u = unit[i]
        renew(lru, u, 0)
        found = min(lru.lines[u], lines[i])
        hits += found
        lru.lines[u] += lines[i] - found
        lru.held[0] += lines[i] - found
        while lru.held[0] > lru.room[0]:
            lru.lines[drop_oldest(lru, 0)] = 0
    return hits


# --- why an L2 misses -----------------------------------------------------------------------------
#
# The classes are those of `records.attempts.MissCauses`. A fully associative LRU of the same size
# stands beside each L2 and is touched by the same requests in the same order. It holds *items*,
# lines that are always touched together, and holds all lines of an item or none: since the last
# touch of an item the same lines have been touched for each of its lines. So it costs a few steps a
# reference, however many lines that has.

REQUESTS, COMPULSORY, OTHER_DOMAIN, CAPACITY, CONFLICT = range(5)
"""Columns of what is counted for each tensor."""
COLUMNS = 5


class Causes(NamedTuple):
    """What classifying misses needs, and what was found. All arrays are empty if not asked for.

    Attributes:
        tensor: int32[units]; of each unit.
        counted: int64[tensors, COLUMNS]; requests, and the misses of each class.
        lru: a fully associative one beside each L2.
        kept: uint8[items]; sectors that are held. Only where lines have sectors (`sectors`).
        seen: uint8[items]; sectors that have ever been in the L2. Only there.
        first: int32[units]; the round of a unit's first miss in the L2, -1 = never. Only where a
            unit is one item (`lines`).
        first_requests: int32[units]; requests that missed then. Only there.
    """

    tensor: Int32Array
    counted: Int64Array
    lru: Lru
    kept: UInt8Array
    seen: UInt8Array
    first: Int32Array
    first_requests: Int32Array


@jit
def watch(
    tensor: Int32Array, tensors: int, lines: Int32Array, caches: int, capacity: int
) -> Causes:
    """Begins to look for causes, with nothing held; nothing is looked for without `tensor`."""
    units = len(tensor)
    watched = lines if units > 0 else np.zeros(0, np.int32)
    items = len(watched)
    return Causes(
        tensor,
        np.zeros((tensors, COLUMNS), np.int64),
        nothing_held(watched, caches, capacity),
        np.zeros(items, np.uint8),
        np.zeros(items, np.uint8),
        np.full(units, -1, np.int32),
        np.zeros(units, np.int32),
    )


@loop
def explain_unit(causes: Causes, u: int, requests: int, missed: int, now: Integer) -> None:
    """Counts a reference to a unit of an L2 that knows no other: its requests and its misses."""
    counted = causes.counted[causes.tensor[u]]
    counted[REQUESTS] += requests
    held = hold(causes.lru, u, 0)
    if causes.first[u] < 0:
        causes.first[u] = now
        causes.first_requests[u] = missed
    else:
        counted[CONFLICT if held else CAPACITY] += missed


@loop
def explain_sectors(
    causes: Causes,
    item: int,
    there: Integer,
    sectors: Integer,
    brought: Integer,
    missing: Integer,
    late: Integer,
) -> None:
    """Counts the misses of a part of a unit, in an L2 beside another one.

    Args:
        causes: of both.
        item: `4 * unit + part`.
        there: the sectors of these lines that have ever been in the other L2.
        sectors: that are asked for.
        brought: that a miss of each of them brings, with itself.
        missing: those of `sectors` that are counted as misses.
        late: those of them that the other L2's request is just bringing.
    """
    counted = causes.counted[causes.tensor[item >> 2]]
    lines = causes.lru.lines[item]
    if not hold(causes.lru, item, item >> 1 & 1):
        causes.kept[item] = 0
    kept, seen = np.int64(causes.kept[item]), np.int64(causes.seen[item])
    again = missing & ~late
    new = again & ~seen
    counted[COMPULSORY] += POPULATION[new & ~there] * lines
    counted[OTHER_DOMAIN] += (POPULATION[new & there] + POPULATION[missing & late]) * lines
    counted[CAPACITY] += POPULATION[again & seen & ~kept] * lines
    counted[CONFLICT] += POPULATION[again & seen & kept] * lines
    causes.kept[item] |= np.uint8(sectors | brought)
    causes.seen[item] |= np.uint8(sectors | brought)
