# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Why the L2 requests of each application miss, unmodified and with the best swizzle of figure 2.

On an H200, unmodified: the classes of the model between the counters that bound them.

    python benchmarks/causes.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from figure_02 import APPLICATIONS, FIGURE_02
from harness.applications import Application
from harness.command import Record, Table, Wishes, main
from harness.items import BENCHMARKS, Bench
from harness.render import generated, page, percent, table
from harness.work import causes
from intelliperf_swizzle.context.locality import CLASSES

COUNTED = BENCHMARKS / "measured" / "h200_swizzles.jsonl"
ON_H200 = (
    "transpose", "stencil_2d", "fdtd_2d", "gemm_stream_k", "layer_norm", "attention",
    "gemm 8192³, 64x64x32", "gemm 16384²x4096, 64x64x32, 8 warps",
    "gemm 512x28672x8192, 128x128x64 (LLM: up projection, small batch)",
    "gemm 4096x28672x4096, 128x256x64",
)  # fmt: skip
"""Cases whose counters were read, of different kernels and different causes."""


def compute(bench: Bench, wishes: Wishes) -> Record:
    """The causes of each application, before and after."""
    rows = {row["name"]: row["offline"] for row in json.loads(FIGURE_02.record.read_text())["rows"]}
    best = [(rows[application.name] or {}).get("best") for application in APPLICATIONS]
    items = [
        application.inputs(wishes.target, swizzle=found["text"] if found else None)
        for application, found in zip(APPLICATIONS, best, strict=True)
    ]
    return {
        "target": wishes.target,
        "rows": [
            {"name": application.name, **outcome}
            for application, outcome in zip(APPLICATIONS, bench.map(causes, items), strict=True)
        ],
        "on_h200": on_h200(bench),
    }


def on_h200(bench: Bench) -> list[dict[str, Any]]:
    """Of each case the causes, modelled, and what was counted of the same launch."""
    runs = [json.loads(line) for line in COUNTED.read_text().splitlines()]
    chosen = [run for run in runs if run["case"] in ON_H200 and run["baseline"]["fabric_bytes"]]
    items = [
        Application(run["case"], Path(run["command"][0]).stem, tuple(run["command"][1:])).inputs(
            "h200", kernel=run["kernel"], swizzle=None
        )
        for run in chosen
    ]
    return [
        {
            "name": run["case"],
            "causes": outcome["before"],
            "counted": shares(run["baseline"]),
        }
        for run, outcome in zip(chosen, bench.map(causes, items), strict=True)
    ]


def shares(counted: Mapping[str, Any]) -> dict[str, float]:
    """Of a hundred bytes that the L2 is asked for: what missed, crossed over, and was fetched."""
    asked = counted["l2_bytes"]
    return {
        "missed": 1 - counted["l2_hit_rate"],
        "crossed": counted["fabric_bytes"] / asked,
        "fetched": counted["counters"]["dram__bytes_read.sum"] / asked,
    }


def render(record: Record) -> dict[str, str]:
    """The page."""
    header = ["kernel", "", "miss %", *(name.format("XCD") for name in CLASSES.values())]
    return {
        "results/causes.md": page(
            generated("causes.py"),
            "# Why requests miss",
            f"Target `{record['target']}`, modelled: of a hundred L2 requests, how many miss for "
            "which reason ([the classes](../cache-model.md#why-a-request-misses)), unmodified and "
            "with the best swizzle of [figure 2](figure_02.md); then by tensor, the most misses "
            "first.",
            table(
                header, [row for record_row in record["rows"] for row in _rows(record_row, header)]
            ),
            "## By tensor",
            table(
                ["kernel", "", "tensor", *header[2:]],
                [row for record_row in record["rows"] for row in _by_tensor(record_row)],
            ),
            "## Beside counters, on an H200",
            "Unmodified kernels, of a hundred L2 requests. In bold what ncu counted: misses, what "
            "crossed from one L2 partition to the other (`lts__t_sectors_srcunit_ltcfabric`), and "
            "what was read from memory (`dram__bytes_read`). No counter tells the classes apart, "
            "but two bound them: a miss of the class *another partition* crosses over, as do "
            "others, and each compulsory one is read from memory, which capacity and conflict "
            "misses need not be if the other partition still has the line.",
            table(
                [
                    "kernel",
                    "**miss**",
                    "modelled",
                    "another partition",
                    "≤ **crossed**",
                    "compulsory",
                    "≤ **from memory**",
                    "≤ compulsory, capacity and conflict",
                ],
                [_beside_counters(kernel) for kernel in record["on_h200"]],
            ),
        )
    }


def _rows(row: Mapping[str, Any], header: Sequence[str]) -> list[list[str]]:
    if "error" in row:
        return [[row["name"], row["error"], *[""] * (len(header) - 2)]]
    return [
        [row["name"], when, *_shares(row[when], row[when])]
        for when in ("before", "after")
        if row[when]
    ]


def _beside_counters(row: Mapping[str, Any]) -> list[str]:
    requests = sum(cause["requests"] for cause in row["causes"])
    part = {name: sum(cause[name] for cause in row["causes"]) / requests for name in CLASSES}
    elsewhere, counted = part["other_domain"], row["counted"]
    every = sum(part.values())
    return [
        row["name"],
        f"**{percent(counted['missed'])}**",
        percent(every),
        percent(elsewhere),
        f"**{percent(counted['crossed'])}**",
        percent(part["compulsory"]),
        f"**{percent(counted['fetched'])}**",
        percent(every - elsewhere),
    ]


def _by_tensor(row: Mapping[str, Any]) -> list[list[str]]:
    return [
        [row["name"], when, ", ".join(cause["names"]), *_shares([cause], row[when])]
        for when in ("before", "after")
        for cause in row.get(when) or ()
    ]


def _shares(some: Sequence[Mapping[str, Any]], every: Sequence[Mapping[str, Any]]) -> list[str]:
    """The misses of some tensors and their classes, of the requests of all of them."""
    requests = sum(cause["requests"] for cause in every)
    counts = [sum(cause[name] for cause in some) for name in CLASSES]
    return [percent(count / requests) for count in (sum(counts), *counts)]


CAUSES = Table("causes", compute, render)

if __name__ == "__main__":
    sys.exit(main(CAUSES, description=__doc__))
