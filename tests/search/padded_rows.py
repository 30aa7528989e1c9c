# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Matrix products whose operands are both contiguous in K, with rows `pad` elements longer.

python padded_rows.py product|packed PAD GROUP_M [BM]
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, M, N, K, sam, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            GROUP_M: tl.constexpr, ROUNDS: tl.constexpr):  # fmt: skip
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
    for _ in tl.static_range(ROUNDS):
        sums *= 0.5
    tl.store(c + rm[:, None] * N + rn[None, :], sums.to(tl.float16))


@triton.jit
def packed(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        y = tl.load(b + rn[None, :] * K + k + rk[:, None])
        sums += tl.dot(x, y)
    tl.store(c + rm[:, None] * N + rn[None, :], sums.to(tl.float16))


name, pad, group = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
M, N, K = 512, 1024, 1024
BM = int(sys.argv[4]) if len(sys.argv) > 4 else 64
blocks = {"BM": BM, "BN": 64, "BK": 64}
a = torch.randn(M, K + pad, device="cuda", dtype=torch.float16)[:, :K]
b = torch.randn(N, K + pad, device="cuda", dtype=torch.float16)[:, :K]
c = torch.empty(M, N, device="cuda", dtype=torch.float16)
if name == "packed":
    packed[(M // BM, N // 64)](a, b, c, M, N, K, **blocks)
else:
    product[(M // BM * (N // 64),)](a, b, c, M, N, K, a.stride(0), b.stride(0), **blocks,
                                    GROUP_M=group, ROUNDS=16)  # fmt: skip
