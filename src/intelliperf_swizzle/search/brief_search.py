# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A search with few candidates that leaves no history, for kernels beside the one asked for."""

from __future__ import annotations

from dataclasses import replace

from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.history import History
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.search.baseline import choose_evaluator
from intelliperf_swizzle.search.loop import search_kernel
from intelliperf_swizzle.search.plan import FEWEST_CANDIDATES, is_promising
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Evaluated
from intelliperf_swizzle.search.subject import Subject


def search_briefly(setup: Setup, subject: Subject) -> Evaluated | None:
    """The best swizzle of a few dozen, proved and validated as any is; None if there is none."""
    if not is_promising(setup, subject):
        return None
    few = min(FEWEST_CANDIDATES, setup.options.candidates)
    setup, quiet = replace(setup, options=replace(setup.options, candidates=few)), Silent()
    with temporary_folder("search") as folder:
        history = History(folder / "history.jsonl", {})
        evaluator = choose_evaluator(setup, subject, history, folder, quiet)
        best, _ = search_kernel(setup, subject, (OfflineProposer(),), evaluator, history, quiet)
        history.close()
    return best
