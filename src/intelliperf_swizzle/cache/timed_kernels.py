# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The compiled loop of the timed replay; imports numba, so import it late. See `timed`.

Of every unit there are four objects: in domain 0 the lines at home there and copies of those at
home in domain 1, and the same in domain 1; they are numbered `4 * unit + 2 * domain + copy`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from intelliperf_swizzle.cache.kernels import _jit, _mix

_LEAST_LOG = 1 << 20
_POPULATION = np.array([bin(mask).count("1") for mask in range(16)], np.int64)
L1_ENTRIES = 256
"""Units that the L1 of a workgroup is searched for; a power of two."""


class L2(NamedTuple):
    """Both domains' caches: LRU over objects, with the sectors of their lines that are valid.

    The recency list is a log, as in `kernels.screen_misses`: an object's newest place in it is
    `place`, older entries are stale, and the log is rewritten without them when it is full.
    """

    lines: Any  # int32[4 * units]; lines of each object
    place: Any  # int32[4 * units]; -1 = not there
    valid: Any  # uint8[4 * units]; sectors
    dirty: Any  # uint8[4 * units]; sectors
    log: Any  # int32[2, n]
    marks: Any  # int64[2, 4]; head and tail of the log, lines held, sectors written back
    capacity: Any  # lines of one domain


class Flight(NamedTuple):
    """What is under way, as clocks: float32 arrays."""

    ready: Any  # [2 * units]; when what a domain asked for has arrived
    home: Any  # [2 * units]; when a request from the other domain reaches a line's home
    before: Any  # uint8[2 * units]; sectors valid at home before that request
    pending: Any  # [groups * units]; until when further requests of a group of CUs are merged
    mask: Any  # uint8[groups * units]; for which sectors


class Clocks(NamedTuple):
    """The numbers of `Target.timing`, in its order, and switches."""

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
    """Lines of each object: a hash of the line number decides where its home is."""
    units = len(unit_offset) - 1
    lines = np.zeros(4 * units, np.int32)
    for u in range(units):
        for k in range(unit_offset[u], unit_offset[u + 1]):
            home = np.int64(_mix(unit_line[k] * 7 + 3) & np.uint64(1))
            lines[4 * u + 2 * home] += 1
            lines[4 * u + 2 * (1 - home) + 1] += 1
    return lines


@_jit
def _touch(l2: Any, thing: Any) -> Any:
    """Make an object its domain's newest; the oldest ones make room."""
    domain = thing >> 1 & 1
    marks = l2.marks[domain]
    log = l2.log[domain]
    if l2.place[thing] < 0:
        marks[2] += l2.lines[thing]
    l2.place[thing] = marks[0]
    log[marks[0]] = thing
    marks[0] += 1
    while marks[2] > l2.capacity:
        oldest = log[marks[1]]
        if l2.place[oldest] == marks[1]:
            l2.place[oldest] = -1
            marks[2] -= l2.lines[oldest]
            marks[3] += l2.lines[oldest] * _POPULATION[l2.dirty[oldest]]
            l2.valid[oldest] = 0
            l2.dirty[oldest] = 0
        marks[1] += 1
    if marks[0] == len(log):
        _compact(l2, domain)


@_jit
def _compact(l2: Any, domain: Any) -> Any:
    """Rewrite a log without its stale entries."""
    log = l2.log[domain]
    marks = l2.marks[domain]
    kept = 0
    for i in range(marks[1], marks[0]):
        thing = log[i]
        if l2.place[thing] == i:
            log[kept] = thing
            l2.place[thing] = kept
            kept += 1
    marks[0] = kept
    marks[1] = 0


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
def _fetch(l2: Any, thing: Any, sectors: Any, granule: Any) -> Any:
    """Bring sectors to an object at its home; returns those that memory had to give."""
    missing = sectors & ~np.int64(l2.valid[thing])
    filled = _filled(missing, granule) & ~np.int64(l2.valid[thing])
    _touch(l2, thing)
    l2.valid[thing] |= np.uint8(sectors | filled)
    return filled


@_jit
def _in_l1(
    unit: Any, sectors: Any, lines: Any, names: Any, masks: Any, ages: Any, capacity: Any
) -> Any:
    """The sectors of a unit that a workgroup's share of the L1 holds; it then holds all asked for.

    What was touched less than `capacity` filled lines ago is there. `ages[L1_ENTRIES]` counts the
    lines filled.
    """
    entry = unit & (L1_ENTRIES - 1)
    filled = ages[L1_ENTRIES]
    held: Any = 0
    if names[entry] == unit and filled - ages[entry] <= capacity:
        held = np.int64(masks[entry])
    if sectors & ~held:
        ages[L1_ENTRIES] += lines
    names[entry] = unit
    masks[entry] = np.uint8(held | sectors)
    ages[entry] = ages[L1_ENTRIES]
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
def _service(own: Any, residents: Any, randomness: Any) -> Any:
    """Clocks until a workgroup that needs `own` of its CU has them, among so many residents.

    Served in turn, it waits for each of the others once; by lot, for a geometric number of them.
    """
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
    slot_cu: Any,
    slot_group: Any,
    slot_domain: Any,
    l2: Any,
    flight: Any,
    clocks: Any,
    l1_lines: Any,
    granule: Any,
    copies: Any,
    merging: Any,
    writes_hit: Any,
    seed: Any,
) -> Any:
    """Replay a launch on both domains in the order of time.

    `slot_cu`, `slot_group`, `slot_domain`: int64[slots], in the order in which dispatch fills them;
    afterwards whichever slot is free first takes the next workgroup. `l1_lines` is a workgroup's
    share of the L1, 0 = none. `granule` is the sectors that a miss brings. `copies`, `merging` and
    `writes_hit` switch the effects.

    Returns:
        requests and misses in sectors, int64[2] each; and int64 counts of sectors: found in an L1,
        merged before the L2, from the other domain, from memory, written back; and the clocks.
    """
    np.random.seed(seed)
    slots = len(slot_cu)
    requests = np.zeros(2, np.int64)
    misses = np.zeros(2, np.int64)
    in_l1 = merged = remote = fetched = 0
    at = np.zeros(slots, np.int64)
    stop = np.zeros(slots, np.int64)
    outstanding = int(clocks.in_flight)
    done = np.zeros((slots, outstanding), np.float64)
    turn = np.zeros(slots, np.int64)
    residents = np.zeros(slot_cu.max() + 1, np.int64)
    names = np.full((slots, L1_ENTRIES), -1, np.int32)
    masks = np.zeros((slots, L1_ENTRIES), np.uint8)
    ages = np.zeros((slots, L1_ENTRIES + 1), np.int64)
    times = np.empty(slots, np.float64)
    order = np.empty(slots, np.int64)
    events = following = 0
    units = len(l2.lines) // 4
    memory_free = 0.0
    now = 0.0
    for s in range(min(slots, len(tiles))):
        at[s] = tile_offset[tiles[following]]
        stop[s] = tile_offset[tiles[following] + 1]
        following += 1
        residents[slot_cu[s]] += 1
        _push(times, order, events, s + 50 * np.random.random(), s)
        events += 1
    while events > 0:
        now = times[0]
        s = order[0]
        _pop(times, order, events)
        events -= 1
        while at[s] == stop[s] and following < len(tiles):
            at[s] = tile_offset[tiles[following]]
            stop[s] = tile_offset[tiles[following] + 1]
            following += 1
        if at[s] == stop[s]:
            residents[slot_cu[s]] -= 1
            continue
        domain = slot_domain[s]
        other = 1 - domain
        place = at[s]
        arrival = now
        moved = 0
        last = False
        while not last:
            reference = ref_unit[place]
            last = reference >= 0
            u = reference if last else ~reference
            sectors = np.int64(ref_code[place] & 15)
            kind = ref_code[place] >> 4
            place += 1
            near = 4 * u + 2 * domain
            far = 4 * u + 2 * other
            lines = l2.lines[near] + l2.lines[far]
            moved += 32 * lines * _POPULATION[sectors]
            if kind != 0:
                remote += _POPULATION[sectors] * l2.lines[far]
                requests[domain] += _POPULATION[sectors] * lines
                for home in (near, far):
                    if l2.lines[home] > 0:
                        absent = sectors & ~np.int64(l2.valid[home])
                        if kind == 2 or not writes_hit:
                            misses[domain] += _POPULATION[absent] * l2.lines[home]
                        if kind == 2:
                            fetched += (
                                _POPULATION[_fetch(l2, home, sectors, granule)] * l2.lines[home]
                            )
                        else:
                            _touch(l2, home)
                        l2.valid[home] |= np.uint8(sectors)
                        l2.dirty[home] |= np.uint8(sectors)
                if copies and l2.lines[near + 1] > 0:
                    _touch(l2, near + 1)
                    l2.valid[near + 1] |= np.uint8(sectors)
                continue
            if l1_lines > 0:
                held = _in_l1(u, sectors, lines, names[s], masks[s], ages[s], l1_lines)
                in_l1 += _POPULATION[held] * lines
                sectors &= ~held
                if sectors == 0:
                    continue
            asked = slot_group[s] * units + u
            if (
                merging
                and flight.pending[asked] > now
                and sectors & ~np.int64(flight.mask[asked]) == 0
            ):
                merged += _POPULATION[sectors] * lines
                arrival = max(arrival, flight.pending[asked])
                continue
            requests[domain] += _POPULATION[sectors] * lines
            ready = now + clocks.l2_hit
            if merging:
                ready = max(ready, flight.ready[2 * u + domain])
            given = 0
            travelled = False
            if l2.lines[near] > 0:
                present = np.int64(l2.valid[near])
                if merging and flight.home[2 * u + domain] > now:
                    present = np.int64(flight.before[2 * u + domain])
                misses[domain] += _POPULATION[sectors & ~present] * l2.lines[near]
                given += _POPULATION[_fetch(l2, near, sectors, granule)] * l2.lines[near]
            if l2.lines[far] > 0:
                wanted = sectors
                if copies:
                    wanted = sectors & ~np.int64(l2.valid[near + 1])
                    misses[domain] += _POPULATION[wanted] * l2.lines[far]
                    wanted = _filled(wanted, granule)
                    _touch(l2, near + 1)
                    l2.valid[near + 1] |= np.uint8(sectors | wanted)
                if wanted:
                    travelled = True
                    remote += _POPULATION[wanted] * l2.lines[far]
                    present = np.int64(l2.valid[far])
                    if not copies:
                        misses[domain] += _POPULATION[wanted & ~present] * l2.lines[far]
                    from_memory = _fetch(l2, far, wanted, granule)
                    if from_memory and flight.home[2 * u + other] < now:
                        flight.home[2 * u + other] = now + clocks.l2_remote
                        flight.before[2 * u + other] = np.uint8(present)
                    given += _POPULATION[from_memory] * l2.lines[far]
                    ready = max(ready, now + clocks.l2_hit + clocks.l2_remote)
                    if merging:
                        ready = max(ready, flight.ready[2 * u + other] + clocks.l2_remote)
            if given > 0:
                fetched += given
                memory_free = max(memory_free, now) + 32 * given / clocks.memory_bytes
                ready = max(ready, memory_free + clocks.memory)
                if l2.lines[far] > 0 and flight.ready[2 * u + other] < ready:
                    flight.ready[2 * u + other] = ready
            if given > 0 or travelled:
                flight.ready[2 * u + domain] = ready
            if merging:
                flight.pending[asked] = ready
                flight.mask[asked] = np.uint8(sectors)
            arrival = max(arrival, ready)
        at[s] = place
        oldest = (turn[s] + 1) % outstanding
        done[s, turn[s]] = arrival + moved / 64
        turn[s] = oldest
        proceeds = max(now, done[s, oldest])
        if moved == 32:
            proceeds = max(proceeds, arrival)
        if place == stop[s]:
            proceeds = max(now, done[s].max()) + clocks.start * (0.5 + np.random.random())
        own = moved / clocks.cu_bytes
        next_turn = proceeds + _service(own, residents[slot_cu[s]], clocks.randomness)
        _push(times, order, events, next_turn, s)
        events += 1
    written = l2.marks[0, 3] + l2.marks[1, 3]
    for thing in range(len(l2.lines)):
        written += l2.lines[thing] * _POPULATION[l2.dirty[thing]]
    return requests, misses, in_l1, merged, remote, fetched, written, now
