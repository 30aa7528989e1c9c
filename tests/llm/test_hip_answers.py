# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A model's answers about a HIP kernel: proved, edited in C++, compared."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from openai_endpoint import Endpoint, answer

from intelliperf_swizzle.api import optimize
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.frontends.cpp.compile.toolchain import HipToolchain
from intelliperf_swizzle.hardware import load_target

pytestmark = pytest.mark.hip
EXAMPLES = Path(__file__).parents[2] / "benchmarks" / "hip"
PROMPT = replace(load_target("mi300x"), launch_us=0.0)
"""What a small launch saves counts."""
DROPS = "pid = pid // 2"
CONTIGUOUS = "pid = pid % num_xcds * (num_pids // num_xcds) + pid // num_xcds"


def test_a_models_answer_is_refused_or_becomes_cpp(endpoint: Endpoint, tmp_path: Path) -> None:
    try:
        HipToolchain.find()
    except SwizzleError as error:
        if "does not compile" in error.fact:  # what we ship
            raise
        pytest.skip(f"{error.fact}: {error.hint}")
    project = tmp_path / "project"
    project.mkdir()
    shutil.copy(EXAMPLES / "stencil.hip.cpp", project)
    endpoint.script = [
        "[[ ## memory_analysis ## ]]\nRows are shared.\n\n[[ ## completed ## ]]",
        answer(DROPS),
        answer(CONTIGUOUS, idea="a share of its own for each XCD", critiques="{}"),
    ]
    run = optimize(
        ["./stencil", "512", "1"], target=PROMPT, project_directory=str(project),
        build_command="hipcc -O3 -std=c++17 stencil.hip.cpp -o stencil", kernel="jacobi",
        unittest_command="./stencil 256 1", proposer="llm", provider=endpoint.url, num_attempts=1,
        report_dir=str(tmp_path / "out"),
    )  # fmt: skip
    assert [attempt.verdict.kind for attempt in run.attempts] == [
        "not a permutation",
        "fewer L2 misses",
    ]
    assert "int2 p = cell();" in endpoint.prompt(1)
    assert "tile 0 is computed by programs 0 and 1" in endpoint.prompt(2)
    refused, best = run.attempts
    assert refused.diff is None
    assert run.best is best
    assert best.candidate.origin == "llm"
    assert best.validation is not None
    assert (best.validation.method, best.validation.same_bits) == ("all-tiles", True)
    assert best.diff is not None
    cast = [f"static_cast<unsigned>(swizzle_pid_{axis})" for axis in (0, 1)]
    assert f"const dim3 blockIdx({', '.join(cast)}, ::blockIdx.z);" in best.diff
