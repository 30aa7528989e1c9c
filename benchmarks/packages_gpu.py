# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whole programs of packages under the overlay, on a GPU: a page from a committed record.

    python benchmarks/packages_gpu.py    # docs/results/packages_gpu.md

The record, `records/packages_gpu.json`, has one line per run of a program: a digest of the bytes of
its outputs, five medians of its time in ms, and the kernels that were compiled with a swizzle.
"""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from harness.command import DOCUMENTS, RECORDS
from harness.render import generated, milliseconds, page, table

RECORD = RECORDS / "packages_gpu.json"


def render(record: dict[str, Any]) -> str:
    """The page."""
    cases: dict[str, list[dict[str, Any]]] = {}
    for run in record["runs"]:
        cases.setdefault(run["case"], []).append(run)
    same, times, upstream = [], [], []
    for name, runs in cases.items():
        first, how = runs[0], {run["how"]: run for run in runs}
        what = f"{first['package']} {first['version']}: `{first['operator']}`"
        plain = _times(runs, "plain")
        digests = {run["digest"] for run in runs}
        swizzled = sorted({swizzle_name for run in runs for swizzle_name in run["applied"]})
        same.append([what, first["shape"], len(runs), len(swizzled),
                     "yes" if len(digests) == 1 else "**no**"])  # fmt: skip
        found = _times(runs, "found")
        ratios = sorted(time_ms / median(plain) for time_ms in found) if plain else []
        shown = f"{median(ratios):.3f} ({ratios[0]:.3f}–{ratios[-1]:.3f})" if ratios else "–"
        times.append([what, _told(plain), _told(found), shown])
        for swizzle in record["found"].get(name, ()) if "found" in how else ():
            text = " ".join(swizzle["swizzle"].split())
            place = f"`{swizzle['kernel']}` of `{swizzle['module']}`"
            upstream.append(f"- {what}, {first['shape']}: {place}, `{text}`")
    first = record["runs"][0]
    return (
        page(
            generated("packages_gpu.py"),
            "# Packages on a GPU",
            f"Whole programs that call operators of packages, under the overlay, on an "
            f"{first['gpu']} with Triton {first['triton']} and PyTorch {first['torch']}; code of "
            f"commit {record['commit']} (torch.compile: {record['commit_of_mm']}). In each program "
            "every kernel that was launched ran in reversed order of its workgroups, and with what "
            "the plain command found, if it found something. Tuned kernels keep the configuration "
            "that the first run chose.",
            table(["operator", "shape", "runs", "kernels swizzled", "same bytes"], same),
            "Times in ms, the median of medians with the lowest and highest; processes without and "
            "with swizzles were started in turn. The ratio is of what the plain command found.",
            table(["operator", "before", "after", "ratio"], times),
            "What one would send upstream:"
            if upstream
            else "The plain command found no swizzle that "
            "saves measured time, so there is nothing to send upstream.",
            "\n".join(upstream),
        ).rstrip()
        + "\n"
    )


def _times(runs: list[dict[str, Any]], how: str) -> list[float]:
    return [ms for run in runs if run["how"] == how for ms in run["ms"]]


def _told(times: list[float]) -> str:
    if not times:
        return "–"
    return f"{milliseconds(median(times))} ({milliseconds(min(times))}–{milliseconds(max(times))})"


if __name__ == "__main__":
    text = render(json.loads(RECORD.read_text("utf-8")))
    (DOCUMENTS / "results" / "packages_gpu.md").write_text(text, "utf-8")
