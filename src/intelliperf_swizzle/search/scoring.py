# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Scoring by the model as pure functions of launches and a swizzle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import Owners, Swizzle, evaluate
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.readings import ModelScreen, model_launches, model_swizzle
from intelliperf_swizzle.records import Attempt, Int64Array, Launch, Measurement, Trace


def prepare_screen(traced: Sequence[TracedLaunch], target: Target) -> Callable[[Swizzle], float]:
    """What gives the L2 hit rate of a swizzle as the fast model sees it, from 0 to 1."""
    screen = ModelScreen(traced, target)
    return lambda swizzle: screen.hit_rate(tiles_of(swizzle, traced, target))


def prepare_model(
    traced: Sequence[TracedLaunch], target: Target
) -> Callable[[Swizzle], Measurement]:
    """What gives the measurement of a swizzle by the model with full physics, without causes."""
    return lambda swizzle: model_swizzle(swizzle, traced, tiles_of(swizzle, traced, target), target)


def with_causes(
    attempt: Attempt, swizzle: Swizzle, traced: Sequence[TracedLaunch], target: Target
) -> Attempt:
    """An attempt with the causes of its misses, a replay; as it is where no model measured it."""
    measured = attempt.measurement
    if measured is None or measured.profiler != "model" or measured.causes is not None:
        return attempt
    again = model_launches(traced, tiles_of(swizzle, traced, target), target)
    return replace(attempt, measurement=replace(measured, causes=again.causes))


def tiles_of(swizzle: Swizzle, traced: Sequence[TracedLaunch], target: Target) -> list[Int64Array]:
    """Program, or number of a loop -> tile for each launch: 8 bytes each."""
    return [with_rest(evaluate_on(swizzle, one.launch, target), one.trace) for one in traced]


def evaluate_on(swizzle: Swizzle, launch: Launch, target: Target) -> Int64Array:
    """Program, or number of a loop -> tile."""
    return evaluate(
        swizzle,
        launch.numbers,
        launch.constants,
        num_xcds=target.num_xcds,
        cus_per_xcd=target.cus_per_xcd,
        owners=owners_of(launch),
    )


def owners_of(launch: Launch) -> Owners | None:
    """The programs that take the tiles of a loop; None where there is none."""
    loop = launch.loop
    return Owners(loop.program, launch.programs, loop.starts) if loop else None


def with_rest(tile: Int64Array, trace: Trace) -> Int64Array:
    """A mapping with what programs do outside of their loop, which stays where it is."""
    return np.append(tile, np.arange(len(tile), trace.tiles))
