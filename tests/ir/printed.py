# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""TTIR of launches, compiled in a child as the product does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.children import call
from intelliperf_swizzle.records import Launch


def compiled(
    launches: Sequence[Launch],
    *edits: Mapping[str, str],
    general: bool = False,
    raw: bool = False,
) -> list[str]:
    """The TTIR of each, with each of the edits; general ones specialise nothing, raw saw no pass.

    The child's side is a module of its own, which its warm process imports once for all calls.
    """
    folder = str(Path(__file__).parent)
    environment = {"PYTHONPATH": folder, "TRITON_INTERPRET": "0", "TRITON_DEFAULT_FP_FUSION": "1"}
    texts: list[str] = call(
        "printed_in_child:ttir_of_each",
        (launches, edits or [{}], general, raw),
        environment=environment,
        limit_seconds=120,
    )
    return texts
