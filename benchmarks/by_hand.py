# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the plain command finds on an MI300X beside what people use without a search, modelled.

python benchmarks/by_hand.py            # run the command on each kernel, then write the page
python benchmarks/by_hand.py --render   # the page from the record
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.command import Record, Table, Wishes, made_with, main
from harness.items import BENCHMARKS, Bench
from harness.render import generated, page, percent, table

KERNELS = ("gemm", "batched_gemm", "stencil_2d")


def compute(_: Bench, wishes: Wishes) -> Record:
    """One run after the other, each of the command as a user types it."""
    return {"target": wishes.target, "rows": [run(name, wishes.target) for name in KERNELS]}


def run(name: str, target: str) -> dict[str, Any]:
    """The hit rates of one run: unmodified, by hand, found, ceiling."""
    with tempfile.TemporaryDirectory(prefix="by-hand-") as folder:
        subprocess.run(
            [sys.executable, "-m", "intelliperf_swizzle", "--target", target, "--proposer",
             "offline", "--report_dir", folder, "-o", f"{folder}/result.json", "--",
             sys.executable, str(BENCHMARKS / "kernels" / f"{name}.py")],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return row(name, json.loads(Path(folder, "result.json").read_text())["swizzle"])


def row(name: str, swizzle: Mapping[str, Any]) -> dict[str, Any]:
    """The hit rates of a result."""
    best = swizzle["best"]
    return {
        "name": name,
        "by_hand": {row["name"]: row["l2_hit_rate"] for row in swizzle["by_hand"]},
        "unmodified": swizzle["baseline"]["l2_hit_rate"],
        "found": best and best["measurement"]["l2_hit_rate"],
        "swizzle": best and best["name"],
        "ceiling": swizzle["ceiling"]["l2_hit_rate"],
        "commit": made_with()["commit"],
    }


def render(record: Record) -> dict[str, str]:
    """The page."""
    rows = [
        [
            f"`{row['name']}.py`",
            percent(row["unmodified"]),
            *_by_hand(row),
            percent(row["found"]) if row["swizzle"] else "no improvement found",
            f"`{row['swizzle']}`" if row["swizzle"] else "–",
            percent(row["ceiling"]),
            row["commit"],
        ]
        for row in record["rows"]
    ]
    heads = ["kernel", "unmodified", "AITER's remap", "best GROUP_M", "remap, then GROUP_M",
             "found", "swizzle", "ceiling", "commit"]  # fmt: skip
    return {
        "results/by_hand.md": page(
            generated("by_hand.py"),
            "# Beside what people use without a search",
            f"L2 hit rates in percent on `{record['target']}`, **modelled**: the plain command on "
            "`benchmarks/kernels/`, without a language model. AITER's `remap_xcd` with one chunk "
            "per XCD; GROUP_M of 4, 8 and 16, alone and after the remap, the best of each. All "
            "are permutations. The ceiling is a bound for every permutation.",
            table(heads, rows),
        )
    }


def _by_hand(row: Mapping[str, Any]) -> list[str]:
    """The remap, the best of the groups, and the best of both together."""
    rates: Mapping[str, float] = row["by_hand"]
    kinds = (
        [rate for name, rate in rates.items() if name.endswith(("remap_xcd", "AITER"))],
        [rate for name, rate in rates.items() if name.startswith("GROUP_M")],
        [rate for name, rate in rates.items() if name.startswith("remap_xcd, then")],
    )
    return [percent(max(kind)) if kind else "–" for kind in kinds]


BY_HAND = Table("by_hand", compute, render)

if __name__ == "__main__":
    sys.exit(main(BY_HAND, description=__doc__))
