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
"""Tiles at one end of an axis have at least this times the work of those at the other."""


class Slope(NamedTuple):
    """The axis along which work grows or falls steadily, and whether its last tiles have most."""

    axis: int
    grows: bool


def slope(axes: tuple[Axis, ...], work: Float64Array) -> Slope | None:
    """The steepest axis of some tiles; None if along none the work grows or falls throughout.

    Args:
        axes: slow to fast.
        work: float64[tiles].
    """
    table = work.reshape([axis.extent for axis in axes])
    found: list[tuple[float, Slope]] = []
    for axis in range(len(axes)):
        profile = table.mean(axis=tuple(other for other in range(len(axes)) if other != axis))
        steps = np.diff(profile)
        grows = bool(profile[-1] > profile[0])
        steep = profile.max() / max(profile.min(), 1e-9)
        if steep > STEEP and ((steps >= 0).all() if grows else (steps <= 0).all()):
            found.append((steep, Slope(axis, grows)))
    return max(found)[1] if found else None


def heaviest_first(problem: Problem) -> Iterator[Nest]:
    """Nests that walk the steepest axis from its heavy end.

    Either slowest of all, over all domains, or in each domain's share of the other axis: there one
    group of columns after the other, from all at once to one at a time.
    """
    if problem.work is None:
        return
    linear = sum(extent > 1 for extent in max(problem.launches, key=lambda x: x.tiles).numbers) <= 1
    for axes in axis_choices(problem.launches, problem.row_lengths):
        found = slope(axes, problem.work)
        if found is None:
            continue
        heavy = Digit(found.axis, axes[found.axis].extent)
        down = found.axis if found.grows else None
        others = [Digit(axis, one.extent) for axis, one in enumerate(axes) if axis != found.axis]
        yield Nest(axes, (heavy, *others), 1, linear, down)
        if not others:
            continue
        first, *rest = others
        groups = problem.target.num_xcds
        while groups > 1 and first.radix % groups == 0:
            slow, fast = replace(first, radix=groups), replace(first, radix=first.radix // groups)
            within = (fast,) if fast.radix > 1 else ()
            yield Nest(axes, (slow, heavy, *within, *rest), None, linear, down)
            groups *= 2


def upside_down(nest: Nest, work: Float64Array | None) -> Nest | None:
    """The same order from the heavy end of its steepest axis; None if it begins there."""
    found = None if work is None else slope(nest.axes, work)
    down = found.axis if found and found.grows else None
    return None if down == nest.down else replace(nest, down=down)
