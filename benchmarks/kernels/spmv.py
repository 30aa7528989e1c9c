# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Sparse matrix-vector product y = A x, A in CSR with int32 indices, one program per row.

Source: naive SpMV of SwizzlePerf (arXiv 2508.20258); launch shape as measured on an MI300X: 4096
rows and columns of which 8 % are set, uniformly at random, 128 entries a step. Departs from it in
that sums are kept in float32.
"""

import argparse
import sys

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def spmv_kernel(y_ptr, x_ptr, data_ptr, indices_ptr, indptr_ptr, M, BLOCK_SIZE: tl.constexpr):
    """Compute one of the M elements of y, BLOCK_SIZE entries of its row at a time."""
    row = tl.program_id(axis=0)
    start = tl.load(indptr_ptr + row)
    end = tl.load(indptr_ptr + row + 1)
    total = 0.0
    for first in range(start, end, BLOCK_SIZE):
        entry = first + tl.arange(0, BLOCK_SIZE)
        in_row = entry < end
        column = tl.load(indices_ptr + entry, mask=in_row, other=0)
        value = tl.load(data_ptr + entry, mask=in_row, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + column, mask=in_row, other=0.0).to(tl.float32)
        total += tl.sum(value * x, axis=0)
    tl.store(y_ptr + row, total.to(y_ptr.dtype.element_ty))


def spmv(y, x, data, indices, indptr, block_size):
    """Write the product of the CSR matrix (`data`, `indices`, `indptr`) and `x` to `y`."""
    M = y.numel()
    spmv_kernel[(M,)](y, x, data, indices, indptr, M, BLOCK_SIZE=block_size)


def random_pattern(m, n, density):
    """Row starts and column indices (int32) of a random m x n matrix in CSR."""
    is_set = np.random.default_rng(0).random((m, n), dtype=np.float32) < density
    indptr = np.concatenate(([0], np.cumsum(is_set.sum(axis=1))))
    return indptr.astype(np.int32), np.nonzero(is_set)[1].astype(np.int32)


def is_correct(y, x, data, indices, indptr):
    """Whether `y` is the product, to one percent of the size of its values; NaN is not."""
    rows = torch.repeat_interleave(torch.arange(y.numel(), device=y.device), indptr.diff().long())
    products = data.double() * x.double()[indices.long()]
    expected = torch.zeros(y.numel(), dtype=torch.float64, device=y.device)
    expected.index_add_(0, rows, products)
    size = expected.square().mean().sqrt().item()
    return torch.allclose(y.double(), expected, rtol=1e-2, atol=1e-2 * size)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--m", type=int, default=4096, help="rows")
    parser.add_argument("--n", type=int, default=4096, help="columns")
    parser.add_argument("--density", type=float, default=0.08, help="part of the entries set")
    parser.add_argument("--block-size", type=int, default=128)
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument("--small", action="store_true", help="512 x 512 unless told otherwise")
    parser.add_argument("--check", action="store_true", help="compare with PyTorch")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(m=512, n=512)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    pattern = random_pattern(args.m, args.n, args.density)
    indptr, indices = (torch.from_numpy(part).to(args.device) for part in pattern)
    data = torch.randn(indices.numel(), device=args.device, dtype=dtype)
    x = torch.randn(args.n, device=args.device, dtype=dtype)
    y = torch.full((args.m,), float("nan"), device=args.device, dtype=dtype)

    def launch():
        spmv(y, x, data, indices, indptr, args.block_size)

    for _ in range(args.repeat):
        launch()

    name = f"spmv {args.m}x{args.n}, {indices.numel()} entries, {args.dtype}"
    outcome = ""
    if args.check and not is_correct(y, x, data, indices, indptr):
        sys.exit(f"{name}: WRONG, differs from PyTorch")
    if args.check:
        outcome += ", agrees with PyTorch"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        gb_per_s = 1e-6 * indices.numel() * (4 + data.element_size()) / time_ms
        outcome += f", {time_ms:.3f} ms, {gb_per_s:.0f} GB/s"
    print(f"{name}: done{outcome}")


if __name__ == "__main__":
    main()
