# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Figure 16 of SwizzlePerf: what several language models find under the formula `swizzle`.

    python benchmarks/figure_16.py --model gpt-4o --model gpt-4.1-mini --model o3-mini

Needs endpoints; without one the page says that none was asked.
"""

from __future__ import annotations

import sys

from figure_02 import ITERATIONS, gain, items, mark, without_attempts
from harness.applications import named
from harness.command import Record, Table, Wishes, main
from harness.items import Bench
from harness.render import COLOURS, figure, generated, page, percent, points, table
from harness.work import search

KERNELS = ("GEMM, stream-K", "layer norm", "FDTD 2D", "Smith-Waterman")


def compute(bench: Bench, wishes: Wishes) -> Record:
    """A run of each model on each kernel."""
    asked = [(name, endpoint) for name in KERNELS for endpoint in wishes.endpoints]
    outcomes = bench.map(search, [items(wishes, named(name), endpoint) for name, endpoint in asked])
    return {
        "target": wishes.target,
        "iterations": ITERATIONS,
        "runs": [
            {"name": name, "model": endpoint.model, **without_attempts(outcome)}
            for (name, endpoint), outcome in zip(asked, outcomes, strict=True)
        ],
    }


def render(record: Record) -> dict[str, str]:
    """Page, and a picture where models were asked."""
    head = [generated("figure_16.py"), "# Figure 16: several language models"]
    if not record["runs"]:
        nobody = (
            "No language model was asked. With endpoints: `python benchmarks/figure_16.py --model "
            "gpt-4o --model o3-mini` (`--provider` names another provider or a URL; the key is "
            "taken from where IntelliPerf takes it)."
        )
        return {"results/figure_16.md": page(*head, nobody)}
    rows = [
        [run["name"], run["model"], "–", "–", "–", run["error"]]
        if "error" in run
        else [
            run["name"],
            run["model"],
            percent(run["unchanged"]["l2_hit_rate"]),
            percent(run["best"]["measurement"]["l2_hit_rate"]) if run["best"] else "–",
            points(gain(run)),
            mark(run),
        ]
        for run in record["runs"]
    ]
    words = (
        f"Target `{record['target']}`, modelled; formula `swizzle`, {record['iterations']} "
        "iterations; permutations only."
    )
    return {
        "results/figure_16.md": page(
            *head,
            words,
            "![Several language models](figure_16.svg)",
            table(["kernel", "model", "baseline %", "best %", "gain", ""], rows),
        ),
        "results/figure_16.svg": _svg(record),
    }


def _svg(record: Record) -> str:
    models = list(dict.fromkeys(run["model"] for run in record["runs"]))
    colours = [COLOURS[name] for name in ("best", "swizzle-unaware", "swizzle-overload", "swizzle")]
    with figure(7, 3) as drawn:
        width = 0.8 / len(models)
        for run in record["runs"]:
            if "error" in run:
                continue
            number = models.index(run["model"])
            place = KERNELS.index(run["name"]) + number * width
            before = 100 * run["unchanged"]["l2_hit_rate"]
            drawn.axes.bar(place, before, width, color=COLOURS["unchanged"])
            drawn.axes.bar(place, 100 * gain(run), width, bottom=before,
                           color=colours[number % len(colours)])  # fmt: skip
        for number, model in enumerate(models):
            drawn.axes.bar(0, 0, 0, color=colours[number % len(colours)], label=model)
        drawn.axes.set_xticks(range(len(KERNELS)), KERNELS)
        drawn.axes.set_ylim(0, 102)
        drawn.axes.set_ylabel("L2 hit rate, %, modelled")
        drawn.axes.legend(fontsize=8, frameon=False)
    return drawn.svg


FIGURE_16 = Table("figure_16", compute, render)

if __name__ == "__main__":
    sys.exit(main(FIGURE_16, description=__doc__))
