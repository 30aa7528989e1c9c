# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run as the result file: what IntelliPerf's formulas write, and our own part beside it.

A number that was not measured is null, never 0. A modelled number is never given as a measured
one: with the model profiler `metric_name` says so, `report_message` begins with `Modelled:` and
the times are null.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from intelliperf_swizzle import __version__
from intelliperf_swizzle.history import attempt_to_json
from intelliperf_swizzle.records import Measurement, Run
from intelliperf_swizzle.report.words import bottleneck, message

SCHEMA = 3
"""2 added `invocation`, `file`, `picture`, `predicted`, `timing` and requests per domain;
3 `cautions`, `domain_name` and `interrupted`."""


def result(run: Run, *, initial: str, optimized: str | None) -> dict[str, Any]:
    """The result as a JSON object.

    Args:
        run: the run.
        initial: the kernel's source as it was.
        optimized: the source with the best swizzle, None where there is none.
    """
    best = run.best
    measured = best.measurement if best else None
    diff = best.diff if best and best.diff else ""
    return {
        "version": __version__,
        "formula": run.formula,
        "success": best is not None,
        "kernel_name": run.kernel,
        "metric": "l2_hr_pct",
        "metric_name": f"L2 hit rate (modelled, {run.target})" if run.modelled else "L2 hit rate",
        "metric_before": _percent(run.baseline),
        "metric_after": _percent(measured),
        "time_before_ms": run.baseline.time_ms,
        "time_after_ms": measured.time_ms if measured else None,
        "report_message": message(run),
        "bottleneck_report": bottleneck(run),
        "initial": initial,
        "optimized": optimized,
        "diff": diff,
        "diff_lines": diff.splitlines(),
        "swizzle": {
            "schema": SCHEMA,
            "target": run.target,
            "domain_name": run.domain_name,
            "profiler": run.profiler,
            "proposer": run.proposer,
            "seed": run.seed,
            "launch": {
                "kernel": run.kernel,
                "file": run.file,
                "grid": list(run.grid),
                "constants": dict(run.constants),
                "distinct": run.launches,
            },
            "kernels": [asdict(kernel) for kernel in run.kernels],
            "baseline": asdict(run.baseline),
            "predicted": asdict(run.predicted) if run.predicted else None,
            "ceiling_l2_hit_rate": run.ceiling.l2_hit_rate,
            "ceiling_derivation": run.ceiling.derivation,
            "nothing_to_gain": run.nothing_to_gain,
            "interrupted": run.interrupted,
            "best": _best(run),
            "attempts": [attempt_to_json(attempt) for attempt in run.attempts],
            "cautions": list(run.cautions),
            "notes": list(run.notes),
            "usage": asdict(run.usage) if run.usage else None,
            "history": run.history,
            "invocation": run.invocation,
            "picture": asdict(run.picture) if run.picture else None,
        },
    }


def _best(run: Run) -> dict[str, Any] | None:
    if run.best is None:
        return None
    fields = attempt_to_json(run.best)
    keys = ("number", "name", "text", "origin", "fingerprint", "proof", "validation")
    assert run.best.measurement is not None
    return {**{key: fields[key] for key in keys}, "measurement": asdict(run.best.measurement)}


def _percent(measured: Measurement | None) -> float | None:
    return None if measured is None else round(100 * measured.l2_hit_rate, 3)
