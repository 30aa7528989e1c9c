# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""TTIR of launches, compiled in a child as the product does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from intelliperf_swizzle.children import call
from intelliperf_swizzle.records import Launch


def compiled(
    launches: Sequence[Launch],
    edits: Mapping[str, str] = {},
    *,
    general: bool = False,
    raw: bool = False,
) -> list[str]:
    """The TTIR of each, with edits; the general ones specialise nothing, raw ones saw no pass."""
    folder = str(Path(__file__).parent)
    environment = {"PYTHONPATH": folder, "TRITON_INTERPRET": "0", "TRITON_DEFAULT_FP_FUSION": "1"}
    texts: list[str] = call(
        "printed:in_child",
        (launches, edits, general, raw),
        environment=environment,
        limit_seconds=120,
    )
    return texts


def in_child(request: Any, folder: Path) -> list[str]:
    from intelliperf_swizzle.frontends.triton.ir.compile import ttir_of

    launches, edits, general, raw = request
    return [ttir_of(launch, edits=edits, general=general, raw=raw) for launch in launches]
