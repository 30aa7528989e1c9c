# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a run holds in memory does not grow with the candidates that it tries."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.offline import pattern_candidates
from intelliperf_swizzle.search.attempts import pose_problem
from intelliperf_swizzle.search.setup import prepare

TRANSPOSE = Path(__file__).parents[2] / "benchmarks" / "kernels" / "transpose.py"
TARGET = load_target("mi300x")
FEW = 6
"""Permutations that may lie about at any time; far fewer than are tried."""


def arrays_kept_by(work: Callable[[], Sequence[Any]]) -> tuple[int, Sequence[Any]]:
    """Bytes of the NumPy arrays that outlive the work, and what it gives."""
    tracemalloc.start()
    try:
        made = work()
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        kept = tracemalloc.take_snapshot().filter_traces([arrays])
        return sum(trace.size for trace in kept.traces), made
    finally:
        tracemalloc.stop()


def test_attempts_do_not_keep_their_permutations(
    stages_on: Callable[..., Any], tmp_path: Path
) -> None:
    command = (sys.executable, str(TRANSPOSE), "--m", "4096", "--n", "4096")
    options = Options(project_directory=str(tmp_path), profiler="model", compute="never")
    setup = prepare(options, command, Silent(), target=TARGET)
    with stages_on(setup, tmp_path / "history.jsonl") as stages:
        problem = pose_problem(setup, stages.subject, stages.evaluator, stages.attempts)
        first, *others = islice(pattern_candidates(problem), 61)
        stages.evaluate(*stages.screen(first))  # what the model keeps of a launch is there now
        screening, screened = arrays_kept_by(lambda: stages.screen(*others))
        evaluating, evaluated = arrays_kept_by(
            lambda: [outcome for attempt in screened for outcome in stages.evaluate(attempt)]
        )
    permutation = 8 * stages.subject.traced[0].launch.programs
    assert (
        len({tried_attempt.fingerprint for tried_attempt in screened if tried_attempt.proof}) > 40
    )
    assert (
        sum(evaluated_attempt.attempt.measurement is not None for evaluated_attempt in evaluated)
        > 40
    )
    assert screening < FEW * permutation
    assert evaluating < FEW * permutation
    [tile] = evaluated[0].proved.tiles()
    assert sorted(tile) == list(range(len(tile)))
