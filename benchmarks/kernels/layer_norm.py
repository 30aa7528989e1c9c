# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Layer normalization of the rows of a matrix, one program per row.

Source: layer normalization of SwizzlePerf (arXiv 2508.20258); launch shape as measured on an
MI300X: 20480 rows of 20480 columns in one masked block of 32768. Like upstream's it reads each row
twice, once for the mean and the variance and once for the output.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(
    x_ptr,
    y_ptr,
    w_ptr,
    b_ptr,
    M,
    N,
    stride_x_m,
    stride_x_n,
    stride_y_m,
    stride_y_n,
    eps,
    BLOCK_SIZE_N: tl.constexpr,
):
    """Normalize one of the M rows of X[M, N], scale it by w[N] and add b[N]."""
    row = tl.program_id(axis=0).to(tl.int64)
    x_row_ptr = x_ptr + row * stride_x_m
    y_row_ptr = y_ptr + row * stride_y_m

    total = 0.0
    total_of_squares = 0.0
    for first in range(0, N, BLOCK_SIZE_N):
        columns = first + tl.arange(0, BLOCK_SIZE_N)
        x = tl.load(x_row_ptr + columns * stride_x_n, mask=columns < N, other=0.0).to(tl.float32)
        total += tl.sum(x, axis=0)
        total_of_squares += tl.sum(x * x, axis=0)
    mean = total / N
    scale = 1 / tl.sqrt(total_of_squares / N - mean * mean + eps)

    for first in range(0, N, BLOCK_SIZE_N):
        columns = first + tl.arange(0, BLOCK_SIZE_N)
        inside = columns < N
        x = tl.load(x_row_ptr + columns * stride_x_n, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        y = (x - mean) * scale * w + b
        tl.store(y_row_ptr + columns * stride_y_n, y.to(y_ptr.dtype.element_ty), mask=inside)


def layer_norm(x, y, w, b, eps, num_warps):
    """Write the normalized rows of `x` [M, N], times `w` plus `b`, to `y` [M, N]."""
    M, N = x.shape
    layer_norm_kernel[(M,)](
        x,
        y,
        w,
        b,
        M,
        N,
        x.stride(0),
        x.stride(1),
        y.stride(0),
        y.stride(1),
        eps,
        BLOCK_SIZE_N=triton.next_power_of_2(N),
        num_warps=num_warps,
    )


def is_correct(x, y, w, b, eps):
    """Whether `y` is the layer normalization of `x`, to one percent; NaN is not."""
    expected = torch.nn.functional.layer_norm(x.float(), (x.shape[1],), w.float(), b.float(), eps)
    return torch.allclose(y.float(), expected, rtol=1e-2, atol=1e-2)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--m", type=int, default=20480, help="rows")
    parser.add_argument("--n", type=int, default=20480, help="columns")
    parser.add_argument("--num-warps", type=int, default=4)
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument("--small", action="store_true", help="256 x 500 unless told otherwise")
    parser.add_argument("--check", action="store_true", help="compare with PyTorch")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(m=256, n=500)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    eps = 1e-5
    x = torch.randn((args.m, args.n), device=args.device, dtype=dtype)
    w = torch.randn(args.n, device=args.device, dtype=dtype)
    b = torch.randn(args.n, device=args.device, dtype=dtype)
    y = torch.empty_like(x)
    if args.check:
        y.fill_(float("nan"))

    def launch():
        layer_norm(x, y, w, b, eps, args.num_warps)

    for _ in range(args.repeat):
        launch()

    outcome = ""
    if args.check and not is_correct(x, y, w, b, eps):
        sys.exit(f"layer_norm {args.m}x{args.n} {args.dtype}: WRONG, differs from PyTorch")
    if args.check:
        outcome += ", agrees with PyTorch"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        gb_per_s = 2e-6 * x.numel() * x.element_size() / time_ms
        outcome += f", {time_ms:.3f} ms, {gb_per_s:.0f} GB/s"
    print(f"layer_norm {args.m}x{args.n} {args.dtype}: done{outcome}")


if __name__ == "__main__":
    main()
