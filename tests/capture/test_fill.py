# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Large random tensors are random, at no cost."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.records import TensorArgument

APPLICATION = """
import torch, triton, triton.language as tl

@triton.jit
def gather(x_ptr, at_ptr, out_ptr):
    i = tl.program_id(0)
    tl.store(out_ptr + i, tl.load(x_ptr + tl.load(at_ptr + i)))

mask = torch.rand(3000, 3000, device="cuda") < 0.001
at = mask.flatten().nonzero().flatten()[:4000].to(torch.int32)
large = torch.empty(1 << 30, device="cuda").normal_(3.0, 0.5)[1::4096]
assert abs(large.mean() - 3) < 0.1 and abs(large.std() - 0.5) < 0.1
x, out = torch.randn(9000000, device="cuda"), torch.zeros(4000, device="cuda")
gather[(at.numel(),)](x, at, out)
"""


def test_indices_made_of_a_large_random_tensor(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    launch = capture(
        RecordRequest(
            [sys.executable, "app.py"], folder=tmp_path / "capture", cwd=tmp_path, compute="never"
        )
    ).launches[0]
    at = launch.arguments["at_ptr"]
    assert isinstance(at, TensorArgument)
    contents = np.load(launch.storages[at.storage].contents or "").view(np.int32)
    assert len(contents) == 4000, "one of thousand is below 0.001"
    assert contents[0] > 0
    assert not np.array_equal(np.diff(contents), np.ones(3999))
