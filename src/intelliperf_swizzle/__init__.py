# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Proved workgroup swizzles for chiplet GPUs: the formula `swizzle` for IntelliPerf.

The verbs are functions: `from intelliperf_swizzle import optimize, score, prove`. They are loaded
when they are first asked for, so that `import intelliperf_swizzle` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from intelliperf_swizzle.api import Run, explain, optimize, score
    from intelliperf_swizzle.errors import SwizzleError
    from intelliperf_swizzle.frontends.triton.overlay.runtime import applied
    from intelliperf_swizzle.hardware import Target, load_target
    from intelliperf_swizzle.language import Swizzle, parse
    from intelliperf_swizzle.proofs import prove, prove_source
    from intelliperf_swizzle.records import Proof, RemapVerdict, Score, Witness

__version__ = "0.2.0"

__all__ = [
    "Proof", "RemapVerdict", "Run", "Score", "Swizzle", "SwizzleError", "Target", "Witness",
    "applied", "explain", "load_target", "optimize", "parse", "prove", "prove_source", "score",
]  # fmt: skip

_ROOMS = {
    "api": ("Run", "explain", "optimize", "score"),
    "errors": ("SwizzleError",),
    "frontends.triton.overlay.runtime": ("applied",),
    "hardware": ("Target", "load_target"),
    "language": ("Swizzle", "parse"),
    "proofs": ("prove", "prove_source"),
    "records": ("Proof", "RemapVerdict", "Score", "Witness"),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
