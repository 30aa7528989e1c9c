# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Orders that start the heaviest tiles first, where some have more to do than others.

Tiles that start last decide when a launch ends, so these should be light: the longest processing
time rule (Graham, 1969). It has a closed form where the work grows along an axis of the tiles, as
it does along the queries of a causal attention.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.propose import Problem
from intelliperf_swizzle.propose.axes import Axis, axis_choices
from intelliperf_swizzle.propose.nest import Digit, Nest
from intelliperf_swizzle.records import Float64Array

STEEP = 1.1
"""Along an axis the heaviest tiles have at least this times the work of the lightest."""

STEADY = 0.5
"""Correlation of work and place along an axis: sequences of several lengths make it no ramp."""


class Slope(NamedTuple):
    """The axis along which work grows or falls, and whether its last tiles have most."""

    axis: int
    grows: bool


def slopes(axes: tuple[Axis, ...], work: Float64Array) -> list[Slope]:
    """The axes of some tiles along which the work grows or falls, the steepest first.

    Args:
        axes: slow to fast.
        work: float64[tiles].
    """
    table = work.reshape([axis.extent for axis in axes])
    found: list[tuple[float, Slope]] = []
    for axis, one in enumerate(axes):
        profile = table.mean(axis=tuple(other for other in range(len(axes)) if other != axis))
        if profile.max() <= STEEP * profile.min():
            continue
        steady = float(np.corrcoef(np.arange(one.extent), profile)[0, 1])
        if abs(steady) >= STEADY:
            found.append((abs(steady) * float(np.ptp(profile)), Slope(axis, steady > 0)))
    return [one for _, one in sorted(found, reverse=True)]


def heaviest_first(problem: Problem) -> Iterator[Nest]:
    """Nests that walk an axis from its heavy end.

    Either slowest of all, over all domains, or in each domain's share of the other axis: there one
    group of columns after the other, from all at once to one at a time.
    """
    if problem.work is None:
        return
    for axes in axis_choices(problem.launches, problem.row_lengths):
        for found in slopes(axes, problem.work):
            yield from _along(axes, found, problem.target.num_xcds, linear=problem.linear)


def _along(axes: tuple[Axis, ...], found: Slope, domains: int, *, linear: bool) -> Iterator[Nest]:
    heavy = Digit(found.axis, axes[found.axis].extent)
    down = found.axis if found.grows else None
    others = [Digit(axis, one.extent) for axis, one in enumerate(axes) if axis != found.axis]
    yield Nest(axes, (heavy, *others), 1, linear, down)
    if not others:
        return
    first, *rest = others
    groups = domains
    while groups > 1 and first.radix % groups == 0:
        slow, fast = replace(first, radix=groups), replace(first, radix=first.radix // groups)
        within = (fast,) if fast.radix > 1 else ()
        yield Nest(axes, (slow, heavy, *within, *rest), None, linear, down)
        groups *= 2


def upside_down(nest: Nest, work: Float64Array | None) -> Nest | None:
    """The same order from the heavy end of the steepest axis that it walks from the light one."""
    growing = [one.axis for one in slopes(nest.axes, work) if one.grows] if work is not None else []
    return replace(nest, down=growing[0]) if growing and nest.down is None else None
