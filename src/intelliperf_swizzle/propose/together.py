# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The offline search first, then a language model that is shown its best as the one to beat."""

from __future__ import annotations

from dataclasses import dataclass, replace

from intelliperf_swizzle.errors import ModelError
from intelliperf_swizzle.propose import Effort, Problem, Proposer, Trial


@dataclass
class Together:
    """Two proposers; the second sees what the first has found, and the best of both wins.

    Attributes:
        search: goes first; its best is measured and validated before the second begins.
        model: goes second; where it cannot be reached, the search stands alone.
    """

    search: Proposer
    model: Proposer
    name: str = "both"

    def propose(self, problem: Problem, trial: Trial) -> Effort:
        """Runs both to the end."""
        searched = self.search.propose(problem, trial)
        trial.decide()
        try:
            asked = self.model.propose(problem, trial)
        except ModelError as error:
            return replace(searched, notes=(*searched.notes, f"{error.fact}; searched offline"))
        return Effort((*searched.notes, *asked.notes), asked.usage)
