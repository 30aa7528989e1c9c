# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What `ncu --csv --page raw` prints, as readings.

A row a launch, a column a metric, and a second row with the units. Lines of the profiler
(`==PROF==`) and of the application may stand before, between and behind. Source: Nsight Compute CLI
documentation; outputs of 2025.3.1.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping

from intelliperf_swizzle.profile.readings import Reading, plain_name
from intelliperf_swizzle.records import Grid

DURATION = "gpu__time_duration.sum"
PASSES = "profiler__replayer_passes"
"""How often the kernel was run again for all counters; 1 = they are of one and the same run."""

_LAYOUT = ("ID", "Kernel Name")
_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_SECONDS = {
    **dict.fromkeys(("ns", "nsecond"), 1.0),
    **dict.fromkeys(("us", "usecond"), 1e3),
    **dict.fromkeys(("ms", "msecond"), 1e6),
    **dict.fromkeys(("s", "second"), 1e9),
}
"""Unit of a time -> nanoseconds."""


def read_ncu(text: str) -> list[Reading]:
    """The launches of an output; those in incomplete rows are left out.

    Counters are in bytes, sectors or percent, whatever prefix ncu chose for them.
    """
    header: list[str] = []
    rows: list[list[str]] = []
    for row in csv.reader(_quoted_lines(text)):
        if row[:1] == ["ID"] and set(_LAYOUT) <= set(row):
            header = row
        elif header and len(row) == len(header):
            rows.append(row)
    if not header:
        return []
    table = [dict(zip(header, row, strict=True)) for row in rows]
    units = {}
    if table and not table[0]["ID"]:
        units = table.pop(0)
    return [_reading(row, units) for row in table if row["ID"].isdigit()]


def _quoted_lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.startswith('"'))


def _reading(row: Mapping[str, str], units: Mapping[str, str]) -> Reading:
    counters = {}
    for name, text in row.items():
        number = _number(text)
        if "__" in name and number is not None:
            counters[name] = number * _factor(units.get(name, ""))
    grid = _triple(row.get("Grid Size", ""))
    block = _triple(row.get("Block Size", ""))
    shared = [
        counters.get(f"launch__shared_mem_per_block_{kind}") for kind in ("dynamic", "static")
    ]
    return Reading(
        kernel=plain_name(row["Kernel Name"]),
        grid=grid,
        programs=grid and grid[0] * grid[1] * grid[2],
        threads=block and block[0] * block[1] * block[2],
        counters=counters,
        time_ns=counters.get(DURATION),
        shared_bytes=None if shared[0] is None else int(shared[0] + (shared[1] or 0)),
        registers=_whole(counters.get("launch__registers_per_thread")),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _number(text: str) -> float | None:
    """`27,572,576` or `63.68`; None for `n/a` and words."""
    plain = text.strip()
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", plain):
        plain = plain.replace(",", "")
    try:
        return float(plain) if re.match(r"-?[\d.]", plain) else None
    except ValueError:
        return None


def _factor(unit: str) -> float:
    """What a value must be multiplied with to be in ns, bytes or the like."""
    plain = unit.strip().lower()
    if plain in _SECONDS:
        return _SECONDS[plain]
    prefixed = re.fullmatch(r"([kmgt]?)(byte|sector)s?(/\w+)?", plain)
    return _PREFIXES[prefixed[1]] if prefixed else 1.0


def _triple(text: str) -> Grid | None:
    """`(512, 1, 1)`, `512,1,1` or `512`."""
    sizes = [int(size.replace(",", "")) for size in re.findall(r"\d+", text)]
    if not 1 <= len(sizes) <= 3:
        return None
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
