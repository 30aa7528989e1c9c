# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Why the L2 requests of each application miss, unmodified and with the best swizzle of figure 2.

python benchmarks/causes.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from figure_02 import APPLICATIONS, FIGURE_02
from harness.command import Record, Table, Wishes, main
from harness.items import Bench
from harness.render import generated, page, percent, table
from harness.work import causes
from intelliperf_swizzle.context.miss_causes import CLASSES


def compute(bench: Bench, wishes: Wishes) -> Record:
    """The causes of each application, before and after."""
    rows = {row["name"]: row["offline"] for row in json.loads(FIGURE_02.record.read_text())["rows"]}
    best = [(rows[one.name] or {}).get("best") for one in APPLICATIONS]
    items = [
        one.inputs(wishes.target, swizzle=found["text"] if found else None)
        for one, found in zip(APPLICATIONS, best, strict=True)
    ]
    return {
        "target": wishes.target,
        "rows": [
            {"name": one.name, **outcome}
            for one, outcome in zip(APPLICATIONS, bench.map(causes, items), strict=True)
        ],
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
            table(header, [row for one in record["rows"] for row in _rows(one, header)]),
            "## By tensor",
            table(
                ["kernel", "", "tensor", *header[2:]],
                [row for one in record["rows"] for row in _by_tensor(one)],
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


def _by_tensor(row: Mapping[str, Any]) -> list[list[str]]:
    return [
        [row["name"], when, ", ".join(one["names"]), *_shares([one], row[when])]
        for when in ("before", "after")
        for one in row.get(when) or ()
    ]


def _shares(some: Sequence[Mapping[str, Any]], every: Sequence[Mapping[str, Any]]) -> list[str]:
    """The misses of some tensors and their classes, of the requests of all of them."""
    requests = sum(one["requests"] for one in every)
    counts = [sum(one[name] for one in some) for name in CLASSES]
    return [percent(count / requests) for count in (sum(counts), *counts)]


CAUSES = Table("causes", compute, render)

if __name__ == "__main__":
    sys.exit(main(CAUSES, description=__doc__))
