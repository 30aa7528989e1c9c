# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One step of the finite-difference time-domain method in two dimensions, one program per tile.

Source: FDTD 2D of SwizzlePerf (arXiv 2508.20258); launch shape as measured on an MI300X: 8192^2
float32, 32 x 32 tiles. Departs from it in that the new fields are written to tensors of their own
and all three are computed from the old ones, as upstream's own reference does: upstream updates
them in place, where a program may read its neighbour's field before or after the update.
--in-place does that too; then no output is right or wrong, and it serves to compare hit rates only.
"""

import argparse
import sys

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def fdtd_2d_kernel(
    ex_ptr,
    ey_ptr,
    hz_ptr,
    new_ex_ptr,
    new_ey_ptr,
    new_hz_ptr,
    Nx,
    Ny,
    stride_x,
    stride_y,
    BLOCK_SIZE_X: tl.constexpr,
    BLOCK_SIZE_Y: tl.constexpr,
):
    """Compute one tile of each of the three fields [Nx, Ny]; what lies at an edge is kept."""
    pid_x = tl.program_id(axis=0)
    pid_y = tl.program_id(axis=1)
    x = (pid_x * BLOCK_SIZE_X + tl.arange(0, BLOCK_SIZE_X))[:, None]
    y = (pid_y * BLOCK_SIZE_Y + tl.arange(0, BLOCK_SIZE_Y))[None, :]
    here = x * stride_x + y * stride_y
    inside = (x < Nx) & (y < Ny)

    inner = (x < Nx - 1) & (y < Ny - 1)
    ex_above = tl.load(ex_ptr + here + stride_y, mask=inner, other=0.0)
    ex = tl.load(ex_ptr + here, mask=inner, other=0.0)
    ey_right = tl.load(ey_ptr + here + stride_x, mask=inner, other=0.0)
    ey = tl.load(ey_ptr + here, mask=inner, other=0.0)
    hz = tl.load(hz_ptr + here, mask=inside)
    tl.store(new_hz_ptr + here, hz - 0.5 * (ey_right - ey - ex_above + ex), mask=inside)

    inner = inside & (y > 0)
    hz = tl.load(hz_ptr + here, mask=inner, other=0.0)
    hz_below = tl.load(hz_ptr + here - stride_y, mask=inner, other=0.0)
    ex = tl.load(ex_ptr + here, mask=inside)
    tl.store(new_ex_ptr + here, ex - 0.5 * (hz - hz_below), mask=inside)

    inner = inside & (x > 0)
    hz = tl.load(hz_ptr + here, mask=inner, other=0.0)
    hz_left = tl.load(hz_ptr + here - stride_x, mask=inner, other=0.0)
    ey = tl.load(ey_ptr + here, mask=inside)
    tl.store(new_ey_ptr + here, ey + 0.5 * (hz - hz_left), mask=inside)


def fdtd_2d(fields, new_fields, block_x, block_y):
    """Write the fields ex, ey and hz [Nx, Ny] one step after `fields` to `new_fields`."""
    Nx, Ny = fields[0].shape
    grid = (triton.cdiv(Nx, block_x), triton.cdiv(Ny, block_y))
    fdtd_2d_kernel[grid](
        *fields,
        *new_fields,
        Nx,
        Ny,
        *fields[0].stride(),
        BLOCK_SIZE_X=block_x,
        BLOCK_SIZE_Y=block_y,
    )


def is_correct(fields, new_fields):
    """Whether `new_fields` is one step after `fields`, to rounding; NaN is not."""
    ex, ey, hz = (field.cpu().numpy() for field in fields)
    new_ex, new_ey, new_hz = ex.copy(), ey.copy(), hz.copy()
    new_hz[:-1, :-1] -= 0.5 * (np.diff(ey, axis=0)[:, :-1] - np.diff(ex, axis=1)[:-1])
    new_ex[:, 1:] -= 0.5 * np.diff(hz, axis=1)
    new_ey[1:] += 0.5 * np.diff(hz, axis=0)
    return all(
        np.allclose(field.cpu().numpy(), expected, rtol=1e-5, atol=1e-5)
        for field, expected in zip(new_fields, (new_ex, new_ey, new_hz), strict=True)
    )


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nx", type=int, default=8192)
    parser.add_argument("--ny", type=int, default=8192)
    parser.add_argument("--block-x", type=int, default=32)
    parser.add_argument("--block-y", type=int, default=32)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument("--in-place", action="store_true", help="as upstream, with its race")
    parser.add_argument("--small", action="store_true", help="1000 x 500 unless told otherwise")
    parser.add_argument("--check", action="store_true", help="compare with NumPy")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    args = parser.parse_args()
    if args.in_place and args.check:
        parser.error("--in-place has no right output to check")
    if args.small:
        parser.set_defaults(nx=1000, ny=500)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    torch.manual_seed(0)
    fields = [torch.randn((args.nx, args.ny), device=args.device) for _ in range(3)]
    new_fields = fields if args.in_place else [torch.empty_like(field) for field in fields]
    if args.check:
        for field in new_fields:
            field.fill_(float("nan"))

    def launch():
        fdtd_2d(fields, new_fields, args.block_x, args.block_y)

    for _ in range(args.repeat):
        launch()

    outcome = ""
    if args.check and not is_correct(fields, new_fields):
        sys.exit(f"fdtd_2d {args.nx}x{args.ny}: WRONG, differs from NumPy")
    if args.check:
        outcome += ", agrees with NumPy"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        gb_per_s = 6e-6 * fields[0].numel() * fields[0].element_size() / time_ms
        outcome += f", {time_ms:.3f} ms, {gb_per_s:.0f} GB/s"
    print(f"fdtd_2d {args.nx}x{args.ny}: done{outcome}")


if __name__ == "__main__":
    main()
