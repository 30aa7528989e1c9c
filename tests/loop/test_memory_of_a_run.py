# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a run holds in memory does not grow with the candidates that it tries."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from intelliperf_swizzle.loop import Settings, choose, opened_history, pose, recorded, workbench

from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.profile.choose import choose_profiler
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.offline import OfflineProposer, pattern_candidates
from intelliperf_swizzle.records import Attempt

TRANSPOSE = Path(__file__).parents[2] / "benchmarks" / "kernels" / "transpose.py"
TARGET = load_target("mi300x")
FEW = 6
"""Permutations that may lie about at any time; far fewer than are tried."""


def arrays_kept_by(work: Callable[[], Sequence[Attempt]]) -> tuple[int, Sequence[Attempt]]:
    """Bytes of the NumPy arrays that outlive the work, and what it gives."""
    tracemalloc.start()
    try:
        made = work()
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        kept = tracemalloc.take_snapshot().filter_traces([arrays])
        return sum(trace.size for trace in kept.traces), made
    finally:
        tracemalloc.stop()


def test_attempts_do_not_keep_their_permutations(tmp_path: Path) -> None:
    command = (sys.executable, str(TRANSPOSE), "--m", "4096", "--n", "4096")
    settings = Settings(command, tmp_path, tmp_path, compute="never")
    profiler = choose_profiler("model", TARGET)
    parties = (TARGET, profiler, OfflineProposer(), Silent())
    with recorded(settings, TARGET, Silent()) as captured:
        subject, _ = choose(captured, settings, TARGET, profiler, Silent())
        with opened_history(settings, subject, *parties) as history:
            bench = workbench(subject, settings, TARGET, profiler, history, captured)
            first, *others = islice(pattern_candidates(pose(settings, bench)), 61)
            [warm] = bench.screen([first])
            bench.measure(warm)  # what the model keeps of a launch is there now
            screening, screened = arrays_kept_by(lambda: bench.screen(others))
            measuring, measured = arrays_kept_by(
                lambda: [bench.measure(one) for one in screened if one.screened_l2_hit_rate]
            )
    permutation = 8 * subject.traced[0].launch.programs
    assert len({one.fingerprint for one in screened if one.proof}) > 40
    assert sum(one.verdict.kind == "better" for one in measured) > 20
    assert screening < FEW * permutation
    assert measuring < FEW * permutation
    again = bench.proofs(measured[0])
    assert [proof.fingerprint for proof in again] == [measured[0].fingerprint]
    assert sorted(again[0].tile) == list(range(len(again[0].tile)))
