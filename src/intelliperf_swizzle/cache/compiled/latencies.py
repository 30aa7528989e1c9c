# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The compiled loop of the replay in time of one domain that knows of no other (AMD)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.cache.compiled.causes import Causes, explain_unit, watch
from intelliperf_swizzle.cache.compiled.lines import (
    L1_HITS,
    WRITTEN,
    Asked,
    Caches,
    Counts,
    DomainTraffic,
    L1s,
    References,
    Sets,
    cold,
    domain_traffic,
    in_l1,
    log_misses,
    no_counts,
    touch,
)
from intelliperf_swizzle.cache.compiled.sectors import POPULATION
from intelliperf_swizzle.cache.compiled.slots import Events, pop, push
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


class _Resident(NamedTuple):
    """The resident workgroups; an entry a slot.

    Attributes:
        state: int64[slots, 6]; the TILE, the reference AT which it is, where they END, lines of it
            ASKED for, those that MISSED, and LOADS made.
        arrival: float64[slots]; when the data of the stage that is being loaded are there.
        computed: float64[slots, 2]; when the latest stage will be, and the one before it.
    """

    state: Int64Array
    arrival: Float64Array
    computed: Float64Array


_TILE, _AT, _END, _ASKED, _MISSED, _LOADS = range(6)


class _Domain(NamedTuple):
    """What the workgroups of a domain share.

    Attributes:
        l1s: of its CUs.
        l2: what it holds.
        port: float64[cus]; when a CU's L1 is free, and
        matrix: float64[cus]; when its matrix units are.
        fetched: float64[1]; when the L2 can fetch again.
        first_piece: int64[units + 1]; the pieces of each unit.
        arriving: float64[pieces]; when what was fetched last is there, 0 = nothing was.
    """

    l1s: L1s
    l2: Sets
    port: Float64Array
    matrix: Float64Array
    fetched: Float64Array
    first_piece: Int64Array
    arriving: Float64Array


class _Replay(NamedTuple):
    """What a replay works with; `asked` of `causes`, the rest as of `replay_in_time`."""

    groups: _Resident
    domain: _Domain
    refs: References
    clocks: Clocks
    stages: Stages
    counts: Counts
    asked: Asked
    causes: Causes


@jit
def replay_in_time(
    tiles: Int32Array,
    slots: int,
    refs: References,
    caches: Caches,
    clocks: Clocks,
    stages: Stages,
    asked: Asked,
) -> DomainTraffic:
    """Replay one domain's workgroups, from cold, in the order of time.

    Args:
        tiles: of the workgroups, in launch order.
        slots: for resident workgroups; slot `s` is on CU `s % cus`.
        refs: what tiles refer to.
        caches: of the domain.
        clocks: what takes how long.
        stages: how loops are pipelined.
        asked: of the causes of misses.
    """
    domain = _idle(refs, caches)
    pieces = 0
    for tile in tiles:
        for r in range(refs.tile_offset[tile], refs.tile_offset[tile + 1]):
            u = refs.ref_unit[r] if refs.ref_unit[r] >= 0 else ~refs.ref_unit[r]
            pieces += domain.first_piece[u + 1] - domain.first_piece[u]
    counts = no_counts(pieces)
    causes = watch(asked.tensor, asked.tensors, domain.l1s.unit_lines, 1, caches.lines)
    groups = _Resident(np.zeros((slots, 6), np.int64), np.zeros(slots), np.zeros((slots, 2)))
    events = Events(np.empty(slots), np.empty(slots, np.int64), np.zeros(1, np.int64))
    for s in range(slots):
        push(events, float(s), s)
    run = _Replay(groups, domain, refs, clocks, stages, counts, asked, causes)
    end = _run(run, tiles, events)
    return domain_traffic(counts, causes, end)


@jit
def _idle(refs: References, caches: Caches) -> _Domain:
    """A domain with nothing in its caches."""
    l1s, l2 = cold(refs, caches)
    first_piece = np.zeros(len(refs.unit_offset), np.int64)
    for u in range(len(l1s.unit_lines)):
        first_piece[u + 1] = first_piece[u] + -(-l1s.unit_lines[u] // PIECE_LINES)
    return _Domain(
        l1s,
        l2,
        np.zeros(caches.cus),
        np.zeros(caches.cus),
        np.zeros(1),
        first_piece,
        np.zeros(first_piece[-1]),
    )


@loop
def _run(run: _Replay, tiles: Int32Array, events: Events) -> float:
    """Let all happen that is to happen; when the last workgroup is done."""
    groups, domain = run.groups, run.domain
    taken = 0
    end = 0.0
    while events.size[0] > 0:
        now, s = pop(events)
        if groups.state[s, _AT] == groups.state[s, _END]:
            if taken < len(tiles):
                _take(groups, run.refs, s, tiles[taken], now)
                taken += 1
                push(events, now, s)
            continue
        cu = s % len(domain.port)
        if domain.port[cu] > now:
            push(events, domain.port[cu], s)
            continue
        goes_on = _turn(run, s, cu, now)
        end = max(end, goes_on)
        push(events, goes_on, s)
    return end


@loop
def _take(groups: _Resident, refs: References, s: int, tile: int, now: float) -> None:
    """Put a workgroup into a slot."""
    state = groups.state[s]
    state[_TILE] = tile
    state[_AT] = refs.tile_offset[tile]
    state[_END] = refs.tile_offset[tile + 1]
    state[_ASKED] = state[_MISSED] = state[_LOADS] = 0
    groups.arrival[s] = groups.computed[s, 0] = groups.computed[s, 1] = now


@loop
def _turn(run: _Replay, s: int, cu: int, now: float) -> float:
    """Ask for the next piece of what a slot refers to; when the slot goes on."""
    groups, domain, refs, counts = run.groups, run.domain, run.refs, run.counts
    state = groups.state[s]
    place = state[_AT]
    last = refs.ref_unit[place] >= 0
    u = refs.ref_unit[place] if last else ~refs.ref_unit[place]
    code = refs.ref_code[place]
    kind = code >> 4
    lines = domain.l1s.unit_lines[u]
    begin = state[_ASKED]
    if begin == 0 and kind == 0 and domain.l1s.capacity > 0 and in_l1(domain.l1s, cu, u):
        counts.totals[L1_HITS] += lines
        state[_ASKED] = lines
    else:
        end = min(lines, begin + PIECE_LINES)
        missed, ready = _ask(run, u, begin, end, code, now)
        if kind == 0:
            groups.arrival[s] = max(groups.arrival[s], ready)
        now += (end - begin) * run.clocks.line
        domain.port[cu] = now
        state[_ASKED] = end
        state[_MISSED] += missed
        if end == lines:
            missed = state[_MISSED]
            counts.requests[code] += lines
            counts.misses[code] += missed
            if len(run.causes.tensor) > 0:
                requested = lines * run.asked.requests[code]
                missing = missed * run.asked.misses[code]
                explain_unit(run.causes, u, requested, missing, np.int64(now))
    if state[_ASKED] == lines:
        state[_ASKED] = state[_MISSED] = 0
        state[_AT] = place + 1
        if last:
            return _advance(run, s, cu, kind, now)
    return now


@loop
def _advance(run: _Replay, s: int, cu: int, kind: int, now: float) -> float:
    """When a slot goes on that has made an access.

    The loads of a stage are issued while the one before is computed. Stores wait for all that is
    computed, and so does the workgroup that comes next.
    """
    groups, matrix, stages = run.groups, run.domain.matrix, run.stages
    state, computed = groups.state[s], groups.computed[s]
    if kind == 0:
        state[_LOADS] += 1
        if state[_LOADS] % stages.loads[state[_TILE]] == 0:
            begins = max(groups.arrival[s], max(computed[0], matrix[cu]))
            computed[1] = computed[0]
            computed[0] = begins + stages.work[state[_TILE]]
            matrix[cu] = computed[0]
            now = max(now, computed[1])
    ends = state[_AT] == state[_END]
    if ends or (kind == 0 and run.refs.ref_code[state[_AT]] >> 4 != 0):
        now = max(now, max(computed[0], groups.arrival[s]))
    return now + run.clocks.start if ends else now


@loop
def _ask(
    run: _Replay, u: int, begin: int, end: int, code: Integer, now: float
) -> tuple[int, float]:
    """Ask the L2 for some lines of a unit: how many miss, and when all are there."""
    domain, clocks, counts = run.domain, run.clocks, run.counts
    kind = code >> 4
    sectors = code & 15 if kind != 0 else 0
    missed = 0
    first = run.refs.unit_offset[u]
    for line in range(first + begin, first + end):
        before = touch(domain.l2.held[domain.l2.set_of[line]], line, sectors)
        missed += before < 0
        counts.totals[WRITTEN] += POPULATION[sectors & ~max(before, 0)]
    piece = domain.first_piece[u] + begin // PIECE_LINES
    if missed == 0 or kind == 1:
        return missed, max(now + clocks.hit, domain.arriving[piece])
    log_misses(counts, np.int64(now), piece, missed)
    domain.fetched[0] = max(domain.fetched[0], now) + missed * clocks.fill
    known = domain.arriving[piece] > 0
    domain.arriving[piece] = domain.fetched[0] + (clocks.again if known else clocks.first)
    return missed, domain.arriving[piece]
