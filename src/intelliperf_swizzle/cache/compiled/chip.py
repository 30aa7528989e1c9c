# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Loads and stores behind the L1s of the timed replay: what is under way, the L2 and memory."""

from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.cache.compiled import POPULATION, REQUESTS, Causes, explain_sectors
from intelliperf_swizzle.cache.compiled.sectors import (
    L2,
    VALID,
    fetch,
    filled_sectors,
    spread,
    touch,
    write,
)
from intelliperf_swizzle.jit import Integer, jit, loop
from intelliperf_swizzle.records import Float64Array, Int64Array

_UNDER_WAY = 1 << 16
_MOST_MERGED = 1 << 14
_MOST_ASKERS = 4
"""Requests of a group for a line that become one to the L2, at most, as an H100 has it
(`benchmarks/measured/h200_probe/merging.csv`). No field of `Rules`: with one more of them a replay
takes more than twice as long."""


class Rules(NamedTuple):
    """The clocks and bandwidths of a `Target`, and which effects there are.

    Attributes:
        l2_bytes: that a group of CUs gets from the L2 in a clock.
        memory_bytes: the same from memory.
        places: workgroups that a CU lets compute at once, the oldest first; 0 = all share it.
        in_flight: loads that a workgroup has issued and not yet used, at most.
        l1_lines: of a CU's L1; 0 = there is none.
        granule: sectors that a miss brings.
        writes_hit: a write counts as a hit.
    """

    l2_hit: float
    l2_remote: float
    memory: float
    start: float
    l2_bytes: float
    memory_bytes: float
    cu_bytes: float
    randomness: float
    places: int
    in_flight: int
    l1_lines: int
    granule: int
    writes_hit: bool


class Chip(NamedTuple):
    """What workgroups share.

    Requests under way are in tables of the latest ones, each in the place that a hash gives. All
    that belongs to one request lies together, since its place is in no cache of the processor.

    Attributes:
        l2: of both domains.
        causes: of the misses.
        domains: float64[2, UNDER_WAY, 4]; UNIT that a domain asked for, READY when it has arrived
            there, CROSSED when a request from the other domain has crossed to it, and the sectors
            that were valid BEFORE that request.
        groups: float64[groups, MERGED, 4]; UNIT that a group of CUs asked for, UNTIL when further
            requests are merged, for which sectors, MASK, and how many they are so far, ASKERS.
        queue: float64[cus]; when each CU's L1 is free.
        residents: int64[cus]; workgroups on each CU.
        free: float64[groups, 2]; when the group's share of the L2 and of memory is.
        requests: int64[2]; of the domain next to the CU, in sectors, and
        misses: int64[2]; those of them that miss.
        counts: int64[6]; sectors that workgroups found in their L1, L1_HITS, that went from one
            domain to the other, REMOTE, and were not in the L2 there either, REMOTE_MISSED, that
            came from memory, FETCHED, and that were written back by the end, WRITTEN_BACK; and rows
            of memory that were opened by then, ACTIVATED.
    """

    l2: L2
    causes: Causes
    domains: Float64Array
    groups: Float64Array
    queue: Float64Array
    residents: Int64Array
    free: Float64Array
    requests: Int64Array
    misses: Int64Array
    counts: Int64Array


L1_HITS, REMOTE, REMOTE_MISSED, FETCHED, WRITTEN_BACK, ACTIVATED = range(6)
_UNIT, _READY, _CROSSED, _BEFORE = range(4)
_UNTIL, _MASK, _ASKERS = 1, 2, 3


@jit
def idle(l2: L2, causes: Causes, cus: int, groups: int) -> Chip:
    """The chip before the first workgroup."""
    return Chip(
        l2, causes, np.full((2, _UNDER_WAY, 4), -1.0), np.full((groups, _MOST_MERGED, 4), -1.0),
        np.zeros(cus), np.zeros(cus, np.int64), np.zeros((groups, 2)), np.zeros(2, np.int64),
        np.zeros(2, np.int64), np.zeros(6, np.int64),
    )  # fmt: skip


@loop
def store(chip: Chip, rules: Rules, domain: int, u: int, sectors: Integer, atomic: bool) -> None:
    """Write sectors of a unit, or update them."""
    if len(chip.causes.tensor) > 0:
        _explain_store(chip, rules, domain, u, sectors, atomic)
    absent, given, crossed = write(chip.l2, u, domain, sectors, atomic, rules.granule)
    lines = chip.l2.lines[u, 0] + chip.l2.lines[u, 1]
    chip.requests[domain] += POPULATION[sectors] * lines
    if atomic or not rules.writes_hit:
        chip.misses[domain] += absent
    chip.counts[FETCHED] += given
    chip.counts[REMOTE] += crossed


@loop
def _explain_store(
    chip: Chip, rules: Rules, domain: int, u: int, sectors: Integer, atomic: bool
) -> None:
    """Why the lines' homes lack what is about to be written; and that a copy will be there, too."""
    causes, l2 = chip.causes, chip.l2
    counts = atomic or not rules.writes_hit
    for part in (0, 2, 2 * domain + 1):
        lines = l2.lines[u, part]
        if lines == 0:
            continue
        missing: Integer = 0
        if part & 1 == 0:
            causes.counted[causes.tensor[u], REQUESTS] += POPULATION[sectors] * lines
            if counts:
                missing = sectors & ~np.int64(l2.sectors[u, VALID, part])
        brought = filled_sectors(missing, rules.granule) if atomic else 0
        explain_sectors(causes, 4 * u + part, 0, sectors, brought, missing, 0)


@loop
def load(
    chip: Chip, rules: Rules, domain: int, group: int, u: int, sectors: Integer, now: float
) -> float:
    """Read sectors of a unit; when they are there."""
    counts = chip.counts
    lines = chip.l2.lines[u, 0] + chip.l2.lines[u, 1]
    asked = chip.groups[group, spread(u) & (_MOST_MERGED - 1)]
    if (
        asked[_UNIT] == u
        and asked[_UNTIL] > now
        and asked[_ASKERS] < _MOST_ASKERS
        and sectors & ~np.int64(asked[_MASK]) == 0
    ):
        asked[_ASKERS] += 1
        return asked[_UNTIL]
    missed, given, crossed, from_memory, ready = _read(chip, rules, u, domain, sectors, now)
    chip.requests[domain] += POPULATION[sectors] * lines
    if len(chip.causes.tensor) > 0:
        chip.causes.counted[chip.causes.tensor[u], REQUESTS] += POPULATION[sectors] * lines
    chip.misses[domain] += missed
    counts[FETCHED] += given
    counts[REMOTE] += crossed
    counts[REMOTE_MISSED] += from_memory
    free = chip.free[group]
    free[0] = max(free[0], now) + 32 * POPULATION[sectors] * lines / rules.l2_bytes
    ready = max(ready, free[0] + rules.l2_hit)
    if given > 0:
        free[1] = max(free[1], now) + 32 * given / rules.memory_bytes
        ready = max(ready, free[1] + rules.memory)
    if given > 0 or crossed > 0:
        chip.domains[domain, _latest(chip, u, domain), _READY] = ready
    if given > 0 and lines > chip.l2.lines[u, 2 * domain]:
        there = chip.domains[1 - domain, _latest(chip, u, 1 - domain)]
        there[_READY] = max(there[_READY], ready)
    asked[_UNIT] = u
    asked[_UNTIL] = ready
    asked[_MASK] = sectors
    asked[_ASKERS] = 1
    return ready


@loop
def _latest(chip: Chip, u: int, domain: int) -> Integer:
    """The place of a unit's latest request by a domain; it drives out another one's."""
    place = spread(u) & (_UNDER_WAY - 1)
    request = chip.domains[domain, place]
    if request[_UNIT] != u:
        request[_UNIT] = u
        request[_READY] = -1.0
        request[_CROSSED] = -1.0
    return place


@loop
def _read(
    chip: Chip, rules: Rules, u: int, domain: int, sectors: Integer, now: float
) -> tuple[int, int, int, int, float]:
    """Read sectors from a CU next to `domain`.

    A request that has to cross to the lines' home takes its time, half as long at best and one and
    a half times at worst. One made there in the meantime comes first, and is the one that misses.

    Returns the sectors missed, those that memory gave, those that crossed over, those of them that
    memory gave, and when the data are there, but for what memory takes.
    """
    l2 = chip.l2
    home, copy, far = 2 * domain, 2 * domain + 1, 2 - 2 * domain
    request = chip.domains[domain, _latest(chip, u, domain)]
    ready = max(now + rules.l2_hit, request[_READY])
    missed = given = 0
    if l2.lines[u, home] > 0:
        valid = np.int64(l2.sectors[u, VALID, home])
        if request[_CROSSED] > now:
            valid = np.int64(request[_BEFORE])
        missed = POPULATION[sectors & ~valid] * l2.lines[u, home]
        _explain(chip, rules, u, home, sectors, sectors & ~valid)
        given = fetch(l2, u, home, sectors, rules.granule)
    lines = l2.lines[u, far]
    wanted: Integer = 0
    if lines > 0:
        wanted = sectors & ~np.int64(l2.sectors[u, VALID, copy])
        missed += POPULATION[wanted] * lines
        _explain(chip, rules, u, copy, sectors, wanted)
        wanted = filled_sectors(wanted, rules.granule)
        touch(l2, u, copy)
        l2.sectors[u, VALID, copy] |= np.uint8(sectors | wanted)
    if not wanted:
        return missed, given, 0, 0, ready
    valid = np.int64(l2.sectors[u, VALID, far])
    _explain(chip, rules, u, far, wanted, 0)
    from_memory = fetch(l2, u, far, wanted, rules.granule)
    there = chip.domains[1 - domain, _latest(chip, u, 1 - domain)]
    if from_memory > 0 and there[_CROSSED] < now:
        there[_CROSSED] = now + rules.l2_remote * (0.5 + np.random.random())
        there[_BEFORE] = valid
    ready = max(ready, now + rules.l2_hit + rules.l2_remote, there[_READY] + rules.l2_remote)
    return missed, given + from_memory, POPULATION[wanted] * lines, from_memory, ready


@loop
def _explain(
    chip: Chip, rules: Rules, u: int, part: int, sectors: Integer, missing: Integer
) -> None:
    """Why a part lacks these sectors, before any of them is fetched."""
    causes = chip.causes
    if len(causes.tensor) > 0:
        late = missing & np.int64(chip.l2.sectors[u, VALID, part])
        there = np.int64(causes.seen[4 * u + (3 - part)])
        brought = filled_sectors(missing, rules.granule)
        explain_sectors(causes, 4 * u + part, there, sectors, brought, missing, late)
