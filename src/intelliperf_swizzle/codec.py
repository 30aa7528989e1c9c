# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Records as JSON and back, by their type hints; what does not belong is refused with its place.

A dataclass is an object with exactly its fields; a field marked `INLINE` lends its own fields to
the object around it, and one marked `named(...)` has another name there. Tuples and sets are lists,
mappings are objects. Where a hint leaves the type open (`Any`, a union of several types), a value
that JSON cannot say is an object with the key `$`: a dataclass by its name, a tuple, a mapping
whose keys are not strings, a float that is not finite.
"""

import dataclasses
import functools
import json
import math
import operator
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_type_hints as _hints

from intelliperf_swizzle.errors import RecordError

Type = typing.TypeVar("Type")

_SEQUENCES = (tuple, list, frozenset)

LARGEST = 2**63 - 1
"""Integers beyond it are refused: no count, size or seed is as large."""

INLINE: Mapping[str, bool] = {"inline": True}
"""Metadata of a field whose own fields stand in the object around it."""


def named(name: str) -> Mapping[str, str]:
    """Metadata of a field that has another name in JSON."""
    return {"name": name}


@dataclass(frozen=True)
class Between:
    """Bounds of a number, in `Annotated`; None = unbounded."""

    low: float
    high: float | None = None


@dataclass(frozen=True)
class Matching:
    """The regular expression of a whole text, in `Annotated`."""

    pattern: str


Constraint: typing.TypeAlias = Between | Matching


@dataclass(frozen=True)
class Member:
    """A field of a dataclass as JSON has it: its attribute, its name there, and its type."""

    attribute: str
    name: str
    kind: typing.Any
    inline: bool


@functools.cache
def members(kind: type) -> tuple[Member, ...]:
    """The fields of a dataclass, in order."""
    kinds = _hints(kind, include_extras=True)
    fields = ((field.name, field.metadata) for field in dataclasses.fields(kind))
    return tuple(Member(n, meta.get("name", n), kinds[n], "inline" in meta) for n, meta in fields)


# --- text ---------------------------------------------------------------------------------------


def dumps(value: object, *, indent: int | None = None) -> str:
    """JSON text without NaN; a lone surrogate is written as its escape."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators
    )
    return text.encode("utf-8", "backslashreplace").decode()


def loads(text: str | bytes) -> typing.Any:
    """The value of a JSON text.

    Raises:
        RecordError: it is not UTF-8, not JSON, nested too deeply, or holds NaN or an infinity.
    """
    try:
        return json.loads(text if isinstance(text, str) else text.decode(), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise RecordError(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise RecordError(f"not JSON at {error.lineno}:{error.colno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not JSON: {error}") from None


def _refuse(constant: str) -> typing.NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


# --- records to JSON ----------------------------------------------------------------------------


def encode(record: object) -> typing.Any:
    """A dataclass as a JSON object.

    Args:
        record: an instance.

    Raises:
        TypeError: a value is of a kind that JSON cannot carry, or no float of JSON.
    """
    return _object(record, "")


def _object(record: object, where: str) -> dict[str, object]:
    encoded: dict[str, object] = {}
    kind: type = type(record)
    for member in members(kind):
        value = getattr(record, member.attribute)
        if member.inline:
            encoded |= _object(value, where)
        else:
            encoded[member.name] = _encode(member.kind, value, _inside(where, member.name))
    return encoded


def _encode(kind: typing.Any, value: typing.Any, where: str) -> object:
    kind, _ = _plain(kind)
    if value is None:
        return None
    if _open(kind):
        return _encode_open(value, where)
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        [inner] = [argument for argument in typing.get_args(kind) if argument is not type(None)]
        return _encode(inner, value, where)
    origin = typing.get_origin(kind) or kind
    if dataclasses.is_dataclass(kind):
        return _object(value, where)
    if origin in _SEQUENCES:
        items = sorted(value) if origin is frozenset else value
        types_of = _items(kind, len(items))
        return [_encode(types_of[i], entry, f"{where}[{i}]") for i, entry in enumerate(items)]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        item = typing.get_args(kind)[1]
        return {
            str(key): _encode(item, entry, _inside(where, str(key))) for key, entry in value.items()
        }
    if origin is float:
        return _finite(float(value), where)
    return operator.index(value) if origin is int else value


def _encode_open(value: object, where: str) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"$": type(value).__name__, **_object(value, where)}
    if isinstance(value, tuple):
        return {"$": "tuple", "items": [_encode_open(item, where) for item in value]}
    if isinstance(value, list):
        return [_encode_open(item, where) for item in value]
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and key != "$" for key in value):
            return {key: _encode_open(item, _inside(where, key)) for key, item in value.items()}
        items = [[_encode_open(k, where), _encode_open(v, where)] for k, v in value.items()]
        return {"$": "mapping", "items": items}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$": "float", "value": repr(float(value))}
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if value is None:
        return None
    raise TypeError(f"{where}: a record cannot carry {value!r} of type {type(value).__name__}")


def _finite(value: float, where: str) -> float:
    if not math.isfinite(value):
        raise TypeError(f"{where}: {value} is not a JSON number")
    return value


# --- JSON to records ----------------------------------------------------------------------------


def decode(kind: type[Type], value: object, where: str = "", *, nouns: Sequence[type] = ()) -> Type:
    """A JSON value as a record.

    Args:
        kind: a dataclass, `str`, `int`, `float`, `bool`, or a tuple, list, set, mapping,
            literal or union of these.
        value: as `loads` reads it.
        where: names the value in messages (`attempt`).
        nouns: the dataclasses that may stand where a hint leaves the type open.

    Raises:
        RecordError: a value is missing, surplus, of another type, or out of range; it says where.
    """
    reader = _Decoder({noun.__name__: noun for noun in nouns})
    try:
        decoded: Type = reader.decode(kind, value, where)
    except RecursionError:
        raise RecordError(f"{where or 'the value'} is nested too deeply") from None
    return decoded


@dataclass(frozen=True)
class _Decoder:
    nouns: Mapping[str, type]

    def decode(self, kind: typing.Any, value: object, where: str) -> typing.Any:
        kind, constraint = _plain(kind)
        origin = typing.get_origin(kind) or kind
        if origin in (typing.Union, types.UnionType):
            return self._union(kind, value, where)
        if kind is typing.Any:
            return self._open(value, where)
        if dataclasses.is_dataclass(kind):
            return self._dataclass(kind, value, where)
        if origin is typing.Literal:
            return _literal(typing.get_args(kind), value, where)
        if origin in _SEQUENCES:
            return self._sequence(kind, value, where)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            key_kind, item = typing.get_args(kind)
            return {
                _key(key_kind, key, where): self.decode(item, entry, _inside(where, key))
                for key, entry in _expect(dict, value, where).items()
            }
        return _check(_scalar(origin, value, where), constraint, where)

    def _dataclass(self, kind: typing.Any, value: object, where: str) -> typing.Any:
        given = _expect(dict, value, where)
        for name in given.keys() - set(_names(kind)):
            raise RecordError(f"{_inside(where, name)}: unknown field")
        return self._build(kind, given, where)

    def _build(self, kind: type, given: Mapping[str, object], where: str) -> typing.Any:
        values = {}
        for member in members(kind):
            inside = _inside(where, member.name)
            if member.inline:
                values[member.attribute] = self._build(member.kind, given, where)
            elif member.name in given:
                values[member.attribute] = self.decode(member.kind, given[member.name], inside)
            else:
                raise RecordError(f"{inside}: missing")
        return kind(**values)

    def _union(self, kind: typing.Any, value: object, where: str) -> typing.Any:
        alternatives = typing.get_args(kind)
        inner = [alternative for alternative in alternatives if alternative is not type(None)]
        if value is None and len(inner) < len(alternatives):
            return None
        if len(inner) == 1:
            return self.decode(inner[0], value, where)
        decoded = self._open(value, where)
        classes = tuple(typing.get_origin(choice) or choice for choice in inner)
        if not isinstance(decoded, classes):
            expected = ", ".join(choice.__name__ for choice in classes)
            raise RecordError(f"{where}: expected one of {expected}, got {_kind(decoded)}")
        return decoded

    def _sequence(self, kind: typing.Any, value: object, where: str) -> typing.Any:
        items = _expect(list, value, where)
        inner = _items(kind, len(items))
        if len(inner) != len(items):
            raise RecordError(f"{where}: expected {len(inner)} items, got {len(items)}")
        decoded = (self.decode(inner[i], item, f"{where}[{i}]") for i, item in enumerate(items))
        return typing.get_origin(kind)(decoded)

    def _open(self, value: object, where: str) -> typing.Any:
        if isinstance(value, list):
            return [self._open(item, where) for item in value]
        if not isinstance(value, dict):
            return value
        if "$" not in value:
            return {key: self._open(item, _inside(where, key)) for key, item in value.items()}
        tag, rest = value["$"], {key: item for key, item in value.items() if key != "$"}
        if isinstance(tag, str) and tag in self.nouns:
            return self._dataclass(self.nouns[tag], rest, where)
        if tag == "float" and rest.get("value") in ("inf", "-inf", "nan"):
            return float(rest["value"])
        if tag == "tuple":
            return tuple(self._open(v, where) for v in _expect(list, rest.get("items"), where))
        if tag == "mapping":
            pairs = self._open(rest.get("items"), where)
            try:
                return dict(_expect(list, pairs, where))
            except (TypeError, ValueError):
                raise RecordError(f"{where}: expected pairs of key and value") from None
        raise RecordError(f"{where}: {tag!r:.40} is not a kind of value")


def _names(kind: type) -> Iterator[str]:
    """The fields of a dataclass as JSON has them."""
    for member in members(kind):
        if member.inline:
            yield from _names(member.kind)
        else:
            yield member.name


def _plain(kind: typing.Any) -> tuple[typing.Any, Constraint | None]:
    """A hint without its annotation, and what this states."""
    if typing.get_origin(kind) is not typing.Annotated:
        return kind, None
    inner, *stated = typing.get_args(kind)
    return inner, next((item for item in stated if isinstance(item, Constraint)), None)


def _open(kind: typing.Any) -> bool:
    """Whether a hint leaves the type open."""
    if typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return kind is typing.Any
    return len([argument for argument in typing.get_args(kind) if argument is not type(None)]) > 1


def _items(kind: typing.Any, count: int) -> tuple[typing.Any, ...]:
    """The types of the items of a tuple, list or set that has that many."""
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is not tuple or inner[-1] is Ellipsis:
        return (inner[0],) * count
    return inner


def _literal(allowed: tuple[object, ...], value: object, where: str) -> object:
    if any(value == literal and type(value) is type(literal) for literal in allowed):
        return value
    expected = ", ".join(map(repr, allowed))
    got = repr(value) if isinstance(value, (str, int)) else _kind(value)
    raise RecordError(f"{where}: expected {expected}, got {got:.60}")


def _key(kind: object, key: str, where: str) -> str | int:
    if kind is str:
        return _text(key, where)
    if not (key.removeprefix("-").isascii() and key.removeprefix("-").isdigit() and len(key) < 20):
        raise RecordError(f"{where}: expected int as key, got {key!r:.40}")
    return int(key)


def _scalar(kind: typing.Any, value: typing.Any, where: str) -> typing.Any:
    if kind is float and type(value) is int and abs(value) <= LARGEST:
        return float(value)
    _expect(kind, value, where)
    if kind is float and not math.isfinite(value):
        raise RecordError(f"{where}: expected a finite float, got {value}")
    if kind is int and abs(value) > LARGEST:
        raise RecordError(f"{where}: expected an int of 64 bits, got one of {value.bit_length()}")
    return _text(value, where) if kind is str else value


def _check(value: typing.Any, constraint: Constraint | None, where: str) -> typing.Any:
    if isinstance(constraint, Between):
        high = math.inf if constraint.high is None else constraint.high
        if not constraint.low <= value <= high:
            raise RecordError(f"{where}: expected {constraint.low:g} to {high:g}, got {value:g}")
    elif constraint is not None and not re.fullmatch(constraint.pattern, value):
        raise RecordError(f"{where}: expected {constraint.pattern}, got {value!r:.40}")
    return value


def _text(value: str, where: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        place = f"the lone surrogate {value[error.start]!a} at {error.start}"
        raise RecordError(f"{where}: expected text, got {place}") from None
    return value


def _expect(kind: type[Type], value: object, where: str) -> Type:
    if not isinstance(value, kind) or type(value) is not kind:
        raise RecordError(f"{where or 'the value'}: expected {_NAMES[kind]}, got {_kind(value)}")
    return value


_NAMES = {dict: "object", list: "list", str: "str", int: "int", float: "float", bool: "bool"}


def _kind(value: object) -> str:
    return "null" if value is None else _NAMES.get(type(value), type(value).__name__)


def _inside(where: str, name: str) -> str:
    return f"{where}.{name:.60}" if where else f"{name:.60}"
