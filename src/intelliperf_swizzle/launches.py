# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A launch on disk: one JSON file beside the `.npy` files with the contents of its storages.

What JSON cannot say is written as an object with the key `$`: a noun of `records` by its class
name, a tuple, a mapping whose keys are not strings, a float that is not finite.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.records import (
    DescriptorArgument,
    DtypeArgument,
    FunctionArgument,
    KernelSource,
    Launch,
    SourceFunction,
    Storage,
    TensorArgument,
)

_NOUNS = {
    noun.__name__: noun
    for noun in (
        DescriptorArgument,
        DtypeArgument,
        FunctionArgument,
        KernelSource,
        Launch,
        SourceFunction,
        Storage,
        TensorArgument,
    )
}


def save_launch(launch: Launch, path: str | os.PathLike[str]) -> None:
    """Write a launch as JSON; paths of storage contents are kept relative to the file's folder.

    Raises:
        TypeError: an argument or option is of a kind that a launch cannot carry.
    """
    path = Path(path)
    stored = replace(
        launch,
        storages={
            number: replace(storage, contents=_relative(storage.contents, path.parent))
            for number, storage in launch.storages.items()
        },
    )
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(_encode(stored), indent=1, allow_nan=False), encoding="utf-8")
    partial.replace(path)


def load_launch(path: str | os.PathLike[str]) -> Launch:
    """Read what `save_launch` wrote; paths of storage contents come back absolute.

    Raises:
        UsageError: the file is missing or is not a launch.
    """
    path = Path(path)
    try:
        launch = _decode(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not a recorded launch ({error})") from error
    if not isinstance(launch, Launch):
        raise UsageError(f"{path} is not a recorded launch")
    return replace(
        launch,
        storages={
            number: replace(storage, contents=_absolute(storage.contents, path.parent))
            for number, storage in launch.storages.items()
        },
    )


def _relative(contents: str | None, folder: Path) -> str | None:
    return None if contents is None else os.path.relpath(contents, folder)


def _absolute(contents: str | None, folder: Path) -> str | None:
    return None if contents is None else os.path.normpath(folder.resolve() / contents)


def _encode(value: Any) -> Any:
    if is_dataclass(value) and type(value).__name__ in _NOUNS:
        stated = {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
        return {"$": type(value).__name__, **stated}
    if isinstance(value, tuple):
        return {"$": "tuple", "items": [_encode(item) for item in value]}
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and key != "$" for key in value):
            return {key: _encode(item) for key, item in value.items()}
        return {"$": "mapping", "items": [[_encode(k), _encode(v)] for k, v in value.items()]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$": "float", "value": repr(float(value))}
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return plain(value)
    if value is None:
        return None
    raise TypeError(f"a launch cannot carry {value!r} of type {type(value).__name__}")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = value.get("$")
    if tag is None:
        return {key: _decode(item) for key, item in value.items()}
    if tag == "tuple":
        return tuple(_decode(item) for item in value["items"])
    if tag == "mapping":
        return {_decode(key): _decode(item) for key, item in value["items"]}
    if tag == "float":
        return float(value["value"])
    return _NOUNS[tag](**{key: _decode(item) for key, item in value.items() if key != "$"})
