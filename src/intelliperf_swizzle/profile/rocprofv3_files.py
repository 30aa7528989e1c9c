# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What `rocprofv3` writes, as readings: `*counter_collection.csv` and `*results.json`.

The CSV has a row for each counter of each dispatch, and the grid as a number of threads; ROCm 6.2
gives no times and no accumulation registers, later versions do. The JSON has the grid's axes. Both
name a counter once, or once an instance of the hardware block; the sum is the counter.
Source: rocprofiler-sdk documentation, ROCm 6.2 to 7.1; rocprofv3-schema.json.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.profile.readings import Reading, plain_name
from intelliperf_swizzle.records import Grid

_COLUMNS = ("Dispatch_Id", "Kernel_Name", "Grid_Size", "Workgroup_Size", "Counter_Name",
            "Counter_Value")  # fmt: skip


def read_folder(folder: Path) -> list[Reading]:
    """All dispatches that were written below a folder, from its JSON files, else from CSV files.

    Raises:
        ProfileError: the files are not what rocprofv3 writes.
    """
    for pattern, read in (("*results.json", read_json), ("*counter_collection.csv", read_csv)):
        files = sorted(folder.rglob(pattern))
        readings = [one for file in files for one in read(_text(file))]
        if readings:
            return readings
    return []


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


# --- JSON ---------------------------------------------------------------------------------------


def read_json(text: str) -> list[Reading]:
    """The dispatches of a `results.json`; none if it was cut off.

    Raises:
        ProfileError: it is JSON of another kind.
    """
    try:
        document = json.loads(text)
    except ValueError:
        return []
    try:
        runs = document["rocprofiler-sdk-tool"]
        processes = runs if isinstance(runs, list) else [runs]
        return [reading for process in processes for reading in _dispatches(process)]
    except (KeyError, TypeError, AttributeError) as error:
        raise ProfileError(f"rocprofv3's JSON is of an unknown layout: {error!r}") from error


def _dispatches(process: Mapping[str, Any]) -> Iterator[Reading]:
    counters = {one["id"]["handle"]: str(one["name"]) for one in process["counters"]}
    kernels = {
        one.get("kernel_id", at): plain_name(
            one.get("formatted_kernel_name") or one.get("kernel_name") or ""
        )
        for at, one in enumerate(process["kernel_symbols"])
    }
    for one in process["callback_records"]["counter_collection"]:
        timed = one["dispatch_data"]
        dispatch = timed["dispatch_info"]
        values: dict[str, float] = defaultdict(float)
        for record in one["records"]:
            values[counters[record["counter_id"]["handle"]]] += float(record["value"])
        block, threads = _axes(dispatch["workgroup_size"]), _axes(dispatch["grid_size"])
        grid = (
            -(-threads[0] // block[0]),
            -(-threads[1] // block[1]),
            -(-threads[2] // block[2]),
        )
        start, end = timed.get("start_timestamp", 0), timed.get("end_timestamp", 0)
        yield Reading(
            kernel=kernels[dispatch["kernel_id"]],
            grid=grid,
            programs=grid[0] * grid[1] * grid[2],
            threads=block[0] * block[1] * block[2],
            counters=dict(values),
            time_ns=float(end - start) if end > start else None,
            shared_bytes=dispatch.get("group_segment_size"),
            registers=one.get("arch_vgpr_count"),
        )


def _axes(sizes: Mapping[str, int]) -> Grid:
    return max(1, sizes["x"]), max(1, sizes["y"]), max(1, sizes["z"])


# --- CSV ----------------------------------------------------------------------------------------


@dataclass
class _Dispatch:
    row: Mapping[str, str]
    counters: dict[str, float] = field(default_factory=lambda: defaultdict(float))


def read_csv(text: str) -> list[Reading]:
    """The dispatches of a `counter_collection.csv`; a row that was cut off is left out.

    Raises:
        ProfileError: a column is missing.
    """
    whole, _, _ = text.rpartition("\n")  # a last line without an end was cut off
    table = csv.DictReader(io.StringIO(whole))
    missing = [name for name in _COLUMNS if name not in (table.fieldnames or ())]
    if missing:
        raise ProfileError(
            f"rocprofv3's CSV lacks the column {missing[0]}",
            details=(f"it has: {', '.join(table.fieldnames or ()) or 'none'}",),
        )
    dispatches: dict[Sequence[str | None], _Dispatch] = {}
    for row in table:
        if None in row.values() or None in row or not _is_number(row["Counter_Value"]):
            continue
        key = (row.get("Process_Id"), row.get("Agent_Id"), row["Dispatch_Id"])
        dispatch = dispatches.setdefault(key, _Dispatch(row))
        dispatch.counters[row["Counter_Name"]] += float(row["Counter_Value"])
    return [_reading(one.row, one.counters) for one in dispatches.values()]


def _reading(row: Mapping[str, str], counters: Mapping[str, float]) -> Reading:
    threads = max(1, int(row["Workgroup_Size"]))
    start, end = (_whole(row.get(f"{name}_Timestamp")) for name in ("Start", "End"))
    return Reading(
        kernel=plain_name(row["Kernel_Name"]),
        grid=None,
        programs=-(-int(row["Grid_Size"]) // threads),
        threads=threads,
        counters=dict(counters),
        time_ns=float(end - start) if start and end and end > start else None,
        shared_bytes=_whole(row.get("LDS_Block_Size")),
        registers=_whole(row.get("VGPR_Count")),
    )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None
