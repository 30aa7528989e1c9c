# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Figure 2 of SwizzlePerf: L2 hit rate of each kernel unmodified and with the best swizzle.

    python benchmarks/figure_02.py
    python benchmarks/figure_02.py --model gpt-4o    # the formulas too, 5 iterations each

Every bar is a permutation that was proved on the whole grid, and validated on a sample of tiles.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from harness.applications import ATTENTION, PAPER, Application
from harness.command import Endpoint, Record, Table, Wishes, main
from harness.items import Bench
from harness.render import COLOURS, figure, generated, milliseconds, page, percent, points, table
from harness.work import search

FORMULAS = ("swizzle", "swizzle-unaware", "swizzle-overload")
ITERATIONS = 5
NO_EFFECT = 0.001
"""A change of the hit rate (rate) below this is none: the paper's ×."""

SHORT = 0.04
"""A gain (rate) that is smaller than a measured one by more than this is named."""
NEAR = -0.01
"""A step down (rate) that is worth a name."""

APPLICATIONS = (*PAPER, ATTENTION)

PAPERS_GAINS = {
    "GEMM, stream-K": 0.14,
    "GEMM, tiled": 0.33,
    "layer norm": 0.34,
    "softmax": 0.66,
    "transpose": 0.34,
    "FDTD 2D": 0.20,
    "stencil 2D": 0.70,
}
"""Gains that the paper's text states; those of the tiled GEMM are of its authors' logs."""

UPSTREAM_PERMUTATIONS = {
    "GEMM, stream-K": 0.1407,
    "GEMM, tiled": 0.33,
    "fused elementwise": 0.0004,
    "layer norm": 0.0041,
    "softmax": 0.0,
    "SpMV": 0.0823,
    "transpose": 0.2079,
    "Black-Scholes": 0.0177,
    "FDTD 2D": 0.0,
    "Smith-Waterman": 0.0,
    "stencil 2D": 0.3789,
}
"""The best gain that the authors measured on an MI300X with a permutation (their branch
hardware-aware-swizzling, run logs); 0 where none gained."""

TEN_KERNELS = tuple(name for name in UPSTREAM_PERMUTATIONS if name != "GEMM, tiled")

PAPERS_MEAN = 0.239
"""The paper's mean gain over its ten kernels (figure 2)."""

BEHIND = {
    "GEMM, stream-K": (
        "By the model the stream-K GEMM is bound by arithmetic, so it is not searched: hits would "
        "save none of its time."
    ),
    "SpMV": "SpMV takes less time than launching it, so nothing that it saves counts.",
    "stencil 2D": (
        "The model reads the unmodified stencil at 42 %, while five runs on the GPU "
        "read 30 to 36; a search a hundred times as long finds no better mapping either "
        "([how good the search is](search_quality.md))."
    ),
}
"""Why the model's gain is smaller than the measured one, as far as that is known."""


def items(
    wishes: Wishes,
    application: Application,
    endpoint: Endpoint | None = None,
    formula: str = "swizzle",
) -> Mapping[str, Any]:
    """A run on an application: the offline search, or a language model under a formula."""
    if endpoint is None:
        return wishes.run(application)
    return wishes.run(
        application,
        formula=formula,
        model=endpoint.model,
        provider=endpoint.provider,
        iterations=ITERATIONS,
        seed=0,
    )


def compute(bench: Bench, wishes: Wishes) -> Record:
    """The default run on each kernel; with language models, theirs too."""
    offline = bench.map(search, [items(wishes, app) for app in APPLICATIONS])
    asked = [(address, formula) for address in wishes.endpoints for formula in FORMULAS]
    answers = bench.map(
        search, [items(wishes, app, *other) for app in APPLICATIONS for other in asked]
    )
    rows = []
    for number, (application, outcome) in enumerate(zip(APPLICATIONS, offline, strict=True)):
        own = answers[number * len(asked) : (number + 1) * len(asked)]
        rows.append(
            {
                "name": application.name,
                "application": application.inputs()["application"],
                "offline": without_attempts(outcome),
                "models": [
                    {"model": endpoint.model, "formula": formula, **without_attempts(answer)}
                    for (endpoint, formula), answer in zip(asked, own, strict=True)
                ],
            }
        )
    return {"target": wishes.target, "iterations": ITERATIONS, "rows": rows}


def without_attempts(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """A run's outcome with its attempts counted by verdict."""
    if "error" in outcome:
        return dict(outcome)
    verdicts = [attempt["verdict"] for attempt in outcome["attempts"]]
    counted = {kind: verdicts.count(kind) for kind in sorted(set(verdicts))}
    kept = {key: value for key, value in outcome.items() if key not in ("attempts", "spent")}
    return {**kept, "verdicts": counted}


def gain(run: Mapping[str, Any]) -> float:
    """How much the best swizzle raises the hit rate; 0 where there is none."""
    if run["best"] is None:
        return 0.0
    return float(run["best"]["measurement"]["l2_hit_rate"] - run["unchanged"]["l2_hit_rate"])


def mark(run: Mapping[str, Any]) -> str:
    """The paper's marks: × no effect, ⊗ all remaps broken."""
    if run["nothing_to_gain"]:
        return "nothing to gain"
    refused = {"not a permutation", "not a swizzle", "does not build", "output differs"}
    if run["best"] is None and set(run["verdicts"]) <= refused:
        return "⊗"
    return "×" if run["best"] is None or gain(run) < NO_EFFECT else ""


def render(record: Record) -> dict[str, str]:
    """Page and picture."""
    return {
        "results/figure_02.md": _page(record),
        "results/figure_02.svg": _svg(record),
    }


def _page(record: Record) -> str:
    rows, failures = [], []
    for row in record["rows"]:
        run = row["offline"]
        if "error" in run:
            failures.append(f"- {row['name']}: {run['error']}.")
            continue
        best = run["best"]["measurement"] if run["best"] else {}
        upstream = UPSTREAM_PERMUTATIONS.get(row["name"])
        rows.append(
            [
                row["name"],
                percent(run["unchanged"]["l2_hit_rate"]),
                percent(best.get("l2_hit_rate")),
                points(gain(run)) if run["best"] else "–",
                percent(run["ceiling"]),
                mark(run),
                milliseconds(run["unchanged"]["modelled_memory_time_ms"]),
                milliseconds(best.get("modelled_memory_time_ms")),
                _speed_up(run),
                points(upstream) if upstream else ("0" if upstream == 0 else "–"),
                f"`{run['best']['name']}`" if run["best"] else "–",
            ]
        )
    header = [
        "kernel", "baseline %", "best %", "gain", "ceiling %", "", "memory ms", "with best",
        "speed-up", "measured upstream", "best swizzle",
    ]  # fmt: skip
    parts = [
        generated("figure_02.py"),
        "# Figure 2: hit rates of the paper's kernels, and attention",
        f"Target `{record['target']}`. **{_source(record)}** “Measured upstream” is the authors' "
        "own. Each best swizzle is a permutation, proved on every program of the launch, and "
        "its kernel was built and compared on a sample of tiles. “Ceiling” is a bound that no "
        "permutation exceeds ([cache-model.md](../cache-model.md)). × no gain that "
        "the model can tell; ⊗ every remap was refused. “memory ms” is the modelled memory time, "
        "a guard and not a run time; “speed-up” stands where time was measured.",
        "![L2 hit rates](figure_02.svg)",
        table(header, rows),
        "“Measured upstream” is the best gain, in points, that SwizzlePerf's authors measured on "
        "an MI300X with a remap that is a permutation (the logs of their branch). Their best "
        "remaps of layer norm, softmax, FDTD, Smith-Waterman and stencil are no permutations "
        "([audit](../audit.md)); such do not appear here.",
        *_means(record),
        *_behind(record),
        *(["Not modelled:\n\n" + "\n".join(failures)] if failures else []),
        "## What stands in the way of the ceiling",
        "From the ceiling down to the modelled rate of the best swizzle (of the baseline if there "
        "is none), in points. “Several L2s”: lines that the tiles of more than one XCD "
        "need, each of which misses them once. “Not kept”: lines that an L2 had and evicted before "
        "their next use, for want of capacity or of places in their set. “Drift”: what is lost "
        "because workgroups do not advance in step; below zero where it helps.",
        table(
            ["kernel", "ceiling %", "several L2s", "not kept", "drift", "modelled %", "most"],
            [_in_the_way(row) for row in record["rows"] if row["offline"].get("in_the_way")],
        ),
        *_models(record),
    ]
    return page(*parts)


def _means(record: Record) -> list[str]:
    """The mean gain over the paper's ten kernels, ours and theirs."""
    runs = {row["name"]: row["offline"] for row in record["rows"] if row["name"] in TEN_KERNELS}
    if set(runs) < set(TEN_KERNELS) or any("error" in run for run in runs.values()):
        return []
    ours = sum(gain(run) for run in runs.values()) / len(TEN_KERNELS)
    theirs = sum(UPSTREAM_PERMUTATIONS[name] for name in TEN_KERNELS) / len(TEN_KERNELS)
    return [
        f"Mean gain over the paper's ten kernels (the GEMM as stream-K): {points(ours)} points "
        f"here, {points(theirs)} measured upstream with permutations; the paper has "
        f"{points(PAPERS_MEAN)}, remaps that are no permutations included. Two kernels are not "
        "upstream's to the letter: here no program of stream-K waits for another, and FDTD writes "
        "its new fields to tensors of their own, where upstream updates them in place."
    ]


def _behind(record: Record) -> list[str]:
    """The kernels whose gain is clearly smaller than what was measured upstream."""
    short = {
        row["name"]: f"{row['name']} ({points(gain(row['offline']))} of {points(upstream)})"
        for row in record["rows"]
        if "error" not in row["offline"]
        and (upstream := UPSTREAM_PERMUTATIONS.get(row["name"], 0.0)) - gain(row["offline"]) > SHORT
    }
    if not short:
        return ["No gain is more than 4 points smaller than the one that was measured upstream."]
    named = f"More than 4 points smaller than measured upstream: {', '.join(short.values())}."
    return [" ".join([named, *(BEHIND[name] for name in short if name in BEHIND)])]


def _source(record: Record) -> str:
    used = {row["offline"]["profiler"] for row in record["rows"] if "error" not in row["offline"]}
    if used <= {"model"}:
        return "Every number is modelled; none was measured on a GPU for this page."
    return f"Hit rates by: {', '.join(sorted(used))}."


def speed_up(run: Mapping[str, Any]) -> float | None:
    """Time before over time after, where both were measured."""
    after = (run["best"] or {"measurement": {}})["measurement"].get("time_ms")
    before = run["unchanged"].get("time_ms")
    return before / after if before and after else None


def _speed_up(run: Mapping[str, Any]) -> str:
    factor = speed_up(run)
    return "–" if factor is None else f"{factor:.2f}×"


def _in_the_way(row: Mapping[str, Any]) -> list[str]:
    run = row["offline"]
    last = (run["best"] or {"measurement": run["unchanged"]})["measurement"]["l2_hit_rate"]
    alone, in_step = run["in_the_way"]["each_l2_alone"], run["in_the_way"]["in_step"]
    steps = {
        "several L2s": alone - run["ceiling"],
        "not kept": in_step - alone,
        "drift": last - in_step,
    }
    most = min(steps, key=lambda name: steps[name])
    return [
        row["name"],
        percent(run["ceiling"]),
        *(points(step) for step in steps.values()),
        percent(last),
        most if steps[most] < NEAR else "at the ceiling",
    ]


def _models(record: Record) -> list[str]:
    rows = [
        [
            row["name"],
            run["model"],
            f"`{run['formula']}`",
            "–" if "error" in run else percent(run["unchanged"]["l2_hit_rate"]),
            percent(run["best"]["measurement"]["l2_hit_rate"]) if run.get("best") else "–",
            run.get("error") or mark(run),
        ]
        for row in record["rows"]
        for run in row["models"]
    ]
    if not rows:
        return ["No language model was asked for this page (`--model` names one)."]
    header = ["kernel", "model", "formula", "baseline %", "best %", ""]
    return [
        f"Language models, {record['iterations']} iterations each:",
        table(header, rows),
    ]


def _svg(record: Record) -> str:
    rows = [row for row in record["rows"] if "error" not in row["offline"]]
    formulas = sorted({run["formula"] for row in rows for run in row["models"]})
    with figure(9.5, 3.6) as drawn:
        axes = drawn.axes
        width = 0.8 / (1 + len(formulas))
        for place, row in enumerate(rows):
            _bar(axes, place, width, row["offline"], "best")
            for number, formula in enumerate(formulas, 1):
                runs = [run for run in row["models"] if run["formula"] == formula]
                for run in runs:
                    if "error" not in run:
                        _bar(axes, place + number * width, width, run, formula)
            _ceiling(axes, place, row["offline"]["ceiling"])
        axes.set_xticks(range(len(rows)), [row["name"] for row in rows], rotation=25, ha="right")
        axes.set_ylim(0, 116)
        modelled = all(row["offline"]["profiler"] == "model" for row in rows)
        how = "modelled" if modelled else "measured"
        axes.set_ylabel(f"L2 hit rate, %, {how}, {record['target']}")
        _speed_ups(axes, [speed_up(row["offline"]) for row in rows])
        _legend(axes, formulas)
    return drawn.svg


def _bar(axes: Any, place: float, width: float, run: Mapping[str, Any], colour: str) -> None:
    before = 100 * run["unchanged"]["l2_hit_rate"]
    axes.bar(place, before, width, color=COLOURS["unchanged"])
    if gain(run) > 0:
        axes.bar(place, 100 * gain(run), width, bottom=before, color=COLOURS[colour])
    symbol = {"nothing to gain": "none", "×": "×", "⊗": "⊗"}.get(mark(run), "")
    axes.text(place, before + 100 * max(0, gain(run)) + 1.5, symbol, ha="center", fontsize=8)


def _speed_ups(axes: Any, factors: Sequence[float | None]) -> None:
    """The paper's red line, where time was measured."""
    if any(factors):
        right = axes.twinx()
        right.plot(range(len(factors)), [factor or float("nan") for factor in factors], "ro-", ms=3)
        right.set_ylabel("speed-up, measured", color="r")
        right.set_ylim(bottom=0)


def _ceiling(axes: Any, place: int, rate: float) -> None:
    axes.plot([place - 0.42, place + 0.42], [100 * rate] * 2, color=COLOURS["ceiling"], lw=1)


def _legend(axes: Any, formulas: Sequence[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(color=COLOURS["unchanged"], label="baseline"),
        Patch(color=COLOURS["best"], label="best swizzle (a permutation)"),
        *(Patch(color=COLOURS[formula], label=formula) for formula in formulas),
        Line2D([], [], color=COLOURS["ceiling"], lw=1, label="ceiling of all permutations"),
    ]
    axes.legend(handles=handles, ncols=4, fontsize=8, loc="upper left", frameon=False)


FIGURE_02 = Table("figure_02", compute, render)

if __name__ == "__main__":
    sys.exit(main(FIGURE_02, description=__doc__))
