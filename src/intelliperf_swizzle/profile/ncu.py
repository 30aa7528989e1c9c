# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""NVIDIA GPUs: L2 hit rates, traffic and times from Nsight Compute (`ncu`).

Hits and misses of an L2 hit rate must be of one run of the kernel: ncu runs a kernel again where it
cannot count everything at once, and workgroups drift apart differently each time. On an H200 the
hits and misses of a GEMM, counted in two runs, did not add up to its lookups by 6 %. So no more is
asked for than the GPU counts at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.kernel.build import build
from intelliperf_swizzle.kernel.edit import Edit
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.application import Application, Ran, failure, profiled
from intelliperf_swizzle.profile.ncu_csv import DURATION, PASSES, read_ncu
from intelliperf_swizzle.profile.readings import Reading, Totals, totals
from intelliperf_swizzle.profile.tools import NVIDIA_ACCESS, Tool, without_counters
from intelliperf_swizzle.records import SECTOR_BYTES, Measurement, Proof

LAUNCHES = 10
"""Launches of each configuration (grid, block, shared memory) that are measured at most."""

FABRIC = "lts__t_sectors_srcunit_ltcfabric.sum"
"""Sectors from one L2 partition to the other."""


class NcuProfiler:
    """Runs the application under `ncu` with untouched clocks.

    Args:
        application: what to run.
        target: the GPU; its counters are read.
        tool: where ncu is.
    """

    name = "ncu"
    runs_application = True

    def __init__(self, application: Application, target: Target, tool: Tool):
        self._application = application
        self._target = target
        self._executable = tool.path or tool.name
        self.device = application.device.product if application.device else target.product
        hits = (*target.l2_hit_counters, DURATION)
        self._choices = [
            (*hits, *target.memory_counters, FABRIC),
            (*hits, *target.memory_counters),
            hits,
        ]

    def measure(
        self,
        launches: Sequence[TracedLaunch],
        proofs: Sequence[Proof],
        edit: Edit | None = None,
    ) -> Measurement:
        """The sums of the counters over all launches, in a run that carries the edit.

        The first measurement may take up to three runs, until it is known what this GPU counts at
        once.

        Raises:
            ProfileError: no permission, a run that failed, or a launch that it does not show.
        """
        kernel = launches[0].launch.kernel
        readings = self._readings(kernel, edit)
        sums = totals(
            launches,
            readings,
            self._target,
            lambda launch: build(launch, self._target, edit.functions if edit else {}),
        )
        return self._measurement(kernel, sums)

    def _readings(self, kernel: str, edit: Edit | None) -> list[Reading]:
        """Of one run in which everything was counted at once."""
        readings = self._run(kernel, edit)
        while len(self._choices) > 1 and any(one.counters.get(PASSES) != 1 for one in readings):
            self._choices.pop(0)
            readings = self._run(kernel, edit)
        if any(one.counters.get(PASSES, 1) > 1 for one in readings):
            raise ProfileError(
                "ncu cannot count L2 hits and misses in one run of the kernel on this GPU",
                hint=without_counters(),
            )
        return readings

    def _run(self, kernel: str, edit: Edit | None) -> list[Reading]:
        def command(folder: Path) -> list[str]:
            return self._command(kernel, folder)

        with profiled(self._application, kernel, edit, command) as ran:
            readings = _read(ran)
            if not readings or ran.exit_code:
                raise _why(kernel, ran)
            return readings

    def _command(self, kernel: str, folder: Path) -> list[str]:
        flush = "all" if self._application.l2_before == "cold" else "none"
        return [
            self._executable,
            *("--target-processes", "all"),
            *("--clock-control", "none"),
            *("--cache-control", flush),
            *("--kernel-name-base", "function", "--kernel-name", kernel),
            *("--filter-mode", "per-launch-config", "--launch-count", str(LAUNCHES)),
            *("--metrics", ",".join(self._choices[0])),
            *("--csv", "--page", "raw", "--print-units", "base"),
            *("--log-file", str(folder / "ncu.csv")),
        ]

    def _measurement(self, kernel: str, sums: Totals) -> Measurement:
        counted = sums.counters
        hits, misses = (counted.get(name) for name in self._target.l2_hit_counters[:2])
        if hits is None or misses is None or hits + misses == 0:
            raise ProfileError(f"ncu collected no L2 hits and misses of `{kernel}`")
        memory = [counted.get(name) for name in self._target.memory_counters]
        fabric = counted.get(FABRIC)
        known = [bytes_ for bytes_ in memory if bytes_ is not None]
        return Measurement(
            profiler=self.name,
            device=self.device,
            l2_hit_rate=hits / (hits + misses),
            l2_requests=round(hits + misses),
            l2_bytes=round((hits + misses) * SECTOR_BYTES),
            memory_bytes=round(sum(known)) if len(known) == len(memory) > 0 else None,
            time_ms=None if sums.time_ns is None else sums.time_ns / 1e6,
            fabric_bytes=None if fabric is None else round(fabric * SECTOR_BYTES),
            l2_before=self._application.l2_before,
            counters={name: counted[name] for name in self._choices[0] if name in counted},
        )


def _read(ran: Ran) -> list[Reading]:
    return read_ncu(_printed(ran))


def _printed(ran: Ran) -> str:
    file = ran.folder / "ncu.csv"
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def _why(kernel: str, ran: Ran) -> ProfileError:
    """Why a run has no readings of the kernel, or none to be trusted."""
    printed = _printed(ran) + ran.said
    if "ERR_NVGPUCTRPERM" in printed:
        return ProfileError(
            "ncu may not read the counters of this GPU (ERR_NVGPUCTRPERM)",
            hint=without_counters(NVIDIA_ACCESS),
            details=("in a container: start it with --cap-add=SYS_ADMIN",),
        )
    errors = [line for line in printed.splitlines() if line.startswith("==ERROR==")]
    if errors:
        return ProfileError("ncu failed", hint=without_counters(), details=tuple(errors[-4:]))
    return failure("ncu", kernel, ran, seen=_available(printed))


def _available(printed: str) -> list[str]:
    """The kernels that ncu lists where it found none of the name."""
    _, _, listed = printed.partition("Available Kernels:")
    return [line.split(". ", 1)[1] for line in listed.splitlines() if line[:1].isdigit()]
