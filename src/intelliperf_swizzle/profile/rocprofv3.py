# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""AMD GPUs: L2 hit rates and traffic from rocprofiler-sdk's `rocprofv3`.

It counts in one run of each dispatch or not at all, so hits and misses always belong together. An
MI300X counts four events of an L2 channel at once; what does not fit is left out, and is null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.application import Application, Ran, failure, profiled
from intelliperf_swizzle.profile.readings import Reading, Totals, totals
from intelliperf_swizzle.profile.rocprofv3_files import read_folder
from intelliperf_swizzle.profile.tools import AMD_ACCESS, Tool, without_counters
from intelliperf_swizzle.records import Measurement

REQUESTS = "TCC_REQ_sum"
"""All requests to the L2s, those that are neither hits nor misses included."""

TOO_MANY = re.compile(r"exceeds the capabilities of the hardware|error code 38\b|Missing: \[")
"""What rocprofv3 says where it cannot count all that it was asked for in one run."""


class Rocprofv3Profiler:
    """Runs the application under `rocprofv3`.

    The L2 is as the application leaves it: the tool does not flush it.

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
        sums = totals(
            launches,
            self._readings(kernel, edit),
            self._target,
            lambda launch: self._application.language.build(launch, self._target, edit),
        )
        return self._measurement(kernel, sums)

    def _readings(self, kernel: str, edit: Edit | None) -> list[Reading]:
        def command(folder: Path) -> list[str]:
            return self._command(kernel, folder)

        while True:
            with profiled(self._application, kernel, edit, command) as ran:
                readings = read_folder(ran.folder)
            if readings and not ran.exit_code:
                return readings
            if len(self._choices) == 1 or not TOO_MANY.search(ran.said):
                raise _why(kernel, ran)
            self._choices.pop(0)

    def _command(self, kernel: str, folder: Path) -> list[str]:
        """The command line; what is asked for stands in a file, which all versions take alike."""
        job = {
            "pmc": list(self._choices[0]),
            "kernel_include_regex": rf"^{re.escape(kernel)}(\.kd)?$",
            "output_directory": str(folder),
            "output_format": ["csv", "json"],
        }
        request = folder / "request.json"
        request.write_text(json.dumps({"jobs": [job]}), encoding="utf-8")
        return [self._executable, "-i", str(request), "--"]

    def _measurement(self, kernel: str, sums: Totals) -> Measurement:
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
            l2_before="warm",
            counters={name: counted[name] for name in self._choices[0] if name in counted},
        )


def _why(kernel: str, ran: Ran) -> ProfileError:
    """Why a run has no readings, or none to be trusted."""
    if re.search(r"permission denied|not permitted|insufficient permission", ran.said, re.I):
        return ProfileError(
            "rocprofv3 may not read the counters of this GPU",
            hint=without_counters(AMD_ACCESS),
            details=(
                *ran.last_lines[-3:],
                "in a container: --device=/dev/kfd --device=/dev/dri "
                "--security-opt seccomp=unconfined",
            ),
        )
    if TOO_MANY.search(ran.said):
        return ProfileError(
            "rocprofv3 cannot count L2 hits and misses at once on this GPU",
            hint=without_counters(),
            details=ran.last_lines[-3:],
        )
    return failure("rocprofv3", kernel, ran)
