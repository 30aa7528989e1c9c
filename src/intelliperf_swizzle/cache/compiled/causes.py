# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Why an L2 misses; the classes are those of `records.MissCauses`.

A fully associative LRU of the same size stands beside each L2 and is touched by the same requests
in the same order. It holds *items*, lines that are always touched together, and holds all lines of
an item or none: since the last touch of an item the same lines have been touched for each of its
lines. So it costs a few steps a reference, however many lines that has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.jit import Integer, jit, loop
from intelliperf_swizzle.records import Int32Array, Int64Array, UInt8Array

REQUESTS, COMPULSORY, OTHER_DOMAIN, CAPACITY, CONFLICT = range(5)
"""Columns of what is counted for each tensor."""
COLUMNS = 5


class Causes(NamedTuple):
    """What tells why something misses, and what was found. All arrays are empty if nobody asks.

    Attributes:
        tensor: int32[units]; of each unit.
        counted: int64[tensors, COLUMNS]; requests, and the misses of each class.
        lines: int32[items]; lines of each item.
        older: int32[items + L2s]; the item touched before each one; -1 = it is not held.
        newer: int32[items + L2s]; the item touched after it. The entry of an L2, after all items,
            closes its list to a ring: it is newer than the newest and older than the oldest.
        held: int64[L2s]; lines.
        capacity: of each L2, in lines.
        kept: uint8[items]; sectors that are held. Only where lines have sectors (`sectors`).
        seen: uint8[items]; sectors that have ever been in the L2. Only there.
        first: int32[units]; the round of a unit's first miss in the L2, -1 = never. Only where a
            unit is one item (`lines`).
        first_requests: int32[units]; requests that missed then. Only there.
    """

    tensor: Int32Array
    counted: Int64Array
    lines: Int32Array
    older: Int32Array
    newer: Int32Array
    held: Int64Array
    capacity: int
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
    items = len(lines) if units > 0 else 0
    older, newer = np.full(items + caches, -1, np.int32), np.full(items + caches, -1, np.int32)
    for end in range(items, items + caches):
        older[end] = newer[end] = end
    return Causes(
        tensor,
        np.zeros((tensors, COLUMNS), np.int64),
        lines,
        older,
        newer,
        np.zeros(caches, np.int64),
        capacity,
        np.zeros(items, np.uint8),
        np.zeros(items, np.uint8),
        np.full(units, -1, np.int32),
        np.zeros(units, np.int32),
    )


@loop
def hold(causes: Causes, item: int, cache: int) -> bool:
    """Makes an item the newest; the oldest ones make room. Whether it was held before."""
    older, newer = causes.older, causes.newer
    end = len(causes.lines) + cache
    was = older[item] >= 0
    if was:
        _take_out(older, newer, item)
    else:
        causes.held[cache] += causes.lines[item]
    newest = older[end]
    older[item], newer[item] = newest, end
    newer[newest] = older[end] = item
    while causes.held[cache] > causes.capacity:
        oldest = newer[end]
        _take_out(older, newer, oldest)
        older[oldest] = -1
        causes.held[cache] -= causes.lines[oldest]
    return was


@loop
def _take_out(older: Int32Array, newer: Int32Array, item: int) -> None:
    newer[older[item]] = newer[item]
    older[newer[item]] = older[item]


@loop
def explain_unit(causes: Causes, u: int, requests: int, missed: int, now: Integer) -> None:
    """Counts a reference to a unit of an L2 that knows no other: its requests and its misses."""
    counted = causes.counted[causes.tensor[u]]
    counted[REQUESTS] += requests
    held = hold(causes, u, 0)
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
    population: Int64Array,
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
        population: sectors of a mask.
    """
    counted = causes.counted[causes.tensor[item >> 2]]
    lines = causes.lines[item]
    if not hold(causes, item, item >> 1 & 1):
        causes.kept[item] = 0
    kept, seen = np.int64(causes.kept[item]), np.int64(causes.seen[item])
    again = missing & ~late
    new = again & ~seen
    counted[COMPULSORY] += population[new & ~there] * lines
    counted[OTHER_DOMAIN] += (population[new & there] + population[missing & late]) * lines
    counted[CAPACITY] += population[again & seen & ~kept] * lines
    counted[CONFLICT] += population[again & seen & kept] * lines
    causes.kept[item] |= np.uint8(sectors | brought)
    causes.seen[item] |= np.uint8(sectors | brought)
