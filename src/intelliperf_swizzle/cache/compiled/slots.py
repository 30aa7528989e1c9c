# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The scheduler of every replay: slots for resident workgroups, in rounds or by time.

A slot whose workgroup has ended takes the next one in launch order. In rounds (AMD), slots have
turns as a `Drift` says; by time (NVIDIA), a queue of events decides which slot goes on first;
a CU has places for a number of computing workgroups at once, and the oldest goes first.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.cache.amd_replay import Drift
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


@jit
def no_events(slots: int) -> Events:
    """An empty heap, with room for an event of each slot."""
    return Events(np.empty(slots), np.empty(slots, np.int64), np.zeros(1, np.int64))


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


class Computing(NamedTuple):
    """The places of all CUs, and the slots that want one.

    Attributes:
        clocks: float64[slots]; of the whole CU that each is still to compute for.
        ends: float64[slots]; when it has, if it keeps its place.
        state: int64[slots]; AT_DATA, WAITING for a place, or COMPUTING.
        queued: bool[slots]; whether there is an event for it.
        since: int64[slots]; grows with when the slot's workgroup has begun.
        busy: int64[cus]; places that are taken, of
        places: int64[1], each of which has an equal part of its CU.
    """

    clocks: Float64Array
    ends: Float64Array
    state: Int64Array
    queued: npt.NDArray[np.bool_]
    since: Int64Array
    busy: Int64Array
    places: Int64Array


AT_DATA, WAITING, COMPUTING = range(3)


@jit
def none_computing(slots: int, cus: int, places: int) -> Computing:
    """No slot computes; slot `s` is on CU `s % cus`, and the first are filled first."""
    return Computing(
        np.zeros(slots),
        np.zeros(slots),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.bool_),
        np.arange(slots),
        np.zeros(cus, np.int64),
        np.full(1, places),
    )


@loop
def goes_on(computing: Computing, events: Events, s: int, now: float) -> bool:
    """Whether a slot whose event it is has nothing to compute, or is done with it.

    Otherwise it has its data now and wants a place, or it was to be done now and lost its place.
    """
    if computing.clocks[s] == 0:
        return True
    computing.queued[s] = False
    if computing.state[s] == COMPUTING and computing.ends[s] > now:
        computing.queued[s] = True
        push(events, computing.ends[s], s)
    elif computing.state[s] == COMPUTING:
        _leave(computing, s, AT_DATA, now)
        computing.clocks[s] = 0
        _seat(computing, events, s % len(computing.busy), now)
    elif computing.state[s] == AT_DATA:
        computing.state[s] = WAITING
        _seat(computing, events, s % len(computing.busy), now)
    return computing.clocks[s] == 0


@loop
def _seat(computing: Computing, events: Events, cu: int, now: float) -> None:
    """The longest resident of those that wait gets a place, if need be that of a later one."""
    oldest = youngest = -1
    since = computing.since
    for s in range(cu, len(since), len(computing.busy)):
        if computing.state[s] == WAITING and (oldest < 0 or since[s] < since[oldest]):
            oldest = s
        if computing.state[s] == COMPUTING and (youngest < 0 or since[s] > since[youngest]):
            youngest = s
    if oldest < 0:
        return
    if computing.busy[cu] == computing.places[0]:
        if since[youngest] < since[oldest]:
            return
        _leave(computing, youngest, WAITING, now)
    computing.state[oldest] = COMPUTING
    computing.busy[cu] += 1
    computing.ends[oldest] = now + computing.clocks[oldest] * computing.places[0]
    if not computing.queued[oldest]:
        computing.queued[oldest] = True
        push(events, computing.ends[oldest], oldest)


@loop
def _leave(computing: Computing, s: int, state: int, now: float) -> None:
    """A slot gives its place up, with what it is still to compute."""
    computing.state[s] = state
    computing.busy[s % len(computing.busy)] -= 1
    computing.clocks[s] = max(computing.ends[s] - now, 0.001) / computing.places[0]
