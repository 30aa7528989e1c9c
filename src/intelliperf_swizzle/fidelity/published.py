# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Measurements that others published, of kernels that this project has written anew.

A file of records, each with `device`, `kernel`, `problem`, `blocks`, `grid` and `l2_hit_rate_pct`,
and with the order as `mapping_python` (see `remaps`) or, for HipKittens' Table 4, as `mapping` in
words. The kernels are the applications in `benchmarks/` of a checkout.
"""

from __future__ import annotations

import math
import re
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.capture import capture
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.fidelity.configuration import (
    Configuration,
    Renumbered,
    resident_workgroups,
)
from intelliperf_swizzle.fidelity.readings import Reading, UnusableError, numbers, read, records_of
from intelliperf_swizzle.fidelity.remaps import orders_of
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.records import Int64Array, Launch
from intelliperf_swizzle.trace import trace

_NEEDED = ("device", "kernel", "problem", "l2_hit_rate_pct")


@dataclass(frozen=True)
class Application:
    """How to launch a published kernel.

    Attributes:
        script: in `benchmarks/`.
        arguments: always given.
        options: of which sizes of the record it is told, and how.
    """

    script: str
    arguments: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()


_MATRIX = (("M", "--m"), ("N", "--n"))
_TILES = (*_MATRIX, ("BLOCK_SIZE_M", "--block-m"), ("BLOCK_SIZE_N", "--block-n"))
_FIELD = (
    ("Nx", "--nx"),
    ("Ny", "--ny"),
    ("BLOCK_SIZE_X", "--block-x"),
    ("BLOCK_SIZE_Y", "--block-y"),
)
APPLICATIONS = {
    # row-major, so that a tile's number says where it lies; the published orders do the grouping
    "gemm_matmul": Application(
        "kernels/gemm.py",
        ("--group-m", "1"),
        (*_TILES, ("K", "--k"), ("BLOCK_SIZE_K", "--block-k")),
    ),
    "gemm_bf16": Application("hipkittens_table4.py", (), (("M", "--application"),)),
    "softmax": Application(
        "kernels/softmax.py", (), (("n_rows", "--n-rows"), ("n_cols", "--n-cols"))
    ),
    "spmv": Application(
        "kernels/spmv.py",
        (),
        (*_MATRIX, ("density", "--density"), ("BLOCK_SIZE", "--block-size")),
    ),
    "stencil_2d": Application("kernels/stencil_2d.py", (), _TILES),
    "transpose": Application("kernels/transpose.py", (), _TILES),
    "fdtd_2d": Application("kernels/fdtd_2d.py", ("--in-place",), _FIELD),
    "fused_elementwise": Application(
        "kernels/elementwise.py", (), (("size", "--n"), ("BLOCK_SIZE", "--block-size"))
    ),
    "layer_norm": Application("kernels/layer_norm.py", (), _MATRIX),
}
"""The published kernels by the records' names."""


class PublishedMeasurements:
    """The records of one device in a file.

    Args:
        file: of records.
        device: name of the target; records of other devices are left out.

    Raises:
        UsageError: the file holds no records of this form, or none of this device.
    """

    def __init__(self, file: Path, device: str):
        records = records_of(file)
        stated = [one for one in records if isinstance(one, Mapping) and "device" in one]
        devices = sorted({str(one["device"]).lower() for one in stated})
        if device not in devices:
            raise UsageError(
                f"{file} holds no records of {device}",
                hint=f"--target, one of: {', '.join(devices)}" if devices else None,
            )
        self._records = [one for one in stated if str(one["device"]).lower() == device]
        self._left_out = [
            f"record {number}: it names no device"
            for number, one in enumerate(records, 1)
            if one not in stated
        ]
        self._by_config: dict[str, dict[str, Mapping[str, Any]]] = {}

    def readings(self) -> tuple[list[Reading], list[str]]:
        """What was measured, medians of repeats, in the order of the file."""
        readings, left_out = [], list(self._left_out)
        for record in self._records:
            config = f"{record.get('kernel')} {record.get('problem')}"
            of_config = self._by_config.setdefault(config, {})
            mapping = record.get("mapping") or f"order {len(of_config) + 1}"
            of_config[str(mapping)] = record
            try:
                reading = read(record, config, str(mapping), statistics.median)
                readings.append(replace(reading, time_ms=reading.time_ms or _gemm_ms(record)))
            except UnusableError as error:
                left_out.append(f"{config}, {mapping}: {error}")
        return readings, left_out

    def configuration(self, name: str, target: Target, scratch: Path) -> Configuration:
        """Record, build and trace the project's own kernel, launched as the records say.

        Raises:
            UnusableError: there is no such kernel here.
            CaptureError: its launch cannot be recorded.
            TraceError: … or cannot be traced.
        """
        begun = time.monotonic()
        records = self._by_config[name]
        first = next(iter(records.values()))
        sizes = _sizes(first)
        launch = _launch(str(first["kernel"]), sizes, target, scratch)
        grid = first.get("grid") or [launch.programs]
        if math.prod(grid) != launch.programs:
            raise UnusableError(f"measured on the grid {grid}; ours is {list(launch.grid)}")
        orders = _orders(records, launch, grid, sizes, target, scratch)
        resident, notes = resident_workgroups(launch, target)
        return Configuration(
            name=name,
            axes=tuple(grid),
            orders={each: order for each, order in orders.items() if not isinstance(order, str)},
            unreadable={each: order for each, order in orders.items() if isinstance(order, str)},
            works=[(Renumbered(trace(launch)), resident)],
            notes=notes,
            seconds=time.monotonic() - begun,
        )


def benchmarks() -> Path:
    """The folder `benchmarks` of the checkout.

    Raises:
        UsageError: this is no checkout.
    """
    for root in (Path(__file__).parents[3], Path.cwd()):
        if (root / "benchmarks" / "kernels").is_dir():
            return root / "benchmarks"
    raise UsageError(
        "the kernels of published measurements are not part of an installed package",
        hint="run this in a checkout of the project, which has them in benchmarks/kernels",
    )


def _launch(kernel: str, sizes: Mapping[str, Any], target: Target, scratch: Path) -> Launch:
    if kernel not in APPLICATIONS:
        raise UnusableError(f"benchmarks/ has no kernel `{kernel}`")
    application = APPLICATIONS[kernel]
    told = [
        word
        for size, option in application.options
        for word in (option, str(sizes.get(size)))
        if size in sizes
    ]
    found = capture(
        [sys.executable, str(benchmarks() / application.script), *application.arguments, *told],
        folder=scratch / "capture",
        cwd=scratch,
        compute="never",
        target=target,
    )
    return found.launches[0]


def _sizes(record: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes that a record states: of the problem, `M=N=K=8192, density=0.08`, and of blocks."""
    sizes: dict[str, Any] = {}
    for names, number in re.findall(r"((?:\w+=)+)([\d.]+)", str(record.get("problem"))):
        value = float(number) if "." in number else int(number)
        sizes |= dict.fromkeys(names.rstrip("=").split("="), value)
    blocks = record.get("blocks")
    return sizes | dict(blocks) if isinstance(blocks, Mapping) else sizes


def _gemm_ms(record: Mapping[str, Any]) -> float | None:
    """The time of a matrix product of which only the TFLOPS are stated."""
    tflops, sizes = numbers(record, "tflops"), _sizes(record)
    if not tflops or not {"M", "N", "K"} <= set(sizes):
        return None
    return float(2e-9 * sizes["M"] * sizes["N"] * sizes["K"] / statistics.median(tflops))


def _orders(
    records: Mapping[str, Mapping[str, Any]],
    launch: Launch,
    grid: Sequence[int],
    sizes: Mapping[str, Any],
    target: Target,
    scratch: Path,
) -> dict[str, Int64Array | str]:
    """The order of each record by name, or why there is none."""
    orders: dict[str, Int64Array | str] = {
        name: _in_words(str(record.get("mapping")), launch, sizes, target)
        for name, record in records.items()
        if "mapping_python" not in record
    }
    remaps = {
        name: str(record["mapping_python"])
        for name, record in records.items()
        if "mapping_python" in record
    }
    known = {**launch.constants, **sizes, "grid": list(grid)}
    found = orders_of(list(remaps.values()), grid, known)
    return orders | dict(zip(remaps, found, strict=True))


def _in_words(
    mapping: str, launch: Launch, sizes: Mapping[str, Any], target: Target
) -> Int64Array | str:
    """HipKittens' orders: `row-major`, or `chunk C=216, window W=7`."""
    if mapping == "row-major":
        return np.arange(launch.programs)
    chunk = re.search(r"\b(\d+) whole chunks", mapping) or re.search(r"C=(\d+)", mapping)
    window = re.search(r"W=(\d+)", mapping)
    if not chunk or not window:
        return "there is no such mapping"
    text = load_pattern("chunked-xcd-window").bind(
        cols=sizes["N"] // 256, chunk=int(chunk[1]), window=int(window[1])
    )
    return evaluate(
        parse(text), launch.grid, {}, num_xcds=target.num_xcds, cus_per_xcd=target.cus_per_xcd
    )
