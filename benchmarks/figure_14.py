# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Figure 14 of SwizzlePerf: how the hit rate grows while swizzles are tried.

    python benchmarks/figure_14.py
    python benchmarks/figure_14.py --model gpt-4o    # the formulas too, 5 iterations each

The runs are those of figure 2.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from figure_02 import FORMULAS, items
from harness.applications import named
from harness.command import Record, Table, Wishes, main
from harness.items import Bench
from harness.render import COLOURS, figure, generated, page, percent, table
from harness.work import search

KERNELS = ("GEMM, stream-K", "stencil 2D", "SpMV", "softmax", "layer norm")
MILESTONES = (1, 16, 64, 256, 400)


def compute(bench: Bench, wishes: Wishes) -> Record:
    """The course of each run."""
    applications = [named(name) for name in KERNELS]
    asked = [(endpoint, formula) for endpoint in wishes.endpoints for formula in FORMULAS]
    wanted = [items(wishes, one) for one in applications]
    wanted += [items(wishes, one, *other) for one in applications for other in asked]
    outcomes = bench.map(search, wanted)
    models = outcomes[len(KERNELS) :]
    return {
        "target": wishes.target,
        "kernels": [
            {
                "name": name,
                "offline": course(outcomes[number]),
                "models": [
                    {"model": endpoint.model, "formula": formula, **course(outcome)}
                    for (endpoint, formula), outcome in zip(
                        asked, models[number * len(asked) : (number + 1) * len(asked)], strict=True
                    )
                ],
            }
            for number, name in enumerate(KERNELS)
        ],
    }


def course(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Hit rates in the order in which they were tried; None where an attempt was refused."""
    if "error" in outcome:
        return dict(outcome)
    best = outcome["best"]
    return {
        "unchanged": outcome["unchanged"]["l2_hit_rate"],
        "ceiling": outcome["ceiling"],
        "nothing_to_gain": outcome["nothing_to_gain"],
        "screened": [attempt["screened"] for attempt in outcome["attempts"]],
        "measured": [attempt["l2_hit_rate"] for attempt in outcome["attempts"]],
        "best": None if best is None else best["measurement"]["l2_hit_rate"],
    }


def best_so_far(rates: Sequence[float | None], first: float) -> list[float]:
    """The running maximum, from the unchanged kernel's rate on."""
    best, course = first, []
    for rate in rates:
        best = max(best, rate or 0.0)
        course.append(best)
    return course


def render(record: Record) -> dict[str, str]:
    """Page and picture."""
    return {"results/figure_14.md": _page(record), "results/figure_14.svg": _svg(record)}


def _page(record: Record) -> str:
    rows, failures = [], []
    for kernel in record["kernels"]:
        run = kernel["offline"]
        if "error" in run:
            failures.append(f"- {kernel['name']}: {run['error']}.")
            continue
        course = best_so_far(run["screened"], run["unchanged"])
        reached = [
            percent(course[min(count, len(course)) - 1]) if course else "–" for count in MILESTONES
        ]
        end = "nothing to gain" if run["nothing_to_gain"] else str(len(course))
        rows.append([kernel["name"], percent(run["unchanged"]), *reached, end,
                     percent(run["best"]), percent(run["ceiling"])])  # fmt: skip
    header = ["kernel", "baseline %", *(f"after {count}" for count in MILESTONES), "tried",
              "best, full physics %", "ceiling %"]  # fmt: skip
    return page(
        generated("figure_14.py"),
        "# Figure 14: progress over the attempts",
        f"Target `{record['target']}`, modelled. Best rate of the screen after so many candidates; "
        "the screen is a quick model, and its finalists are measured with full physics at the end. "
        "What is refused (no permutation) counts as tried and has no rate.",
        "![Progress](figure_14.svg)",
        table(header, rows),
        *(["Not modelled:\n\n" + "\n".join(failures)] if failures else []),
        *_models(record),
    )


def _models(record: Record) -> list[str]:
    rows = [
        [kernel["name"], run["model"], f"`{run['formula']}`",
         *([run["error"]] if "error" in run else [", ".join(percent(r) for r in run["measured"])])]
        for kernel in record["kernels"]
        for run in kernel["models"]
    ]  # fmt: skip
    if not rows:
        return ["No language model was asked for this page (`--model` names one)."]
    return [table(["kernel", "model", "formula", "L2 hit rate by attempt %"], rows)]


def _svg(record: Record) -> str:
    kernels = [one for one in record["kernels"] if "error" not in one["offline"]]
    with figure(11, 2.6, columns=max(1, len(kernels)), sharey=True, squeeze=False) as drawn:
        for axes, kernel in zip(drawn.axes[0], kernels, strict=False):
            _course(axes, kernel["offline"], "best", "offline search")
            for run in kernel["models"]:
                if "error" not in run:
                    _course(axes, {**run, "screened": run["measured"]}, run["formula"],
                            run["formula"])  # fmt: skip
            axes.axhline(100 * kernel["offline"]["ceiling"], color=COLOURS["ceiling"], lw=0.8)
            axes.set_title(kernel["name"], fontsize=9)
            axes.set_xlabel("attempt")
            axes.set_xlim(left=1)
            axes.set_ylim(0, 102)
            if kernel["offline"]["nothing_to_gain"]:
                axes.set_xticks([])
                axes.text(1.5, 50, "nothing to gain", ha="center", fontsize=8)
        drawn.axes[0][0].set_ylabel("L2 hit rate, %, modelled")
        drawn.axes[0][0].legend(fontsize=7, frameon=False, loc="lower right")
    return drawn.svg


def _course(axes: Any, run: Mapping[str, Any], colour: str, label: str) -> None:
    tried = range(1, len(run["screened"]) + 1)
    rates = [float("nan") if rate is None else 100 * rate for rate in run["screened"]]
    best = [100 * rate for rate in best_so_far(run["screened"], run["unchanged"])]
    axes.plot(tried, rates, ":", color=COLOURS[colour], lw=0.6)
    axes.plot(tried, best, color=COLOURS[colour], lw=1.4, label=label)
    if not best:
        axes.plot([1, 2], [100 * run["unchanged"]] * 2, color=COLOURS["unchanged"], lw=1.4)


FIGURE_14 = Table("figure_14", compute, render)

if __name__ == "__main__":
    sys.exit(main(FIGURE_14, description=__doc__))
