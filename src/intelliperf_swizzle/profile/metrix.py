# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""AMD GPUs: L2 hit rates from AMDResearch's Metrix, which runs rocprofv3 itself.

Metrix says of a dispatch its kernel, its hit rate and its bytes, and not its grid. So all
dispatches of the kernel count, and the sums are formed with the bytes as weights.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.application import Application, Ran, failure, profiled
from intelliperf_swizzle.profile.readings import plain_name
from intelliperf_swizzle.profile.tools import Tool
from intelliperf_swizzle.records import Measurement

HIT_RATE = "memory.l2_hit_rate"
BYTES = "memory.bytes_transferred_l2"


class MetrixProfiler:
    """Runs the application under `metrix profile`, once.

    Args:
        application: what to run.
        target: the GPU.
        tool: where Metrix is.
    """

    name = "metrix"

    def __init__(self, application: Application, target: Target, tool: Tool):
        self._application = application
        self._executable = tool.path or tool.name
        self.device = application.device.product if application.device else target.product

    def measure(self, launches: Sequence[TracedLaunch], edit: Edit | None = None) -> Measurement:
        """The hit rate over all dispatches of the kernel, in a run that carries the edit.

        Raises:
            ProfileError: the run failed, or its profile lacks the kernel or its hit rate.
        """
        kernel = launches[0].launch.kernel

        def command(folder: Path) -> list[str]:
            return self._command(kernel, folder)

        with profiled(self._application, kernel, edit, command, quoted=True) as ran:
            own = list(_dispatches(kernel, ran))
            if not own or ran.exit_code:
                raise failure(self.name, kernel, ran)
        rated = [(rate, bytes_) for rate, bytes_, _ in own if rate is not None and bytes_]
        if len(rated) < len(own):
            raise ProfileError(f"Metrix collected no L2 hit rate of `{kernel}`")
        moved = sum(bytes_ for _, bytes_ in rated)
        times = [time_us for _, _, time_us in own if time_us is not None]
        return Measurement(
            profiler=self.name,
            device=self.device,
            l2_hit_rate=sum(rate * bytes_ for rate, bytes_ in rated) / moved,
            l2_bytes=round(moved),
            time_ms=sum(times) / 1e3 if len(times) == len(own) else None,
            l2_before="warm",
        )

    def _command(self, kernel: str, folder: Path) -> list[str]:
        return [
            self._executable,
            "profile",
            *("--metrics", f"{HIT_RATE},{BYTES}"),
            *("--kernel", rf"^{kernel}(\.kd)?$"),
            *("--num-replays", "1"),
            *("--timeout", str(round(self._application.limit_seconds))),
            *("--output", str(folder / "metrix.json")),
        ]


def _dispatches(kernel: str, ran: Ran) -> Iterator[tuple[float | None, float | None, float | None]]:
    """Hit rate (0 to 1), bytes and microseconds of each dispatch of the kernel.

    Raises:
        ProfileError: the file is not what Metrix writes.
    """
    file = ran.folder / "metrix.json"
    if not file.is_file():
        return
    try:
        document = json.loads(file.read_text(encoding="utf-8", errors="replace"))
        for name, profile in document.items():
            if plain_name(name.split(":", 1)[-1]) == kernel:
                rate = _average(profile["metrics"].get(HIT_RATE))
                yield (
                    None if rate is None else rate / 100,
                    _average(profile["metrics"].get(BYTES)),
                    _average(profile.get("duration_us")),
                )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProfileError(f"Metrix's JSON is of an unknown layout: {error!r}") from error


def _average(statistics: Mapping[str, Any] | None) -> float | None:
    return None if statistics is None else float(statistics["avg"])
