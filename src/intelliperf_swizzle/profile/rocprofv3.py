# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""AMD GPUs: L2 hit rates and traffic from rocprofiler-sdk's `rocprofv3`.

It counts in one run of each dispatch or not at all, so hits and misses always belong together. An
MI300X counts four events of an L2 channel at once; what does not fit is left out, and is null.
"""

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.profile import Application, Ran, failure
from intelliperf_swizzle.profile import counters as profiled
from intelliperf_swizzle.profile.installed import AMD_ACCESS, Tool, without_counters
from intelliperf_swizzle.records import Measurement

_COLUMNS = ("Dispatch_Id", "Kernel_Name", "Grid_Size", "Workgroup_Size", "Counter_Name",
            "Counter_Value")  # fmt: skip
_NUMBER = re.compile(r"[\d.]+(e[+-]?\d+)?", re.I)


def read_folder(folder: Path) -> profiled.Rows:
    """All dispatches that were written below a folder.

    Raises:
        ProfileError: the files are not what rocprofv3 writes.
    """
    files = sorted(folder.rglob("*counter_collection.csv"))
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    return [row for text in texts for row in read_csv(text)]


def read_csv(text: str) -> profiled.Rows:
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
    dispatches: dict[Sequence[str | None], tuple[Mapping[str, str], dict[str, float]]] = {}
    for row in table:
        if None in row.values() or None in row or not _NUMBER.fullmatch(row["Counter_Value"]):
            continue
        key = (row.get("Process_Id"), row.get("Agent_Id"), row["Dispatch_Id"])
        _, counters = dispatches.setdefault(key, (row, defaultdict(float)))
        counters[row["Counter_Name"]] += float(row["Counter_Value"])
    return [_counters_of(*dispatch) for dispatch in dispatches.values()]


def _counters_of(row: Mapping[str, str], counters: Mapping[str, float]) -> profiled.KernelCounters:
    threads = max(1, int(row["Workgroup_Size"]))
    start, end = (_whole(row.get(f"{name}_Timestamp")) for name in ("Start", "End"))
    return profiled.KernelCounters(
        kernel=profiled.plain_name(row["Kernel_Name"]),
        grid=None,
        programs=-(-int(row["Grid_Size"]) // threads),
        threads=threads,
        counters=dict(counters),
        time_ns=float(end - start) if start and end and end > start else None,
        shared_bytes=_whole(row.get("LDS_Block_Size")),
        registers=_whole(row.get("VGPR_Count")),
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


REQUESTS = "TCC_REQ_sum"
"""All requests to the L2s, those that are neither hits nor misses included."""

TOO_MANY = re.compile(r"exceeds the capabilities of the hardware|error code 38\b|Missing: \[")
"""What rocprofv3 says where it cannot count all that it was asked for in one run."""

NO_PERMISSION = re.compile("permission denied|not permitted|insufficient permission", re.I)


class Rocprofv3Profiler(profiled.CountingProfiler):
    """Runs the application under `rocprofv3`.

    The L2 is as the application leaves it: the tool does not flush it. A replay does. The first
    measurement may take up to three runs, until it is known what this GPU counts at once.
    """

    name = "rocprofv3"

    def __init__(self, application: Application, target: Target, tool: Tool):
        super().__init__(application, target, tool)
        hits = target.l2_hit_counters
        traffic = target.llc_hit_counters or target.memory_counters
        self.sets = ([(*hits, REQUESTS, *traffic), (*hits, *traffic), hits],)

    def read(self, ran: Ran) -> profiled.Rows:
        """Of the files that it has written."""
        return read_folder(ran.folder)

    def asks_too_much(self, ran: Ran, rows: profiled.Rows, least: bool) -> bool:
        """By what it says."""
        failed = ran.exit_code or not rows
        return bool(failed and TOO_MANY.search(ran.output) and not NO_PERMISSION.search(ran.output))

    def command(
        self, kernel: str, counters: profiled.Counters, folder: Path, *, every: bool = False
    ) -> list[str]:
        """What is asked for stands in a file, which all versions take alike."""
        job = {
            "pmc": list(counters),
            "kernel_include_regex": rf"^{re.escape(kernel)}(\.kd)?$",
            "output_directory": str(folder),
            "output_format": ["csv"],
        }
        request = folder / "request.json"
        request.write_text(json.dumps({"jobs": [job]}), encoding="utf-8")
        return [self._executable, "-i", str(request), "--"]

    def measurement(
        self, kernel: str, sums: Sequence[profiled.Totals], *, replayed: bool = False
    ) -> Measurement:
        """Of hits and misses."""
        counted, time_ns = sums[0].counters, sums[0].time_ns
        hits, misses = (counted.get(name) for name in self._target.l2_hit_counters[:2])
        if hits is None or misses is None or hits + misses == 0:
            raise ProfileError(f"rocprofv3 collected no L2 hits and misses of `{kernel}`")
        return Measurement(
            profiler=self.name,
            device=self.device,
            l2_hit_rate=hits / (hits + misses),
            l2_requests=round(hits + misses),
            time_ms=None if time_ns is None else time_ns / 1e6,
            l2_before="cold" if replayed else "warm",
            counters={name: counted[name] for name in self.sets[0][0] if name in counted},
        )

    def explain(self, kernel: str, ran: Ran) -> ProfileError:
        """By what it says itself, if it does."""
        if NO_PERMISSION.search(ran.output):
            return ProfileError(
                "rocprofv3 may not read the counters of this GPU",
                hint=without_counters(AMD_ACCESS),
                details=(
                    *ran.last_lines(3),
                    "in a container: --device=/dev/kfd --device=/dev/dri "
                    "--security-opt seccomp=unconfined",
                ),
            )
        return failure("rocprofv3", kernel, ran)
