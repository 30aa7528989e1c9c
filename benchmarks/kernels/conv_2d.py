# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Convolution in 2-D as an implicit GEMM, stride 1, zero outside of the image, NHWC.

Rows of the product are the pixels of the output, columns its channels, and the inner dimension
goes over the taps of the filter and the channels of the input: no matrix of patches is formed. One
program per tile of the product, tiles of one row one after the other.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def conv_2d_kernel(
    x_ptr,
    w_ptr,
    y_ptr,
    IMAGES,
    HEIGHT,
    WIDTH,
    CHANNELS,
    FILTERS,
    TAPS: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
):
    """Compute BLOCK_SIZE_M pixels of BLOCK_SIZE_N channels; all tensors are dense.

    X is [IMAGES, HEIGHT, WIDTH, CHANNELS], W [TAPS, TAPS, CHANNELS, FILTERS], TAPS is odd.
    """
    pid = tl.program_id(axis=0)
    num_pid_n = tl.cdiv(FILTERS, BLOCK_SIZE_N)
    pixel = pid // num_pid_n * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    filters = (pid % num_pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N))[None, :]
    in_output = pixel < IMAGES * HEIGHT * WIDTH
    column = pixel % WIDTH
    row = pixel // WIDTH % HEIGHT

    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for tap in range(TAPS * TAPS):
        down = tap // TAPS - TAPS // 2
        right = tap % TAPS - TAPS // 2
        inside = (row + down >= 0) & (row + down < HEIGHT)
        inside = inside & (column + right >= 0) & (column + right < WIDTH) & in_output
        source = (pixel + down * WIDTH + right)[:, None] * CHANNELS
        for first in range(0, CHANNELS, BLOCK_SIZE_K):
            channel = first + tl.arange(0, BLOCK_SIZE_K)
            x_mask = inside[:, None] & (channel[None, :] < CHANNELS)
            x = tl.load(x_ptr + source + channel[None, :], mask=x_mask, other=0.0)
            weights = (tap * CHANNELS + channel)[:, None] * FILTERS + filters
            w_mask = (channel[:, None] < CHANNELS) & (filters < FILTERS)
            w = tl.load(w_ptr + weights, mask=w_mask, other=0.0)
            accumulator = tl.dot(x, w, accumulator)

    y = accumulator.to(y_ptr.dtype.element_ty)
    y_mask = in_output[:, None] & (filters < FILTERS)
    tl.store(y_ptr + pixel[:, None] * FILTERS + filters, y, mask=y_mask)


def conv_2d(x, w, y, block_m, block_n, block_k):
    """Write the convolution of `x` with `w` to `y` [images, height, width, filters]."""
    images, height, width, channels = x.shape
    taps, _, _, filters = w.shape
    grid = (triton.cdiv(images * height * width, block_m) * triton.cdiv(filters, block_n),)
    conv_2d_kernel[grid](
        x,
        w,
        y,
        images,
        height,
        width,
        channels,
        filters,
        TAPS=taps,
        BLOCK_SIZE_M=block_m,
        BLOCK_SIZE_N=block_n,
        BLOCK_SIZE_K=block_k,
    )


def is_correct(x, w, y):
    """Whether `y` is the convolution, to one percent of the size of its values; NaN is not."""
    x, w = x.float().permute(0, 3, 1, 2), w.float().permute(3, 2, 0, 1)
    expected = torch.nn.functional.conv2d(x, w, padding=w.shape[2] // 2).permute(0, 2, 3, 1)
    size = expected.square().mean().sqrt().item()
    return torch.allclose(y.float(), expected, rtol=1e-2, atol=1e-2 * size)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=16)
    parser.add_argument("--height", type=int, default=56)
    parser.add_argument("--width", type=int, default=56)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--filters", type=int, default=256)
    parser.add_argument("--taps", type=int, default=3, help="of the filter, each way; odd")
    parser.add_argument("--block-m", type=int, default=64)
    parser.add_argument("--block-n", type=int, default=64)
    parser.add_argument("--block-k", type=int, default=64)
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument(
        "--small", action="store_true", help="2 images of 20 x 20 unless told otherwise"
    )
    parser.add_argument("--check", action="store_true", help="compare with PyTorch")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(images=2, height=20, width=20)
    args = parser.parse_args()
    if args.taps % 2 == 0:
        parser.error("--taps must be odd")
    return args


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    shape = (args.images, args.height, args.width)
    x = torch.randn((*shape, args.channels), device=args.device, dtype=dtype)
    taps = (args.taps, args.taps)
    w = torch.randn((*taps, args.channels, args.filters), device=args.device, dtype=dtype)
    y = torch.full((*shape, args.filters), float("nan"), device=args.device, dtype=dtype)

    def launch():
        conv_2d(x, w, y, args.block_m, args.block_n, args.block_k)

    for _ in range(args.repeat):
        launch()

    sizes = "x".join(map(str, (*shape, args.channels, args.filters, args.taps)))
    name = f"conv_2d {sizes} {args.dtype}"
    outcome = ""
    if args.check and not is_correct(x, w, y):
        sys.exit(f"{name}: WRONG, differs from PyTorch")
    if args.check:
        outcome += ", agrees with PyTorch"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        tflops = 2e-9 * y.numel() * args.channels * args.taps**2 / time_ms
        outcome += f", {time_ms:.3f} ms, {tflops:.1f} TFLOP/s"
    print(f"{name}: done{outcome}")


if __name__ == "__main__":
    main()
