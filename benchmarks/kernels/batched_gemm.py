# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Batched matrix product C[i] = A[i] @ B[i], one program per tile of one C.

Axis 0 counts the tiles of a matrix row by row, axis 1 the matrices. Sizes are those of attention
scores: many small products with a short K.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def batched_gemm_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
):
    """Compute one tile of one product; A [batch, M, K], B [batch, K, N] and C are dense."""
    pid = tl.program_id(axis=0)
    matrix = tl.program_id(axis=1)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    offs_m = (pid // num_pid_n * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M))[:, None]
    offs_n = (pid % num_pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N))[None, :]
    a_ptr += matrix.to(tl.int64) * M * K
    b_ptr += matrix.to(tl.int64) * K * N
    c_ptr += matrix.to(tl.int64) * M * N

    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for first in range(0, K, BLOCK_SIZE_K):
        offs_k = first + tl.arange(0, BLOCK_SIZE_K)
        a_mask = (offs_m < M) & (offs_k[None, :] < K)
        b_mask = (offs_k[:, None] < K) & (offs_n < N)
        a = tl.load(a_ptr + offs_m * K + offs_k[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=b_mask, other=0.0)
        accumulator = tl.dot(a, b, accumulator)

    c = accumulator.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + offs_m * N + offs_n, c, mask=(offs_m < M) & (offs_n < N))


def batched_gemm(a, b, c, block_m, block_n, block_k):
    """Write the products of `a` [batch, M, K] and `b` [batch, K, N] to `c` [batch, M, N]."""
    batch, M, K = a.shape
    N = b.shape[2]
    grid = (triton.cdiv(M, block_m) * triton.cdiv(N, block_n), batch)
    batched_gemm_kernel[grid](
        a, b, c, M, N, K, BLOCK_SIZE_M=block_m, BLOCK_SIZE_N=block_n, BLOCK_SIZE_K=block_k
    )


def is_correct(a, b, c):
    """Whether `c` holds the products, to one percent of the size of their values; NaN is not."""
    expected = torch.bmm(a.float(), b.float())
    size = expected.square().mean().sqrt().item()
    return torch.allclose(c.float(), expected, rtol=1e-2, atol=1e-2 * size)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--m", type=int, default=1024)
    parser.add_argument("--n", type=int, default=1024)
    parser.add_argument("--k", type=int, default=128)
    parser.add_argument("--block-m", type=int, default=128)
    parser.add_argument("--block-n", type=int, default=128)
    parser.add_argument("--block-k", type=int, default=32)
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument(
        "--small", action="store_true", help="4 of 256 x 256 x 64 unless told otherwise"
    )
    parser.add_argument("--check", action="store_true", help="compare with torch.bmm")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(batch=4, m=256, n=256, k=64)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    a = torch.randn((args.batch, args.m, args.k), device=args.device, dtype=dtype)
    b = torch.randn((args.batch, args.k, args.n), device=args.device, dtype=dtype)
    c = torch.full((args.batch, args.m, args.n), float("nan"), device=args.device, dtype=dtype)

    def launch():
        batched_gemm(a, b, c, args.block_m, args.block_n, args.block_k)

    for _ in range(args.repeat):
        launch()

    name = f"batched_gemm {args.batch}x{args.m}x{args.n}x{args.k} {args.dtype}"
    outcome = ""
    if args.check and not is_correct(a, b, c):
        sys.exit(f"{name}: WRONG, differs from torch.bmm")
    if args.check:
        outcome += ", agrees with torch.bmm"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        tflops = 2e-9 * args.batch * args.m * args.n * args.k / time_ms
        outcome += f", {time_ms:.3f} ms, {tflops:.1f} TFLOP/s"
    print(f"{name}: done{outcome}")


if __name__ == "__main__":
    main()
