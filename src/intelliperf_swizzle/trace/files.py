# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A trace on disk: an uncompressed `.npz` of its arrays and one JSON text for the rest."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from typing import Any

import numpy as np

from intelliperf_swizzle.records import Segment, Trace

_OPTIONAL = ("tile_arithmetic",)
_ARRAYS = (
    "tile_offset",
    "access_base",
    "access_shape",
    "shape_offset",
    "shape_line",
    "shape_sectors",
    "shape_kind",
    "shape_late",
    "shape_passes",
    *_OPTIONAL,
)


def save_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace."""
    plain = {
        field.name: getattr(trace, field.name)
        for field in fields(trace)
        if field.name not in (*_ARRAYS, "segments")
    }
    segments = [[segment.names, segment.first_line, segment.bytes] for segment in trace.segments]
    text = json.dumps({**plain, "segments": segments})
    given = {name: getattr(trace, name) for name in _ARRAYS}
    arrays = {name: array for name, array in given.items() if array is not None}
    np.savez(path, rest=np.frombuffer(text.encode(), np.uint8), **arrays)


def load_trace(path: str | os.PathLike[str]) -> Trace:
    """Read what `save_trace` wrote."""
    with np.load(path) as stored:
        rest = json.loads(stored["rest"].tobytes().decode())
        arrays: dict[str, Any] = {
            name: stored[name] for name in _ARRAYS if name in stored or name not in _OPTIONAL
        }
    segments = tuple(
        Segment(tuple(names), first_line, size) for names, first_line, size in rest.pop("segments")
    )
    plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in rest.items()}
    return Trace(**plain, **arrays, segments=segments)
