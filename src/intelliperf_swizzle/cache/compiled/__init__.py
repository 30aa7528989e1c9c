# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The compiled inner loops of the cache model. Everything here imports numba, so import it late.

A *domain's tiles* are those of the workgroups that land on one L2, in launch order. What the arrays
hold is said in `stream.ReferenceStream` and `amd_replay.Drift`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.jit import Integer, jit, loop
from intelliperf_swizzle.records import Int32Array, Int64Array


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
        capacity: of each cache, in lines.
    """

    lines: Int32Array
    older: Int32Array
    newer: Int32Array
    held: Int64Array
    capacity: int


@jit
def nothing_held(lines: Int32Array, caches: int, capacity: int) -> Lru:
    """Caches with nothing in them."""
    rings = len(lines) + caches
    older, newer = np.empty(rings, np.int32), np.empty(rings, np.int32)
    lru = Lru(lines, older, newer, np.empty(caches, np.int64), capacity)
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
    while lru.held[cache] > lru.capacity:
        oldest = newer[end]
        _take_out(older, newer, oldest)
        older[oldest] = -1
        lru.held[cache] -= lru.lines[oldest]
    return was


@loop
def _take_out(older: Int32Array, newer: Int32Array, item: int) -> None:
    newer[older[item]] = newer[item]
    older[newer[item]] = older[item]
