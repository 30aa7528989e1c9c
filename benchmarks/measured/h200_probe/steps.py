# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How far apart the workgroups of a GEMM are: each writes down when it has done a step of its loop.

    python steps.py partitions.csv > steps.csv                     # a line a GEMM and order
    ncu -k gemm_kernel ... python steps.py partitions.csv 0 col    # counters of one of them

The stamps are of the global timer (32 ns); with them the kernels take 0.95 to 1.04 of the time.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import triton
import triton.language as tl

GEMMS = (
    (8192, 8192, 8192, 128, 128, 64, 8),
    (16384, 16384, 1024, 128, 128, 64, 8),
    (6144, 6144, 6144, 128, 256, 64, 8),
    (512, 28672, 8192, 128, 128, 64, 8),
    (4096, 28672, 4096, 128, 256, 64, 8),
    (4096, 28672, 8192, 64, 256, 32, 4),
    (8192, 8192, 8192, 64, 64, 32, 4),
)
"""M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, warps."""
LAGS_NS = (100, 200, 400, 800, 2000)


@triton.jit
def gemm_kernel(
    a_ptr, b_ptr, c_ptr, stamps_ptr, sm_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """One tile of C = A B, tile row by tile row or column by column."""
    pid = tl.program_id(0)
    rows, columns, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    m, n = (pid % rows, pid // rows) if COLUMNS else (pid // columns, pid % columns)
    offs_m = m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * K + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * N + offs_n[None, :]
    sm = tl.inline_asm_elementwise(
        "mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(sm_ptr + pid, sm)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, steps):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        total = tl.dot(a, b, total)
        now = tl.inline_asm_elementwise(
            "mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1
        )
        tl.store(stamps_ptr + pid * steps + k, now)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], total.to(tl.float16))


def stamps_of(gemm: tuple[int, ...], columns: bool) -> tuple[np.ndarray, np.ndarray]:
    """When each program was done with each step, in ns, and its SM; of a second launch."""
    m, n, k, block_m, block_n, block_k, warps = gemm
    a, b = (torch.randn(shape, device="cuda", dtype=torch.float16) for shape in ((m, k), (k, n)))
    c = torch.empty((m, n), device="cuda", dtype=torch.float16)
    programs = m // block_m * (n // block_n)
    stamps = torch.zeros((programs, k // block_k), device="cuda", dtype=torch.int64)
    sm = torch.zeros(programs, device="cuda", dtype=torch.int32)
    for _ in range(2):
        torch.empty(1 << 28, device="cuda", dtype=torch.int8).zero_()
        gemm_kernel[(programs,)](
            a, b, c, stamps, sm, m, n, k, block_m, block_n, block_k, columns, num_warps=warps
        )
        torch.cuda.synchronize()
    return stamps.cpu().numpy(), sm.cpu().numpy()


def lags(stamps: np.ndarray, gpc: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """By how much each program of a GPC that shares a tile trails the one before it at a step."""
    found = []
    for cluster in np.unique(gpc):
        for tile in np.unique(shared[gpc == cluster]):
            together = stamps[(gpc == cluster) & (shared == tile)]
            found.append(np.diff(np.sort(together, axis=0), axis=0).ravel())
    return np.concatenate(found)


def main(partitions: str, only: str = "", order: str = "") -> None:
    """Print a line for each GEMM and order."""
    table = np.loadtxt(Path(partitions), delimiter=",", dtype=int)
    gpc_of = dict(table[:, :2])
    print("m,n,k,block_m,block_n,block_k,order,ms,step_ns,step_sd_ns,",
          ",".join(f"within_{ns}_ns" for ns in LAGS_NS), sep="")  # fmt: skip
    for number, gemm in enumerate(GEMMS):
        for name in ("row", "col"):
            if only and (int(only), order) != (number, name):
                continue
            stamps, sm = stamps_of(gemm, name == "col")
            pid = np.arange(len(sm))
            tile = pid // (gemm[0] // gemm[3] if name == "col" else gemm[1] // gemm[4])
            apart = lags(stamps, np.array([gpc_of[unit] for unit in sm]), tile)
            step = np.diff(stamps, axis=1)
            print(*gemm[:6], name, round((stamps.max() - stamps.min()) / 1e6, 3),
                  round(step.mean()), round(step.std()),
                  *(round(float((apart < ns).mean()), 2) for ns in LAGS_NS), sep=",")  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
