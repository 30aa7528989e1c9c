# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Five-point stencil on a matrix, zero outside of it, one program per tile.

Source: stencil 2D of SwizzlePerf (arXiv 2508.20258); launch shape as measured on an MI300X: 8192^2,
32 x 32 tiles, axis 0 down the rows of tiles. Departs from it in that it computes in float32.
"""

import argparse
import sys

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def stencil_kernel(x_ptr, y_ptr, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    """Compute one tile of Y[M, N] from X[M, N]; both are row-major and dense."""
    pid_m = tl.program_id(axis=0)
    pid_n = tl.program_id(axis=1)
    offs_m = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M))[:, None]
    offs_n = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N))[None, :]
    offsets = offs_m * N + offs_n
    inside = (offs_m < M) & (offs_n < N)

    centre = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + offsets - N, mask=inside & (offs_m > 0), other=0.0).to(tl.float32)
    down = tl.load(x_ptr + offsets + N, mask=inside & (offs_m < M - 1), other=0.0).to(tl.float32)
    left = tl.load(x_ptr + offsets - 1, mask=inside & (offs_n > 0), other=0.0).to(tl.float32)
    right = tl.load(x_ptr + offsets + 1, mask=inside & (offs_n < N - 1), other=0.0).to(tl.float32)

    y = 0.5 * centre + 0.125 * (up + down + left + right)
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=inside)


def stencil(x, y, block_m, block_n):
    """Write one application of the stencil to `x` [M, N] to `y` [M, N]."""
    M, N = x.shape
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, block_n))
    stencil_kernel[grid](x, y, M, N, BLOCK_SIZE_M=block_m, BLOCK_SIZE_N=block_n)


def is_correct(x, y):
    """Whether `y` is the stencil of `x`, to the rounding of its type; NaN is not."""
    padded = np.pad(x.float().cpu().numpy(), 1)
    vertical = padded[:-2, 1:-1] + padded[2:, 1:-1]
    horizontal = padded[1:-1, :-2] + padded[1:-1, 2:]
    expected = 0.5 * padded[1:-1, 1:-1] + 0.125 * (vertical + horizontal)
    tolerance = 2 * torch.finfo(y.dtype).eps
    return np.allclose(y.float().cpu().numpy(), expected, rtol=tolerance, atol=tolerance)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--m", type=int, default=8192)
    parser.add_argument("--n", type=int, default=8192)
    parser.add_argument("--block-m", type=int, default=32)
    parser.add_argument("--block-n", type=int, default=32)
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument("--small", action="store_true", help="1000 x 500 unless told otherwise")
    parser.add_argument("--check", action="store_true", help="compare with NumPy")
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
    y = torch.full((args.m, args.n), float("nan"), device=args.device, dtype=dtype)

    def launch():
        stencil(x, y, args.block_m, args.block_n)

    for _ in range(args.repeat):
        launch()

    outcome = ""
    if args.check and not is_correct(x, y):
        sys.exit(f"stencil_2d {args.m}x{args.n} {args.dtype}: WRONG, differs from NumPy")
    if args.check:
        outcome += ", agrees with NumPy"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        gb_per_s = 2e-6 * x.numel() * x.element_size() / time_ms
        outcome += f", {time_ms:.3f} ms, {gb_per_s:.0f} GB/s"
    print(f"stencil_2d {args.m}x{args.n} {args.dtype}: done{outcome}")


if __name__ == "__main__":
    main()
