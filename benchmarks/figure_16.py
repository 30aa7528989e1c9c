# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Figure 16 of SwizzlePerf, with the arms in the place of several models: the best hit rates.

Drawn by `paper_arms.py`, from its record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from harness.render import COLOURS, figure


def draw(runs: Sequence[Mapping[str, Any]]) -> str:
    """The picture: means over the seeds, with the lowest and the highest."""
    kernels = list(dict.fromkeys(run["kernel"] for run in runs))
    arms = list(dict.fromkeys(run["arm"] for run in runs))
    width = 0.8 / max(1, len(arms))
    with figure(9.5, 3.2) as drawn:
        axes = drawn.axes
        for place, kernel in enumerate(kernels):
            for number, arm in enumerate(arms):
                own = [run for run in runs if (run["kernel"], run["arm"]) == (kernel, arm)]
                if own:
                    _bar(axes, place + number * width, width, own, None if place else arm)
        axes.set_xticks(
            [place + 0.4 - width / 2 for place in range(len(kernels))],
            kernels,
            rotation=25,
            ha="right",
        )
        axes.set_ylim(0, 116)
        axes.set_ylabel("L2 hit rate, %, modelled")
        if arms:
            axes.legend(ncols=4, fontsize=8, loc="upper left", frameon=False)
    return drawn.svg


def _bar(
    axes: Any, place: float, width: float, runs: Sequence[Mapping[str, Any]], label: str | None
) -> None:
    before = 100 * mean(run["unchanged"]["l2_hit_rate"] for run in runs)
    rates = [100 * run["best"]["l2_hit_rate"] for run in runs]
    after = mean(rates)
    axes.bar(place, after, width, color=COLOURS[runs[0]["arm"]], label=label)
    axes.bar(place, before, width, color=COLOURS["unchanged"])
    spread = [[after - min(rates)], [max(rates) - after]]
    axes.errorbar(place, after, yerr=spread, color=COLOURS["ceiling"], lw=0.8, capsize=2)
