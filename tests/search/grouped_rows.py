# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A matrix product whose operands are both contiguous in K.

python grouped_rows.py GROUP_M [BM]
"""

import sys

import torch
import triton
import triton.language as tl

PAD = 64
"""Elements by which rows are longer: a power of two would crowd the L2's channels."""


@triton.jit
def product(a, b, c, M, N, K, sam, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            GROUP_M: tl.constexpr):  # fmt: skip
    pid = tl.program_id(0)
    rows = tl.cdiv(M, BM)
    in_group = GROUP_M * tl.cdiv(N, BN)
    first = pid // in_group * GROUP_M
    height = min(rows - first, GROUP_M)
    pm = first + pid % in_group % height
    pn = pid % in_group // height
    rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * sam + k + rk[None, :])
        y = tl.load(b + rn[None, :] * sbn + k + rk[:, None])
        sums += tl.dot(x, y)
    tl.store(c + rm[:, None] * N + rn[None, :], sums.to(tl.float16))


group = int(sys.argv[1])
M, N, K = 512, 1024, 1024
BM = int(sys.argv[2]) if len(sys.argv) > 2 else 64
a = torch.randn(M, K + PAD, device="cuda", dtype=torch.float16)[:, :K]
b = torch.randn(N, K + PAD, device="cuda", dtype=torch.float16)[:, :K]
c = torch.empty(M, N, device="cuda", dtype=torch.float16)
product[(M // BM * (N // 64),)](a, b, c, M, N, K, a.stride(0), b.stride(0), BM=BM, BN=64, BK=64,
                                GROUP_M=group)  # fmt: skip
