# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The compiled loop of the timed replay; see `nvidia_replay`."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.cache.compiled import POPULATION, watch
from intelliperf_swizzle.cache.compiled.chip import (
    ACTIVATED,
    L1_HITS,
    WRITTEN_BACK,
    Chip,
    Rules,
    idle,
    load,
    store,
)
from intelliperf_swizzle.cache.compiled.sectors import (
    DIRTY,
    L2,
    Crowding,
    activate,
    share_out,
    spread,
)
from intelliperf_swizzle.cache.compiled.slots import (
    Computing,
    Events,
    Slots,
    fill,
    goes_on,
    no_events,
    none_computing,
    occupied,
    pop,
    push,
)
from intelliperf_swizzle.cache.stream import Tensors
from intelliperf_swizzle.jit import Integer, jit, loop
from intelliperf_swizzle.records import Float64Array, Int32Array, Int64Array, UInt8Array

_PORT_BYTES = 64
"""Bytes that a CU's port takes in a clock."""
_TURN_LINES = 200
"""Lines, at least, that the instructions of a workgroup ask for in a row; the CU looks up one a
clock. Chosen on the stencil 8192 x 8192 of an H200: the first instructions of five loads."""
_BURST_BYTES = 16384
"""Bytes that a workgroup asks the L2 for, or arithmetic that takes as long, before its share of the
CU holds it back; chosen on that stencil and GEMM 4096, where 8192 and 1 are worse."""
_PACE_SPREAD = 0.07
"""By which part a workgroup is served faster or slower than it should be, at most, each time.

Chosen on attention and GEMM 8192 of an H200, which 0.05 fits as well; without it workgroups that
have a CU to themselves never fall out of step."""
_L1_ENTRIES = 4096
"""Units that an L1 is searched for; a power of two."""


class TimedReferences(NamedTuple):
    """What the tiles refer to, as `stream.ReferenceStream` has it, and how fast they can.

    Attributes:
        tile_offset: int64[tiles + 1].
        ref_unit: int32[references].
        ref_code: uint8[references].
        ref_issue: uint8[references]; empty if all accesses are aligned.
        work: float64[tiles]; clocks of arithmetic an access, and
        ahead: int64[tiles]; how many accesses are issued ahead; see `nvidia_replay.pace`.
    """

    tile_offset: Int64Array
    ref_unit: Int32Array
    ref_code: UInt8Array
    ref_issue: UInt8Array
    work: Float64Array
    ahead: Int64Array


class Places(NamedTuple):
    """Where each slot is: int64[slots] each, in the order in which dispatch fills them."""

    cu: Int64Array
    group: Int64Array
    domain: Int64Array


class _Workgroups(NamedTuple):
    """The resident workgroups; an entry a slot.

    Attributes:
        slots: which workgroups they are, and their references.
        done: float64[slots, in_flight]; when the loads are there that each has issued last, and
        turn: int64[slots]; which of these it issues next.
        late: bool[slots]; whether only the late part of its access is left.
        granted: int64[slots]; clocks of its CU's L1 that it may still use.
        unpaid: int64[slots]; bytes, and
        working: float64[slots]; clocks of arithmetic, that its share of the CU is still to allow.
        computing: which workgroups may compute, if their number is limited.
        l1: int64[cus, entries + 1, 2]; see `_in_l1`.
    """

    slots: Slots
    done: Float64Array
    turn: Int64Array
    late: npt.NDArray[np.bool_]
    granted: Int64Array
    unpaid: Int64Array
    working: Float64Array
    computing: Computing
    l1: Int64Array


@jit
def replay(
    tiles: Int32Array,
    refs: TimedReferences,
    places: Places,
    rules: Rules,
    l2: L2,
    crowding: Crowding,
    tensors: Tensors,
    seed: int,
) -> tuple[Chip, float]:
    """Replay a launch on both domains in the order of time; what was counted, and when it ends.

    `tiles` in launch order; slots are filled as `places` says, and afterwards whichever is free
    first takes the next workgroup. A late part of an access takes a separate turn.
    """
    np.random.seed(seed)
    lines = l2.quarters.lines
    causes = watch(tensors.of_unit, tensors.number, lines, 2, crowding.capacity)
    chip = idle(l2, causes, places.cu.max() + 1, places.group.max() + 1)
    groups = _resident(tiles, refs, len(places.cu), len(chip.queue), rules)
    events = no_events(len(places.cu))
    for s in range(groups.slots.taken[0]):
        chip.residents[places.cu[s]] += 1
        push(events, s + 50 * np.random.random(), s)
    period = max(1, len(l2.lines) // 2, 2 * len(crowding.unit))
    clocks = 0.0
    while events.size[0] > 0:
        share_out(l2, crowding)
        clocks = _run(groups, refs, places, rules, chip, events, period)
    written = l2.written[0]
    for u in range(len(l2.lines)):
        for part in range(4):
            written += l2.lines[u, part] * POPULATION[l2.sectors[u, DIRTY, part]]
            if l2.sectors[u, DIRTY, part] > 0:
                activate(l2.rows, u, part >> 1)
    chip.counts[WRITTEN_BACK], chip.counts[ACTIVATED] = written, l2.rows.activated[0]
    return chip, clocks


@loop
def _run(
    groups: _Workgroups,
    refs: TimedReferences,
    places: Places,
    rules: Rules,
    chip: Chip,
    events: Events,
    most: int,
) -> float:
    """Let at most that many events happen, one after the other; the time of the last."""
    now = 0.0
    while events.size[0] > 0 and most > 0:
        most -= 1
        now, s = pop(events)
        if not goes_on(groups.computing, events, s, now):
            continue
        taken = groups.slots.taken[0]
        if not occupied(groups.slots, s):
            chip.residents[places.cu[s]] -= 1
            continue
        if groups.slots.taken[0] > taken:
            groups.computing.since[s] = taken
        begin = _admit(groups, refs, chip, places.cu[s], s, now)
        if begin > now:
            push(events, begin, s)
        else:
            push(events, _access(groups, refs, places, rules, chip, s, now), s)
    return now


@jit
def _resident(
    tiles: Int32Array, refs: TimedReferences, slots: int, cus: int, rules: Rules
) -> _Workgroups:
    """The first workgroups, in their slots."""
    l1 = np.full((cus, _L1_ENTRIES + 1, 2), -1, np.int64)
    l1[:, _L1_ENTRIES] = 0
    return _Workgroups(
        fill(tiles, refs.tile_offset, slots),
        np.zeros((slots, rules.in_flight)),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.bool_),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.int64),
        np.zeros(slots),
        none_computing(slots, cus, rules.places),
        l1,
    )


# --- the L1 of a CU: its queue, and what it holds -------------------------------------------------


@loop
def _look_ups(
    refs: TimedReferences, lines_of: Int32Array, place: int, late: bool
) -> tuple[int, int, bool]:
    """Clocks that an access, or its late part, has its CU's L1 for: one per line and instruction.

    Returns them, the place after the access, and whether a late part follows.
    """
    clocks = 0
    follows = False
    last = False
    while not last:
        last = refs.ref_unit[place] >= 0
        u = refs.ref_unit[place] if last else ~refs.ref_unit[place]
        issue = np.int64(refs.ref_issue[place]) if len(refs.ref_issue) > 0 else 0
        lines = lines_of[u, 0] + lines_of[u, 1]
        only_late = refs.ref_code[place] & 15 == issue & 15
        if only_late == late:
            clocks += lines << (issue >> 4)
        if not late and issue & 15 > 0:
            follows = True
        place += 1
    return clocks, place, follows


@loop
def _admit(
    groups: _Workgroups, refs: TimedReferences, chip: Chip, cu: int, s: int, now: float
) -> float:
    """When a slot's accesses come to the head of its CU's queue, where they lie together.

    They end where something has to be waited for: an index, or an instruction that comes later.
    """
    if groups.granted[s] > 0:
        return now
    clocks = 0
    late = groups.late[s]
    place = groups.slots.at[s]
    while place < groups.slots.end[s] and clocks < _TURN_LINES:
        more, place, follows = _look_ups(refs, chip.l2.lines, place, late)
        clocks += more
        late = False
        if follows or more == 1:
            break
    groups.granted[s] = max(clocks, 1)
    begin = max(now, chip.queue[cu])
    chip.queue[cu] = begin + groups.granted[s]
    return begin


@loop
def _in_l1(unit: int, sectors: Integer, lines: int, l1: Int64Array, capacity: int) -> Integer:
    """The sectors of a unit that a CU's L1 holds; it then holds all asked for.

    What was touched less than `capacity` filled lines ago is there. An entry of `l1` is the unit's
    number with its sectors, and the lines filled when it was touched; the last entry counts them.
    """
    entry = l1[spread(unit) & (_L1_ENTRIES - 1)]
    filled = l1[_L1_ENTRIES]
    held = 0
    if entry[0] >> 4 == unit and filled[0] - entry[1] <= capacity:
        held = entry[0] & 15
    if sectors & ~held:
        filled[0] += lines
    entry[0] = np.int64(unit) << 4 | held | sectors
    entry[1] = filled[0]
    return held & sectors


# --- an access ----------------------------------------------------------------------------------


@loop
def _access(
    groups: _Workgroups,
    refs: TimedReferences,
    places: Places,
    rules: Rules,
    chip: Chip,
    s: int,
    now: float,
) -> float:
    """Make a slot's next access, or the late part of it; when the slot goes on."""
    place, turn, late = groups.slots.at[s], groups.turn[s], groups.late[s]
    looked_up, after, follows = _look_ups(refs, chip.l2.lines, place, late)
    groups.granted[s] -= looked_up
    arrival = groups.done[s, turn] if late else now
    moved = 0
    for r in range(place, after):
        u = refs.ref_unit[r] if refs.ref_unit[r] >= 0 else ~refs.ref_unit[r]
        sectors = np.int64(refs.ref_code[r] & 15)
        if len(refs.ref_issue) > 0:
            sectors &= refs.ref_issue[r] if late else ~np.int64(refs.ref_issue[r])
        if sectors == 0:
            continue
        lines = chip.l2.lines[u, 0] + chip.l2.lines[u, 1]
        kind = refs.ref_code[r] >> 4
        if kind == 0 and rules.l1_lines > 0:
            held = _in_l1(u, sectors, lines, groups.l1[places.cu[s]], rules.l1_lines)
            chip.counts[L1_HITS] += POPULATION[held] * lines
            sectors &= ~held
            if sectors == 0:
                continue
        moved += 32 * lines * POPULATION[sectors]
        if kind == 0:
            ready = load(chip, rules, places.domain[s], places.group[s], u, sectors, now)
            arrival = max(arrival, ready)
        else:
            store(chip, rules, places.domain[s], u, sectors, kind == 2)
    groups.done[s, turn] = arrival + moved / _PORT_BYTES
    groups.late[s] = follows
    proceeds = now
    if not follows:
        tile = groups.slots.tile[s]
        groups.slots.at[s] = after
        groups.turn[s] = (turn + 1) % refs.ahead[tile]
        proceeds = max(proceeds, groups.done[s, groups.turn[s]])
        groups.working[s] += refs.work[tile]
    if moved == 32 and looked_up == 1:  # an index, which the addresses that follow depend on
        proceeds = max(proceeds, arrival)
    proceeds = _pace(groups, rules, chip.residents[places.cu[s]], s, moved, now, proceeds)
    return max(proceeds, now + looked_up)


# --- the pace of a workgroup --------------------------------------------------------------------


@loop
def _pace(
    groups: _Workgroups,
    rules: Rules,
    residents: int,
    s: int,
    moved: int,
    now: float,
    proceeds: float,
) -> float:
    """When a slot goes on that could at `proceeds`, if its share of the CU holds it back."""
    ends = groups.slots.at[s] == groups.slots.end[s]
    if ends:
        proceeds = now
        for turn in range(groups.done.shape[1]):
            proceeds = max(proceeds, groups.done[s, turn])
        proceeds += rules.start * (0.5 + np.random.random())
        groups.granted[s] = 0
        groups.turn[s] = 0
    groups.unpaid[s] += moved
    own = max(groups.unpaid[s] / rules.cu_bytes, groups.working[s])
    if own >= _BURST_BYTES / rules.cu_bytes or ends:
        if rules.places > 0 and groups.working[s] * rules.cu_bytes > groups.unpaid[s]:
            groups.computing.clocks[s] = own * _jitter(rules.randomness)
        else:
            proceeds += _service(own, residents, rules.randomness)
        groups.unpaid[s] = 0
        groups.working[s] = 0
    return proceeds


@loop
def _service(own: float, residents: int, randomness: float) -> float:
    """Clocks until a workgroup that needs `own` of its CU has them, among that many residents.

    Served in turn, it waits for each of the others once; at random, for a geometric number of them.
    """
    own *= _jitter(randomness)
    drawn = own
    if randomness > 0:
        while np.random.random() * residents > 1:
            drawn += own
    return (1 - randomness) * own * residents + randomness * drawn


@loop
def _jitter(randomness: float) -> float:
    """What a time is multiplied with, so that equal workgroups fall out of step."""
    return 1 + _PACE_SPREAD * (2 * np.random.random() - 1) if randomness > 0 else 1.0
