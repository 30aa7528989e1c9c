# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Products of several pairs of matrices by one launch, which is told their addresses and sizes.

In the style of Triton's tutorial 08: the programs go through the pairs and take tiles of each in
turn; where the tiles of a pair end is read from the sizes.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def many_gemms_kernel(
    addresses_ptr,
    sizes_ptr,
    pairs,
    NUM_PROGRAMS: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
):
    """Compute this program's tiles; [pairs, 3] addresses of A, B, C and [pairs, 3] of M, N, K."""
    tile = tl.program_id(axis=0)
    before = 0
    for pair in range(pairs):
        M = tl.load(sizes_ptr + pair * 3)
        N = tl.load(sizes_ptr + pair * 3 + 1)
        K = tl.load(sizes_ptr + pair * 3 + 2)
        columns = tl.cdiv(N, BLOCK_SIZE_N)
        end = before + tl.cdiv(M, BLOCK_SIZE_M) * columns
        while tile < end:
            a_ptr = tl.load(addresses_ptr + pair * 3).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(addresses_ptr + pair * 3 + 1).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(addresses_ptr + pair * 3 + 2).to(tl.pointer_type(tl.float16))
            row, column = (tile - before) // columns, (tile - before) % columns
            offs_m = row * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
            offs_n = column * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
            accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
            for first in range(0, K, BLOCK_SIZE_K):
                offs_k = first + tl.arange(0, BLOCK_SIZE_K)
                a = tl.load(a_ptr + (offs_m % M)[:, None] * K + offs_k)
                b = tl.load(b_ptr + offs_k[:, None] * N + offs_n % N)
                accumulator = tl.dot(a, b, accumulator)
            c = c_ptr + offs_m[:, None] * N + offs_n
            inside = (offs_m < M)[:, None] & (offs_n < N)
            tl.store(c, accumulator.to(tl.float16), mask=inside)
            tile += NUM_PROGRAMS
        before = end


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[4096, 2048, 1024, 512])
    parser.add_argument("--k", type=int, default=4096, help="a multiple of 64")
    parser.add_argument("--n", type=int, default=8192)
    parser.add_argument("--check", action="store_true", help="compare with PyTorch")
    args = parser.parse_args()
    torch.manual_seed(0)

    def matrix(rows, columns):
        return torch.randn((rows, columns), device="cuda", dtype=torch.float16)

    a = [matrix(m, args.k) for m in args.sizes]
    b = [matrix(args.k, args.n) for _ in args.sizes]
    c = [matrix(m, args.n) for m in args.sizes]
    addresses = [[tensor.data_ptr() for tensor in pair] for pair in zip(a, b, c, strict=True)]
    sizes = [[m, args.n, args.k] for m in args.sizes]
    sms = torch.cuda.get_device_properties("cuda").multi_processor_count
    many_gemms_kernel[(sms,)](
        torch.tensor(addresses, device="cuda"),
        torch.tensor(sizes, device="cuda", dtype=torch.int32),
        len(sizes),
        NUM_PROGRAMS=sms, BLOCK_SIZE_M=128, BLOCK_SIZE_N=128, BLOCK_SIZE_K=64,
        num_warps=8, num_stages=3,
    )  # fmt: skip
    if args.check and not all(
        torch.allclose(z, x @ y, rtol=1e-2, atol=0.1) for x, y, z in zip(a, b, c, strict=True)
    ):
        sys.exit("many_gemms: WRONG, differs from PyTorch")
    print(f"many_gemms {args.sizes} of {args.n}x{args.k}: done")


if __name__ == "__main__":
    main()
