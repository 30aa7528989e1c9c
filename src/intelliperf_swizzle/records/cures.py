# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What could be done about a kernel's misses, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from intelliperf_swizzle.records.attempts import Timing
from intelliperf_swizzle.records.quantities import Rate

CureKind: TypeAlias = Literal["parameter", "swizzle", "tile size", "padding", "both"]
"""From the cheapest to the dearest: one number of a call, the patch, a number that arithmetic hangs
on, too, memory laid out otherwise, and that with the patch."""


@dataclass(frozen=True)
class Padding:
    """Rows of tensors that begin further apart.

    Attributes:
        tensors: the tensor arguments.
        elements: so many more from one row to the next.
        arguments: the kernel's arguments that say so, with their new values.
        bytes: of memory more, over all these tensors.
    """

    tensors: tuple[str, ...]
    elements: int
    arguments: Mapping[str, int]
    bytes: int


def longer_rows(shape: Sequence[int], strides: Sequence[int], elements: int) -> tuple[int, ...]:
    """Strides with rows so many elements longer, and what holds whole rows longer in proportion."""
    axes = zip(strides, shape, strict=True)
    row = min(stride for stride, size in axes if stride > 1 and size > 1)
    return tuple(one // row * (row + elements) if one >= row else one for one in strides)


@dataclass(frozen=True)
class Cure:
    """One change and what the model says of the kernel's largest launch with it.

    Attributes:
        kind: what is changed; a swizzle is the patch, all else is advice.
        l2_hit_rate: modelled.
        memory_time_ms: modelled.
        padding: of `padding` and `both`.
        arguments: of `parameter` and `tile size`: the one that changes, with its new value.
        timing: measured on that launch, on a GPU; None where it is modelled only.
    """

    kind: CureKind
    l2_hit_rate: Rate
    memory_time_ms: float
    padding: Padding | None = None
    arguments: Mapping[str, int] | None = None
    timing: Timing | None = None


@dataclass(frozen=True)
class Cures:
    """What was compared on the kernel's largest launch; all but a `timing` is modelled.

    Attributes:
        before: L2 hit rate of the unmodified kernel.
        before_ms: its modelled memory time.
        cures: those that gain, the recommended one first: the cheapest within 1 % of the best time.
        reason: why there is none; None if there is.
    """

    before: Rate
    before_ms: float
    cures: tuple[Cure, ...]
    reason: str | None = None
