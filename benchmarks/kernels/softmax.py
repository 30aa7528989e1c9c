# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Softmax of the rows of a matrix, one program per row, which it holds in registers.

Source: softmax of SwizzlePerf (arXiv 2508.20258); launch shape as measured on an MI300X: 32768 rows
of 32768 columns, 16 warps. Departs from it in that it computes in float32.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(
    output_ptr, input_ptr, input_row_stride, output_row_stride, n_cols, BLOCK_SIZE: tl.constexpr
):
    """Compute one row of n_cols elements; BLOCK_SIZE is a power of two, at least n_cols."""
    row = tl.program_id(axis=0).to(tl.int64)
    columns = tl.arange(0, BLOCK_SIZE)
    inside = columns < n_cols
    x = tl.load(input_ptr + row * input_row_stride + columns, mask=inside, other=-float("inf"))
    x = x.to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    y_ptrs = output_ptr + row * output_row_stride + columns
    tl.store(y_ptrs, y.to(output_ptr.dtype.element_ty), mask=inside)


def softmax(x, y):
    """Write the softmax of each row of `x` to `y`, of the same shape."""
    n_rows, n_cols = x.shape
    block_size = triton.next_power_of_2(n_cols)
    num_warps = 16 if block_size >= 4096 else 8 if block_size >= 2048 else 4
    softmax_kernel[(n_rows,)](
        y, x, x.stride(0), y.stride(0), n_cols, BLOCK_SIZE=block_size, num_warps=num_warps
    )


def is_correct(x, y):
    """Whether `y` is the softmax of `x`, to two percent or one step of its type; NaN is not.

    The absolute tolerance is the smallest number of the type: the values themselves are small.
    """
    expected = torch.softmax(x.float(), dim=1)
    limits = torch.finfo(y.dtype)
    smallest = limits.smallest_normal * limits.eps
    return torch.allclose(y.float(), expected, rtol=2e-2, atol=smallest)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-rows", type=int, default=32768)
    parser.add_argument("--n-cols", type=int, default=32768)
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument("--small", action="store_true", help="256 x 500 unless told otherwise")
    parser.add_argument("--check", action="store_true", help="compare with torch.softmax")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(n_rows=256, n_cols=500)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    torch.manual_seed(0)
    shape = (args.n_rows, args.n_cols)
    x = torch.randn(shape, device=args.device, dtype=getattr(torch, args.dtype))
    y = torch.empty_like(x)
    if args.check:
        y.fill_(float("nan"))

    def launch():
        softmax(x, y)

    for _ in range(args.repeat):
        launch()

    name = f"softmax {args.n_rows}x{args.n_cols} {args.dtype}"
    outcome = ""
    if args.check and not is_correct(x, y):
        sys.exit(f"{name}: WRONG, differs from torch.softmax")
    if args.check:
        outcome += ", agrees with torch.softmax"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        gb_per_s = 2e-6 * x.numel() * x.element_size() / time_ms
        outcome += f", {time_ms:.3f} ms, {gb_per_s:.0f} GB/s"
    print(f"{name}: done{outcome}")


if __name__ == "__main__":
    main()
