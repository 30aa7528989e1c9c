# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Measurements of whole runs on a GPU: the kernel as it is, and the orders that were counted there.

A file of one JSON object a line, as `benchmarks/h200.py` writes it: each has a `case`, the
`command` in `benchmarks/kernels/` that was run, the `kernel`, its `baseline` and its `attempts` and
`orders`, in the swizzle language and with what a profiler counted.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.capture import capture
from intelliperf_swizzle.errors import LanguageError, UsageError
from intelliperf_swizzle.fidelity.configuration import (
    Configuration,
    Renumbered,
    resident_workgroups,
)
from intelliperf_swizzle.fidelity.published import benchmarks
from intelliperf_swizzle.fidelity.readings import Reading, UnusableError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.records import Int64Array, Launch
from intelliperf_swizzle.trace import trace

AS_IT_IS = "as it is"


class MeasuredRuns:
    """The runs in a file.

    Args:
        file: of records, one a line.

    Raises:
        UsageError: it cannot be read, or holds no records of this form.
    """

    def __init__(self, file: Path) -> None:
        try:
            records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            self._runs = {str(one["case"]): _Run(one) for one in records}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(
                f"{file} cannot be read: {type(error).__name__}: {' '.join(str(error).split())}",
                hint="each line a record of benchmarks/h200.py",
            ) from error
        if not 0 < len(self._runs) == len(records):
            raise UsageError(f"{file} holds no runs, or two of one case")

    def readings(self) -> tuple[list[Reading], list[str]]:
        """What a profiler counted, in the order of the file; and which runs have no counters."""
        readings, left_out = [], []
        for case, run in self._runs.items():
            found = [
                Reading(
                    config=case,
                    mapping=name,
                    hit_rate=counted["l2_hit_rate"],
                    counter_hit_rate=counted.get("l2_counter_hit_rate"),
                    time_ms=counted.get("time_ms"),
                )
                for name, (_, counted) in run.counted.items()
            ]
            readings += found
            if not found:
                left_out.append(f"{case}: nothing was counted")
        return readings, left_out

    def configuration(self, name: str, target: Target, scratch: Path) -> Configuration:
        """Record, build and trace the application of a run.

        Raises:
            UnusableError: it launches no kernel of that name now, or on another grid.
            CaptureError: its launch cannot be recorded.
            TraceError: … or cannot be traced.
        """
        begun = time.monotonic()
        run = self._runs[name]
        script, *arguments = run.command
        found = capture(
            [sys.executable, str(benchmarks() / "kernels" / script), *arguments],
            folder=scratch / "capture",
            cwd=scratch,
            compute="never",
            target=target,
        )
        launches = [one for one in found.launches if one.kernel == run.kernel]
        if not launches:
            raise UnusableError(f"{script} launches no kernel `{run.kernel}`")
        grids = [list(one.grid) for one in launches]
        if grids != run.grids:
            raise UnusableError(f"measured on the grids {run.grids}; now they are {grids}")
        if len(launches) > 1:
            raise UnusableError(f"{len(launches)} different launches were counted together")
        [launch] = launches
        orders = {each: _order(text, launch, target) for each, (text, _) in run.counted.items()}
        resident, notes = resident_workgroups(launch, target)
        return Configuration(
            name=name,
            axes=tuple(launch.grid),
            orders={each: order for each, order in orders.items() if not isinstance(order, str)},
            unreadable={each: order for each, order in orders.items() if isinstance(order, str)},
            works=[(Renumbered(trace(launch)), resident)],
            notes=notes,
            seconds=time.monotonic() - begun,
        )


class _Run:
    """A record; `counted`: text and counters of each order that a profiler counted, by name."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.command: list[str] = record["command"]
        self.kernel: str = record["kernel"]
        self.grids = [launch[:3] for launch in record["launches"]]
        self.counted: dict[str, tuple[str | None, Mapping[str, Any]]] = {}
        listed = [(AS_IT_IS, None, record["baseline"])]
        listed += [(one["name"], one["text"], one["measurement"]) for one in record["attempts"]]
        listed += [(name, one["text"], one["counted"]) for name, one in record["orders"].items()]
        texts: set[str | None] = set()
        for name, text, counted in listed:
            read = counted and counted["profiler"] != "model" and counted["l2_hit_rate"] is not None
            if not read or text in texts:
                continue
            if name in self.counted:
                raise ValueError(f"{record['case']}: two orders are called {name!r}")
            texts.add(text)
            self.counted[name] = (text, counted)


def _order(text: str | None, launch: Launch, target: Target) -> Int64Array | str:
    """The tile of each program, or why there is none."""
    if text is None:
        return np.arange(launch.programs)
    try:
        return evaluate(
            parse(text),
            launch.grid,
            launch.constants,
            num_xcds=target.num_xcds,
            cus_per_xcd=target.cus_per_xcd,
        )
    except LanguageError as error:
        return error.fact
