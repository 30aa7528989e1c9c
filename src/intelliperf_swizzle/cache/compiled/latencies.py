# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The compiled loop of the replay in time of one domain that knows of no other (AMD)."""

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.cache.compiled.lines import (
    Domain,
    References,
    count,
    in_l1,
    log_misses,
    look_up,
)
from intelliperf_swizzle.cache.compiled.slots import Events, Slots, no_events, occupied, pop, push
from intelliperf_swizzle.jit import Integer, jit, loop
from intelliperf_swizzle.records import Float64Array, Int32Array, Int64Array

PIECE_LINES = 64
"""Lines of an access that a CU asks for before other CUs come in: what one instruction of eight
waves asks for whose lanes load 16 bytes each. 16 lines change no rate of a GEMM by 0.1 points."""


class Clocks(NamedTuple):
    """What takes how long, in clocks of a CU.

    Attributes:
        line: a line through a CU's L1.
        hit: until data of the L2 are there.
        first: … that the L2 has not had, and
        again: … that it has had.
        start: from a workgroup's end until the next one runs in its place.
        fill: a line into the L2.
    """

    line: float
    hit: float
    first: float
    again: float
    start: float
    fill: float


class Stages(NamedTuple):
    """How the loop of each tile is pipelined.

    Attributes:
        loads: int64[tiles]; loads of a stage.
        work: float64[tiles]; clocks of a CU that a stage's arithmetic takes.
    """

    loads: Int64Array
    work: Float64Array


class _Replay(NamedTuple):
    """What a replay works with: of each slot, and of what the workgroups share.

    Attributes:
        refs, domain, clocks, stages: as of `replay_in_time`.
        slots: of resident workgroups.
        state: int64[slots, 3]; lines ASKED for of the reference that is next, those of them that
            MISSED, and LOADS that the workgroup has made.
        arrival: float64[slots]; when the data of the stage that is being loaded are there.
        computed: float64[slots, 2]; when the latest stage will be, and the one before it.
        port: float64[cus]; when a CU's L1 is free, and
        matrix: float64[cus]; when its matrix units are.
        fetched: float64[1]; when the L2 can fetch again.
        first_piece: int64[units + 1]; the pieces of each unit.
        arriving: float64[pieces]; when what was fetched last is there, 0 = nothing was.
    """

    refs: References
    domain: Domain
    clocks: Clocks
    stages: Stages
    slots: Slots
    state: Int64Array
    arrival: Float64Array
    computed: Float64Array
    port: Float64Array
    matrix: Float64Array
    fetched: Float64Array
    first_piece: Int64Array
    arriving: Float64Array


_ASKED, _MISSED, _LOADS = range(3)


@jit
def replay_in_time(
    tiles: Int32Array, slots: int, refs: References, domain: Domain, clocks: Clocks, stages: Stages
) -> float:
    """Replay one domain's workgroups, from cold, in the order of time; when the last one is done.

    Args:
        tiles: of the workgroups, in launch order.
        slots: for resident workgroups.
        refs: what tiles refer to.
        domain: with nothing in its caches.
        clocks: what takes how long.
        stages: how loops are pipelined.
    """
    first_piece = np.zeros(len(refs.unit_offset), np.int64)
    for u in range(len(domain.unit_lines)):
        first_piece[u + 1] = first_piece[u] + -(-domain.unit_lines[u] // PIECE_LINES)
    cus = len(domain.recent)
    ends = np.zeros(slots, np.int64)
    run = _Replay(
        refs, domain, clocks, stages,
        Slots(tiles, np.zeros(1, np.int64), refs.tile_offset, ends.copy(), ends, ends.copy()),
        np.zeros((slots, 3), np.int64), np.zeros(slots), np.zeros((slots, 2)), np.zeros(cus),
        np.zeros(cus), np.zeros(1), first_piece, np.zeros(first_piece[-1]),
    )  # fmt: skip
    events = no_events(slots)
    for s in range(slots):
        push(events, float(s), s)
    return _run(run, events)


@loop
def _run(run: _Replay, events: Events) -> float:
    """Let all happen that is to happen; when the last workgroup is done."""
    end = 0.0
    while events.size[0] > 0:
        now, s = pop(events)
        taken = run.slots.taken[0]
        if not occupied(run.slots, s):
            continue
        if run.slots.taken[0] > taken:
            run.state[s, _ASKED] = run.state[s, _MISSED] = run.state[s, _LOADS] = 0
            run.arrival[s] = run.computed[s, 0] = run.computed[s, 1] = now
            push(events, now, s)
            continue
        cu = s % len(run.port)
        if run.port[cu] > now:
            push(events, run.port[cu], s)
            continue
        goes_on = _turn(run, s, cu, now)
        end = max(end, goes_on)
        push(events, goes_on, s)
    return end


@loop
def _turn(run: _Replay, s: int, cu: int, now: float) -> float:
    """Ask for the next piece of what a slot refers to; when the slot goes on."""
    refs, state = run.refs, run.state[s]
    place = run.slots.at[s]
    last = refs.ref_unit[place] >= 0
    u = refs.ref_unit[place] if last else ~refs.ref_unit[place]
    code = refs.ref_code[place]
    kind = code >> 4
    lines = run.domain.unit_lines[u]
    begin = state[_ASKED]
    if begin == 0 and kind == 0 and in_l1(run.domain, cu, u):
        state[_ASKED] = lines
    else:
        end = min(lines, begin + PIECE_LINES)
        missed, ready = _ask(run, u, begin, end, code, now)
        if kind == 0:
            run.arrival[s] = max(run.arrival[s], ready)
        now += (end - begin) * run.clocks.line
        run.port[cu] = now
        state[_ASKED] = end
        state[_MISSED] += missed
        if end == lines:
            count(run.domain, u, code, state[_MISSED], np.int64(now))
    if state[_ASKED] == lines:
        state[_ASKED] = state[_MISSED] = 0
        run.slots.at[s] = place + 1
        if last:
            return _advance(run, s, cu, kind, now)
    return now


@loop
def _advance(run: _Replay, s: int, cu: int, kind: int, now: float) -> float:
    """When a slot goes on that has made an access.

    The loads of a stage are issued while the one before is computed. Stores wait for all that is
    computed, and so does the workgroup that comes next.
    """
    slots, stages, computed = run.slots, run.stages, run.computed[s]
    if kind == 0:
        run.state[s, _LOADS] += 1
        if run.state[s, _LOADS] % stages.loads[slots.tile[s]] == 0:
            begins = max(run.arrival[s], max(computed[0], run.matrix[cu]))
            computed[1] = computed[0]
            computed[0] = begins + stages.work[slots.tile[s]]
            run.matrix[cu] = computed[0]
            now = max(now, computed[1])
    ends = slots.at[s] == slots.end[s]
    if ends or (kind == 0 and run.refs.ref_code[slots.at[s]] >> 4 != 0):
        now = max(now, max(computed[0], run.arrival[s]))
    return now + run.clocks.start if ends else now


@loop
def _ask(
    run: _Replay, u: int, begin: int, end: int, code: Integer, now: float
) -> tuple[int, float]:
    """Ask the L2 for some lines of a unit: how many miss, and when all are there."""
    clocks, first = run.clocks, run.refs.unit_offset[u]
    missed = look_up(run.domain, first + begin, first + end, code)
    piece = run.first_piece[u] + begin // PIECE_LINES
    if missed == 0 or code >> 4 == 1:
        return missed, max(now + clocks.hit, run.arriving[piece])
    log_misses(run.domain, np.int64(now), piece, missed)
    run.fetched[0] = max(run.fetched[0], now) + missed * clocks.fill
    known = run.arriving[piece] > 0
    run.arriving[piece] = run.fetched[0] + (clocks.again if known else clocks.first)
    return missed, run.arriving[piece]
