# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Figure 15 of SwizzlePerf: the swizzle found at one size, on all sizes of the problem.

    python benchmarks/figure_15.py

The best swizzle of the default size (the runs of figure 2) is proved and modelled on every other.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from harness.applications import TARGET, Application, named
from harness.command import Record, Table, Wishes, main
from harness.items import Bench
from harness.render import COLOURS, figure, generated, page, percent, points, table
from harness.work import rates, search

SIZES: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "layer norm": tuple(
        (f"{batch} × {length} × 1024", ("--m", str(batch * length), "--n", "1024"))
        for batch, length in ((64, 1024), (128, 2048), (256, 4096), (512, 8192))
    ),
    "Smith-Waterman": tuple(
        (f"{side}²", ("--m", str(side), "--n", str(side))) for side in (512, 1024, 2048, 4096, 8192)
    ),
    "stencil 2D": tuple(
        (f"{side}²", ("--m", str(side), "--n", str(side)))
        for side in (512, 1024, 1536, 2048, 2560, 3072, 4096, 6144, 8192, 10240)
    ),
}
"""Those that the paper names, and for the stencil those of its authors' script."""

PAPERS_WORDS = {
    "layer norm": "46 to 60 %, flat over the sizes",
    "Smith-Waterman": "50 to 65 %, unswizzled at most 56 %",
    "stencil 2D": "74 to 82 %, unswizzled 65 down to 53 %",
}
"""What the paper says of these curves; its swizzles for them are no permutations (the audit)."""


def compute(bench: Bench, _: Wishes) -> Record:
    """One search a kernel, then every size."""
    found = dict(zip(SIZES, bench.map(search, [named(name).inputs() for name in SIZES]),
                     strict=True))  # fmt: skip
    wanted, labels = [], []
    for name, sizes in SIZES.items():
        texts = {"found": found[name]["best"]["text"]} if found[name].get("best") else {}
        for label, arguments in sizes:
            application = Application(name, named(name).script, arguments)
            wanted.append(application.inputs(swizzles=texts))
            labels.append((name, label))
    outcomes = bench.map(rates, wanted)
    return {
        "target": TARGET,
        "kernels": [
            {
                "name": name,
                "error": found[name].get("error"),
                "found": found[name]["best"] and _found(found[name]["best"])
                if "error" not in found[name]
                else None,
                "sizes": [
                    {"size": label, **_size(outcome)}
                    for (kernel, label), outcome in zip(labels, outcomes, strict=True)
                    if kernel == name
                ],
            }
            for name in SIZES
        ],
    }


def _found(best: Mapping[str, Any]) -> dict[str, Any]:
    return {key: best[key] for key in ("name", "text", "condition")}


def _size(outcome: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in outcome:
        return dict(outcome)
    swizzled = outcome["swizzles"].get("found")
    return {
        "grid": outcome["grid"],
        "unchanged": outcome["unchanged"]["l2_hit_rate"],
        "ceiling": outcome["ceiling"],
        "swizzled": None if swizzled is None else swizzled.get("l2_hit_rate"),
        "refused": None if swizzled is None else swizzled.get("refused"),
    }


def render(record: Record) -> dict[str, str]:
    """Page and picture."""
    return {"results/figure_15.md": _page(record), "results/figure_15.svg": _svg(record)}


def _page(record: Record) -> str:
    parts = [
        generated("figure_15.py"),
        "# Figure 15: hit rate over problem sizes",
        f"Target `{record['target']}`, modelled. The swizzle that the default run found at the "
        "kernel's default size ([figure 2](figure_02.md)), as text, on every size: proved there "
        "first, then modelled.",
        "![Hit rate over problem sizes](figure_15.svg)",
        "A patch renumbers at the sizes for which its text is proved. If no larger launch can be "
        "looked at, it tests the recorded values and changes nothing elsewhere: an application "
        "that launches several sizes is searched for all of them together.",
    ]
    for kernel in record["kernels"]:
        parts.append(f"## {kernel['name']}")
        if kernel["error"]:
            parts.append(f"Not modelled: {kernel['error']}.")
        if kernel["found"]:
            parts += [
                f"`{kernel['found']['name']}`:",
                f"```\n{kernel['found']['text'].rstrip()}\n```",
            ]
        else:
            parts.append("No swizzle is better at the default size; the rates are the baseline's.")
        parts.append(
            table(
                ["size", "programs", "baseline %", "swizzled %", "gain", "ceiling %", ""],
                [_row(size) for size in kernel["sizes"]],
            )
        )
        parts.append(
            f"The paper's figure, for remaps that drop tiles: {PAPERS_WORDS[kernel['name']]}."
        )
    return page(*parts)


def _row(size: Mapping[str, Any]) -> list[str]:
    if "error" in size:
        return [size["size"], "–", "–", "–", "–", "–", size["error"]]
    gain = None if size["swizzled"] is None else size["swizzled"] - size["unchanged"]
    refused = size["refused"]
    return [
        size["size"],
        " × ".join(str(extent) for extent in size["grid"] if extent > 1) or "1",
        percent(size["unchanged"]),
        percent(size["swizzled"]),
        points(gain),
        percent(size["ceiling"]),
        f"not a permutation here: {refused[0]}" if refused else "",
    ]


def _svg(record: Record) -> str:
    with figure(10, 2.8, columns=len(record["kernels"]), squeeze=False) as drawn:
        for axes, kernel in zip(drawn.axes[0], record["kernels"], strict=True):
            sizes = [size for size in kernel["sizes"] if "error" not in size]
            places = range(len(sizes))
            for key, label, colour, line in (
                ("ceiling", "ceiling", "ceiling", ":"),
                ("unchanged", "baseline", "unchanged", "o-"),
                ("swizzled", "swizzled", "best", "o-"),
            ):
                rates_ = [float("nan") if s[key] is None else 100 * s[key] for s in sizes]
                axes.plot(places, rates_, line, color=COLOURS[colour], label=label, ms=3, lw=1.2)
            axes.set_xticks(places, [size["size"] for size in sizes], rotation=35, ha="right")
            axes.set_title(kernel["name"], fontsize=9)
            axes.set_ylim(0, 102)
        drawn.axes[0][0].set_ylabel("L2 hit rate, %, modelled")
        drawn.axes[0][0].legend(fontsize=7, frameon=False, loc="lower right")
    return drawn.svg


FIGURE_15 = Table("figure_15", compute, render)

if __name__ == "__main__":
    sys.exit(main(FIGURE_15, description=__doc__))
