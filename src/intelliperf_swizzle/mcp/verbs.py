# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a worker does for each tool: arguments of the call in, an answer out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from intelliperf_swizzle import api
from intelliperf_swizzle.context.miss_causes import describe_tensors
from intelliperf_swizzle.frontends.triton.source_proofs import RemapVerdict
from intelliperf_swizzle.mapping import describe
from intelliperf_swizzle.mcp.answers import (
    Explained,
    Numbers,
    Optimized,
    ProvedSource,
    ProvedSwizzle,
    Reported,
    Scored,
    SourceVerdict,
)
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Measurement, Witness
from intelliperf_swizzle.report.markdown import markdown
from intelliperf_swizzle.report.read import read_run
from intelliperf_swizzle.report.why import cures
from intelliperf_swizzle.report.words import message


def prove(arguments: Mapping[str, Any], progress: Progress) -> ProvedSwizzle:
    """Answers `prove`."""
    constants = arguments.get("constants", {})
    given = {name: arguments[name] for name in ("swizzle", "grid", "target")}
    verdict = api.prove(**given, **constants)
    tiles = math.prod(arguments["grid"])
    if isinstance(verdict, Witness):
        return ProvedSwizzle(False, tiles, None, None, list(describe(verdict)))
    return ProvedSwizzle(True, tiles, verdict.extent, verdict.condition, [])


def prove_source(arguments: Mapping[str, Any], progress: Progress) -> ProvedSource:
    """Answers `prove_source`."""
    launches = [_source_verdict(one) for one in api.prove_source(**arguments, progress=progress)]
    return ProvedSource(all(one.kind == "permutation" for one in launches), launches)


def score(arguments: Mapping[str, Any], progress: Progress) -> Scored:
    """Answers `score`."""
    given = {name: value for name, value in arguments.items() if name != "parameters"}
    scored = api.score(**given, **arguments.get("parameters", {}), progress=progress)
    verdict = scored.attempt.verdict
    return Scored(
        kernel=scored.kernel,
        verdict=verdict.kind,
        reason=verdict.reason,
        witness=list(describe(verdict.witness)) if verdict.witness else [],
        before=_numbers(scored.baseline),
        after=_numbers(scored.attempt.measurement) if scored.attempt.measurement else None,
        ceiling_l2_hit_rate=scored.ceiling.l2_hit_rate,
        cautions=list(scored.cautions),
    )


def explain(arguments: Mapping[str, Any], progress: Progress) -> Explained:
    """Answers `explain`."""
    return Explained(api.explain(**arguments, progress=progress))


def optimize(arguments: Mapping[str, Any], progress: Progress) -> Optimized:
    """Answers `optimize`."""
    run = api.optimize(**arguments, progress=progress)
    best = run.best
    return Optimized(
        success=best is not None,
        message=message(run),
        kernel=run.kernel,
        swizzle=best.candidate.text if best else None,
        diff=best.diff if best else None,
        before=_numbers(run.baseline),
        after=_numbers(best.measurement) if best and best.measurement else None,
        ceiling_l2_hit_rate=run.ceiling.l2_hit_rate,
        attempts=len(run.attempts),
        result_file=str(Path(run.history).with_name("result.json").resolve()),
        notes=list(run.notes),
        cures=cures(run),
    )


def report(arguments: Mapping[str, Any], progress: Progress) -> Reported:
    """Answers `report`."""
    return Reported(markdown(read_run(Path(arguments["result_file"]))))


VERBS: dict[str, Callable[[Mapping[str, Any], Progress], Any]] = {
    "prove": prove,
    "prove_source": prove_source,
    "score": score,
    "explain": explain,
    "optimize": optimize,
    "report": report,
}
"""What a worker can be asked for."""


def _source_verdict(verdict: RemapVerdict) -> SourceVerdict:
    return SourceVerdict(
        verdict.kernel, list(verdict.grid), verdict.kind, verdict.reason, list(verdict.evidence)
    )


def _numbers(measurement: Measurement) -> Numbers:
    return Numbers(
        source="modelled" if measurement.profiler == "model" else "measured",
        device=measurement.device,
        l2_hit_rate=measurement.l2_hit_rate,
        llc_hit_rate=measurement.llc_hit_rate,
        memory_bytes=measurement.memory_bytes,
        time_ms=measurement.time_ms,
        why=describe_tensors(measurement.causes) if measurement.causes else None,
    )
