# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Why an L2 misses; the classes are those of `records.attempts.MissCauses`.

A fully associative LRU of the same size stands beside each L2 and is touched by the same requests
in the same order. It holds *items*, lines that are always touched together, and holds all lines of
an item or none: since the last touch of an item the same lines have been touched for each of its
lines. So it costs a few steps a reference, however many lines that has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.cache.compiled import Lru, hold, nothing_held
from intelliperf_swizzle.cache.compiled.sectors import POPULATION
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
