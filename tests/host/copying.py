# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An application with nothing to gain: its kernel reads each line once."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(source, copy, BLOCK: tl.constexpr):  # noqa: N803
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(copy + places, tl.load(source + places))


source = torch.rand(65536, device="cuda")
copy_kernel[(64,)](source, torch.empty_like(source), BLOCK=1024)
