# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is found out about a kernel once it has been searched."""

from __future__ import annotations

from dataclasses import dataclass

from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Cures, Picture
from intelliperf_swizzle.search.compare_cures import compare_cures
from intelliperf_swizzle.search.draw import draw
from intelliperf_swizzle.search.evaluator import Evaluator
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Evaluated
from intelliperf_swizzle.search.subject import Subject
from intelliperf_swizzle.stopping import apart


@dataclass
class Findings:
    """As far as a run has come before it was interrupted.

    Attributes:
        picture: of its tiles and tensors.
        cures: what else would help.
        notes: sentences on what helps.
    """

    picture: Picture | None = None
    cures: Cures | None = None
    notes: tuple[str, ...] = ()

    def collect(
        self,
        setup: Setup,
        subject: Subject,
        evaluator: Evaluator,
        best: Evaluated | None,
        progress: Progress,
    ) -> None:
        """Fills in one after the other; raises Interrupted."""
        self.picture = apart(lambda: draw(setup, subject, best))
        cures = self.cures = apart(lambda: compare_cures(setup, subject, best, progress))
        if cures is not None:
            self.cures, note = apart(lambda: evaluator.time_cure(cures, best))
            self.notes = (note,) if note else ()
