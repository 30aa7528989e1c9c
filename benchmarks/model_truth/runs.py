# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Measurements of end-to-end runs on a GPU: the unmodified kernel, and the orders profiled there.

A file of one JSON object a line, as `benchmarks/h200.py` writes it: each has a `case`, the
`command` in `benchmarks/kernels/` that was run, the `kernel`, its `baseline` and its `attempts` and
`orders`, in the swizzle language and with what a profiler counted.

Times are of a second file (`h200.py --times`), in milliseconds and by name, two readings of each;
an order that is not there has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from accuracy.configuration import Configuration
from accuracy.measured import MeasuredPair, UnusableError
from intelliperf_swizzle.errors import LanguageError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.profile.modelled import divisions_of
from intelliperf_swizzle.records import Int64Array, Launch
from model_truth.applications import configure, record_launches

UNMODIFIED = "unmodified"


@dataclass(frozen=True)
class MeasuredRun:
    """One line of the file.

    Attributes:
        command: a script in `benchmarks/` and its arguments.
        kernel: its name.
        grids: of its launches.
        orders: text (None: the unmodified kernel) and counters of each profiled order, by name.
        readings_ms: times of orders, by name.
    """

    command: tuple[str, ...]
    kernel: str
    grids: tuple[tuple[int, ...], ...]
    orders: Mapping[str, tuple[str | None, Mapping[str, Any]]]
    readings_ms: Sequence[Mapping[str, float]] = ()

    def time_ms(self, order: str) -> float | None:
        """The mean of its readings."""
        known = [reading[order] for reading in self.readings_ms if order in reading]
        return fmean(known) if known else None


def read_runs(file: Path, times: Path) -> dict[str, MeasuredRun]:
    """The runs of a file, by case, with the times of another one."""
    readings = {line["case"]: line["readings_ms"] for line in _lines(times)}
    return {
        line["case"]: MeasuredRun(
            command=(f"kernels/{line['command'][0]}", *line["command"][1:]),
            kernel=line["kernel"],
            grids=tuple(tuple(launch[:3]) for launch in line["launches"]),
            orders=_profiled_orders(line),
            readings_ms=readings.get(line["case"], ()),
        )
        for line in _lines(file)
    }


def _lines(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _profiled_orders(record: Mapping[str, Any]) -> dict[str, tuple[str | None, Mapping[str, Any]]]:
    """Of the orders that a profiler counted, the first of each text."""
    by_text: dict[str | None, tuple[str, Mapping[str, Any]]] = {}
    for name, text, counters in _listed_orders(record):
        measured = counters and counters["profiler"] != "model"
        if measured and counters["l2_hit_rate"] is not None:
            by_text.setdefault(text, (name, counters))
    return {name: (text, counters) for text, (name, counters) in by_text.items()}


def _listed_orders(record: Mapping[str, Any]) -> Iterator[tuple[str, str | None, Any]]:
    """Name, text and counters of each."""
    yield UNMODIFIED, None, record["baseline"]
    for attempt in record["attempts"]:
        yield attempt["name"], attempt["text"], attempt["measurement"]
    for name, order in record["orders"].items():
        yield name, order["text"], order["counted"]


class MeasuredRuns:
    """The runs in a file with the times of another, as `Measurements`."""

    def __init__(self, file: Path, times: Path) -> None:
        self._runs = read_runs(file, times)

    def readings(self) -> tuple[list[MeasuredPair], list[str]]:
        """What a profiler counted, in the order of the file; and which runs have no counters."""
        readings = [
            MeasuredPair(
                config=case,
                mapping=name,
                hit_rate=counters["l2_hit_rate"],
                counter_hit_rate=counters.get("l2_counter_hit_rate"),
                time_ms=run.time_ms(name),
            )
            for case, run in self._runs.items()
            for name, (_, counters) in run.orders.items()
        ]
        empty = [case for case, run in self._runs.items() if not run.orders]
        return readings, [f"{case}: nothing was counted" for case in empty]

    def configuration(self, name: str, target: Target, scratch: Path) -> Configuration:
        """Record, build and trace the application of a run.

        Raises:
            UnusableError: it launches no kernel of that name now, or on another grid.
            CaptureError: its launch cannot be recorded.
            TraceError: … or cannot be traced.
        """
        run = self._runs[name]

        def launch() -> Launch:
            found = record_launches(run.command, target, scratch)
            launches = [launch for launch in found if launch.kernel == run.kernel]
            if not launches:
                raise UnusableError(f"{run.command[0]} launches no kernel `{run.kernel}`")
            grids = tuple(tuple(launch.grid) for launch in launches)
            if grids != run.grids:
                raise UnusableError(f"measured on the grids {run.grids}; now they are {grids}")
            if len(launches) > 1:
                raise UnusableError(f"{len(launches)} different launches were counted together")
            return launches[0]

        divisions = {}

        def mappings(launch: Launch) -> dict[str, Int64Array | str]:
            orders = {
                order: _order(text, launch, target) for order, (text, _) in run.orders.items()
            }
            for order, (text, _) in run.orders.items():
                if text is not None and not isinstance(orders[order], str):
                    divisions[order] = divisions_of(parse(text), launch, target)
            return orders

        return replace(configure(name, launch, mappings, target), divisions=divisions)


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
