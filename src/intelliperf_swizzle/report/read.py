# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A result file back to its run, so that it can be shown again without running anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Ceiling,
    Constants,
    Grid,
    KernelSummary,
    Measurement,
    Picture,
    Proof,
    Run,
    Usage,
    Validation,
    Verdict,
    VerdictKind,
    Witness,
)
from intelliperf_swizzle.report.decode import DecodeError, decode
from intelliperf_swizzle.report.result import SCHEMA


def read_run(path: Path) -> Run:
    """The run of a result file, of this version or an older one.

    Raises:
        UsageError: the file cannot be read, is no result file or is of a newer version.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"cannot read {path}: {reason}") from error
    try:
        return run_of(json.loads(text))
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, DecodeError) else "it is not JSON"
        raise UsageError(
            f"{path} is not a result file: {reason}",
            hint="a run writes result.json into its output folder; -o FILE.json names another",
        ) from error
    except UsageError as error:
        raise UsageError(f"{path}: {error.fact}", hint=error.hint) from error


def run_of(fields: Any) -> Run:
    """The run of a result as `result` makes it.

    Raises:
        DecodeError: something is missing or of another type.
        UsageError: the result is of a newer version.
    """
    own = _part(_part(fields, "", "the file"), "swizzle", "the file")
    schema = _value(own, "schema", int)
    if schema > SCHEMA:
        raise UsageError(
            f"the result has schema {schema}, this version reads schemas 1 to {SCHEMA}",
            hint="upgrade: pip install -U intelliperf-swizzle",
        )
    launch = _part(own, "launch", "swizzle")
    attempts = tuple(
        _attempt(line, f"swizzle.attempts[{i}]")
        for i, line in enumerate(_value(own, "attempts", tuple[Any, ...]))
    )
    return Run(
        kernel=_value(launch, "kernel", str),
        kernels=_value(own, "kernels", tuple[KernelSummary, ...]),
        formula=_value(fields, "formula", str),
        target=_value(own, "target", str),
        profiler=_value(own, "profiler", str),
        proposer=_value(own, "proposer", str),
        seed=_value(own, "seed", int),
        grid=_value(launch, "grid", Grid),
        constants=_value(launch, "constants", Constants),
        launches=_value(launch, "distinct", int),
        baseline=_value(own, "baseline", Measurement),
        ceiling=Ceiling(
            _value(own, "ceiling_l2_hit_rate", float), _value(own, "ceiling_derivation", str)
        ),
        best=_best(own, attempts),
        attempts=attempts,
        nothing_to_gain=_value(own, "nothing_to_gain", bool),
        notes=_value(own, "notes", tuple[str, ...]),
        history=_value(own, "history", str),
        usage=_value(own, "usage", Usage | None),
        invocation=_value(own, "invocation", str) if schema > 1 else "",
        picture=_value(own, "picture", Picture | None) if schema > 1 else None,
        file=_value(launch, "file", str) if schema > 1 else "",
        predicted=_value(own, "predicted", Measurement | None) if schema > 1 else None,
        cautions=_value(own, "cautions", tuple[str, ...]) if schema > 2 else (),
        domain_name=_value(own, "domain_name", str) if schema > 2 else "XCD",
        interrupted=_value(own, "interrupted", bool) if schema > 2 else False,
    )


def _best(own: Mapping[str, Any], attempts: tuple[Attempt, ...]) -> Attempt | None:
    if _value(own, "best", Any) is None:
        return None
    number = _value(_part(own, "best", "swizzle"), "number", int)
    for attempt in attempts:
        if attempt.number == number and attempt.measurement is not None:
            return attempt
    raise DecodeError(f"swizzle.best.number is {number}, and no measured attempt has it")


def _attempt(line: Any, where: str) -> Attempt:
    line = _part(line, "", where)
    kind = _value(line, "verdict", VerdictKind, where)
    witness = _value(line, "witness", Witness | None, where)
    fingerprint = _value(line, "fingerprint", str | None, where)
    return Attempt(
        number=_value(line, "number", int, where),
        candidate=decode(Candidate, line, where),
        verdict=Verdict(kind, _value(line, "reason", str, where), witness),
        fingerprint=fingerprint,
        proof=_proof(line, fingerprint, where),
        screened_l2_hit_rate=_value(line, "screened_l2_hit_rate", float | None, where),
        predicted=_value({"predicted": None, **line}, "predicted", Measurement | None, where),
        measurement=_value(line, "measurement", Measurement | None, where),
        validation=_value(line, "validation", Validation | None, where),
        diff=_value(line, "diff", str | None, where),
    )


def _proof(line: Mapping[str, Any], fingerprint: str | None, where: str) -> Proof | None:
    """The certificate without the mapping, which the swizzle's text gives again."""
    if _value(line, "proof", Any, where) is None:
        return None
    fields, where = _part(line, "proof", where), f"{where}.proof"
    return Proof(
        grid=(0, 0, 0),
        tile=np.zeros(0, np.int64),
        fingerprint=(fingerprint or "").partition("+")[0],
        grids_checked=_value(fields, "grids_checked", int, where),
        largest_checked=_value(fields, "largest_checked", int, where),
        condition=_value(fields, "condition", str | None, where),
    )


def _part(fields: Any, name: str, where: str) -> Mapping[str, Any]:
    """The object of that name, or the whole where there is none."""
    part = _value(fields, name, Any, where) if name else fields
    if not isinstance(part, dict):
        raise DecodeError(f"{name or where} is not an object")
    return part


def _value(fields: Mapping[str, Any], name: str, kind: Any, where: str = "swizzle") -> Any:
    if name not in fields:
        raise DecodeError(f"{where}.{name} is missing")
    return decode(kind, fields[name], f"{where}.{name}")
