# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""sageattention 1: attention with 8-bit keys and queries."""

from __future__ import annotations

import torch
from calls import DEVICE, call
from sageattention import sageattn, sageattn_varlen

for causal in (False, True):
    for width in (64, 96, 128):
        q, k, v = (
            torch.randn(1, 16, 2048, width, device=DEVICE, dtype=torch.float16) for _ in range(3)
        )
        call(f"sageattn, {width}", sageattn, q, k, v, is_causal=causal)
    q, k, v = (torch.randn(4096, 16, 64, device=DEVICE, dtype=torch.float16) for _ in range(3))
    ends = torch.tensor([0, 1024, 3072, 4096], device=DEVICE, dtype=torch.int32)
    call("varlen", sageattn_varlen, q, k, v, ends, ends, 2048, 2048, is_causal=causal)
