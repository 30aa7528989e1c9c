# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Bounds and indices that decide a kernel's work, as they were recorded and as they are told."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.context.locality import describe_values, hardware_context
from intelliperf_swizzle.context.sections import render
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.tracing import trace
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import Ceiling, Measurement

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"


def test_the_bounds_of_a_grouped_gemm_are_told(tmp_path: Path) -> None:
    command = [sys.executable, str(KERNELS / "grouped_gemm.py"), "--tokens", "256"]
    command += ["--experts", "3", "--n", "256", "--k", "64"]
    [launch] = capture(
        RecordRequest(command, folder=tmp_path, cwd=tmp_path, compute="never")
    ).launches
    context = hardware_context(
        launch, trace(launch), load_target("mi300x"), occupancy=2,
        baseline=Measurement("model", "mi300x", 0.5), ceiling=Ceiling(0.8, "for the test"),
    )  # fmt: skip
    assert [integer_input.name for integer_input in context.integer_inputs] == [
        "expert_ptr",
        "first_ptr",
        "end_ptr",
    ]
    expert, first, end = (integer_input.values for integer_input in context.integer_inputs)
    assert set(expert.tolist()) == {0, 1, 2}
    assert (first < end).all()
    assert end[-1] == 256
    told = render(context, "launch", ())
    assert f"- expert_ptr, {len(expert)} values: {describe_values(expert)}\n" in told


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([7], "7"),
        ([3, 3, 3, 0, 5, 5], "3 x 3, 0, 5 x 2"),
        (list(range(0, 200, 2)), "ascending from 0 to 198, a step is 2 to 2, median 2"),
        ([5, -1] * 20, "-1 to 5, median 2"),
    ],
)
def test_values_in_short(values: list[int], told: str) -> None:
    assert describe_values(np.array(values)) == told
