# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run as the result file: what IntelliPerf's formulas write, and our own part beside it.

A number that was not measured is null, never 0. A modelled number is never given as a measured
one: with the model profiler `metric_name` says so, `report_message` begins with `Modelled:` and
the times are null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from intelliperf_swizzle import __version__
from intelliperf_swizzle.codec import Between, decode, encode, members
from intelliperf_swizzle.records import (
    Attempt,
    Certificate,
    Constants,
    Cures,
    Established,
    Grid,
    KernelSummary,
    Measurement,
    Picture,
    Rate,
    Run,
    Sizes,
    Usage,
    Validation,
)
from intelliperf_swizzle.report.establish import establish
from intelliperf_swizzle.report.words import bottleneck, message

SCHEMA: Final = 5
"""Grows when the shape of result files changes."""

Percent: TypeAlias = Annotated[float, Between(0, 100)]
Milliseconds: TypeAlias = Annotated[float, Between(0)]


@dataclass(frozen=True)
class LargestLaunch:
    """The kernel's largest launch."""

    kernel: str
    file: str
    grid: Grid
    constants: Constants
    distinct: int


@dataclass(frozen=True)
class NamedAttempt:
    """The attempt that is named."""

    number: int
    name: str
    text: str
    origin: Literal["pattern", "search", "llm", "user"]
    fingerprint: str | None
    proof: Certificate
    validation: Validation | None
    measurement: Measurement


@dataclass(frozen=True)
class OwnPart:
    """What IntelliPerf's own formulas do not know.

    Attributes:
        schema: Grows when the file's shape changes.
        established: What is known, each with its extent; null in files of schema 4.
    """

    schema: Literal[5]
    target: str
    domain_name: str
    profiler: str
    proposer: str
    seed: int
    launch: LargestLaunch
    kernels: tuple[KernelSummary, ...]
    baseline: Measurement
    predicted: Measurement | None
    ceiling_l2_hit_rate: Rate
    ceiling_derivation: str
    nothing_to_gain: bool
    interrupted: bool
    best: NamedAttempt | None
    established: Established | None
    cures: Cures | None
    sizes: Sizes | None
    attempts: tuple[Attempt, ...]
    cautions: tuple[str, ...]
    notes: tuple[str, ...]
    usage: Usage | None
    history: str
    invocation: str
    picture: Picture | None

    @staticmethod
    def renew(fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """What schema 4 was, as schema 5."""
        old = fields.get("schema") == 4
        return {**fields, "schema": SCHEMA, "established": None} if old else fields


@dataclass(frozen=True)
class ResultFile:
    """Result of one run of intelliperf-swizzle. What was not measured is null, never 0.

    Attributes:
        version: Of the package that wrote the file.
        formula: The optimization target.
        success: An eligible and better swizzle was found.
        metric_name: Says `modelled` and the target where it is.
        metric_before: L2 hit rate in percent.
        metric_after: The same with the swizzle; null without one.
        time_before_ms: Measured; null where not.
        time_after_ms: Measured; null where not.
        report_message: Begins with `Modelled:` where it is.
        initial: The user's file as it was.
        optimized: The file with the swizzle.
        diff: Unified, for `git apply`; empty without a swizzle.
    """

    version: str
    formula: str
    success: bool
    kernel_name: str
    metric: Literal["l2_hr_pct"]
    metric_name: str
    metric_before: Percent | None
    metric_after: Percent | None
    time_before_ms: Milliseconds | None
    time_after_ms: Milliseconds | None
    report_message: str
    bottleneck_report: str
    initial: str
    optimized: str | None
    diff: str
    diff_lines: tuple[str, ...]
    swizzle: OwnPart


def result(run: Run, *, initial: str, optimized: str | None) -> dict[str, Any]:
    """The result as a JSON object.

    Args:
        run: the run.
        initial: the kernel's source as it was.
        optimized: the source with the best swizzle, None where there is none.
    """
    measured = run.best.measurement if run.best else None
    diff = run.best.diff if run.best and run.best.diff else ""
    whole = ResultFile(
        version=__version__,
        formula=run.formula,
        success=optimized is not None,
        kernel_name=run.kernel,
        metric="l2_hr_pct",
        metric_name=f"L2 hit rate (modelled, {run.target})" if run.modelled else "L2 hit rate",
        metric_before=_percent(run.baseline),
        metric_after=_percent(measured),
        time_before_ms=run.baseline.time_ms,
        time_after_ms=measured.time_ms if measured else None,
        report_message=message(run),
        bottleneck_report=bottleneck(run),
        initial=initial,
        optimized=optimized,
        diff=diff,
        diff_lines=tuple(diff.splitlines()),
        swizzle=_own(run),
    )
    fields: dict[str, Any] = encode(whole)
    return fields


def _own(run: Run) -> OwnPart:
    return OwnPart(
        schema=SCHEMA,
        target=run.target,
        domain_name=run.domain_name,
        profiler=run.profiler,
        proposer=run.proposer,
        seed=run.seed,
        launch=LargestLaunch(run.kernel, run.file, run.grid, run.constants, run.launches),
        kernels=run.kernels,
        baseline=run.baseline,
        predicted=run.predicted,
        ceiling_l2_hit_rate=run.ceiling.l2_hit_rate,
        ceiling_derivation=run.ceiling.derivation,
        nothing_to_gain=run.nothing_to_gain,
        interrupted=run.interrupted,
        best=_named(run.best) if run.best else None,
        established=establish(run),
        cures=run.cures,
        sizes=run.sizes,
        attempts=run.attempts,
        cautions=run.cautions,
        notes=run.notes,
        usage=run.usage,
        history=run.history,
        invocation=run.invocation,
        picture=run.picture,
    )


def _named(best: Attempt) -> NamedAttempt:
    fields = encode(best)
    return decode(NamedAttempt, {one.name: fields[one.name] for one in members(NamedAttempt)})


def _percent(measured: Measurement | None) -> float | None:
    return None if measured is None else round(100 * measured.l2_hit_rate, 3)
