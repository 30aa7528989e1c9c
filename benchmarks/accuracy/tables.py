# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A comparison as a table for people and as JSON for programs: the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from textwrap import wrap
from typing import Any

from accuracy.comparison import ModelAccuracy, Pair
from accuracy.summary import Scores, Summary, scores, summarise

WIDTH = 80
_WIDTHS = (35, 3, 6, 4, 5, 4, 5, 6, 4)
_HEADS = ("configuration", "n", "spread", "MAE", "worst", "own", "τ", "regret", "s")
LEGEND = (
    "n orders; spread of the measured hit rates; MAE and worst error (modelled less",
    "measured) of the L2 hit rate; own: MAE against the profiler's own quotient;",
    "τ: Kendall's τ-b; regret: best measured rate less that of the order that the",
    "model prefers. All in percentage points but n, τ and s (seconds).",
)


def table(comparison: ModelAccuracy) -> str:
    """The comparison on a terminal, at most `WIDTH` columns wide."""
    rows = [_row(_HEADS)]
    for outcome in comparison.outcomes:
        cells = _cells(scores(outcome.pairs))
        rows.append(_row((outcome.name, *cells, f"{outcome.seconds:.0f}")))
    lines = [*sentences(summarise(comparison.outcomes)), f"{comparison.seconds:.0f} s in all."]
    lines += [f"note: {note}" for note in comparison.notes]
    wrapped = [part for sentence in lines for part in wrap(sentence, WIDTH)]
    title = f"modelled L2 hit rates beside measured ones, {comparison.target}"
    return "\n".join([title, "", *rows, "", *LEGEND, "", *wrapped])


def sentences(summary: Summary) -> list[str]:
    """What all configurations together say."""
    if not summary.pairs:
        return ["Nothing was compared."]
    lines = [
        f"{summary.pairs} pairs of {summary.configurations} configurations:"
        f" mean absolute error {_number(summary.mean_error_points)},"
        f" worst {_signed(summary.worst_error_points)}",
        f"  ({summary.worst_pair}).",
        "Where the order decides (spread above 10):"
        f" MAE {_number(summary.mean_error_points_wide)}.",
    ]
    if summary.counter_mean_error_points is not None:
        lines.append(
            "Against the profiler's own quotient:"
            f" MAE {_number(summary.counter_mean_error_points)},"
            f" worst {_signed(summary.counter_worst_error_points)}."
        )
    if summary.llc_mean_error_points is not None:
        lines.append(f"Last-level cache: MAE {_number(summary.llc_mean_error_points)}.")
    lines.append(
        f"Mean τ where the spread exceeds 5: {_number(summary.mean_tau, 2)};"
        f" mean regret {_number(summary.mean_regret_points)}."
    )
    if summary.different_times:
        lines.append(
            f"Modelled time orders {summary.agreeing_times} of {summary.different_times} pairs"
            f" ({100 * (summary.time_order_agreement or 0):.0f} %) as measured time does."
        )
    return lines


def as_table(comparison: ModelAccuracy) -> dict[str, Any]:
    """The comparison as JSON has it: `pairs`, `configurations`, `summary`, `skipped`, `notes`."""
    return {
        "target": comparison.target,
        "pairs": [pair_table(pair) for pair in comparison.pairs],
        "configurations": [
            {
                "config": outcome.name,
                "occupancy": outcome.occupancy,
                "seconds": round(outcome.seconds, 2),
                **asdict(scores(outcome.pairs)),
            }
            for outcome in comparison.outcomes
        ],
        "summary": {
            **asdict(summarise(comparison.outcomes)),
            "seconds": round(comparison.seconds, 2),
        },
        "skipped": comparison.skipped,
        "notes": comparison.notes,
    }


def pair_table(pair: Pair) -> dict[str, Any]:
    """One pair: rates from 0 to 1, what was not measured or is not modelled as null."""
    measured, modelled = pair.measured, pair.modelled
    return {
        "config": measured.config,
        "mapping": measured.mapping,
        "predicted_hit_rate": modelled.l2_hit_rate,
        "measured_hit_rate": measured.hit_rate,
        "error_points": 100 * (modelled.l2_hit_rate - measured.hit_rate),
        "predicted_counter_hit_rate": modelled.l2_counter_hit_rate,
        "measured_counter_hit_rate": measured.counter_hit_rate,
        "predicted_llc_hit_rate": modelled.llc_hit_rate,
        "measured_llc_hit_rate": measured.llc_hit_rate,
        "predicted_memory_bytes": modelled.memory_bytes,
        "measured_memory_read_bytes": measured.memory_read_bytes,
        "modelled_memory_time_ms": modelled.modelled_memory_time_ms,
        "modelled_time_ms": modelled.modelled_time_ms,
        "longest": modelled.longest,
        "measured_time_ms": measured.time_ms,
        "profiled_time_ms": measured.profiled_time_ms,
        "measured_spread_points": measured.spread_points,
    }


def _cells(scores: Scores) -> tuple[str, ...]:
    return (
        str(scores.pairs),
        _number(scores.spread),
        _number(scores.mean_error),
        _signed(scores.worst_error),
        _number(scores.counter_error),
        _number(scores.tau, 2),
        _number(scores.regret),
    )


def _row(cells: Sequence[str]) -> str:
    name, *numbers = cells
    width, *widths = _WIDTHS
    short = name if len(name) <= width else name[: width - 1] + "…"
    columns = (f"{cell:>{size}}" for cell, size in zip(numbers, widths, strict=True))
    return f"{short:<{width}} " + " ".join(columns)


def _number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.1f}"
