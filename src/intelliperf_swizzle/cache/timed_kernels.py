# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The compiled loop of the timed replay; imports numba, so import it late. See `timed`.

Of every unit there are four parts: in domain 0 the lines at home there and copies of those at home
in domain 1, and the same in domain 1. A part is numbered `2 * domain + copy`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from intelliperf_swizzle.cache.kernels import _jit, _mix

_POPULATION = np.array([bin(mask).count("1") for mask in range(16)], np.int64)
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
have a CU of their own never fall out of step."""
L1_ENTRIES = 256
"""Units that the L1 of a workgroup is searched for; a power of two."""


class L2(NamedTuple):
    """Both domains' caches: LRU over parts of units, with the sectors of their lines.

    A hash spreads lines over the sets; those of a block, as many in a row as there are sets, it
    spreads evenly. So where a domain holds some lines of many blocks some of its sets are crowded,
    and where it holds whole blocks none is. Parts belong to quarters of the cache, from the crowded
    sets to the empty ones: quarter `q` holds `capacity / 4 * (1 + crowding * uneven[q])` lines.

    The recency list of a quarter is a log, as in `kernels.screen_misses`: a part's newest place in
    it is `PLACE`, older entries are stale, and the log is rewritten without them when it is full.
    """

    parts: Any  # int32[units, 2, 4]; PLACE (-1 = not there) and LINES of each part
    sectors: Any  # uint8[units, 2, 4]; VALID and DIRTY ones of each part
    log: Any  # int32[8, n]; 4 * unit + part
    marks: Any  # int64[8, 5]; BEGIN and END of each log, LINES that are there and how many have
    # ROOM, and sectors WRITTEN back


PLACE, LINES = 0, 1
VALID, DIRTY = 0, 1
BEGIN, END, ROOM, WRITTEN = 0, 2, 3, 4


class Crowding(NamedTuple):
    """What tells how crowded the sets of a domain are: where lines of one unit in `SAMPLED` lie."""

    unit: Any  # int32[n]
    block: Any  # int32[n]; in which some of its lines lie
    share: Any  # float64[n]; of its lines
    block_lines: Any  # lines of a block
    capacity: Any  # lines of a domain
    uneven: Any  # float64[4]; ascending


SAMPLED = 8


class Flight(NamedTuple):
    """What is under way: tables of the latest requests, each in the place that a hash gives.

    All that belongs to one request lies together, since its place is in no cache of the processor.
    """

    domains: Any  # float64[2, UNDER_WAY, 4]; UNIT that a domain asked for, READY when it has
    # arrived there, CROSSED when a request from the other domain has crossed to it, and the
    # sectors that were valid BEFORE that request
    groups: Any  # float64[groups, MERGED, 3]; UNIT that a group of CUs asked for, UNTIL when
    # further requests are merged, and for which sectors, MASK


UNDER_WAY = 1 << 16
MERGED = 1 << 14
UNIT, READY, CROSSED, BEFORE = 0, 1, 2, 3
UNTIL, MASK = 1, 2


class Clocks(NamedTuple):
    """The numbers of `Target.timing`, in its order."""

    l2_hit: float
    l2_remote: float
    memory: float
    start: float
    memory_bytes: float
    cu_bytes: float
    in_flight: float
    randomness: float


@_jit
def lines_at_home(unit_offset: Any, unit_line: Any) -> Any:
    """Lines of each part, int32[units, 4]: a hash of the line number decides where home is."""
    units = len(unit_offset) - 1
    lines = np.zeros((units, 4), np.int32)
    for u in range(units):
        for k in range(unit_offset[u], unit_offset[u + 1]):
            home = np.int64(_mix(unit_line[k] * 7 + 3) & np.uint64(1))
            lines[u, 2 * home] += 1
            lines[u, 3 - 2 * home] += 1
    return lines


@_jit
def _spread(u: Any) -> Any:
    """A number in whose low bits units of regular numbers differ (Knuth's multiplicative hash)."""
    return (np.int64(u) * 2654435761) >> 12


@_jit
def sampled_blocks(unit_offset: Any, unit_line: Any, block_lines: Any) -> Any:
    """The first three fields of `Crowding`. Blocks begin at multiples of their size."""
    size = 0
    for u in range(len(unit_offset) - 1):
        if _spread(u) % SAMPLED == 0:
            size += unit_offset[u + 1] - unit_offset[u]
    unit, block, share = np.empty(size, np.int32), np.empty(size, np.int32), np.zeros(size)
    n = 0
    for u in range(len(unit_offset) - 1):
        if _spread(u) % SAMPLED == 0:
            begin, end = unit_offset[u], unit_offset[u + 1]
            for i in range(begin, end):
                b = unit_line[i] // block_lines
                if i == begin or block[n - 1] != b:
                    unit[n], block[n] = u, b
                    n += 1
                share[n - 1] += 1 / (end - begin)
    return unit[:n].copy(), block[:n].copy(), share[:n].copy()


@_jit
def _touch(l2: Any, u: Any, part: Any) -> Any:
    """Make a part the newest of its quarter; the oldest ones make room."""
    quarter = (part >> 1) << 2 | _spread(4 * u + part) & 3
    marks = l2.marks[quarter]
    log = l2.log[quarter]
    if l2.parts[u, PLACE, part] < 0:
        marks[LINES] += l2.parts[u, LINES, part]
    l2.parts[u, PLACE, part] = marks[END]
    log[marks[END]] = 4 * u + part
    marks[END] += 1
    while marks[LINES] > marks[ROOM]:
        v = log[marks[BEGIN]] >> 2
        oldest = log[marks[BEGIN]] & 3
        if l2.parts[v, PLACE, oldest] == marks[BEGIN]:
            l2.parts[v, PLACE, oldest] = -1
            lines = l2.parts[v, LINES, oldest]
            marks[LINES] -= lines
            marks[WRITTEN] += lines * _POPULATION[l2.sectors[v, DIRTY, oldest]]
            l2.sectors[v, VALID, oldest] = 0
            l2.sectors[v, DIRTY, oldest] = 0
        marks[BEGIN] += 1
    if marks[END] == len(log):
        kept = 0
        for i in range(marks[BEGIN], marks[END]):
            if l2.parts[log[i] >> 2, PLACE, log[i] & 3] == i:
                log[kept] = log[i]
                l2.parts[log[i] >> 2, PLACE, log[i] & 3] = kept
                kept += 1
        marks[BEGIN] = 0
        marks[END] = kept


@_jit
def _share_out(l2: Any, crowding: Any) -> Any:
    """How many lines have room in each quarter, from what is there.

    The deviation of a set's number of lines, a sum of binomials, one a block, by that of a Poisson
    number tells how uneven the quarters are.
    """
    held = np.zeros(1 + (crowding.block.max() if len(crowding.block) > 0 else 0))
    for domain in range(2):
        held[:] = 0
        for i in range(len(crowding.unit)):
            for part in range(2 * domain, 2 * domain + 2):
                if l2.parts[crowding.unit[i], PLACE, part] >= 0:
                    lines = l2.parts[crowding.unit[i], LINES, part]
                    held[crowding.block[i]] += crowding.share[i] * lines
        drawn = 0.0
        if held.sum() > 0:
            whole = SAMPLED * (held**2).sum() / (held.sum() * crowding.block_lines)
            drawn = math.sqrt(max(1 - whole, 0.0))
        for quarter in range(4):
            room = crowding.capacity / 4 * (1 + drawn * crowding.uneven[quarter])
            l2.marks[4 * domain + quarter, ROOM] = int(room)


@_jit
def _filled(sectors: Any, granule: Any) -> Any:
    """The sectors that come when these are missing, `granule` of them at a time."""
    filled: Any = 0
    piece = (1 << granule) - 1
    for first in range(0, 4, granule):
        if sectors >> first & piece:
            filled |= piece << first
    return filled


@_jit
def _fetch(l2: Any, u: Any, part: Any, sectors: Any, granule: Any) -> Any:
    """Bring sectors to a part at its home; returns how many memory had to give."""
    valid = np.int64(l2.sectors[u, VALID, part])
    given = _filled(sectors & ~valid, granule) & ~valid
    _touch(l2, u, part)
    l2.sectors[u, VALID, part] |= np.uint8(sectors | given)
    return _POPULATION[given] * l2.parts[u, LINES, part]


@_jit
def _write(
    l2: Any, u: Any, domain: Any, sectors: Any, atomic: Any, copies: Any, granule: Any
) -> Any:
    """Write sectors at their home, and to the copy next to the CU; an atomic fetches them first.

    Returns the sectors that were not there, those that memory gave, and those that crossed over.
    """
    absent = 0
    given = 0
    for part in range(0, 4, 2):
        lines = l2.parts[u, LINES, part]
        if lines > 0:
            absent += _POPULATION[sectors & ~np.int64(l2.sectors[u, VALID, part])] * lines
            if atomic:
                given += _fetch(l2, u, part, sectors, granule)
            else:
                _touch(l2, u, part)
            l2.sectors[u, VALID, part] |= np.uint8(sectors)
            l2.sectors[u, DIRTY, part] |= np.uint8(sectors)
    copy = 2 * domain + 1
    if copies and l2.parts[u, LINES, copy] > 0:
        _touch(l2, u, copy)
        l2.sectors[u, VALID, copy] |= np.uint8(sectors)
    return absent, given, _POPULATION[sectors] * l2.parts[u, LINES, copy]


@_jit
def _latest(flight: Any, u: Any, domain: Any) -> Any:
    """A unit's latest request by a domain; it drives out another one's."""
    request = flight.domains[domain, _spread(u) & (UNDER_WAY - 1)]
    if request[UNIT] != u:
        request[UNIT] = u
        request[READY] = -1.0
        request[CROSSED] = -1.0
    return request


@_jit
def _read(
    l2: Any,
    flight: Any,
    clocks: Any,
    u: Any,
    domain: Any,
    sectors: Any,
    now: Any,
    granule: Any,
    copies: Any,
    waiting: Any,
) -> Any:
    """Read sectors from a CU next to `domain`.

    A request that has to cross to the lines' home takes its time, half as long at best and one and
    a half times at worst. One made there in the meantime comes first, and is the one that misses.

    Returns the sectors missed, those that memory gave, those that crossed over, those of them that
    memory gave, and when the data are there, but for what memory takes.
    """
    home, copy, far = 2 * domain, 2 * domain + 1, 2 - 2 * domain
    request = _latest(flight, u, domain)
    ready = now + clocks.l2_hit
    if waiting:
        ready = max(ready, request[READY])
    missed = 0
    given = 0
    crossed = 0
    from_memory = 0
    lines = l2.parts[u, LINES, home]
    if lines > 0:
        valid = np.int64(l2.sectors[u, VALID, home])
        if waiting and request[CROSSED] > now:
            valid = np.int64(request[BEFORE])
        missed = _POPULATION[sectors & ~valid] * lines
        given = _fetch(l2, u, home, sectors, granule)
    lines = l2.parts[u, LINES, far]
    if lines > 0:
        wanted = sectors
        if copies:
            wanted = sectors & ~np.int64(l2.sectors[u, VALID, copy])
            missed += _POPULATION[wanted] * lines
            wanted = _filled(wanted, granule)
            _touch(l2, u, copy)
            l2.sectors[u, VALID, copy] |= np.uint8(sectors | wanted)
        if wanted:
            crossed = _POPULATION[wanted] * lines
            valid = np.int64(l2.sectors[u, VALID, far])
            if not copies:
                missed += _POPULATION[wanted & ~valid] * lines
            from_memory = _fetch(l2, u, far, wanted, granule)
            given += from_memory
            there = _latest(flight, u, 1 - domain)
            if from_memory > 0 and there[CROSSED] < now:
                there[CROSSED] = now + clocks.l2_remote * (0.5 + np.random.random())
                there[BEFORE] = valid
            ready = max(ready, now + clocks.l2_hit + clocks.l2_remote)
            if waiting:
                ready = max(ready, there[READY] + clocks.l2_remote)
    return missed, given, crossed, from_memory, ready


@_jit
def _in_l1(unit: Any, sectors: Any, lines: Any, l1: Any, capacity: Any) -> Any:
    """The sectors of a unit that a workgroup's share of the L1 holds; it then holds all asked for.

    What was touched less than `capacity` filled lines ago is there. An entry of `l1` is the unit's
    number with its sectors, and the lines filled when it was touched; the last entry counts them.
    """
    entry = l1[_spread(unit) & (L1_ENTRIES - 1)]
    filled = l1[L1_ENTRIES]
    held: Any = 0
    if entry[0] >> 4 == unit and filled[0] - entry[1] <= capacity:
        held = entry[0] & 15
    if sectors & ~held:
        filled[0] += lines
    entry[0] = np.int64(unit) << 4 | held | sectors
    entry[1] = filled[0]
    return held & sectors


@_jit
def _push(times: Any, slots: Any, n: Any, time: Any, slot: Any) -> Any:
    """Add an event to a binary heap of `n` events by time."""
    i = n
    while i > 0 and times[(i - 1) >> 1] > time:
        times[i] = times[(i - 1) >> 1]
        slots[i] = slots[(i - 1) >> 1]
        i = (i - 1) >> 1
    times[i] = time
    slots[i] = slot


@_jit
def _pop(times: Any, slots: Any, n: Any) -> Any:
    """Remove the earliest of `n` events, which the caller has read."""
    time = times[n - 1]
    slot = slots[n - 1]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n - 1:
            break
        if child + 1 < n - 1 and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[i] = times[child]
        slots[i] = slots[child]
        i = child
    times[i] = time
    slots[i] = slot


@_jit
def _look_ups(
    ref_unit: Any, ref_code: Any, ref_issue: Any, parts: Any, place: Any, late: Any
) -> Any:
    """Clocks that an access, or its late part, has its CU's L1 for: one a line and instruction.

    Returns them, the place after the access, and whether a late part follows.
    """
    clocks = 0
    follows = False
    last = False
    while not last:
        last = ref_unit[place] >= 0
        u = ref_unit[place] if last else ~ref_unit[place]
        issue = np.int64(ref_issue[place]) if len(ref_issue) > 0 else 0
        lines = parts[u, LINES, 0] + parts[u, LINES, 1]
        only_late = ref_code[place] & 15 == issue & 15
        if only_late == late:
            clocks += lines << (issue >> 4)
        if not late and issue & 15 > 0:
            follows = True
        place += 1
    return clocks, place, follows


@_jit
def _turn(
    ref_unit: Any, ref_code: Any, ref_issue: Any, parts: Any, place: Any, stop: Any, late: Any
) -> Any:
    """Clocks of the accesses that a workgroup queues together, the first or its late part first.

    It ends where something has to be waited for: an index, or an instruction that comes later.
    """
    clocks = 0
    rest = late
    while place < stop and clocks < _TURN_LINES:
        more, place, follows = _look_ups(ref_unit, ref_code, ref_issue, parts, place, rest)
        clocks += more
        rest = False
        if follows or more == 1:
            break
    return max(clocks, 1)


@_jit
def _service(own: Any, residents: Any, randomness: Any) -> Any:
    """Clocks until a workgroup that needs `own` of its CU has them, among so many residents.

    Served in turn, it waits for each of the others once; by lot, for a geometric number of them.
    """
    if randomness > 0:
        own *= 1 + _PACE_SPREAD * (2 * np.random.random() - 1)
    drawn = own
    if randomness > 0:
        while np.random.random() * residents > 1:
            drawn += own
    return (1 - randomness) * own * residents + randomness * drawn


@_jit
def replay_timed(
    tiles: Any,
    tile_offset: Any,
    ref_unit: Any,
    ref_code: Any,
    ref_issue: Any,
    slot_cu: Any,
    slot_group: Any,
    slot_domain: Any,
    l2: Any,
    crowding: Any,
    flight: Any,
    clocks: Any,
    tile_work: Any,
    tile_ahead: Any,
    l1_lines: Any,
    granule: Any,
    copies: Any,
    waiting: Any,
    writes_hit: Any,
    seed: Any,
) -> Any:
    """Replay a launch on both domains in the order of time.

    `slot_cu`, `slot_group`, `slot_domain`: int64[slots], in the order in which dispatch fills them;
    afterwards whichever slot is free first takes the next workgroup. `ref_issue` as in `Stream`;
    a late part of an access is asked for in a turn of its own. `tile_work` and `tile_ahead` as
    `timed.pace` has them. `l1_lines` is a workgroup's share of the L1, 0 = none. `granule` is the
    sectors that a miss brings. `copies`, `waiting` and `writes_hit` switch the effects.

    Returns:
        requests and misses in sectors, int64[2] each; and int64 counts of sectors: found in an L1,
        merged before the L2, from the other domain, those of them that were not there, from memory,
        written back; and the clocks.
    """
    np.random.seed(seed)
    slots = len(slot_cu)
    requests = np.zeros(2, np.int64)
    misses = np.zeros(2, np.int64)
    in_l1 = merged = remote = remote_missed = fetched = 0
    at = np.zeros(slots, np.int64)
    stop = np.zeros(slots, np.int64)
    done = np.zeros((slots, int(clocks.in_flight)), np.float64)
    turn = np.zeros(slots, np.int64)
    late = np.zeros(slots, np.bool_)
    granted = np.zeros(slots, np.int64)
    unpaid = np.zeros(slots, np.int64)
    working = np.zeros(slots, np.float64)
    tile = np.zeros(slots, np.int64)
    queue = np.zeros(slot_cu.max() + 1, np.float64)
    residents = np.zeros(slot_cu.max() + 1, np.int64)
    l1 = np.full((slots, L1_ENTRIES + 1, 2), -1, np.int64)
    l1[:, L1_ENTRIES] = 0
    times = np.empty(slots, np.float64)
    order = np.empty(slots, np.int64)
    events = following = 0
    memory_free = 0.0
    now = 0.0
    for s in range(min(slots, len(tiles))):
        tile[s] = tiles[following]
        at[s] = tile_offset[tile[s]]
        stop[s] = tile_offset[tile[s] + 1]
        following += 1
        residents[slot_cu[s]] += 1
        _push(times, order, events, s + 50 * np.random.random(), s)
        events += 1
    passed = period = max(len(l2.parts) // 2, 2 * len(crowding.unit))
    while events > 0:
        if passed >= period:
            _share_out(l2, crowding)
            passed = 0
        passed += 1
        now = times[0]
        s = order[0]
        _pop(times, order, events)
        events -= 1
        while at[s] == stop[s] and following < len(tiles):
            tile[s] = tiles[following]
            at[s] = tile_offset[tile[s]]
            stop[s] = tile_offset[tile[s] + 1]
            turn[s] = 0
            following += 1
        if at[s] == stop[s]:
            residents[slot_cu[s]] -= 1
            continue
        cu = slot_cu[s]
        place = at[s]
        if granted[s] <= 0:
            granted[s] = _turn(ref_unit, ref_code, ref_issue, l2.parts, place, stop[s], late[s])
            begin = max(now, queue[cu])
            queue[cu] = begin + granted[s]
            if begin > now:
                _push(times, order, events, begin, s)
                events += 1
                continue
        looked_up, _, follows = _look_ups(ref_unit, ref_code, ref_issue, l2.parts, place, late[s])
        granted[s] -= looked_up
        domain = slot_domain[s]
        group = slot_group[s]
        arrival = done[s, turn[s]] if late[s] else now
        moved = 0
        last = False
        while not last:
            last = ref_unit[place] >= 0
            u = ref_unit[place] if last else ~ref_unit[place]
            sectors = np.int64(ref_code[place] & 15)
            kind = ref_code[place] >> 4
            if len(ref_issue) > 0:
                sectors &= ref_issue[place] if late[s] else ~np.int64(ref_issue[place])
            place += 1
            if sectors == 0:
                continue
            lines = l2.parts[u, LINES, 0] + l2.parts[u, LINES, 1]
            moved += 32 * lines * _POPULATION[sectors]
            if kind != 0:
                absent, given, crossed = _write(l2, u, domain, sectors, kind == 2, copies, granule)
                requests[domain] += _POPULATION[sectors] * lines
                if kind == 2 or not writes_hit:
                    misses[domain] += absent
                fetched += given
                remote += crossed
                continue
            if l1_lines > 0:
                held = _in_l1(u, sectors, lines, l1[s], l1_lines)
                in_l1 += _POPULATION[held] * lines
                moved -= 32 * lines * _POPULATION[held]
                sectors &= ~held
                if sectors == 0:
                    continue
            asked = flight.groups[group, _spread(u) & (MERGED - 1)]
            if (
                waiting
                and asked[UNIT] == u
                and asked[UNTIL] > now
                and sectors & ~np.int64(asked[MASK]) == 0
            ):
                merged += _POPULATION[sectors] * lines
                arrival = max(arrival, asked[UNTIL])
                continue
            missed, given, crossed, from_memory, ready = _read(
                l2, flight, clocks, u, domain, sectors, now, granule, copies, waiting
            )
            requests[domain] += _POPULATION[sectors] * lines
            misses[domain] += missed
            fetched += given
            remote += crossed
            remote_missed += from_memory
            if given > 0:
                memory_free = max(memory_free, now) + 32 * given / clocks.memory_bytes
                ready = max(ready, memory_free + clocks.memory)
            if waiting:
                if given > 0 or crossed > 0:
                    _latest(flight, u, domain)[READY] = ready
                if given > 0 and lines > l2.parts[u, LINES, 2 * domain]:
                    there = _latest(flight, u, 1 - domain)
                    there[READY] = max(there[READY], ready)
                asked[UNIT] = u
                asked[UNTIL] = ready
                asked[MASK] = sectors
            arrival = max(arrival, ready)
        done[s, turn[s]] = arrival + moved / _PORT_BYTES
        late[s] = follows
        proceeds = now
        if not follows:
            at[s] = place
            turn[s] = (turn[s] + 1) % tile_ahead[tile[s]]
            proceeds = max(proceeds, done[s, turn[s]])
            working[s] += tile_work[tile[s]]
        if moved == 32 and looked_up == 1:  # an index, which the addresses that follow depend on
            proceeds = max(proceeds, arrival)
        ends = at[s] == stop[s]
        if ends:
            proceeds = max(now, done[s].max()) + clocks.start * (0.5 + np.random.random())
            granted[s] = 0
        unpaid[s] += moved
        own = max(unpaid[s] / clocks.cu_bytes, working[s])
        if own >= _BURST_BYTES / clocks.cu_bytes or ends:
            proceeds += _service(own, residents[cu], clocks.randomness)
            unpaid[s] = 0
            working[s] = 0
        _push(times, order, events, max(proceeds, now + looked_up), s)
        events += 1
    written = l2.marks[:, WRITTEN].sum()
    for u in range(len(l2.parts)):
        for part in range(4):
            written += l2.parts[u, LINES, part] * _POPULATION[l2.sectors[u, DIRTY, part]]
    return requests, misses, in_l1, merged, remote, remote_missed, fetched, written, now
