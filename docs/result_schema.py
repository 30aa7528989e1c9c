# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The JSON schema of result files, made from the records and their docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from intelliperf_swizzle.codec import Constraint, Matching, members
from intelliperf_swizzle.records import Run
from intelliperf_swizzle.report.files import SCHEMA, OwnPart, ResultFile

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}

Properties: TypeAlias = Mapping[str, Mapping[str, Any]]
Definitions: TypeAlias = dict[str, Any]
"""The schemas of the records by name; filled while their users are described."""


def result_schema() -> dict[str, Any]:
    """What this version writes into a result file, and nothing else; draft 2020-12."""
    named: Definitions = {}
    whole = _record(ResultFile, named)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"intelliperf-swizzle result, schema {SCHEMA}",
        **whole,
        "$defs": dict(sorted(named.items())),
    }


def schema_text() -> str:
    """The schema as a file."""
    return json.dumps(result_schema(), indent=1, ensure_ascii=False) + "\n"


def _record(kind: type, named: Definitions) -> dict[str, Any]:
    summary = (inspect.getdoc(kind) or "").partition("\n")[0]
    return _object(summary, _fields(kind, named))


def _fields(kind: type, named: Definitions) -> dict[str, Any]:
    """The schemas of a dataclass's fields, described as its docstring does."""
    described = _descriptions(kind)
    if kind is OwnPart:
        described = _descriptions(Run) | described
    properties: dict[str, Any] = {}
    for member in members(kind):
        if member.inline:
            properties |= _fields(member.kind, named)
        else:
            properties[member.name] = _of(member.kind, named) | described.get(member.attribute, {})
    return properties


def _of(kind: Any, named: Definitions) -> dict[str, Any]:
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *stated = get_args(kind)
        return _of(inner, named) | _constraint(stated[0])
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if dataclasses.is_dataclass(kind):
        return _name_type(kind, named)
    if origin in (Union, types.UnionType):
        [inner] = [one for one in get_args(kind) if one is not type(None)]
        return _optional(_of(inner, named))
    if origin is tuple:
        return _array(get_args(kind), named)
    if origin is Literal:
        allowed = list(get_args(kind))
        return {"const": allowed[0]} if len(allowed) == 1 else {"enum": allowed}
    return {"type": "object", "additionalProperties": _of(get_args(kind)[1], named)}


def _constraint(stated: Constraint) -> dict[str, Any]:
    if isinstance(stated, Matching):
        return {"pattern": f"^{stated.pattern}$"}
    return {"minimum": stated.low} | ({} if stated.high is None else {"maximum": stated.high})


def _name_type(kind: Any, named: Definitions) -> dict[str, Any]:
    name = kind.__name__
    if name not in named:
        named[name] = {}
        named[name] = _record(kind, named)
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
