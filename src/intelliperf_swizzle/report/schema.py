# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The JSON schema of result files, from types and docstrings of the records in them."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Measurement,
    Proof,
    Run,
    Validation,
    VerdictKind,
    Witness,
)
from intelliperf_swizzle.report.decode import hints
from intelliperf_swizzle.report.result import SCHEMA

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}

Properties: TypeAlias = Mapping[str, Mapping[str, Any]]
Definitions: TypeAlias = dict[str, Any]
"""The schemas of the records by name; filled while their users are described."""


def result_schema() -> dict[str, Any]:
    """What this version writes into a result file, and nothing else; draft 2020-12."""
    named: Definitions = {}
    whole = _object(
        "Result of one run of intelliperf-swizzle. What was not measured is null, never 0.",
        _host_properties() | {"swizzle": _own(named)},
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"intelliperf-swizzle result, schema {SCHEMA}",
        **whole,
        "$defs": dict(sorted(named.items())),
    }


def schema_text() -> str:
    """The schema as a file."""
    return json.dumps(result_schema(), indent=1, ensure_ascii=False) + "\n"


def _host_properties() -> dict[str, Any]:
    """What every formula of IntelliPerf writes."""
    text, percent = {"type": "string"}, {"type": ["number", "null"], "minimum": 0, "maximum": 100}
    time = {"type": ["number", "null"], "minimum": 0, "description": "Measured; null where not."}
    return {
        "version": text | {"description": "Of the package that wrote the file."},
        "formula": text | {"description": "The optimization target."},
        "success": {"type": "boolean", "description": "An eligible and better swizzle was found."},
        "kernel_name": text,
        "metric": {"const": "l2_hr_pct"},
        "metric_name": text | {"description": "Says `modelled` and the target where it is."},
        "metric_before": percent | {"description": "L2 hit rate in percent."},
        "metric_after": percent | {"description": "The same with the swizzle; null without one."},
        "time_before_ms": time,
        "time_after_ms": time,
        "report_message": text | {"description": "Begins with `Modelled:` where it is."},
        "bottleneck_report": text,
        "initial": text | {"description": "The user's file as it was."},
        "optimized": {"type": ["string", "null"], "description": "The file with the swizzle."},
        "diff": text | {"description": "Unified, for `git apply`; empty without a swizzle."},
        "diff_lines": {"type": "array", "items": text},
    }


def _own(named: Definitions) -> dict[str, Any]:
    launch = _fields(Run, named, "kernel", "file", "grid", "constants")
    return _object(
        "What IntelliPerf's own formulas do not know.",
        {
            "schema": {"const": SCHEMA, "description": "Grows when the file's shape changes."},
            **_fields(Run, named, "target", "domain_name", "profiler", "proposer", "seed"),
            "launch": _object(
                "The kernel's largest launch.",
                launch | {"distinct": _fields(Run, named, "launches")["launches"]},
            ),
            **_fields(Run, named, "kernels", "baseline", "predicted"),
            "ceiling_l2_hit_rate": {"type": "number", "minimum": 0, "maximum": 1},
            "ceiling_derivation": {"type": "string"},
            **_fields(Run, named, "nothing_to_gain", "interrupted"),
            "best": _optional(_best(named)),
            "attempts": {"type": "array", "items": _attempt(named)},
            **_fields(Run, named, "cautions", "notes", "usage", "history", "invocation", "picture"),
        },
    )


def _attempt(named: Definitions) -> dict[str, Any]:
    measured = ("screened_l2_hit_rate", "predicted", "measurement", "validation", "diff")
    named["Attempt"] = _object(
        "One candidate and what became of it.",
        {
            **_fields(Attempt, named, "number"),
            **_fields(Candidate, named),
            "verdict": _of(VerdictKind, named),
            "reason": {"type": "string"},
            "witness": _of(Witness | None, named),
            **_fields(Attempt, named, "fingerprint"),
            "proof": _optional(_proof(named)),
            **_fields(Attempt, named, *measured),
        },
    )
    return {"$ref": "#/$defs/Attempt"}


def _best(named: Definitions) -> dict[str, Any]:
    return _object(
        "The attempt that is named.",
        {
            **_fields(Attempt, named, "number"),
            **_fields(Candidate, named, "name", "text", "origin"),
            **_fields(Attempt, named, "fingerprint"),
            "proof": _proof(named),
            "validation": _of(Validation, named),
            "measurement": _of(Measurement, named),
        },
    )


def _proof(named: Definitions) -> dict[str, Any]:
    fields = _fields(Proof, named, "grids_checked", "largest_checked", "condition")
    named["Proof"] = _object(
        "Certificate that the swizzle is a permutation.", {"holds": {"const": True}} | fields
    )
    return {"$ref": "#/$defs/Proof"}


def _fields(kind: Any, named: Definitions, *names: str) -> dict[str, Any]:
    """The schemas of a dataclass's fields (all, or these), described as its docstring does."""
    described, types_of = _descriptions(kind), hints(kind)
    return {
        name: _of(types_of[name], named) | described.get(name, {}) for name in names or types_of
    }


def _of(kind: Any, named: Definitions) -> dict[str, Any]:
    origin = get_origin(kind)
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if dataclasses.is_dataclass(kind):
        return _named(kind, named)
    if origin in (Union, types.UnionType):
        [inner] = [one for one in get_args(kind) if one is not type(None)]
        return _optional(_of(inner, named))
    if origin is tuple:
        return _array(get_args(kind), named)
    if origin is Literal:
        return {"enum": list(get_args(kind))}
    return {"type": "object", "additionalProperties": _of(get_args(kind)[1], named)}


def _named(kind: Any, named: Definitions) -> dict[str, Any]:
    name = kind.__name__
    if name not in named:
        named[name] = {}
        summary = (inspect.getdoc(kind) or "").partition("\n")[0]
        named[name] = _object(summary, _fields(kind, named))
    return {"$ref": f"#/$defs/{name}"}


def _array(items: tuple[Any, ...], named: Definitions) -> dict[str, Any]:
    if items[-1] is Ellipsis:
        return {"type": "array", "items": _of(items[0], named)}
    return {
        "type": "array",
        "prefixItems": [_of(item, named) for item in items],
        "items": False,
        "minItems": len(items),
    }


def _optional(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(description: str, properties: Properties) -> dict[str, Any]:
    return {
        "description": description,
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _descriptions(kind: type) -> dict[str, dict[str, str]]:
    """What the `Attributes:` of a docstring say of each field."""
    _, _, attributes = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    entries: Iterable[tuple[str, str]] = re.findall(
        r"^ {4}(\w+): (.*(?:\n {8}.*)*)", attributes, re.MULTILINE
    )
    return {name: {"description": " ".join(text.split())} for name, text in entries}
