# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One explicit time step of the Black-Scholes equation, a three-point stencil on a vector.

Source: Black-Scholes of SwizzlePerf (arXiv 2508.20258); launch shape as run there: 2^28 values in
blocks of 1024. Departs from it in the data: random, and in longer time steps, so that a step
changes a value by more than what the check forgives.
"""

import argparse
import sys

import numpy as np
import torch
import triton
import triton.language as tl

RATE = 0.2
VOLATILITY = 0.6
TIME_STEP = 5e-5


@triton.jit
def black_scholes_kernel(s_ptr, v_ptr, new_v_ptr, n_assets, r, sigma, dt, BLOCK_SIZE: tl.constexpr):
    """Compute BLOCK_SIZE of n_assets new values from prices s and values v; 0 lies outside."""
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = offsets < n_assets
    s = tl.load(s_ptr + offsets, mask=inside, other=0.0)
    v_before = tl.load(v_ptr + offsets - 1, mask=inside & (offsets > 0), other=0.0)
    v = tl.load(v_ptr + offsets, mask=inside, other=0.0)
    v_after = tl.load(v_ptr + offsets + 1, mask=offsets < n_assets - 1, other=0.0)

    diffusion = sigma * sigma * s * s
    a = 0.5 * dt * (diffusion - r * s)
    b = 1 - dt * (diffusion + r)
    c = 0.5 * dt * (diffusion + r * s)
    tl.store(new_v_ptr + offsets, a * v_before + b * v + c * v_after, mask=inside)


def black_scholes(s, v, new_v, block_size):
    """Write the values one time step after `v` at prices `s` to `new_v`; vectors of one length."""
    n_assets = v.numel()
    grid = (triton.cdiv(n_assets, block_size),)
    black_scholes_kernel[grid](
        s, v, new_v, n_assets, RATE, VOLATILITY, TIME_STEP, BLOCK_SIZE=block_size
    )


def is_correct(s, v, new_v):
    """Whether `new_v` is one step after `v`, to the rounding of float32; NaN is not."""
    s, v, new_v = (tensor.cpu().numpy() for tensor in (s, v, new_v))
    diffusion, drift = VOLATILITY**2 * s**2, RATE * s
    expected = (1 - TIME_STEP * (diffusion + RATE)) * v
    expected[1:] += 0.5 * TIME_STEP * (diffusion - drift)[1:] * v[:-1]
    expected[:-1] += 0.5 * TIME_STEP * (diffusion + drift)[:-1] * v[1:]
    return np.allclose(new_v, expected, rtol=1e-5, atol=1e-4)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-assets", type=int, default=2**28)
    parser.add_argument("--block-size", type=int, default=1024)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument("--small", action="store_true", help="200000 assets unless told otherwise")
    parser.add_argument("--check", action="store_true", help="compare with NumPy")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(n_assets=200_000)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    torch.manual_seed(0)
    s = torch.empty(args.n_assets, device=args.device).uniform_(1, 200)
    v = torch.empty(args.n_assets, device=args.device).uniform_(0, 100)
    new_v = torch.empty_like(v)
    if args.check:
        new_v.fill_(float("nan"))

    def launch():
        black_scholes(s, v, new_v, args.block_size)

    for _ in range(args.repeat):
        launch()

    outcome = ""
    if args.check and not is_correct(s, v, new_v):
        sys.exit(f"black_scholes {args.n_assets}: WRONG, differs from NumPy")
    if args.check:
        outcome += ", agrees with NumPy"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        gb_per_s = 3e-6 * v.numel() * v.element_size() / time_ms
        outcome += f", {time_ms:.3f} ms, {gb_per_s:.0f} GB/s"
    print(f"black_scholes {args.n_assets}: done{outcome}")


if __name__ == "__main__":
    main()
