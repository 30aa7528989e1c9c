# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The kernel configurations that were measured on an H200.

Each program reads the block that it works on from a table, so that one compiled kernel runs under
every order. Inputs are random normal, in float16 unless a kernel says otherwise.

    python kernels.py list                       names of the configurations
    python kernels.py time [PREFIX ...]          milliseconds under each order, two readings
    ncu -k 'regex:^k_' ... python kernels.py run [PREFIX ...]      one launch an order
"""

import random
import statistics
import sys

import numpy as np
import torch
import triton
import triton.language as tl
from mappings import mappings


@triton.jit
def k_gemm(
    a_ptr, b_ptr, c_ptr, order_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """C[M, N] = A[M, K] @ B[K, N], all row-major; blocks are numbered along n first."""
    block = tl.load(order_ptr + tl.program_id(0))
    blocks_n = tl.cdiv(N, BN)
    rows = block // blocks_n * BM + tl.arange(0, BM)
    columns = block % blocks_n * BN + tl.arange(0, BN)
    step = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * stride_am + step[None, :]
    b_ptrs = b_ptr + step[:, None] * stride_bk + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        total += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
        a_ptrs += BK
        b_ptrs += BK * stride_bk
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :], total.to(tl.float16))


@triton.jit
def k_stencil(x_ptr, y_ptr, order_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Five-point stencil of X[M, N], zero outside; blocks are numbered along m first."""
    block = tl.load(order_ptr + tl.program_id(0))
    blocks_m = tl.cdiv(M, BM)
    m = (block % blocks_m * BM + tl.arange(0, BM))[:, None]
    n = (block // blocks_m * BN + tl.arange(0, BN))[None, :]
    here = x_ptr + m * N + n
    inside = (m < M) & (n < N)
    centre = tl.load(here, mask=inside, other=0.0)
    above = tl.load(here - N, mask=(m - 1 >= 0) & inside, other=0.0)
    below = tl.load(here + N, mask=(m + 1 < M) & inside, other=0.0)
    left = tl.load(here - 1, mask=(n - 1 >= 0) & inside, other=0.0)
    right = tl.load(here + 1, mask=(n + 1 < N) & inside, other=0.0)
    y = 0.5 * centre + 0.125 * (above + below + left + right)
    tl.store(y_ptr + m * N + n, y, mask=inside)


@triton.jit
def k_transpose(x_ptr, y_ptr, order_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Y[N, M] = X[M, N].T; blocks are numbered along m first."""
    block = tl.load(order_ptr + tl.program_id(0))
    blocks_m = tl.cdiv(M, BM)
    m = block % blocks_m * BM + tl.arange(0, BM)
    n = block // blocks_m * BN + tl.arange(0, BN)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :])
    tl.store(y_ptr + n[:, None] * M + m[None, :], tl.trans(x))


@triton.jit
def k_spmv(
    values_ptr, columns_ptr, x_ptr, y_ptr, order_ptr, WIDTH, BR: tl.constexpr, BW: tl.constexpr
):
    """Sparse matrix times vector, WIDTH entries a row; values float32, column numbers int32."""
    block = tl.load(order_ptr + tl.program_id(0))
    rows = block * BR + tl.arange(0, BR)
    total = tl.zeros((BR,), dtype=tl.float32)
    for first in range(0, WIDTH, BW):
        entry = rows[:, None] * WIDTH + first + tl.arange(0, BW)[None, :]
        x = tl.load(x_ptr + tl.load(columns_ptr + entry))
        total += tl.sum(tl.load(values_ptr + entry) * x, axis=1)
    tl.store(y_ptr + rows, total)


@triton.jit
def k_attn(
    q_ptr, k_ptr, v_ptr, out_ptr, order_ptr, S, scale,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Flash attention forward of [heads, S, D], unmasked; blocks numbered along queries first."""
    block = tl.load(order_ptr + tl.program_id(0))
    blocks = tl.cdiv(S, BM)
    head = block // blocks * S * D
    queries = block % blocks * BM + tl.arange(0, BM)
    keys = tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head + queries[:, None] * D + d[None, :])
    highest = tl.full((BM,), -1e30, tl.float32)
    norm = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for first in range(0, S, BN):
        at = head + (first + keys)[:, None] * D + d[None, :]
        k = tl.load(k_ptr + at)
        v = tl.load(v_ptr + at)
        score = tl.dot(q, tl.trans(k)) * scale
        new_highest = tl.maximum(highest, tl.max(score, 1))
        weight = tl.exp(score - new_highest[:, None])
        decay = tl.exp(highest - new_highest)
        norm = norm * decay + tl.sum(weight, 1)
        total = total * decay[:, None] + tl.dot(weight.to(tl.float16), v)
        highest = new_highest
    out = (total / norm[:, None]).to(tl.float16)
    tl.store(out_ptr + head + queries[:, None] * D + d[None, :], out)


@triton.jit
def k_colsoftmax(x_ptr, y_ptr, order_ptr, M, N, BC: tl.constexpr, BR: tl.constexpr):
    """Softmax down each column of X[M, N]; a program has BC columns and reads them twice."""
    columns = tl.load(order_ptr + tl.program_id(0)) * BC + tl.arange(0, BC)
    highest = tl.full((BC,), -1e30, tl.float32)
    norm = tl.zeros((BC,), tl.float32)
    for first in range(0, M, BR):
        at = (first + tl.arange(0, BR))[:, None] * N + columns[None, :]
        x = tl.load(x_ptr + at).to(tl.float32)
        new_highest = tl.maximum(highest, tl.max(x, 0))
        weights = tl.sum(tl.exp(x - new_highest[None, :]), 0)
        norm = norm * tl.exp(highest - new_highest) + weights
        highest = new_highest
    for first in range(0, M, BR):
        at = (first + tl.arange(0, BR))[:, None] * N + columns[None, :]
        x = tl.load(x_ptr + at).to(tl.float32)
        y = tl.exp(x - highest[None, :]) / norm[None, :]
        tl.store(y_ptr + at, y.to(tl.float16))


def normal(*shape):
    """Random float16."""
    return torch.randn(*shape, device="cuda", dtype=torch.float16)


def gemm(M, N, K, BM, BN, BK, warps=8, stages=3):
    """Blocks are BM x BN of C."""
    a, b, c = normal(M, K), normal(K, N), torch.empty(M, N, device="cuda", dtype=torch.float16)

    def launch(order):
        k_gemm[(order.numel(),)](
            a, b, c, order, M, N, K, K, N, N, BM, BN, BK, num_warps=warps, num_stages=stages
        )

    return (M // BM, N // BN), launch


def stencil(M, N, BM, BN):
    """Blocks are BM x BN of Y."""
    x = normal(M, N)
    y = torch.empty_like(x)

    def launch(order):
        k_stencil[(order.numel(),)](x, y, order, M, N, BM=BM, BN=BN)

    return (N // BN, M // BM), launch


def transpose(M, N, BM, BN):
    """Blocks are BM x BN of X."""
    x, y = normal(M, N), torch.empty(N, M, device="cuda", dtype=torch.float16)

    def launch(order):
        k_transpose[(order.numel(),)](x, y, order, M, N, BM=BM, BN=BN)

    return (N // BN, M // BM), launch


def spmv(rows, width, band):
    """Blocks are 64 rows; columns lie at random within `band` of the diagonal, around the end."""
    seeded = torch.Generator(device="cpu").manual_seed(0)
    offset = torch.randint(-band, band, (rows, width), generator=seeded)
    columns = ((torch.arange(rows)[:, None] + offset) % rows).to(torch.int32).to("cuda")
    values = torch.randn(rows, width, device="cuda")
    x, y = torch.randn(rows, device="cuda"), torch.empty(rows, device="cuda")

    def launch(order):
        k_spmv[(order.numel(),)](values, columns, x, y, order, width, BR=64, BW=16)

    return (rows // 64, 1), launch


def attention(heads, S, D, BM, BN):
    """Blocks are BM queries of a head."""
    q, k, v = (normal(heads, S, D) for _ in range(3))
    out = torch.empty_like(q)

    def launch(order):
        k_attn[(order.numel(),)](
            q, k, v, out, order, S, 0.08, BM=BM, BN=BN, D=D, num_warps=8, num_stages=2
        )

    return (heads, S // BM), launch


def colsoftmax(M, N, BC):
    """Blocks are BC columns."""
    x = normal(M, N)
    y = torch.empty_like(x)

    def launch(order):
        k_colsoftmax[(order.numel(),)](x, y, order, M, N, BC=BC, BR=64)

    return (N // BC, 1), launch


CONFIGS = {
    "gemm_8192_8192_8192_b128_128_64": lambda: gemm(8192, 8192, 8192, 128, 128, 64),
    "gemm_4096_4096_4096_b64_64_64": lambda: gemm(4096, 4096, 4096, 64, 64, 64, warps=4),
    "gemm_16384_16384_1024_b128_128_64": lambda: gemm(16384, 16384, 1024, 128, 128, 64),
    "stencil_8192_8192_b32_32": lambda: stencil(8192, 8192, 32, 32),
    "stencil_16384_16384_b64_16": lambda: stencil(16384, 16384, 64, 16),
    "transpose_16384_16384_b32_32": lambda: transpose(16384, 16384, 32, 32),
    "transpose_16384_16384_b8_64": lambda: transpose(16384, 16384, 8, 64),
    "spmv_ell_8388608_w32_band4194304": lambda: spmv(8388608, 32, 4194304),
    "attn_h64_s8192_d128_b128_64": lambda: attention(64, 8192, 128, 128, 64),
    "colsoftmax_4096_65536_c32": lambda: colsoftmax(4096, 65536, 32),
}


ROUNDS = 100
FLUSHED_BYTES = 256 << 20


def time_in_rounds(launch, tables):
    """Milliseconds under each table: the first's median, times the median ratio to it of a round.

    A round launches the kernel once under each, in random order, every time with an L2 full of
    other data: a GPU's clock differs more from minute to minute than orders do.
    """
    flushed = torch.empty(FLUSHED_BYTES, dtype=torch.int8, device="cuda")
    rounds = []
    for _ in range(ROUNDS):
        events = {}
        for name in random.sample(list(tables), len(tables)):
            flushed.zero_()
            events[name] = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            events[name][0].record()
            launch(tables[name])
            events[name][1].record()
        torch.cuda.synchronize()
        rounds.append({name: begin.elapsed_time(end) for name, (begin, end) in events.items()})
    first = next(iter(tables))
    milliseconds = statistics.median(times[first] for times in rounds)
    return {
        name: milliseconds * statistics.median(times[name] / times[first] for times in rounds)
        for name in tables
    }


def main(configs, mode="list", *prefixes):
    """List the configurations, or time or run those whose names begin with a prefix."""
    for name, build in configs.items():
        if prefixes and not name.startswith(prefixes):
            continue
        if mode == "list":
            print(name)
            continue
        torch.manual_seed(0)
        (slow, fast), launch = build()
        tables = {
            mapping: torch.from_numpy(order.astype(np.int32)).cuda()
            for mapping, order in mappings(slow, fast).items()
        }
        for table in tables.values():
            launch(table)
            torch.cuda.synchronize()
        readings = [time_in_rounds(launch, tables) for _ in range(2)] if mode == "time" else []
        for mapping in tables:
            outcome = [f"{reading[mapping]:.5f}" for reading in readings] or [slow, fast]
            print(name, mapping, *outcome, sep="\t", flush=True)
        del launch, tables
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main(CONFIGS, *sys.argv[1:])
