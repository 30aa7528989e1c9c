# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Transposition Y[N, M] = X[M, N].T, one program per tile of X.

Source: transpose of SwizzlePerf (arXiv 2508.20258); launch shape as measured on an MI300X: 32768^2,
32 x 32 tiles, axis 0 down the rows of tiles.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, y_ptr, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    """Transpose one tile of X[M, N]; both matrices are row-major and dense."""
    pid_m = tl.program_id(axis=0)
    pid_n = tl.program_id(axis=1)
    offs_m = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_n = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    inside = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    x = tl.load(x_ptr + offs_m[:, None] * N + offs_n[None, :], mask=inside)
    y_ptrs = y_ptr + offs_n[:, None] * M + offs_m[None, :]
    tl.store(y_ptrs, tl.trans(x), mask=tl.trans(inside))


def transpose(x, y, block_m, block_n):
    """Write the transpose of `x` [M, N] to `y` [N, M]."""
    M, N = x.shape
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, block_n))
    transpose_kernel[grid](x, y, M, N, BLOCK_SIZE_M=block_m, BLOCK_SIZE_N=block_n)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--m", type=int, default=32768)
    parser.add_argument("--n", type=int, default=32768)
    parser.add_argument("--block-m", type=int, default=32)
    parser.add_argument("--block-n", type=int, default=32)
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument("--small", action="store_true", help="1000 x 500 unless told otherwise")
    parser.add_argument("--check", action="store_true", help="compare with torch's transpose")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(m=1000, n=500)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    x = torch.randn((args.m, args.n), device=args.device, dtype=dtype)
    y = torch.empty((args.n, args.m), device=args.device, dtype=dtype)
    if args.check:
        y.fill_(float("nan"))

    def launch():
        transpose(x, y, args.block_m, args.block_n)

    for _ in range(args.repeat):
        launch()

    outcome = ""
    if args.check and not torch.equal(y, x.T):
        sys.exit(f"transpose {args.m}x{args.n} {args.dtype}: WRONG, differs from torch")
    if args.check:
        outcome += ", equals torch's"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        gb_per_s = 2e-6 * x.numel() * x.element_size() / time_ms
        outcome += f", {time_ms:.3f} ms, {gb_per_s:.0f} GB/s"
    print(f"transpose {args.m}x{args.n} {args.dtype}: done{outcome}")


if __name__ == "__main__":
    main()
