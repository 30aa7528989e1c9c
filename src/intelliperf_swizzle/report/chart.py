# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Hit rate per attempt and best so far, as places on a drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from intelliperf_swizzle.records import Attempt, Run

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 12, 40
"""Margins of the plot within the drawing, for its labels."""
TICKS = 5


@dataclass(frozen=True)
class Point:
    """An attempt on the drawing."""

    x: float
    y: float
    kind: Literal["measured", "screened", "refused"]
    attempt: Attempt


@dataclass(frozen=True)
class Mark:
    """A labelled line across the drawing, or a labelled place on an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Chart:
    """The drawing.

    Attributes:
        points: an attempt each.
        best_so_far: `x,y x,y …`, a line of steps.
        levels: the baseline and the ceiling.
        rates: ticks of the vertical axis.
        numbers: ticks of the horizontal axis.
    """

    points: tuple[Point, ...]
    best_so_far: str
    levels: tuple[Mark, ...]
    rates: tuple[Mark, ...]
    numbers: tuple[Mark, ...]


def progress_chart(run: Run) -> Chart | None:
    """The chart of a run; None where nothing was tried."""
    if not run.attempts or run.baseline.l2_hit_rate is None:
        return None
    rates = [rate for one in run.attempts if (rate := rate_of(one)) is not None]
    top = math.ceil(20 * max(*rates, run.ceiling.l2_hit_rate, run.baseline.l2_hit_rate)) / 20
    low = math.floor(20 * min(*rates, run.baseline.l2_hit_rate, top - 0.05)) / 20
    last = run.attempts[-1].number

    def x(number: int) -> float:
        return round(LEFT + (number - 0.5) / last * (WIDTH - LEFT - RIGHT), 1)

    def y(rate: float) -> float:
        return round(TOP + (top - rate) / (top - low) * (HEIGHT - TOP - BOTTOM), 1)

    def point(attempt: Attempt) -> Point:
        rate = rate_of(attempt)
        kind: Literal["measured", "screened", "refused"] = "refused"
        if rate is not None:
            kind = "measured" if attempt.measurement else "screened"
        return Point(x(attempt.number), y(low if rate is None else rate), kind, attempt)

    steps: list[tuple[float, float]] = [(LEFT, y(run.baseline.l2_hit_rate))]
    for number, rate in best_so_far(run):
        steps += [(x(number), steps[-1][1]), (x(number), y(rate))]
    steps.append((WIDTH - RIGHT, steps[-1][1]))
    step = next(one for one in (1, 2, 5, 10, 20) if 100 * (top - low) / one <= TICKS + 1.5)
    percents = range(-(-round(100 * low) // step) * step, round(100 * top) + 1, step)
    numbers = sorted({max(1, round(i * last / TICKS)) for i in range(TICKS + 1)})
    return Chart(
        points=tuple(point(attempt) for attempt in run.attempts),
        best_so_far=" ".join(f"{across:g},{down:g}" for across, down in steps),
        levels=(
            Mark(y(run.baseline.l2_hit_rate), "unmodified"),
            Mark(y(run.ceiling.l2_hit_rate), "ceiling"),
        ),
        rates=tuple(Mark(y(rate / 100), f"{rate} %") for rate in percents),
        numbers=tuple(Mark(x(number), str(number)) for number in numbers),
    )


def rate_of(attempt: Attempt) -> float | None:
    """The attempt's L2 hit rate: measured by the run's profiler, else screened, else None."""
    if attempt.measurement is not None and attempt.measurement.l2_hit_rate is not None:
        return attempt.measurement.l2_hit_rate
    return attempt.screened_l2_hit_rate


def best_so_far(run: Run) -> Sequence[tuple[int, float]]:
    """Number and L2 hit rate of each eligible attempt that was higher than all before it."""
    best, steps = run.baseline.l2_hit_rate, []
    for attempt in run.attempts:
        rate = attempt.measurement.l2_hit_rate if attempt.measurement else None
        if rate is not None and attempt.verdict.eligible and rate > best:
            best = rate
            steps.append((attempt.number, rate))
    return steps
