# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""AMD GPUs: L2 hit rates and traffic from rocprofiler-sdk's `rocprofv3`.

It counts in one run of each dispatch or not at all, so hits and misses always belong together. An
MI300X counts four events of an L2 channel at once; what does not fit is left out, and is null.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.frontends.ports import Replay
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.profile import (
    Application,
    Ran,
    TracedLaunch,
    begin_counting,
    failure,
    profiled,
)
from intelliperf_swizzle.profile.installed import AMD_ACCESS, Tool, without_counters
from intelliperf_swizzle.profile.readings import REPEATS, Reading, by_variant, plain_name, totals
from intelliperf_swizzle.records import Measurement

T = TypeVar("T")

_COLUMNS = ("Dispatch_Id", "Kernel_Name", "Grid_Size", "Workgroup_Size", "Counter_Name",
            "Counter_Value")  # fmt: skip
_NUMBER = re.compile(r"[\d.]+(e[+-]?\d+)?", re.I)


def read_folder(folder: Path) -> list[Reading]:
    """All dispatches that were written below a folder.

    Raises:
        ProfileError: the files are not what rocprofv3 writes.
    """
    files = sorted(folder.rglob("*counter_collection.csv"))
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    return [one for text in texts for one in read_csv(text)]


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
    dispatches: dict[Sequence[str | None], tuple[Mapping[str, str], dict[str, float]]] = {}
    for row in table:
        if None in row.values() or None in row or not _NUMBER.fullmatch(row["Counter_Value"]):
            continue
        key = (row.get("Process_Id"), row.get("Agent_Id"), row["Dispatch_Id"])
        _, counters = dispatches.setdefault(key, (row, defaultdict(float)))
        counters[row["Counter_Name"]] += float(row["Counter_Value"])
    return [_reading(*dispatch) for dispatch in dispatches.values()]


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


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


REQUESTS = "TCC_REQ_sum"
"""All requests to the L2s, those that are neither hits nor misses included."""

TOO_MANY = re.compile(r"exceeds the capabilities of the hardware|error code 38\b|Missing: \[")
"""What rocprofv3 says where it cannot count all that it was asked for in one run."""


class Rocprofv3Profiler:
    """Runs the application under `rocprofv3`.

    The L2 is as the application leaves it: the tool does not flush it. A replay does.

    Args:
        application: what to run.
        target: the GPU; its counters are read.
        tool: where rocprofv3 is.
    """

    name = "rocprofv3"

    def __init__(self, application: Application, target: Target, tool: Tool):
        self._application = application
        self._target = target
        self._executable = tool.path or tool.name
        self.device = application.device.product if application.device else target.product
        hits = target.l2_hit_counters
        traffic = target.llc_hit_counters or target.memory_counters
        self._choices = [(*hits, REQUESTS, *traffic), (*hits, *traffic), hits]

    def measure(self, launches: Sequence[TracedLaunch], edit: Edit | None = None) -> Measurement:
        """The sums of the counters over all launches, in a run that carries the edit.

        The first measurement may take up to three runs, until it is known what this GPU counts at
        once.

        Raises:
            ProfileError: no permission, a run that failed, or a launch that it does not show.
        """
        kernel = launches[0].launch.kernel

        def run() -> tuple[Ran, list[Reading]]:
            with profiled(self._application, kernel, edit, partial(self._command, kernel)) as ran:
                return ran, read_folder(ran.folder)

        return self._measurement(launches, edit, self._readings(kernel, run), "warm")

    def begin(
        self, launches: Sequence[TracedLaunch], replay: Callable[[int], Replay]
    ) -> Callable[[Sequence[Edit]], list[Measurement]]:
        """Starts a session over a replay of the launches; what counts in it the unmodified kernel
        and each edit."""
        kernel, limit = launches[0].launch.kernel, self._application.limit_seconds

        def session() -> Callable[[Sequence[Edit]], Ran]:
            return begin_counting(replay(REPEATS), partial(self._command, kernel), limit)

        begun = [session()]

        def count(edits: Sequence[Edit]) -> list[Measurement]:
            def run() -> tuple[Ran, list[Sequence[Reading]]]:
                ran = (begun.pop() if begun else session())(edits)
                return ran, by_variant(read_folder(ran.folder), len(launches), 1 + len(edits))

            parts = zip((None, *edits), self._readings(kernel, run), strict=True)
            return [self._measurement(launches, *part, "cold") for part in parts]

        return count

    def _readings(self, kernel: str, run: Callable[[], tuple[Ran, list[T]]]) -> list[T]:
        while True:
            ran, readings = run()
            if readings and not ran.exit_code:
                return readings
            if len(self._choices) == 1 or not TOO_MANY.search(ran.output):
                raise _why(kernel, ran)
            self._choices.pop(0)

    def _command(self, kernel: str, folder: Path) -> list[str]:
        """The command line; what is asked for stands in a file, which all versions take alike."""
        job = {
            "pmc": list(self._choices[0]),
            "kernel_include_regex": rf"^{re.escape(kernel)}(\.kd)?$",
            "output_directory": str(folder),
            "output_format": ["csv"],
        }
        request = folder / "request.json"
        request.write_text(json.dumps({"jobs": [job]}), encoding="utf-8")
        return [self._executable, "-i", str(request), "--"]

    def _measurement(
        self,
        launches: Sequence[TracedLaunch],
        edit: Edit | None,
        readings: Sequence[Reading],
        before: Literal["cold", "warm"],
    ) -> Measurement:
        kernel, target = launches[0].launch.kernel, self._target
        build = self._application.language.build
        sums = totals(launches, readings, target, lambda launch: build(launch, target, edit))
        counted = sums.counters
        hits, misses = (counted.get(name) for name in self._target.l2_hit_counters[:2])
        if hits is None or misses is None or hits + misses == 0:
            raise ProfileError(f"rocprofv3 collected no L2 hits and misses of `{kernel}`")
        return Measurement(
            profiler=self.name,
            device=self.device,
            l2_hit_rate=hits / (hits + misses),
            l2_requests=round(hits + misses),
            time_ms=None if sums.time_ns is None else sums.time_ns / 1e6,
            l2_before=before,
            counters={name: counted[name] for name in self._choices[0] if name in counted},
        )


def _why(kernel: str, ran: Ran) -> ProfileError:
    """Why a run has no readings, or none to be trusted."""
    if re.search(r"permission denied|not permitted|insufficient permission", ran.output, re.I):
        return ProfileError(
            "rocprofv3 may not read the counters of this GPU",
            hint=without_counters(AMD_ACCESS),
            details=(
                *ran.last_lines(3),
                "in a container: --device=/dev/kfd --device=/dev/dri "
                "--security-opt seccomp=unconfined",
            ),
        )
    if TOO_MANY.search(ran.output):
        return ProfileError(
            "rocprofv3 cannot count L2 hits and misses at once on this GPU",
            hint=without_counters(),
            details=ran.last_lines(3),
        )
    return failure("rocprofv3", kernel, ran)
