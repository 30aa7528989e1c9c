# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Measurements that others published, of kernels that this project has written anew.

A file with `configurations` by name, each with `device`, `command`, `axes` and `sizes`, and with
`records`, each of a `config` and a `mapping`. Its order is Python text, `remap`, parameters of the
pattern `chunked_xcd_window`, or `groups` (`grouped_tiles`); without any it is that of the launch.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from accuracy.configuration import Configuration
from accuracy.measured import MeasuredPair, UnusableError, numbers, read
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.records import Int64Array, Launch
from model_truth.applications import configure, record_launches


@dataclass(frozen=True)
class PublishedConfiguration:
    """What was measured, and how to launch it.

    Attributes:
        device: name of the GPU.
        command: a script in `benchmarks/` and its arguments.
        axes: programs along each axis.
        sizes: what remaps look up, by name.
        records: what was measured of each order, by the order's name.
    """

    device: str
    command: tuple[str, ...]
    axes: tuple[int, ...]
    sizes: Mapping[str, int | float]
    records: Mapping[str, Mapping[str, Any]]


def read_published(file: Path) -> dict[str, PublishedConfiguration]:
    """The configurations of a file, by name."""
    stated = json.loads(file.read_text(encoding="utf-8"))
    return {
        name: PublishedConfiguration(
            device=configuration["device"].lower(),
            command=tuple(configuration["command"].split()),
            axes=tuple(configuration["axes"]),
            sizes=configuration["sizes"],
            records={r["mapping"]: r for r in stated["records"] if r["config"] == name},
        )
        for name, configuration in stated["configurations"].items()
    }


class PublishedMeasurements:
    """What a file holds of one device, as `Measurements`."""

    def __init__(self, file: Path, device: str):
        self._configurations = {
            name: record for name, record in read_published(file).items() if record.device == device
        }

    def readings(self) -> tuple[list[MeasuredPair], list[str]]:
        """What was measured, medians of repeats, in the order of the file; nothing is left out."""
        return [
            _reading(name, mapping, record, configuration.sizes)
            for name, configuration in self._configurations.items()
            for mapping, record in configuration.records.items()
        ], []

    def configuration(self, name: str, target: Target, scratch: Path) -> Configuration:
        """Record, build and trace the project's own kernel, launched as the records say.

        Raises:
            UnusableError: it was measured on another grid.
            CaptureError: its launch cannot be recorded.
            TraceError: … or cannot be traced.
        """
        published = self._configurations[name]

        def launch() -> Launch:
            found = record_launches(published.command, target, scratch)[0]
            if math.prod(published.axes) != found.programs:
                axes = list(published.axes)
                raise UnusableError(f"measured on the grid {axes}; ours is {list(found.grid)}")
            return found

        found = configure(name, launch, partial(_orders, published, target=target), target)
        return replace(found, axes=published.axes)


def _reading(
    config: str, mapping: str, record: Mapping[str, Any], sizes: Mapping[str, int | float]
) -> MeasuredPair:
    """Of a record; the time of a matrix product follows from its TFLOPS."""
    reading = read(record, config, mapping, statistics.median)
    tflops = numbers(record, "tflops")
    if not tflops:
        return reading
    operations = 2e-9 * sizes["M"] * sizes["N"] * sizes["K"]
    return replace(reading, time_ms=float(operations / statistics.median(tflops)))


def _orders(
    published: PublishedConfiguration, launch: Launch, target: Target
) -> dict[str, Int64Array]:
    known = {**launch.constants, **published.sizes, "grid": list(published.axes)}
    orders: dict[str, Int64Array] = {}
    for name, record in published.records.items():
        if "remap" in record:
            orders[name] = evaluate_remap(record["remap"], published.axes, known)
        elif "groups" in record:
            rows, cols = int(published.sizes["rows"]), int(published.sizes["cols"])
            orders[name] = grouped_tiles(rows, cols, *record["groups"], xcds=target.num_xcds)
        elif "chunked_xcd_window" in record:
            text = load_pattern("chunked-xcd-window").bind(**record["chunked_xcd_window"])
            orders[name] = evaluate(
                parse(text), launch.grid, {},
                num_xcds=target.num_xcds, cus_per_xcd=target.cus_per_xcd,
            )  # fmt: skip
        else:
            orders[name] = np.arange(launch.programs)
    return orders


def grouped_tiles(
    rows: int, cols: int, chunk: int | None, window: int, axis: str, *, xcds: int
) -> Int64Array:
    """Launch index -> tile, row by row, of a GEMM's tiles in groups.

    Tiles are numbered in groups of `window` along `axis` (`M`: rows). Each XCD takes a contiguous
    range of the numbers, or `chunk` of them in turn; a last round that is not whole is left as it
    is.
    """
    index = np.arange(rows * cols)
    xcd, at = index % xcds, index // xcds
    if chunk is None:
        number = xcd * (len(index) // xcds) + np.minimum(xcd, len(index) % xcds) + at
    else:
        turned = at // chunk * xcds * chunk + xcd * chunk + at % chunk
        number = np.where(index < len(index) // (xcds * chunk) * xcds * chunk, turned, index)
    along, across = (rows, cols) if axis == "M" else (cols, rows)
    first = number // (window * across) * window
    size = np.minimum(along - first, window)
    rest = number % (window * across)
    i, j = first + rest % size, rest // size
    return np.asarray(i * cols + j if axis == "M" else j * cols + i, np.int64)


def evaluate_remap(text: str, axes: Sequence[int], sizes: Mapping[str, Any]) -> Int64Array:
    """Launch index -> tile of a remap, `def remap(pids, S)`.

    `pids` are arrays of the program ids, one an axis; it returns arrays of logical coordinates.
    Tiles are numbered along the axes, the first fastest; where a grid of one axis stands for two
    coordinates, row by row. A tile out of range is -1.
    """
    names: dict[str, Any] = {"np": np}
    exec(text, names)
    index = np.arange(math.prod(axes))
    pids = np.unravel_index(index, tuple(axes), order="F")
    returned = names["remap"]([pid.astype(np.int64) for pid in pids], dict(sizes))
    coordinates = [np.broadcast_to(np.asarray(axis, np.int64), index.shape) for axis in returned]
    if len(coordinates) == 2 and len(axes) == 1:
        slow, fast = coordinates
        return np.asarray(slow * (fast.max() + 1) + fast, np.int64)
    outside = np.any([(c < 0) | (c >= n) for c, n in zip(coordinates, axes, strict=True)], axis=0)
    inside = [np.where(outside, 0, coordinate) for coordinate in coordinates]
    tile: Int64Array = np.ravel_multi_index(inside, tuple(axes), order="F").astype(np.int64)
    tile[outside] = -1
    return tile
