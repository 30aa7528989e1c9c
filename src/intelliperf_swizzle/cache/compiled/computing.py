# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Who computes: a CU has places for so many workgroups at once, and the oldest goes first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.cache.compiled.slots import Events, push
from intelliperf_swizzle.jit import jit, loop
from intelliperf_swizzle.records import Float64Array, Int64Array


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
def nobody(slots: int, cus: int, places: int) -> Computing:
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
