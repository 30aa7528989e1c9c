# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Large random tensors are left zero, unless addresses may be made of them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture import capture

APPLICATION = """
import torch, triton, triton.language as tl

@triton.jit
def gather(x_ptr, at_ptr, out_ptr):
    i = tl.program_id(0)
    tl.store(out_ptr + i, tl.load(x_ptr + tl.load(at_ptr + i)))

mask = torch.rand(3000, 3000, device="cuda") < 0.001
at = mask.flatten().nonzero().flatten()[:4000].to(torch.int32)
x, out = torch.randn(9000000, device="cuda"), torch.zeros(4000, device="cuda")
gather[(at.numel(),)](x, at, out)
"""


@pytest.mark.parametrize("fill", [False, True])
def test_indices_made_of_a_large_random_tensor(tmp_path: Path, fill: bool) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    launch = capture(
        RecordRequest(
            [sys.executable, "app.py"], folder=tmp_path / "capture", cwd=tmp_path, compute="never"
        ),
        fill=fill,
    ).launches[0]
    at = launch.arguments["at_ptr"]
    contents = np.load(launch.storages[at.storage].contents).view(np.int32)  # type: ignore
    consecutive = np.array_equal(contents[:4000], np.arange(4000))  # zeros are all below 0.001
    assert consecutive is not fill
