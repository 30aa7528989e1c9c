# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What was found of a launch, in lines."""

from __future__ import annotations

import numpy as np

from intelliperf_swizzle.frontends.triton.source_proofs.observation import (
    Observation,
    Output,
    Parts,
)


def describe_outputs(seen: Observation) -> list[str]:
    """What is written of each tensor."""
    if seen.outputs is None:
        return ["the tensors are too large to look at each element"]
    lines = [line for output in seen.outputs for line in _lines_of_output(output)]
    if seen.lanes_outside:
        lines.append(f"{seen.lanes_outside} elements are written outside every tensor")
    return lines


def _lines_of_output(output: Output) -> list[str]:
    shape = " × ".join(map(str, output.shape)) or "scalar"
    whole = f"`{output.name}` ({shape})"
    lines = []
    if output.unwritten:
        share = 100 * output.unwritten / output.elements
        place = ", ".join(f"{a}:{b + 1}" for a, b in output.unwritten_range)
        lines.append(
            f"{whole}: {output.unwritten} of {output.elements} elements ({share:.2f} %) are "
            f"written by no program, within [{place}]"
        )
    if output.shared:
        line = f"{whole}: {output.shared} elements are stored by several programs"
        if output.clash:
            index, one, other = output.clash
            line += f", {list(index)} by {one} and {other}"
        lines.append(line)
    if not lines:
        verb = "updated" if output.updated else "stored by exactly one program"
        lines.append(f"{whole}: each of {output.elements} elements is {verb}")
    return lines


def describe_idle(seen: Observation) -> list[str]:
    """Says so where programs write nothing; nothing else."""
    idle = int((~seen.writes).sum())
    return [f"{idle} of {len(seen.writes)} programs write nothing"] if idle else []


def describe_collision(seen: Observation) -> list[str]:
    """Two programs that do the same."""
    working = np.flatnonzero(seen.writes)
    _, group, counts = np.unique(seen.work[working], return_inverse=True, return_counts=True)
    first = int(np.argmax(counts[group] > 1))
    second = first + 1 + int(np.argmax(group[first + 1 :] == group[first]))
    one, other = working[first], working[second]
    return [f"programs {one} and {other} access the same addresses in the same order"]


def describe_parts(parts: Parts) -> list[str]:
    """Which parts of a tensor are accessed more than once, how many never."""
    line = f"`{parts.name}`: {parts.taken} of {parts.room} parts are {parts.access} ({parts.line})"
    if parts.clash:
        line += f", one of them by programs {parts.clash[0]} and {parts.clash[1]}"
    if parts.outside:
        line += f", {parts.outside} outside it"
    return [f"{line}; {parts.left} are {parts.access} by no program"]
