# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""NVIDIA GPUs: L2 hit rates, traffic and times from Nsight Compute (`ncu`).

The two terms of a hit rate must be of one run of the kernel. ncu runs a kernel again where it
cannot count everything at once, and workgroups drift apart differently each time: of a GEMM on an
H200, hits and lookups from two runs gave rates from 68 to 76 %, of one and the same order.

An H200 cannot count sectors that hit and sectors that are looked up at once, but sectors that hit
and requests (of up to four sectors of a line). How many sectors a request has follows from the
kernel's accesses and not from the order of its workgroups: 4.00000 in each launch of that GEMM. So
it is counted once, of the unmodified kernel (of each build anew if registers are spilled: how many
is the compiler's choice), and a measurement is

    sectors that hit / (requests × sectors per request)

with both counts of one run (71 to 73 % of that GEMM). docs/decisions/0006 has more.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.profile import Application, Ran, failure
from intelliperf_swizzle.profile import counters as profiled
from intelliperf_swizzle.profile.installed import NVIDIA_ACCESS, Tool, without_counters
from intelliperf_swizzle.records import SECTOR_BYTES, Grid, Measurement

DURATION = "gpu__time_duration.sum"
PASSES = "profiler__replayer_passes"
"""How often the kernel was run again for all counters; 1 = they are of one and the same run."""

_LAYOUT = ("ID", "Kernel Name")


def read_ncu(text: str) -> profiled.Rows:
    """The launches of an output; those in incomplete rows are left out.

    Counters are in bytes, sectors, percent or ns: it was printed with `--print-units base`.
    """
    header: list[str] = []
    rows: list[list[str]] = []
    for row in csv.reader(line for line in text.splitlines() if line.startswith('"')):
        if row[:1] == ["ID"] and set(_LAYOUT) <= set(row):
            header = row
        elif header and len(row) == len(header):
            rows.append(row)
    table = (dict(zip(header, row, strict=True)) for row in rows)
    return [_counters_of(row) for row in table if row["ID"].isdigit()]  # before them, units


def _counters_of(row: Mapping[str, str]) -> profiled.KernelCounters:
    numbers = ((name, _number(text)) for name, text in row.items() if "__" in name)
    counters = {name: number for name, number in numbers if number is not None}
    grid = _triple(row.get("Grid Size", ""))
    block = _triple(row.get("Block Size", ""))
    memory = "launch__shared_mem_per_block_{}".format
    shared = [counters.get(memory(kind)) for kind in ("dynamic", "static")]
    return profiled.KernelCounters(
        kernel=profiled.plain_name(row["Kernel Name"]),
        grid=grid,
        programs=grid and grid[0] * grid[1] * grid[2],
        threads=block and block[0] * block[1] * block[2],
        counters=counters,
        time_ns=counters.get(DURATION),
        shared_bytes=None if shared[0] is None else int(shared[0] + (shared[1] or 0)),
        registers=int(counters.get("launch__registers_per_thread", 0)) or None,
    )


def _number(text: str) -> float | None:
    """`27,572,576` or `63.68`; None for `n/a` and words."""
    plain = text.strip()
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", plain):
        plain = plain.replace(",", "")
    try:
        return float(plain) if re.match(r"-?[\d.]", plain) else None
    except ValueError:
        return None


def _triple(text: str) -> Grid | None:
    """`(512, 1, 1)`, `512,1,1` or `512`."""
    sizes = [int(size.replace(",", "")) for size in re.findall(r"\d+", text)]
    if not 1 <= len(sizes) <= 3:
        return None
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


LAUNCHES = 10
"""Launches of each configuration (grid, block, shared memory) that are measured at most."""

MOST = 1000
"""The same, of a replay: all."""

HITS = "lts__t_sectors_srcunit_tex_lookup_hit.sum"
REQUESTS = "lts__t_requests_srcunit_tex.sum"
SECTORS = "lts__t_sectors_srcunit_tex.sum"
"""What the SMs ask of the L2: sectors that hit, requests, sectors that are looked up."""


class NcuProfiler(profiled.CountingProfiler):
    """Runs the application under `ncu`, with untouched clocks.

    The first measurement of a kernel takes two runs of the application, each further one takes one.
    """

    name = "ncu"

    def __init__(self, application: Application, target: Target, tool: Tool):
        super().__init__(application, target, tool)
        most = HITS, REQUESTS, *target.memory_counters
        self.sets = [most, (HITS, REQUESTS)], [(SECTORS, REQUESTS)]

    def read(self, ran: Ran) -> profiled.Rows:
        """Of its log."""
        return read_ncu(_messages(ran))

    def asks_too_much(self, ran: Ran, rows: profiled.Rows, least: bool) -> bool:
        """By the passes that it took."""
        return not ran.exit_code and any(r.counters.get(PASSES, least) != 1 for r in rows)

    def command(
        self, kernel: str, counters: profiled.Counters, folder: Path, *, every: bool = False
    ) -> list[str]:
        """With what it prints in a file."""
        return [
            self._executable,
            *("--target-processes", "all"),
            *("--clock-control", "none"),
            *("--cache-control", "all"),
            *("--kernel-name-base", "function", "--kernel-name", kernel),
            *("--filter-mode", "per-launch-config"),
            *("--launch-count", str(MOST if every else LAUNCHES)),
            *("--metrics", ",".join((*counters, DURATION))),
            *("--csv", "--page", "raw", "--print-units", "base"),
            *("--log-file", str(folder / "ncu.csv")),
        ]

    def measurement(
        self, kernel: str, sums: Sequence[profiled.Totals], *, replayed: bool = False
    ) -> Measurement:
        """Of hits, and of sectors of a request."""
        counted, per_request = sums[0].counters, _per_request(sums[1])
        hits, requests = counted.get(HITS), counted.get(REQUESTS)
        if hits is None or not requests or not per_request:
            raise ProfileError(f"ncu collected no L2 hits and requests of `{kernel}`")
        sectors = max(hits, requests * per_request)
        memory = [counted.get(name) for name in self._target.memory_counters]
        known = [moved for moved in memory if moved is not None]
        return Measurement(
            profiler=self.name,
            device=self.device,
            l2_hit_rate=hits / sectors,
            l2_requests=round(sectors),
            l2_bytes=round(sectors * SECTOR_BYTES),
            memory_bytes=round(sum(known)) if len(known) == len(memory) > 0 else None,
            time_ms=None if sums[0].time_ns is None else sums[0].time_ns / 1e6,
            l2_before="cold",
            counters={
                **{name: counted[name] for name in self.sets[0][0] if name in counted},
                f"{SECTORS} per request": per_request,
            },
        )

    def explain(self, kernel: str, ran: Ran) -> ProfileError:
        """By what it says itself, if it does."""
        printed = _messages(ran) + ran.output
        if "ERR_NVGPUCTRPERM" in printed:
            return ProfileError(
                "ncu may not read the counters of this GPU (ERR_NVGPUCTRPERM)",
                hint=without_counters(NVIDIA_ACCESS),
                details=("in a container: start it with --cap-add=SYS_ADMIN",),
            )
        errors = [line for line in printed.splitlines() if line.startswith("==ERROR==")]
        if errors:
            return ProfileError("ncu failed", hint=without_counters(), details=tuple(errors[-4:]))
        listed = printed.partition("Available Kernels:")[2].splitlines()
        seen = [line.split(". ", 1)[1] for line in listed if line[:1].isdigit()]
        return failure("ncu", kernel, ran, seen)


def _per_request(sums: profiled.Totals) -> float:
    """Sectors of a request; 0 where they were not counted."""
    counted = sums.counters
    return counted.get(SECTORS, 0.0) / counted[REQUESTS] if counted.get(REQUESTS) else 0.0


def _messages(ran: Ran) -> str:
    file = ran.folder / "ncu.csv"
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
