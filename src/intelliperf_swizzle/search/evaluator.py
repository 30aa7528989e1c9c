# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Who judges edited candidates: one Protocol; `on_model` without a GPU, `on_gpu` with one."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Attempt, Cures, Measurement
from intelliperf_swizzle.search.setup import Setup, UnitTest
from intelliperf_swizzle.search.stages import Edited, Evaluated, Screened
from intelliperf_swizzle.search.subject import Subject

Remember: TypeAlias = Callable[[Attempt], Attempt]
"""Appends an attempt, as it now stands, to the history; returns it."""

MODEL_LINES = 2_700_000_000
"""Line accesses that the finalists may cost the model together: twenty mappings of a GEMM 8192³,
hundreds of a stencil; about half a minute on two cores."""

MOST_MODELLED = 100


class Evaluator(Protocol):
    """Judges candidates against the unmodified kernel."""

    @property
    def baseline(self) -> Measurement:
        """The unmodified kernel, as attempts are compared with it."""

    @property
    def predicted(self) -> Measurement | None:
        """The model's reading of it if hardware measures, else None."""

    @property
    def confirmed(self) -> list[Evaluated]:
        """What was validated so far and is better, the best first."""

    def shortlist(self, screened: Sequence[Screened], always: Collection[int]) -> list[Screened]:
        """The candidates worth what an evaluation costs.

        Args:
            screened: all that were proved.
            always: numbers of those that are replayed in full whatever they promise.
        """

    def evaluate(self, edited: Sequence[Edited]) -> list[Evaluated]:
        """Measures or models each, and judges it; one that is refused has no measurement."""

    def choose(self, evaluated: Sequence[Evaluated]) -> Evaluated | None:
        """The best that is better; None if none is.

        Args:
            evaluated: any, of `evaluate`.
        """

    def settle(self, chosen: Edited) -> Evaluated | None:
        """What was chosen, or the same under a guard, validated; None if it does not hold.

        Raises:
            ValidationError: the user's own test fails without a swizzle, too.
        """

    def time_cure(self, cures: Cures, best: Evaluated | None) -> tuple[Cures, str | None]:
        """The cures, with times of the recommended one if hardware can take them; else why not.

        Args:
            cures: as modelled.
            best: the swizzle that they may go with.
        """


@dataclass(frozen=True)
class Setting:
    """What every evaluator works with.

    Attributes:
        subject: the kernel.
        setup: of the run.
        remember: of the run's history.
        progress: told of each step.
        unit_test: must pass with the swizzled kernel.
    """

    subject: Subject
    setup: Setup
    remember: Remember
    progress: Progress
    unit_test: UnitTest

    def places(self, fewest: int) -> int:
        """How many mappings the model may replay."""
        places = MODEL_LINES // max(1, self.subject.line_accesses)
        return math.ceil(self.setup.share * min(max(places, fewest), MOST_MODELLED))
