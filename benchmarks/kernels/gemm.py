# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Matrix product C[M, N] = A[M, K] @ B[K, N], one program per tile of C, in groups of tile rows.

Source: the tiled GEMM of Triton's tutorial and of SwizzlePerf's runs (arXiv 2508.20258); launch
shape as measured on an MI300X: 8192^3, 128 x 256 x 64, GROUP_SIZE_M 8, 4 warps. Departs from it in
that a last group of fewer tile rows is computed whole too.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def gemm_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):
    """Compute one tile of C; with GROUP_SIZE_M = 1 the tiles go row by row."""
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + (pid % num_pid_in_group) % group_size_m
    pid_n = (pid % num_pid_in_group) // group_size_m

    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn

    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk

    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + offs_cm[:, None] * stride_cm + offs_cn[None, :] * stride_cn
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=c_mask)


def gemm(a, b, c, block_m, block_n, block_k, group_m, num_warps):
    """Write the product of `a` [M, K] and `b` [K, N] to `c` [M, N]."""
    M, K = a.shape
    _, N = b.shape
    grid = (triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)
    gemm_kernel[grid](
        a,
        b,
        c,
        M,
        N,
        K,
        a.stride(0),
        a.stride(1),
        b.stride(0),
        b.stride(1),
        c.stride(0),
        c.stride(1),
        BLOCK_SIZE_M=block_m,
        BLOCK_SIZE_N=block_n,
        BLOCK_SIZE_K=block_k,
        GROUP_SIZE_M=group_m,
        num_warps=num_warps,
    )


def is_correct(a, b, c):
    """Whether `c` is the product, to one percent of the size of its values; NaN is not."""
    expected = torch.matmul(a.float(), b.float())
    size = expected.square().mean().sqrt().item()
    return torch.allclose(c.float(), expected, rtol=1e-2, atol=1e-2 * size)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--m", type=int, default=8192)
    parser.add_argument("--n", type=int, default=8192)
    parser.add_argument("--k", type=int, default=8192)
    parser.add_argument("--block-m", type=int, default=128)
    parser.add_argument("--block-n", type=int, default=256)
    parser.add_argument("--block-k", type=int, default=64)
    parser.add_argument("--group-m", type=int, default=8, help="tile rows per group (1: row-major)")
    parser.add_argument("--num-warps", type=int, default=4)
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument(
        "--small", action="store_true", help="512^3 in tiles of 32^3 unless told otherwise"
    )
    parser.add_argument("--check", action="store_true", help="compare with torch.matmul")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(m=512, n=512, k=512, block_m=32, block_n=32, block_k=32)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    a = torch.randn((args.m, args.k), device=args.device, dtype=dtype)
    b = torch.randn((args.k, args.n), device=args.device, dtype=dtype)
    c = torch.full((args.m, args.n), float("nan"), device=args.device, dtype=dtype)

    tile = (args.block_m, args.block_n, args.block_k)

    def launch():
        gemm(a, b, c, *tile, args.group_m, args.num_warps)

    for _ in range(args.repeat):
        launch()

    outcome = ""
    if args.check and not is_correct(a, b, c):
        sys.exit(f"gemm {args.m}x{args.n}x{args.k} {args.dtype}: WRONG, differs from torch.matmul")
    if args.check:
        outcome += ", agrees with torch.matmul"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        tflops = 2e-9 * args.m * args.n * args.k / time_ms
        outcome += f", {time_ms:.3f} ms, {tflops:.1f} TFLOP/s"
    print(f"gemm {args.m}x{args.n}x{args.k} {args.dtype}: done{outcome}")


if __name__ == "__main__":
    main()
