# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Measurements in a folder: `kernels.py`, `mappings.py` and `measured.json`.

`kernels.py` has `CONFIGS`, a table of builders by name; a builder takes nothing and returns the
extents of the blocks' index and a function that launches the kernel under an order, given as a
tensor. `mappings.py` has `mappings(*extents)`, a table of orders by name.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from accuracy import runner
from accuracy.configuration import (
    MOST_PROGRAMS,
    Configuration,
    Retraced,
    Work,
    resident_workgroups,
    work_of,
)
from accuracy.measured import MeasuredPair, UnusableError, read, records_of
from accuracy.order_table import digest_of, find_table, first_programs
from intelliperf_swizzle.errors import CaptureError, UsageError
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Int64Array, Launch
from intelliperf_swizzle.records.launches import load_launch

FILES = ("kernels.py", "mappings.py", "measured.json")
LIMIT_SECONDS = 600.0
"""For building and launching one configuration; one with 8 GB of random indices takes 20 s."""
COMPUTE_SECONDS = 2.0
"""Spent on executing launches, as an earlier one may compute the addresses of a later one."""


class FolderOfMeasurements:
    """The configurations of one folder and what was measured of them.

    Args:
        folder: with the three files.

    Raises:
        UsageError: a file is missing, or `measured.json` holds no records.
    """

    def __init__(self, folder: Path):
        missing = [name for name in FILES if not (folder / name).is_file()]
        if missing:
            raise UsageError(
                f"{folder} has no {' and no '.join(missing)}",
                hint="a folder with kernels.py, mappings.py and measured.json",
            )
        self._folder = folder.resolve()
        self._records = records_of(folder / "measured.json")

    def readings(self) -> tuple[list[MeasuredPair], list[str]]:
        """What was measured, in the order of the file; and why records are left out."""
        readings, left_out = [], []
        for number, record in enumerate(self._records, 1):
            names = _names(record)
            if names is None:
                left_out.append(f"record {number}: it names no config and mapping")
                continue
            try:
                readings.append(read(record, *names))
            except UnusableError as error:
                left_out.append(f"{names[0]}, {names[1]}: {error}")
        return readings, left_out

    def configuration(self, name: str, target: Target, scratch: Path) -> Configuration:
        """Record, build and trace a configuration.

        Args:
            name: of the configuration.
            target: the GPU that the folder's code sees and is compiled for.
            scratch: an empty folder that outlives the configuration.

        Raises:
            UnusableError: the folder does not know it, or its code fails.
            UsageError: nothing in the folder can work: a module cannot be imported.
            CaptureError: its launch cannot be recorded.
            TraceError: … or cannot be traced.
        """
        begun = time.monotonic()
        outcome = self._launch(name, runner.PROBE, target, scratch / "probe")
        axes = tuple(outcome["axes"])
        probe = runner.probe(int(np.prod(axes)))
        launches = _launches(outcome["launched"][runner.PROBE], scratch / "probe")
        tables = [(launch, find_table(launch, probe)) for launch in launches]
        if any(table for _, table in tables):
            makers: list[tuple[Launch, Callable[[], Work]]] = [
                (launch, partial(work_of, launch, table, probe, scratch))
                for launch, table in tables
                if table
            ]
        else:
            makers = self._relaunched(name, target, scratch)
        with ThreadPoolExecutor(2) as pool:  # both wait for child processes
            building = [pool.submit(resident_workgroups, launch, target) for launch, _ in makers]
            works = [make() for _, make in makers]
            resident = [future.result() for future in building]
        notes = [note for launch, _ in makers for note in _left_out(launch)]
        notes += [note for _, found in resident for note in found]
        return Configuration(
            name=name,
            axes=axes,
            orders=_orders(outcome, scratch / "probe"),
            unreadable=outcome["refused"],
            works=[(work, count) for work, (count, _) in zip(works, resident, strict=True)],
            notes=tuple(dict.fromkeys(notes)),
            seconds=time.monotonic() - begun,
        )

    def _launch(self, name: str, orders: str, target: Target, place: Path) -> dict[str, Any]:
        """Run the folder's code in a child process, recorded; what it says came of it."""
        place.mkdir()
        request = place / "request.json"
        request.write_text(
            json.dumps({"folder": str(self._folder), "config": name, "orders": orders})
        )
        failure = None
        try:
            capture(
                RecordRequest(
                    [sys.executable, runner.__file__, str(request)],
                    folder=place / "capture",
                    cwd=self._folder,
                    limit_seconds=LIMIT_SECONDS,
                    target=target,
                ),
                compute_budget_seconds=COMPUTE_SECONDS,
            )
        except CaptureError as error:
            failure = error
        try:
            outcome: dict[str, Any] = json.loads((place / "outcome.json").read_text())
        except OSError as error:
            raise failure or UnusableError("its process ended without a word") from error
        if outcome.get("step") == "import":
            raise UsageError(outcome["failure"])
        if "failure" in outcome:
            raise UnusableError(outcome["failure"])
        if "known" in outcome:
            raise UnusableError("kernels.py has no such configuration")
        if failure:
            raise failure
        return outcome

    def _relaunched(
        self, name: str, target: Target, scratch: Path
    ) -> list[tuple[Launch, Callable[[], Work]]]:
        """For a kernel without a table that is recognised: launch it under every order.

        Raises:
            UnusableError: its launches do not depend on the order.
        """
        outcome = self._launch(name, runner.EVERY, target, scratch / "every")
        orders = _orders(outcome, scratch / "every")
        launched = {
            order: _launches(records, scratch / "every")
            for order, records in outcome["launched"].items()
        }
        common = set.intersection(
            *({entry.kernel for entry in launches} for launches in launched.values())
        )
        by_order = {
            digest_of(orders[order]): [entry for entry in launches if entry.kernel in common]
            for order, launches in launched.items()
        }
        counts = {len(launches) for launches in by_order.values()}
        if counts != {max(counts)} or not common:
            raise UnusableError("what it launches does not depend on the order that it is given")
        works: list[tuple[Launch, Callable[[], Work]]] = []
        for number, launch in enumerate(next(iter(by_order.values()))):
            of_order = {order: launches[number] for order, launches in by_order.items()}
            works.append((launch, partial(Retraced, partial(_by_digest, of_order))))
        return works


def _by_digest(launches: Mapping[str, Launch], order: Int64Array) -> Launch:
    return first_programs(launches[digest_of(order)], MOST_PROGRAMS)


def _left_out(launch: Launch) -> list[str]:
    """That only the first programs of a launch are replayed, in a note."""
    replayed = first_programs(launch, MOST_PROGRAMS).programs
    if replayed == launch.programs:
        return []
    return [f"the first {replayed} of its {launch.programs} programs are replayed"]


def _names(record: object) -> tuple[str, str] | None:
    if not isinstance(record, Mapping):
        return None
    config, mapping = record.get("config"), record.get("mapping")
    return (config, mapping) if isinstance(config, str) and isinstance(mapping, str) else None


def _launches(records: Sequence[str], place: Path) -> list[Launch]:
    """The launches of these records, in the order in which they were made."""
    folder = place / "capture" / "launches"
    return sorted(
        (load_launch(folder / f"{record}.json") for record in records),
        key=lambda launch: launch.ordinal,
    )


def _orders(outcome: Mapping[str, Any], place: Path) -> dict[str, Int64Array]:
    """The orders by name, each read where it is used."""
    return {
        name: np.load(place / f"order-{number}.npy", mmap_mode="r")
        for number, name in enumerate(outcome["orders"])
    }
