# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The scheduler of every replay: slots for resident workgroups, in rounds or by time.

A slot whose workgroup has ended takes the next one in launch order. In rounds (AMD), slots have
turns as a `Drift` says; by time (NVIDIA), a queue of events tells which slot goes on first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.cache.drift import Drift
from intelliperf_swizzle.jit import jit, loop
from intelliperf_swizzle.records import Float64Array, Int32Array, Int64Array


class Slots(NamedTuple):
    """The slots of resident workgroups, and the workgroups that wait for one.

    Attributes:
        waiting: int32[workgroups]; their tiles, in launch order.
        taken: int64[1]; how many of these have got a slot.
        tile_offset: int64[tiles + 1]; into the references.
        tile: int64[slots]; of the workgroup in a slot.
        at: int64[slots]; the reference that it makes next.
        end: int64[slots]; where its references end.
    """

    waiting: Int32Array
    taken: Int64Array
    tile_offset: Int64Array
    tile: Int64Array
    at: Int64Array
    end: Int64Array


@jit
def fill(waiting: Int32Array, tile_offset: Int64Array, slots: int) -> Slots:
    """`slots` slots, of which the first ones get a workgroup each as long as there are any."""
    tile, at, end = np.zeros(slots, np.int64), np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    taken = np.zeros(1, np.int64)
    taken[0] = min(slots, len(waiting))
    for s in range(taken[0]):
        tile[s] = waiting[s]
        at[s] = tile_offset[tile[s]]
        end[s] = tile_offset[tile[s] + 1]
    return Slots(waiting, taken, tile_offset, tile, at, end)


@loop
def occupied(slots: Slots, s: int) -> bool:
    """Whether a slot has references to make; once its workgroup has ended it takes the next one."""
    while slots.at[s] == slots.end[s]:
        following = slots.taken[0]
        if following == len(slots.waiting):
            return False
        tile = slots.waiting[following]
        slots.tile[s] = tile
        slots.at[s] = slots.tile_offset[tile]
        slots.end[s] = slots.tile_offset[tile + 1]
        slots.taken[0] = following + 1
    return True


# --- in rounds ----------------------------------------------------------------------------------


class Rounds(NamedTuple):
    """Slots that have turns, round by round.

    Attributes:
        slots: of one domain.
        drift: which of them have a turn in each round of a cycle.
        state: int64[4]; ENTRY of `drift.turn_slot` that comes next, ROUND of the cycle, rounds
            ELAPSED, and workgroups LEFT that have references to make.
    """

    slots: Slots
    drift: Drift
    state: Int64Array


ENTRY, ROUND, ELAPSED, LEFT = range(4)


@jit
def rounds(tiles: Int32Array, tile_offset: Int64Array, drift: Drift, domain: int) -> Rounds:
    """A domain before its first round."""
    state = np.zeros(4, np.int64)
    state[ROUND] = drift.first_turn[domain]
    state[ENTRY] = drift.turn_offset[state[ROUND]]
    for tile in tiles:
        state[LEFT] += tile_offset[tile + 1] > tile_offset[tile]
    return Rounds(fill(tiles, tile_offset, drift.slots), drift, state)


@loop
def next_turn(turns: Rounds) -> int:
    """The slot that makes the next access, -1 after the last one."""
    state, drift = turns.state, turns.drift
    while state[LEFT] > 0:
        for entry in range(state[ENTRY], drift.turn_offset[state[ROUND] + 1]):
            s = drift.turn_slot[entry]
            if occupied(turns.slots, s):
                state[ENTRY] = entry + 1
                return s
        state[ELAPSED] += 1
        state[ROUND] += 1
        if state[ROUND] == len(drift.turn_offset) - 1:
            state[ROUND] = 0
        state[ENTRY] = drift.turn_offset[state[ROUND]]
    return -1


@loop
def end_turn(turns: Rounds, s: int, place: int) -> None:
    """Note that a slot has made its references up to `place`."""
    turns.slots.at[s] = place
    if place == turns.slots.end[s]:
        turns.state[LEFT] -= 1


# --- by time ------------------------------------------------------------------------------------


class Events(NamedTuple):
    """A binary heap: which slot goes on when, the earliest first.

    Attributes:
        time: float64[slots].
        slot: int64[slots].
        size: int64[1]; how many events there are.
    """

    time: Float64Array
    slot: Int64Array
    size: Int64Array


@loop
def push(events: Events, time: float, slot: int) -> None:
    """Add an event."""
    times, slots = events.time, events.slot
    i = events.size[0]
    events.size[0] += 1
    while i > 0 and times[(i - 1) >> 1] > time:
        times[i] = times[(i - 1) >> 1]
        slots[i] = slots[(i - 1) >> 1]
        i = (i - 1) >> 1
    times[i] = time
    slots[i] = slot


@loop
def pop(events: Events) -> tuple[float, int]:
    """Remove the earliest event: its time and its slot."""
    times, slots = events.time, events.slot
    earliest = times[0], slots[0]
    events.size[0] -= 1
    n = events.size[0]
    time, slot = times[n], slots[n]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[i] = times[child]
        slots[i] = slots[child]
        i = child
    times[i] = time
    slots[i] = slot
    return earliest
