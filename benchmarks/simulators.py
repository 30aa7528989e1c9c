# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How fast the cache model is beside other ways to count misses, in one run on one core.

    pip install --group simulators
    python benchmarks/simulators.py

The stream is that of one of the MI300X's L2s under a GEMM of 8192³ (128 × 128 × 64, fp16): 17
million line accesses, its workgroups in lockstep, no L1. A straightforward LRU replay of single
lines (here, compiled), pycachesim (C) and libCacheSim (C++) get it as a list of lines; the model
works it out from the trace as it goes. All but libCacheSim, which is fully associative, have the
same sets, and their misses must agree.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
import numpy as np

from intelliperf_swizzle.cache import FULL, Physics, Screen
from intelliperf_swizzle.cache.model import traffic
from intelliperf_swizzle.cache.stream import l2_sets, stream_of
from intelliperf_swizzle.children import cores
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import LINE_BYTES, Int32Array
from replay_speed import OCCUPANCY, traced

RECORD = Path(__file__).parent / "records" / "simulators.json"
SIMULATED = 1_000_000
"""Line accesses that pycachesim is given; it takes the same time for each."""


@numba.njit
def lines_in_lockstep(
    tiles: Any, slots: Any, tile_offset: Any, base: Any, shape: Any, offset: Any, line: Any
) -> Any:
    """The lines that the workgroups of one L2 touch, an access of each resident one in turn."""
    total = 0
    for tile in tiles:
        for a in range(tile_offset[tile], tile_offset[tile + 1]):
            total += offset[shape[a] + 1] - offset[shape[a]]
    lines = np.empty(total, np.int32)
    at = np.zeros(slots, np.int64)
    stop = np.zeros(slots, np.int64)
    following = 0
    n = 0
    while n < total:
        for slot in range(slots):
            while at[slot] == stop[slot] and following < len(tiles):
                at[slot] = tile_offset[tiles[following]]
                stop[slot] = tile_offset[tiles[following] + 1]
                following += 1
            if at[slot] == stop[slot]:
                continue
            a = at[slot]
            at[slot] += 1
            for i in range(offset[shape[a]], offset[shape[a] + 1]):
                lines[n] = base[a] + line[i]
                n += 1
    return lines


@numba.njit
def plain_lru(lines: Any, set_of_line: Any, sets: Any, ways: Any) -> Any:
    """Misses of single lines in sets with LRU, each set a list from the newest to the oldest."""
    held = np.full((sets, ways), -1, np.int32)
    misses = 0
    for line in lines:
        row = held[set_of_line[line]]
        place = 0
        while place < ways - 1 and row[place] != line:
            place += 1
        misses += row[place] != line
        while place > 0:
            row[place] = row[place - 1]
            place -= 1
        row[0] = line
    return misses


def pycachesim_misses(lines: Int32Array, set_of_line: Any, sets: int, ways: int) -> int:
    """Loads of single lines by pycachesim, whose set is the low bits of a line number: ours."""
    from cachesim import Cache, CacheSimulator, MainMemory

    memory = MainMemory()
    cache = Cache("L2", sets, ways, LINE_BYTES, "LRU")
    memory.load_to(cache)
    memory.store_from(cache)
    addresses = (lines * np.int64(sets) + set_of_line[lines]) * LINE_BYTES
    CacheSimulator(cache, memory).load(iter(addresses.tolist()), length=1)
    return int(cache.backend.MISS_count)


def trace_file(lines: Int32Array, folder: Path) -> Path:
    """The lines as a file in libCacheSim's own binary form, one object of one byte each."""
    fields = [("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")]
    requests = np.zeros(len(lines), fields)
    requests["object"], requests["size"], requests["next"] = lines + 1, 1, -1
    requests.tofile(folder / "lines.oracleGeneral.bin")
    return folder / "lines.oracleGeneral.bin"


def libcachesim_misses(file: Path, lines: int, capacity: int) -> int:
    """LRU of `capacity` lines by libCacheSim."""
    import libcachesim

    reader = libcachesim.TraceReader(str(file), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    missed, _ = libcachesim.LRU(cache_size=capacity).process_trace(reader)
    return round(missed * lines)


def timed(action: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Shortest CPU time of several, in seconds, and what came of the last."""
    times, outcome = [], None
    for _ in range(repeat):
        begun = time.process_time()
        outcome = action()
        times.append(time.process_time() - begun)
    return min(times), outcome


def main() -> None:
    """Print the table, and keep it in `records/simulators.json`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, help="the shortest time counts (3)")
    repeat = parser.parse_args().repeat
    target, h200 = load_target("mi300x"), load_target("h200")
    trace = traced()
    stream, order = stream_of(trace), np.arange(trace.tiles)
    sets, ways = target.l2_channels_per_xcd * target.l2_sets_per_channel, target.l2_ways
    set_of_line = np.zeros(stream.unit_line.max() + 1, np.int32)
    set_of_line[stream.unit_line] = l2_sets(stream, target)
    lines = lines_in_lockstep(
        order[target.domain_of(order) == 0],
        target.cus_per_xcd * OCCUPANCY,
        *(trace.tile_offset, trace.access_base, trace.access_shape),
        *(trace.shape_offset, trace.shape_line),
    )
    screen = Screen(trace, target, OCCUPANCY)

    def model(physics: Physics) -> int:
        return int(traffic(stream, order, target, OCCUPANCY, physics).misses[0])

    plain = Physics(l1=False, llc=False, drift=False, domains=1)
    full = replace(FULL, domains=1)
    plain_lru(lines[:1000], set_of_line, sets, ways)  # compile
    model(plain), model(full), screen.hit_rate(order)
    traffic(stream, order, h200, OCCUPANCY)
    some = lines[:SIMULATED]
    with tempfile.TemporaryDirectory() as folder:
        file = trace_file(lines, Path(folder))
        runs: list[tuple[str, int, Callable[[], Any]]] = [
            ("LRU of single lines", len(lines), lambda: plain_lru(lines, set_of_line, sets, ways)),
            ("… its beginning", len(some), lambda: plain_lru(some, set_of_line, sets, ways)),
            (
                f"pycachesim {version('pycachesim')}, the beginning",
                len(some),
                lambda: pycachesim_misses(some, set_of_line, sets, ways),
            ),
            (
                f"libCacheSim {version('libcachesim')}, fully associative",
                len(lines),
                lambda: libcachesim_misses(file, len(lines), sets * ways),
            ),
            ("model, plain LRU", len(lines), lambda: model(plain)),
            ("model, full physics", len(lines), lambda: model(full)),
            (
                "model, full physics of an H200 (both L2s, timed)",
                trace.line_accesses,
                lambda: int(traffic(stream, order, h200, OCCUPANCY).misses.sum()),
            ),
            ("screen (all eight L2s)", trace.line_accesses, lambda: screen.hit_rate(order)),
        ]
        rows = [row(what, accesses, *timed(action, repeat)) for what, accesses, action in runs]
    base = rows[0]["accesses_per_s"]
    print("| what | line accesses | misses | M accesses/s | × LRU of single lines |")
    print("|---|---|---|---|---|")
    for row_ in rows:
        misses = "" if row_["misses"] is None else f"{row_['misses']:,}"
        speed = row_["accesses_per_s"]
        print(
            f"| {row_['what']} | {row_['line_accesses']:,} | {misses}"
            f" | {speed / 1e6:,.1f} | {speed / base:.2f} |"
        )
    machine = f"{platform.system()}, Python {platform.python_version()}, one core of {cores()}"
    record = {"machine": machine, "rows": rows}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def row(what: str, accesses: int, seconds: float, outcome: Any) -> dict[str, Any]:
    """A line of the table; the outcome is a number of misses, or a rate."""
    return {
        "what": what,
        "line_accesses": accesses,
        "misses": outcome if isinstance(outcome, int) else None,
        "accesses_per_s": round(accesses / seconds),
    }


if __name__ == "__main__":
    main()
