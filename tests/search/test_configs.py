# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A tuned kernel with all its configurations: recorded as they would be launched, and compared."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.search.compare_configs import compare_configs
from intelliperf_swizzle.search.recorded import choose_kernel, record_application
from intelliperf_swizzle.search.setup import prepare

APPLICATION = """
import torch, triton, triton.language as tl

def left(configs, arguments, **_):
    return [one for one in configs if one.kwargs["BM"] <= arguments["M"]]

@triton.autotune(
    [triton.Config({"BM": size}, num_warps=warps) for size, warps in ((16, 2), (64, 4), (1024, 8))],
    key=["M"],
    prune_configs_by={"early_config_prune": left},
)
@triton.heuristics({"EVEN": lambda arguments: arguments["M"] % arguments["BM"] == 0})
@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, EVEN: tl.constexpr):
    down = tl.program_id(0) // (N // 16) * BM + tl.arange(0, BM)
    along = tl.program_id(0) % (N // 16) * 16 + tl.arange(0, 16)
    inner = tl.arange(0, 16)
    total = tl.zeros((BM, 16), tl.float32)
    for k in range(0, K, 16):
        mask = (down < M)[:, None]
        x = tl.load(a + down[:, None] * K + (k + inner)[None, :], mask=mask, other=0.0)
        total += tl.dot(x, tl.load(b + (k + inner)[:, None] * N + along[None, :]))
    tl.store(c + down[:, None] * N + along[None, :], total, mask=(down < M)[:, None])

M = N = K = 496
a, b, c = (torch.zeros(M, N, device="cuda") for _ in range(3))
product[lambda meta: (triton.cdiv(M, meta["BM"]) * (N // 16),)](a, b, c, M, N, K)
"""


@pytest.mark.long
def test_each_configuration_that_is_left_is_compared(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    options = Options(
        project_directory=str(tmp_path), target="mi300x", configs="all", candidates=16,
        compute="never",
    )  # fmt: skip
    setup = prepare(options, [sys.executable, "app.py"], Silent())
    with record_application(setup, Silent()) as recorded:
        [own], [other] = recorded.launches, recorded.other_configs
        subject = choose_kernel(recorded, setup, Silent())
        [sentence] = compare_configs(setup, subject, recorded, None, Silent())
        plain = replace(recorded, other_configs=())
        assert compare_configs(setup, subject, plain, None, Silent()) == ()
    assert (own.config, own.grid, own.options["num_warps"]) == (0, (31 * 31, 1, 1), 2)
    assert (other.config, other.grid, other.options["num_warps"]) == (1, (8 * 31, 1, 1), 4)
    assert (own.arguments["EVEN"], other.arguments["EVEN"]) == (True, False)
    assert (own.count, other.count) == (1, 1)
    first, then = sentence.split("; then ")
    assert "for `product`, by modelled memory time, not the recorded one: number 2" in first
    assert "[BM=64 num_warps=4" in first
    assert then.startswith("number 1 unmodified")
