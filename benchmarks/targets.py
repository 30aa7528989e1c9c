# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Targets side by side: one swizzle on every GPU, the best of each, and eight XCDs on six.

    python benchmarks/targets.py

Asks when a swizzle that was written for the eight XCDs of an MI300X hurts on the six of an MI300A.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from harness.applications import Application
from harness.command import Record, Table, Wishes, main
from harness.items import Bench
from harness.render import COLOURS, figure, generated, page, percent, points, table
from harness.work import rates, search
from intelliperf_swizzle.formulas import patterns
from intelliperf_swizzle.hardware import load_target

TARGETS = ("mi300x", "mi300a", "mi355x", "mi250x", "h200")
EIGHT, SIX = "mi300x", "mi300a"
HURTS = -0.005
"""A change of the hit rate (rate) below this counts as a loss."""
CANDIDATES = 100
"""Of each search: fewer than by default, so that `make figures` does not take long."""

APPLICATIONS = (
    Application("GEMM, tiled", "gemm"),
    Application("transpose 8192²", "transpose", ("--m", "8192", "--n", "8192")),
    Application("stencil 2D", "stencil_2d"),
)


def compute(bench: Bench, _: Wishes) -> Record:
    """A search for each kernel and target, then the same texts on all of them."""
    pairs = [(application, target) for application in APPLICATIONS for target in TARGETS]
    runs = dict(
        zip(
            pairs,
            bench.map(
                search,
                [pair.inputs(target, candidates=CANDIDATES, seed=0) for pair, target in pairs],
            ),
            strict=True,
        )
    )
    texts = {app: _texts(app, runs[app, EIGHT]) for app in APPLICATIONS}
    everywhere = bench.map(
        rates,
        [
            pair.inputs(
                target, swizzles=texts[pair] | (_written_for_eight() if target == SIX else {})
            )
            for pair, target in pairs
        ],
    )
    return {
        "targets": {name: load_target(name).num_xcds for name in TARGETS},
        "candidates": CANDIDATES,
        "rows": [
            {
                "name": pair.name,
                "target": target,
                "best": _best(runs[pair, target]),
                **_outcome(outcome),
            }
            for (pair, target), outcome in zip(pairs, everywhere, strict=True)
        ],
    }


def _texts(application: Application, run: Mapping[str, Any]) -> dict[str, str]:
    """The best of the target with eight XCDs: as it stands, and with the eight written into it."""
    if not run.get("best"):
        return {}
    text = run["best"]["text"]
    return {"found for 8": text, "found for 8, fixed": f"num_xcds = 8\n{text}"}


def _written_for_eight() -> dict[str, str]:
    """Every pattern that asks for the number of XCDs, and the same with 8 written into it."""
    bound = {pattern.name: pattern.bind() for pattern in patterns() if "num_xcds" in pattern.text}
    return bound | {f"{name}, fixed": f"num_xcds = 8\n{text}" for name, text in bound.items()}


def _best(run: Mapping[str, Any]) -> dict[str, Any] | None:
    if not run.get("best"):
        return None
    best = run["best"]
    return {"name": best["name"], "l2_hit_rate": best["measurement"]["l2_hit_rate"]}


def _outcome(outcome: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in outcome:
        return dict(outcome)
    return {
        "unchanged": outcome["unchanged"]["l2_hit_rate"],
        "ceiling": outcome["ceiling"],
        "swizzles": {
            name: measured.get("l2_hit_rate") for name, measured in outcome["swizzles"].items()
        },
    }


def render(record: Record) -> dict[str, str]:
    """Page and picture."""
    return {"results/targets.md": _page(record), "results/targets.svg": _svg(record)}


def _page(record: Record) -> str:
    counts = ", ".join(f"`{name}` {count}" for name, count in record["targets"].items())
    return page(
        generated("targets.py"),
        "# Targets side by side",
        f"Modelled; XCDs (L2 domains): {counts}. “Best” is what a search of {record['candidates']} "
        "candidates finds for that target. “Found for 8” is the best of `mi300x`, taken over as "
        "text: the number of XCDs in it is that of the target. “Fixed” has the 8 written into it, "
        "as most published remaps do. A dash: no permutation there, nothing better was found, or "
        "nothing was looked for, as arithmetic takes longer than memory. On `h200` the best is the "
        "one of the least modelled time.",
        "![Targets side by side](targets.svg)",
        table(
            ["kernel", "target", "baseline %", "best %", "found for 8 %", "8 fixed %", "ceiling %"],
            [_row(row) for row in record["rows"]],
        ),
        "## When does a swizzle for 8 XCDs hurt on 6?",
        *_eight_on_six(record),
    )


def _row(row: Mapping[str, Any]) -> list[str]:
    if "error" in row:
        return [row["name"], f"`{row['target']}`", row["error"], "", "", "", ""]
    found = [row["swizzles"].get(name) for name in ("found for 8", "found for 8, fixed")]
    best = percent(row["best"]["l2_hit_rate"]) if row["best"] else "–"
    return [row["name"], f"`{row['target']}`", percent(row["unchanged"]), best,
            *map(percent, found), percent(row["ceiling"])]  # fmt: skip


def _eight_on_six(record: Record) -> list[str]:
    rows, hurt, refused, worse = [], [], 0, 0
    for row in record["rows"]:
        if row["target"] != SIX or "error" in row:
            continue
        for name in (name.removesuffix(", fixed") for name in row["swizzles"] if "fixed" in name):
            own, fixed = row["swizzles"][name], row["swizzles"][f"{name}, fixed"]
            if own is None or fixed is None:
                refused += 1
                continue
            change, own_change = fixed - row["unchanged"], own - row["unchanged"]
            shown = name if name == "found for 8" else f"`{name}`"
            rows.append(
                [
                    row["name"],
                    shown,
                    percent(row["unchanged"]),
                    points(own_change),
                    points(change),
                ]
            )
            worse += change - own_change < HURTS
            if change < HURTS:
                hurt.append((own_change >= HURTS, row["name"], name))
    turned = [f"`{name}` on {kernel}" for helped, kernel, name in hurt if helped]
    words = (
        f"On `{SIX}`, of {len(rows)} pairs of kernel and pattern, 8 fixed gives less than the "
        f"target's own 6 in {worse}, and less than no swizzle in {len(hurt)}"
        + (f"; with 6 these are no loss: {', '.join(turned)}" if turned else "")
        + ". What is dealt by `pid % 8` reaches XCDs by `pid % 6`: tiles that are meant for one L2 "
        "lie in three of the six."
    )
    left_out = f"Left out, as no permutation on these grids: {refused}." if refused else ""
    header = ["kernel", "pattern", "baseline %", "with 6", "with 8 fixed"]
    return [*filter(None, [words, left_out]), table(header, rows)]


def _svg(record: Record) -> str:
    kernels = list(dict.fromkeys(row["name"] for row in record["rows"]))
    with figure(10, 3, columns=len(kernels), sharey=True, squeeze=False) as drawn:
        for axes, kernel in zip(drawn.axes[0], kernels, strict=True):
            rows = [row for row in record["rows"] if row["name"] == kernel and "error" not in row]
            _bars(axes, rows)
            axes.set_title(kernel, fontsize=9)
        drawn.axes[0][0].set_ylabel("L2 hit rate, %, modelled")
        drawn.axes[0][0].legend(fontsize=7, frameon=False, loc="upper left")
    return drawn.svg


def _bars(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    series = {
        "baseline": ("unchanged", [row["unchanged"] for row in rows]),
        "found for 8 XCDs": ("swizzle", [row["swizzles"].get("found for 8") for row in rows]),
        "8 fixed": (
            "swizzle-unaware",
            [row["swizzles"].get("found for 8, fixed") for row in rows],
        ),
        "best of the target": (
            "best",
            [row["best"]["l2_hit_rate"] if row["best"] else row["unchanged"] for row in rows],
        ),
    }
    for number, (label, (colour, values)) in enumerate(series.items()):
        places = [place + 0.2 * (number - 1.5) for place in range(len(rows))]
        heights = [100 * (value or 0) for value in values]
        axes.bar(places, heights, 0.2, color=COLOURS[colour], label=label)
    axes.set_xticks(range(len(rows)), [row["target"] for row in rows], fontsize=8)
    axes.set_ylim(0, 118)


TARGETS_TABLE = Table("targets", compute, render)

if __name__ == "__main__":
    sys.exit(main(TARGETS_TABLE, description=__doc__))
