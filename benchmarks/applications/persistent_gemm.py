# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A persistent GEMM whose epilogue counts its tiles a second time, so that both loops overlap.

In the style of Triton's tutorial 09: one program per SM, a helper that places a tile, a loop that
the compiler may flatten with the one along K, and a counter of its own for the stores.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def place_of(tile, rows, columns, GROUP_SIZE_M: tl.constexpr):
    """Row and column of a tile, in groups of GROUP_SIZE_M tile rows."""
    first = tile // (GROUP_SIZE_M * columns) * GROUP_SIZE_M
    height = min(rows - first, GROUP_SIZE_M)
    inside = tile % (GROUP_SIZE_M * columns)
    return first + inside % height, inside // height


@triton.jit
def persistent_gemm_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    NUM_SMS: tl.constexpr,
):
    """Compute the tiles of C[M, N] = A[M, K] @ B[N, K]^T that are this program's."""
    start = tl.program_id(axis=0)
    rows, columns = tl.cdiv(M, BLOCK_SIZE_M), tl.cdiv(N, BLOCK_SIZE_N)
    stored = start - NUM_SMS
    for tile in tl.range(start, rows * columns, NUM_SMS, flatten=True):
        row, column = place_of(tile, rows, columns, GROUP_SIZE_M)
        offs_m = (row * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
        offs_n = (column * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
        accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
        for first in range(0, K, BLOCK_SIZE_K):
            offs_k = first + tl.arange(0, BLOCK_SIZE_K)
            inside = offs_k < K
            a = tl.load(a_ptr + offs_m[:, None] * K + offs_k, mask=inside, other=0.0)
            b = tl.load(b_ptr + offs_n[:, None] * K + offs_k, mask=inside, other=0.0)
            accumulator = tl.dot(a, b.T, accumulator)
        stored += NUM_SMS
        row, column = place_of(stored, rows, columns, GROUP_SIZE_M)
        offs_m = (row * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M))[:, None]
        offs_n = (column * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N))[None, :]
        c = accumulator.to(c_ptr.dtype.element_ty)
        tl.store(c_ptr + offs_m * N + offs_n, c, mask=(offs_m < M) & (offs_n < N))


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--m", type=int, default=8192)
    parser.add_argument("--n", type=int, default=8192)
    parser.add_argument("--k", type=int, default=4096)
    parser.add_argument("--group-size-m", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="compare with PyTorch")
    args = parser.parse_args()
    torch.manual_seed(0)
    a = torch.randn((args.m, args.k), device="cuda", dtype=torch.float16)
    b = torch.randn((args.n, args.k), device="cuda", dtype=torch.float16)
    c = torch.full((args.m, args.n), float("nan"), device="cuda", dtype=torch.float16)
    sms = torch.cuda.get_device_properties("cuda").multi_processor_count
    tiles = triton.cdiv(args.m, 128) * triton.cdiv(args.n, 128)
    persistent_gemm_kernel[(min(sms, tiles),)](
        a, b, c, args.m, args.n, args.k,
        BLOCK_SIZE_M=128, BLOCK_SIZE_N=128, BLOCK_SIZE_K=64,
        GROUP_SIZE_M=args.group_size_m, NUM_SMS=sms, num_warps=8, num_stages=3,
    )  # fmt: skip
    if args.check and not torch.allclose(c, a @ b.T, rtol=1e-2, atol=0.1):
        sys.exit("persistent_gemm: WRONG, differs from PyTorch")
    print(f"persistent_gemm {args.m}x{args.n}x{args.k}: done")


if __name__ == "__main__":
    main()
