# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The compiled inner loops of this room; imports numba, so import it late.

Arrays are those of `stream.Stream` and `drift.Drift`; see there for shapes. A *domain's tiles* are
those of the workgroups that land on one L2, in launch order.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_EMPTY = np.int32(-1)


def _jit(function: Any) -> Any:
    """Compile once per machine (cached on disk), without the interpreter lock."""
    return numba.njit(cache=True, nogil=True)(function)


@_jit
def _mix(value: Any) -> Any:
    """A 64-bit finaliser (splitmix64), after Steele, Lea and Flood, OOPSLA 2014."""
    x = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# --- from trace to stream -----------------------------------------------------------------------


@_jit
def dense_ids(keys: Any) -> Any:
    """Number equal keys alike, by first appearance: `int64[n]` -> ids `int32[n]`, firsts."""
    size = 16
    while size < 2 * len(keys):
        size *= 2
    slot_id = np.full(size, _EMPTY, np.int32)
    ids = np.empty(len(keys), np.int32)
    firsts = np.empty(len(keys), np.int64)
    count = 0
    for i in range(len(keys)):
        h = np.int64(_mix(keys[i]) & np.uint64(size - 1))
        while slot_id[h] >= 0 and keys[firsts[slot_id[h]]] != keys[i]:
            h = (h + 1) & (size - 1)
        if slot_id[h] < 0:
            slot_id[h] = count
            firsts[count] = i
            count += 1
        ids[i] = slot_id[h]
    return ids, firsts[:count].copy()


@_jit
def line_signatures(
    base: Any, shape: Any, shape_offset: Any, shape_line: Any, code: Any, n: Any
) -> Any:
    """For each of `n` lines a hash of the footprints (base, shape) that touch it, and how."""
    signature = np.zeros(n, np.uint64)
    for f in range(len(base)):
        for i in range(shape_offset[shape[f]], shape_offset[shape[f] + 1]):
            signature[base[f] + shape_line[i]] += _mix(f * 65536 + code[i])
    return signature


@_jit
def unit_of_line(base: Any, shape: Any, shape_offset: Any, shape_line: Any, signature: Any) -> Any:
    """Number the lines of equal signature alike, by first touch; and list the lines by unit."""
    touched = 0
    for i in range(len(signature)):
        touched += signature[i] != 0
    size = 16
    while size < 2 * touched:
        size *= 2
    slot_unit = np.full(size, _EMPTY, np.int32)
    unit_signature = np.empty(touched, np.uint64)
    unit_size = np.zeros(touched, np.int32)
    unit = np.full(len(signature), _EMPTY, np.int32)
    seen = np.empty(touched, np.int32)
    units = 0
    lines = 0
    for f in range(len(base)):
        latest = -1
        for i in range(shape_offset[shape[f]], shape_offset[shape[f] + 1]):
            line = base[f] + shape_line[i]
            if unit[line] >= 0:
                continue
            s = signature[line]
            if latest < 0 or unit_signature[latest] != s:
                h = np.int64(s & np.uint64(size - 1))
                while slot_unit[h] >= 0 and unit_signature[slot_unit[h]] != s:
                    h = (h + 1) & (size - 1)
                if slot_unit[h] < 0:
                    slot_unit[h] = units
                    unit_signature[units] = s
                    units += 1
                latest = slot_unit[h]
            unit[line] = latest
            unit_size[latest] += 1
            seen[lines] = line
            lines += 1
    offset = np.zeros(units + 1, np.int64)
    offset[1:] = np.cumsum(unit_size[:units])
    fill = offset[:-1].copy()
    unit_line = np.empty(lines, np.int32)
    for i in range(lines):
        u = unit[seen[i]]
        unit_line[fill[u]] = seen[i]
        fill[u] += 1
    return unit, offset, unit_line


@_jit
def footprint_units(
    base: Any, shape: Any, shape_offset: Any, shape_line: Any, code: Any, unit: Any, units: Any
) -> Any:
    """The units of each footprint in order of first touch, as offsets, units and codes."""
    total = 0
    offset = np.zeros(len(base) + 1, np.int64)
    mark = np.full(units, -1, np.int64)
    for f in range(len(base)):
        for i in range(shape_offset[shape[f]], shape_offset[shape[f] + 1]):
            u = unit[base[f] + shape_line[i]]
            if mark[u] != f:
                mark[u] = f
                total += 1
        offset[f + 1] = total
    mark[:] = -1
    ref_unit = np.empty(total, np.int32)
    ref_code = np.empty(total, code.dtype)
    n = 0
    for f in range(len(base)):
        for i in range(shape_offset[shape[f]], shape_offset[shape[f] + 1]):
            u = unit[base[f] + shape_line[i]]
            if mark[u] != f:
                mark[u] = f
                ref_unit[n] = u
                ref_code[n] = code[i]
                n += 1
    return offset, ref_unit, ref_code


@_jit
def unroll(access_offset: Any, access_footprint: Any, offset: Any, unit: Any, code: Any) -> Any:
    """The references of each tile one after the other; all but an access's last complemented."""
    total = 0
    for a in range(len(access_footprint)):
        f = access_footprint[a]
        total += offset[f + 1] - offset[f]
    tile_offset = np.zeros(len(access_offset), np.int64)
    ref_unit = np.empty(total, np.int32)
    ref_code = np.empty(total, code.dtype)
    n = 0
    for t in range(len(access_offset) - 1):
        for a in range(access_offset[t], access_offset[t + 1]):
            f = access_footprint[a]
            for i in range(offset[f], offset[f + 1]):
                ref_unit[n] = ~unit[i]
                ref_code[n] = code[i]
                n += 1
            ref_unit[n - 1] = ~ref_unit[n - 1]
        tile_offset[t + 1] = n
    return tile_offset, ref_unit, ref_code


# --- what all orders have in common -------------------------------------------------------------


@_jit
def unit_tiles(tile_offset: Any, ref_unit: Any, ref_misses: Any, units: Any) -> Any:
    """For each unit how many tiles touch it, and the least that a touch of a line can miss.

    `ref_misses: int64[references]` is what a line that is not there counts.
    """
    tiles = np.zeros(units, np.int64)
    least = np.full(units, np.iinfo(np.int64).max, np.int64)
    latest = np.full(units, -1, np.int64)
    for t in range(len(tile_offset) - 1):
        for r in range(tile_offset[t], tile_offset[t + 1]):
            u = ref_unit[r] if ref_unit[r] >= 0 else ~ref_unit[r]
            if latest[u] != t:
                latest[u] = t
                tiles[u] += 1
            least[u] = min(least[u], ref_misses[r])
    return tiles, least


# --- residency of workgroups --------------------------------------------------------------------


@_jit
def _start(
    tiles: Any, first: Any, end: Any, tile_offset: Any, starts: Any, at: Any, stop: Any
) -> Any:
    """Fill `starts` slots with the first workgroups of a domain; returns the next one."""
    at[:] = 0
    stop[:] = 0
    for s in range(min(starts, end - first)):
        at[s] = tile_offset[tiles[first + s]]
        stop[s] = tile_offset[tiles[first + s] + 1]
    return min(end, first + starts)


@_jit
def _references(tiles: Any, first: Any, end: Any, tile_offset: Any) -> Any:
    """References that the workgroups `first:end` make."""
    count = 0
    for i in range(first, end):
        count += tile_offset[tiles[i] + 1] - tile_offset[tiles[i]]
    return count


# --- screening: channels that hold the same units taken together --------------------------------


@_jit
def part_signatures(unit_offset: Any, part_of: Any, parts: Any) -> Any:
    """For each part of an L2 a hash of the units with lines in it, and of how many."""
    signature = np.zeros(parts, np.int64)
    count = np.zeros(parts, np.int64)
    for u in range(len(unit_offset) - 1):
        for k in range(unit_offset[u], unit_offset[u + 1]):
            count[part_of[k]] += 1
        for k in range(unit_offset[u], unit_offset[u + 1]):
            if count[part_of[k]] > 0:
                signature[part_of[k]] += np.int64(_mix(u * 65536 + count[part_of[k]]))
                count[part_of[k]] = 0
    return signature


@_jit
def unit_pieces(unit_offset: Any, part_of: Any, class_of: Any, class_parts: Any) -> Any:
    """The pieces of each unit: offsets, and of each piece its class and its lines in a part."""
    offset = np.zeros(len(unit_offset), np.int64)
    mark = np.full(len(class_parts), -1, np.int64)
    total = 0
    for u in range(len(unit_offset) - 1):
        for k in range(unit_offset[u], unit_offset[u + 1]):
            c = class_of[part_of[k]]
            if mark[c] != u:
                mark[c] = u
                total += 1
        offset[u + 1] = total
    mark[:] = -1
    piece_class = np.empty(total, np.int32)
    piece_lines = np.zeros(total, np.int32)
    n = 0
    for u in range(len(unit_offset) - 1):
        for k in range(unit_offset[u], unit_offset[u + 1]):
            c = class_of[part_of[k]]
            if mark[c] < offset[u]:
                mark[c] = n
                piece_class[n] = c
                n += 1
            piece_lines[mark[c]] += 1
    for p in range(total):
        piece_lines[p] //= class_parts[piece_class[p]]
    return offset, piece_class, piece_lines


@_jit
def expand(tile_offset: Any, ref_unit: Any, ref_misses: Any, offset: Any, piece_lines: Any) -> Any:
    """The stream in pieces: offsets of the tiles, pieces, and what each counts if it is missing.

    `ref_misses: int64[references]` is what a line that is not there counts, `piece_lines` the
    lines of each piece in all parts, and `offset` that of each unit in the pieces. All pieces but
    an access's last are stored complemented.
    """
    total = 0
    for r in range(len(ref_unit)):
        u = ref_unit[r] if ref_unit[r] >= 0 else ~ref_unit[r]
        total += offset[u + 1] - offset[u]
    new_offset = np.zeros(len(tile_offset), np.int64)
    ref_piece = np.empty(total, np.int32)
    piece_misses = np.empty(total, np.int32)
    n = 0
    for t in range(len(tile_offset) - 1):
        for r in range(tile_offset[t], tile_offset[t + 1]):
            u = ref_unit[r] if ref_unit[r] >= 0 else ~ref_unit[r]
            for p in range(offset[u], offset[u + 1]):
                ref_piece[n] = ~p
                piece_misses[n] = ref_misses[r] * piece_lines[p]
                n += 1
            if ref_unit[r] >= 0:
                ref_piece[n - 1] = ~ref_piece[n - 1]
        new_offset[t + 1] = n
    return new_offset, ref_piece, piece_misses


@_jit
def screen_misses(
    tiles: Any,
    domain_offset: Any,
    tile_offset: Any,
    ref_piece: Any,
    ref_misses: Any,
    piece_class: Any,
    piece_lines: Any,
    classes: Any,
    capacity: Any,
    turn_offset: Any,
    turn_slot: Any,
    first_turn: Any,
    starts: Any,
    slots: Any,
) -> Any:
    """L2 misses of all domains together, as counted, with an LRU list of pieces for each class.

    `piece_lines` are the lines of each piece in one part, of which a part holds `capacity`. A
    class's list is a ring: `newer[end]` is its oldest piece and `older[end]` its newest one, where
    `end` stands behind all pieces. A piece that is not there has no `newer`.
    """
    pieces = len(piece_class)
    newer = np.empty(pieces + classes, np.int32)
    older = np.empty(pieces + classes, np.int32)
    used = np.empty(classes, np.int64)
    at = np.zeros(slots, np.int64)
    stop = np.zeros(slots, np.int64)
    misses = 0
    for d in range(len(domain_offset) - 1):
        following, end = domain_offset[d], domain_offset[d + 1]
        left = _references(tiles, following, end, tile_offset)
        following = _start(tiles, following, end, tile_offset, starts, at, stop)
        newer[:pieces] = -1
        newer[pieces:] = np.arange(pieces, pieces + classes)
        older[pieces:] = newer[pieces:]
        used[:] = 0
        turn = first_turn[d]
        started = starts
        while left > 0:
            for entry in range(turn_offset[turn], turn_offset[turn + 1]):
                s = turn_slot[entry]
                if s >= started:
                    continue
                place = at[s]
                while place == stop[s] and following < end:
                    place = tile_offset[tiles[following]]
                    stop[s] = tile_offset[tiles[following] + 1]
                    following += 1
                left += place
                last = place == stop[s]
                while not last:
                    p = ref_piece[place]
                    last = p >= 0
                    if not last:
                        p = ~p
                    c = piece_class[p]
                    ring = pieces + c
                    if older[ring] != p:
                        if newer[p] >= 0:
                            older[newer[p]] = older[p]
                            newer[older[p]] = newer[p]
                        else:
                            misses += ref_misses[place]
                            used[c] += piece_lines[p]
                        older[p] = older[ring]
                        newer[p] = ring
                        newer[older[p]] = p
                        older[ring] = p
                        while used[c] > capacity:
                            oldest = newer[ring]
                            used[c] -= piece_lines[oldest]
                            newer[ring] = newer[oldest]
                            older[newer[oldest]] = ring
                            newer[oldest] = -1
                    place += 1
                left -= place
                at[s] = place
            turn += 1
            started += starts
            if turn == len(turn_offset) - 1:
                turn = 0
    return misses


# --- full replay: line by line ------------------------------------------------------------------


@_jit
def sets_of(lines: Any, channel_masks: Any, set_masks: Any, channels: Any, sets: Any) -> Any:
    """The set of each line, counted over all channels: `int32[n]` -> `int32[n]`.

    Bit `i` of the channel is the parity of the line number under `channel_masks[i]`, and so for
    the set within the channel; without masks, the index is a hash of all bits.
    """
    out = np.empty(len(lines), np.int32)
    for i in range(len(lines)):
        line = np.int64(lines[i])
        channel = _index(line, channel_masks, channels, 1)
        out[i] = channel * sets + _index(line, set_masks, sets, 2)
    return out


@_jit
def _index(line: Any, masks: Any, size: Any, salt: Any) -> Any:
    if len(masks) == 0:
        return np.int64(_mix(line * 4 + salt) % np.uint64(size))
    index = 0
    for b in range(len(masks)):
        x = line & masks[b]
        x ^= x >> 32
        x ^= x >> 16
        x ^= x >> 8
        x ^= x >> 4
        x ^= x >> 2
        x ^= x >> 1
        index |= (x & 1) << b
    return index


@_jit
def _in_l1(unit: Any, lines: Any, recent: Any, counts: Any, unit_lines: Any, capacity: Any) -> Any:
    """Whether a CU's L1 holds a unit; it then is its newest, the oldest ones making room.

    `recent: int32[capacity]` lists the units held, newest first; `counts` their number and that of
    their lines. LRU over whole units is LRU over their lines, which are always touched together.
    """
    found = 0
    count = counts[0]
    while found < count and recent[found] != unit:
        found += 1
    hit = found < count
    if not hit:
        if lines > capacity:
            return False
        counts[1] += lines
        while counts[1] > capacity:
            count -= 1
            counts[1] -= unit_lines[recent[count]]
        found = count
        counts[0] = count + 1
    while found > 0:
        recent[found] = recent[found - 1]
        found -= 1
    recent[0] = unit
    return hit


@_jit
def replay_domain(
    tiles: Any,
    tile_offset: Any,
    ref_unit: Any,
    ref_code: Any,
    unit_offset: Any,
    set_of: Any,
    ways: Any,
    l1_lines: Any,
    cus: Any,
    slots: Any,
    turn_offset: Any,
    turn_slot: Any,
    first_turn: Any,
    starts: Any,
) -> Any:
    """Replay one domain's workgroups through its L1s and its L2, line by line, from cold.

    `tiles` are those of the domain's workgroups in launch order; slot `s` is on CU `s % cus`.
    `set_of: int32[lines touched]` is the L2 set of each line of `unit_line`. `l1_lines` 0 leaves
    the L1 out. `first_turn` is where in the drift's cycle to begin; in each round `starts` more
    slots get their first workgroup.

    Returns:
        requests: int64[64], lines requested of the L2 by reference code; misses: int64[64], lines
        of those not there; l1_hits: lines that reads found in an L1; written_sectors: sectors that
        are written back; and the log of read misses: round, unit and lines of each reference with
        misses, all int32.
    """
    following, end = 0, len(tiles)
    left = _references(tiles, following, end, tile_offset)
    at = np.zeros(slots, np.int64)
    stop = np.zeros(slots, np.int64)
    following = _start(tiles, following, end, tile_offset, starts, at, stop)
    units = len(unit_offset) - 1
    unit_lines = np.empty(units, np.int32)
    for u in range(units):
        unit_lines[u] = unit_offset[u + 1] - unit_offset[u]
    recent = np.empty((cus, max(1, l1_lines)), np.int32)
    counts = np.zeros((cus, 2), np.int64)
    sets = 1
    for k in range(len(set_of)):
        sets = max(sets, set_of[k] + 1)
    stamp = np.zeros(sets * ways, np.int32)
    holds = np.full(sets * ways, _EMPTY, np.int32)
    where = np.full(len(set_of), _EMPTY, np.int32)
    dirty = np.zeros(len(set_of), np.uint8)
    requests = np.zeros(64, np.int64)
    misses = np.zeros(64, np.int64)
    log_round = np.empty(left, np.int32)
    log_unit = np.empty(left, np.int32)
    log_lines = np.empty(left, np.int32)
    logged = 0
    l1_hits = 0
    written_sectors = 0
    now = np.int32(0)
    turn = first_turn
    started = starts
    elapsed = 0
    while left > 0:
        for entry in range(turn_offset[turn], turn_offset[turn + 1]):
            s = turn_slot[entry]
            if s >= started:
                continue
            place = at[s]
            while place == stop[s] and following < end:
                place = tile_offset[tiles[following]]
                stop[s] = tile_offset[tiles[following] + 1]
                following += 1
            if place == stop[s]:
                at[s] = place
                continue
            reference = np.int32(-1)
            while reference < 0:
                reference = ref_unit[place]
                u = reference if reference >= 0 else ~reference
                code = ref_code[place]
                kind = code >> 4
                place += 1
                left -= 1
                if (
                    kind == 0
                    and l1_lines > 0
                    and _in_l1(
                        u, unit_lines[u], recent[s % cus], counts[s % cus], unit_lines, l1_lines
                    )
                ):
                    l1_hits += unit_lines[u]
                    continue
                missed = 0
                for k in range(unit_offset[u], unit_offset[u + 1]):
                    now += np.int32(1)
                    way = where[k]
                    if way >= 0:
                        stamp[way] = now
                    else:
                        missed += 1
                        first = set_of[k] * ways
                        way = first
                        oldest = stamp[first]
                        for w in range(first + 1, first + ways):
                            if stamp[w] < oldest:
                                oldest = stamp[w]
                                way = w
                        victim = holds[way]
                        if victim >= 0:
                            where[victim] = -1
                            dirty[victim] = 0
                        holds[way] = k
                        where[k] = way
                        stamp[way] = now
                if kind != 0:
                    for k in range(unit_offset[u], unit_offset[u + 1]):
                        fresh = code & ~dirty[k] & 15
                        dirty[k] |= fresh
                        written_sectors += (
                            (fresh & 1) + (fresh >> 1 & 1) + (fresh >> 2 & 1) + (fresh >> 3 & 1)
                        )
                requests[code] += unit_lines[u]
                misses[code] += missed
                if missed > 0 and kind != 1:
                    log_round[logged] = elapsed
                    log_unit[logged] = u
                    log_lines[logged] = missed
                    logged += 1
            at[s] = place
        elapsed += 1
        turn += 1
        started += starts
        if turn == len(turn_offset) - 1:
            turn = 0
    log = (log_round[:logged], log_unit[:logged], log_lines[:logged])
    return requests, misses, l1_hits, written_sectors, log


@_jit
def llc_hits(unit: Any, lines: Any, units: Any, capacity: Any) -> Any:
    """Lines found in a last-level cache that all domains share, LRU over units.

    `unit` and `lines` are the domains' logs of read misses, merged by round; `units` is how many
    units the stream has; `capacity` counts lines.
    """
    latest = np.full(units, -1, np.int64)
    held = np.zeros(units, np.int32)
    tail = 0
    used = 0
    hits = 0
    for head in range(len(unit)):
        u = unit[head]
        found = min(held[u], lines[head]) if latest[u] >= 0 else 0
        hits += found
        if latest[u] < 0:
            held[u] = 0
        held[u] += lines[head] - found
        used += lines[head] - found
        latest[u] = head
        while used > capacity:
            v = unit[tail]
            if latest[v] == tail:
                latest[v] = -1
                used -= held[v]
            tail += 1
    return hits
