# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a kernel is to who proposes swizzles for it."""

from __future__ import annotations

from dataclasses import replace

from intelliperf_swizzle.cache.balance import is_uneven, work
from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.propose import Problem
from intelliperf_swizzle.propose.axes import row_lengths
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.evaluator import Evaluator
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject, describe


def pose_problem(
    setup: Setup, subject: Subject, evaluator: Evaluator, attempts: Attempts
) -> Problem:
    """The problem as a proposer sees it."""
    traced = subject.traced
    one = max(traced, key=lambda one: one.launch.tiles)
    taken = work(stream_of(one.trace), setup.target)[: one.launch.tiles]  # without what stays
    return Problem(
        launches=tuple(each.launch for each in traced),
        target=setup.target,
        baseline_l2_hit_rate=attempts.baseline,
        ceiling_l2_hit_rate=subject.ceiling.l2_hit_rate,
        budget=setup.options.candidates,
        context=lambda: describe(setup, replace(subject, baseline=evaluator.baseline)),
        attempts=attempts.all,
        seed=setup.options.seed,
        iterations=setup.options.num_attempts,
        row_lengths=row_lengths(one.trace),
        work=taken if is_uneven(taken) else None,
    )
