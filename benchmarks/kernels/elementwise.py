# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Fused elementwise operations max(x y + z, 0) on vectors, one program per block.

Source: fused elementwise of SwizzlePerf (arXiv 2508.20258); launch shape as measured on an MI300X:
2^24 elements in blocks of 1024. Departs from it in that it computes in float32. Programs share
nothing, so nothing is to be gained.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def fused_elementwise_kernel(x_ptr, y_ptr, z_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """Compute BLOCK_SIZE of n_elements."""
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=inside).to(tl.float32)
    z = tl.load(z_ptr + offsets, mask=inside).to(tl.float32)
    output = tl.maximum(x * y + z, 0.0).to(output_ptr.dtype.element_ty)
    tl.store(output_ptr + offsets, output, mask=inside)


def fused_elementwise(x, y, z, output, block_size):
    """Write max(x y + z, 0) to `output`; all are vectors of one length."""
    n_elements = output.numel()
    grid = (triton.cdiv(n_elements, block_size),)
    fused_elementwise_kernel[grid](x, y, z, output, n_elements, BLOCK_SIZE=block_size)


def is_correct(x, y, z, output):
    """Whether `output` is max(x y + z, 0), to the rounding of its type; NaN is not."""
    expected = torch.relu(x.float() * y.float() + z.float())
    size = 16 * torch.finfo(output.dtype).eps
    return torch.allclose(output.float(), expected, rtol=size, atol=size)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2**24, help="elements")
    parser.add_argument("--block-size", type=int, default=1024)
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument(
        "--small", action="store_true", help="200000 elements unless told otherwise"
    )
    parser.add_argument("--check", action="store_true", help="compare with PyTorch")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(n=200_000)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    x, y, z = (torch.randn(args.n, device=args.device, dtype=dtype) for _ in range(3))
    output = torch.full((args.n,), float("nan"), device=args.device, dtype=dtype)

    def launch():
        fused_elementwise(x, y, z, output, args.block_size)

    for _ in range(args.repeat):
        launch()

    outcome = ""
    if args.check and not is_correct(x, y, z, output):
        sys.exit(f"elementwise {args.n} {args.dtype}: WRONG, differs from PyTorch")
    if args.check:
        outcome += ", agrees with PyTorch"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        gb_per_s = 4e-6 * output.numel() * output.element_size() / time_ms
        outcome += f", {time_ms:.3f} ms, {gb_per_s:.0f} GB/s"
    print(f"elementwise {args.n} {args.dtype}: done{outcome}")


if __name__ == "__main__":
    main()
