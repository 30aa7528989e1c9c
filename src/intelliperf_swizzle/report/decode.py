# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""JSON back to the records' types, each value checked; the type hints say what belongs where."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Type = TypeVar("Type")


class DecodeError(ValueError):
    """A value is missing or is not of the type that belongs there; says where."""


def decode(kind: type[Type], value: Any, where: str) -> Type:
    """A JSON value as a value of a type.

    Args:
        kind: a dataclass, `str`, `int`, `float`, `bool`, or a tuple, mapping, literal or union of
            these.
        value: as `json` reads it.
        where: names the value in messages (`swizzle.baseline`).

    Raises:
        DecodeError: something is missing or of another type.
    """
    decoded: Type = _decode(kind, value, where)
    return decoded


def _decode(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    origin = get_origin(kind)
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, value, where)
    if origin in (Union, types.UnionType):
        return _optional(kind, value, where)
    if origin is tuple:
        return _tuple(get_args(kind), value, where)
    if origin is Literal:
        if value not in get_args(kind):
            raise DecodeError(f"{where} is {value!r:.40}")
        return value
    if isinstance(origin, type) and issubclass(origin, Mapping):
        _, item = get_args(kind)
        return {key: _decode(item, each, f"{where}.{key}") for key, each in _object(value, where)}
    return _plain(kind, value, where)


@functools.cache
def hints(kind: type) -> Mapping[str, Any]:
    """The types of a dataclass's fields by name."""
    return get_type_hints(kind)


def required(kind: Any) -> frozenset[str]:
    """The fields of a dataclass that have no default."""
    return frozenset(
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    )


def _dataclass(kind: Any, value: Any, where: str) -> Any:
    fields = dict(_object(value, where))
    expected = hints(kind)
    missing = required(kind) - fields.keys()
    if missing:
        raise DecodeError(f"{where}.{min(missing)} is missing")
    return kind(
        **{
            name: _decode(expected[name], each, f"{where}.{name}")
            for name, each in fields.items()
            if name in expected
        }
    )


def _optional(kind: Any, value: Any, where: str) -> Any:
    inner = [one for one in get_args(kind) if one is not type(None)]
    if value is None and len(inner) < len(get_args(kind)):
        return None
    return _decode(inner[0], value, where)


def _tuple(items: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise DecodeError(f"{where} is {value!r:.40}, not a list")
    if items[-1] is Ellipsis:
        items = (items[0],) * len(value)
    if len(items) != len(value):
        raise DecodeError(f"{where} has {len(value)} entries, not {len(items)}")
    return tuple(
        _decode(item, each, f"{where}[{i}]")
        for i, (item, each) in enumerate(zip(items, value, strict=True))
    )


def _object(value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise DecodeError(f"{where} is {value!r:.40}, not an object")
    return value.items()


def _plain(kind: Any, value: Any, where: str) -> Any:
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise DecodeError(f"{where} is {value!r:.40}, not {kind.__name__}")
    return value
