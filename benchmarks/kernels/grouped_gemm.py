# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Grouped matrix product of a mixture of experts: each expert multiplies its own tokens.

Tokens are sorted by expert, and experts have different numbers of them, the first one the most.
One program per tile of the output; a table says which expert a row of tiles belongs to. Tiles of
one row come one after the other.
"""

import argparse
import sys

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def grouped_gemm_kernel(
    x_ptr,
    w_ptr,
    y_ptr,
    expert_ptr,
    first_ptr,
    end_ptr,
    N,
    K,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
):
    """Compute up to BLOCK_SIZE_M tokens of one expert; X [tokens, K] and W [experts, K, N].

    For each row of tiles: its expert, its first token, and where that expert's tokens end.
    """
    pid = tl.program_id(axis=0)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    pid_m = pid // num_pid_n
    expert = tl.load(expert_ptr + pid_m)
    tokens = (tl.load(first_ptr + pid_m) + tl.arange(0, BLOCK_SIZE_M))[:, None]
    of_expert = tokens < tl.load(end_ptr + pid_m)
    offs_n = (pid % num_pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N))[None, :]
    w_ptr += expert.to(tl.int64) * K * N

    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for first in range(0, K, BLOCK_SIZE_K):
        offs_k = first + tl.arange(0, BLOCK_SIZE_K)
        x_mask = of_expert & (offs_k[None, :] < K)
        w_mask = (offs_k[:, None] < K) & (offs_n < N)
        x = tl.load(x_ptr + tokens * K + offs_k[None, :], mask=x_mask, other=0.0)
        w = tl.load(w_ptr + offs_k[:, None] * N + offs_n, mask=w_mask, other=0.0)
        accumulator = tl.dot(x, w, accumulator)

    y = accumulator.to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + tokens * N + offs_n, y, mask=of_expert & (offs_n < N))


def tile_table(counts, block_m):
    """Expert, first token and end of the expert's tokens of each row of tiles, int32 each."""
    ends = np.cumsum(counts)
    rows = [
        (expert, first, end)
        for expert, (count, end) in enumerate(zip(counts, ends, strict=True))
        for first in range(end - count, end, block_m)
    ]
    return np.array(rows, dtype=np.int32).T.copy()


def grouped_gemm(x, w, y, table, block_m, block_n, block_k):
    """Write each token's product with its expert's matrix to `y` [tokens, N]."""
    _, K, N = w.shape
    grid = (table.shape[1] * triton.cdiv(N, block_n),)
    grouped_gemm_kernel[grid](
        x, w, y, *table, N, K, BLOCK_SIZE_M=block_m, BLOCK_SIZE_N=block_n, BLOCK_SIZE_K=block_k
    )


def is_correct(x, w, y, counts):
    """Whether `y` holds the products, to one percent of the size of their values; NaN is not."""
    parts = zip(x.float().split(list(counts)), w.float(), strict=True)
    expected = torch.cat([tokens @ matrix for tokens, matrix in parts])
    size = expected.square().mean().sqrt().item()
    return torch.allclose(y.float(), expected, rtol=1e-2, atol=1e-2 * size)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--experts", type=int, default=16)
    parser.add_argument("--n", type=int, default=2048)
    parser.add_argument("--k", type=int, default=256)
    parser.add_argument("--block-m", type=int, default=64)
    parser.add_argument("--block-n", type=int, default=128)
    parser.add_argument("--block-k", type=int, default=64)
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument(
        "--small", action="store_true", help="300 tokens, 4 experts unless told otherwise"
    )
    parser.add_argument("--check", action="store_true", help="compare with PyTorch")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(tokens=300, experts=4, n=256, k=128)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    share = 1 / np.arange(1, args.experts + 1)
    counts = np.random.default_rng(0).multinomial(args.tokens, share / share.sum()).tolist()
    table = torch.from_numpy(tile_table(counts, args.block_m)).to(args.device)
    x = torch.randn((args.tokens, args.k), device=args.device, dtype=dtype)
    w = torch.randn((args.experts, args.k, args.n), device=args.device, dtype=dtype)
    y = torch.full((args.tokens, args.n), float("nan"), device=args.device, dtype=dtype)

    def launch():
        grouped_gemm(x, w, y, table, args.block_m, args.block_n, args.block_k)

    for _ in range(args.repeat):
        launch()

    name = f"grouped_gemm {args.tokens}x{args.n}x{args.k}, {args.experts} experts, {args.dtype}"
    outcome = ""
    if args.check and not is_correct(x, w, y, counts):
        sys.exit(f"{name}: WRONG, differs from PyTorch")
    if args.check:
        outcome += ", agrees with PyTorch"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        tflops = 2e-9 * args.tokens * args.n * args.k / time_ms
        outcome += f", {time_ms:.3f} ms, {tflops:.1f} TFLOP/s"
    print(f"{name}: done{outcome}")


if __name__ == "__main__":
    main()
