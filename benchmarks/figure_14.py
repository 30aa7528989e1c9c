# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Figure 14 of SwizzlePerf: how the hit rate grows while swizzles are tried.

Drawn by `paper_arms.py`, from its record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.render import COLOURS, figure


def best_so_far(rates: Sequence[float | None], first: float) -> list[float]:
    """The running maximum, from the unchanged kernel's rate on."""
    best, course = first, []
    for rate in rates:
        best = max(best, rate or 0.0)
        course.append(best)
    return course


def draw(runs: Sequence[Mapping[str, Any]]) -> str:
    """The picture: a panel for each kernel, a line for each run."""
    kernels = list(dict.fromkeys(run["kernel"] for run in runs))
    columns = max(1, len(kernels))
    with figure(1.7 * columns, 2.6, columns=columns, sharey=True, squeeze=False) as drawn:
        for axes, kernel in zip(drawn.axes[0], kernels, strict=False):
            labelled = set()
            for run in runs:
                if run["kernel"] == kernel:
                    _line(axes, run, None if run["arm"] in labelled else run["arm"])
                    labelled.add(run["arm"])
                    ceiling = 100 * run["ceiling"]
            axes.axhline(ceiling, color=COLOURS["ceiling"], lw=0.8)
            axes.set_title(kernel, fontsize=9)
            axes.set_xlabel("attempt")
            axes.set_xscale("log")
            axes.set_ylim(0, 102)
            axes.legend(fontsize=7, frameon=False, loc="lower right")
        drawn.axes[0][0].set_ylabel("L2 hit rate, %, modelled")
    return drawn.svg


def _line(axes: Any, run: Mapping[str, Any], label: str | None) -> None:
    best = best_so_far(run["course"] or [None], run["unchanged"]["l2_hit_rate"])
    rates = [100 * rate for rate in best]
    style = {"color": COLOURS[run["arm"]], "lw": 1.1, "marker": ".", "ms": 3}
    axes.plot(range(1, len(rates) + 1), rates, label=label, **style)
