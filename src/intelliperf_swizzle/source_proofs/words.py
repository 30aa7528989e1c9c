# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A verdict in words."""

from __future__ import annotations

from intelliperf_swizzle.source_proofs.judge import RemapVerdict


def described(verdict: RemapVerdict) -> str:
    """The verdict and its evidence, in lines."""
    extents = [str(extent) for extent in verdict.grid]
    while len(extents) > 1 and extents[-1] == "1":
        extents.pop()
    times = f" (launched {verdict.count} times)" if verdict.count > 1 else ""
    what = f"`{verdict.kernel}` on grid {' × '.join(extents)}{times}"
    first = {
        "permutation": f"Permutation. {what}: {verdict.reason}",
        "not a permutation": f"Refused: {what} is not a permutation: {verdict.reason}",
        "not told": f"Not told: {what}: {verdict.reason}",
    }[verdict.kind]
    return "\n".join([first, *(f"  {line}" for line in verdict.evidence)])
