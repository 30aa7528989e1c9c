# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Matrix product C[M, N] = A[M, K] @ B[K, N] by a fixed number of programs (stream-K).

Each program computes whole tiles as long as there are enough for all; the steps along K of the
tiles that are left are dealt out evenly, and a second launch adds up the partial sums.

Source: stream-K (arXiv 2301.03598) and the GEMM of SwizzlePerf (arXiv 2508.20258); launch shape as
measured on an MI300X: 8192^3, 256 x 256 x 64, GROUP_SIZE_M 8, 304 programs of 4 warps. Departs
from it in that no program waits for another: there a program spins on a lock until the next ones
have stored their partial sums, which ends only while all of them are resident.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def place_of(
    tile,
    M,
    N,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):
    """Row and column of a tile, in groups of GROUP_SIZE_M tile rows."""
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_in_group = GROUP_SIZE_M * tl.cdiv(N, BLOCK_SIZE_N)
    first_pid_m = tile // num_pid_in_group * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + tile % num_pid_in_group % group_size_m
    pid_n = tile % num_pid_in_group // group_size_m
    return pid_m, pid_n


@triton.jit
def products(
    a_ptr,
    b_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    pid_m,
    pid_n,
    first,
    end,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
):
    """Sum over the steps along K from `first` to before `end` of one tile of C."""
    rows = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    columns = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    depth = first * BLOCK_SIZE_K + tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b_ptrs = b_ptr + depth[:, None] * stride_bk + columns[None, :] * stride_bn
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for step in range(first, end):
        inside = step * BLOCK_SIZE_K + tl.arange(0, BLOCK_SIZE_K) < K
        a = tl.load(a_ptrs, mask=inside[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=inside[:, None], other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    return accumulator


@triton.jit
def store_tile(
    c_ptr,
    accumulator,
    M,
    N,
    stride_cm,
    stride_cn,
    pid_m,
    pid_n,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
):
    """Write one tile of C."""
    rows = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    columns = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=inside)


@triton.jit
def stream_k_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    partial_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    NUM_SMS: tl.constexpr,
    STREAMK_TILES: tl.constexpr,
):
    """Compute whole tiles of C, then a share of the last STREAMK_TILES into partial[NUM_SMS, 2].

    A share is shorter than a tile, so it lies in one tile or in two: one partial sum for each.
    """
    pid = tl.program_id(axis=0)
    steps = tl.cdiv(K, BLOCK_SIZE_K)
    full_tiles = tl.cdiv(M, BLOCK_SIZE_M) * tl.cdiv(N, BLOCK_SIZE_N) - STREAMK_TILES
    for tile in range(pid, full_tiles, NUM_SMS):
        pid_m, pid_n = place_of(tile, M, N, BLOCK_SIZE_M, BLOCK_SIZE_N, GROUP_SIZE_M)
        c = products(
            a_ptr, b_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, pid_m, pid_n,
            0, steps, BLOCK_SIZE_M, BLOCK_SIZE_N, BLOCK_SIZE_K,
        )  # fmt: skip
        store_tile(c_ptr, c, M, N, stride_cm, stride_cn, pid_m, pid_n, BLOCK_SIZE_M, BLOCK_SIZE_N)

    each = STREAMK_TILES * steps // NUM_SMS
    extra = STREAMK_TILES * steps % NUM_SMS
    start = pid * each + tl.minimum(pid, extra)
    stop = start + each + (pid < extra).to(tl.int32)
    first_tile = start // steps
    inside_tile = (
        tl.arange(0, BLOCK_SIZE_M)[:, None] * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)[None, :]
    )
    while start < stop:
        tile = start // steps
        end = tl.minimum(stop, (tile + 1) * steps)
        pid_m, pid_n = place_of(full_tiles + tile, M, N, BLOCK_SIZE_M, BLOCK_SIZE_N, GROUP_SIZE_M)
        c = products(
            a_ptr, b_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, pid_m, pid_n,
            start % steps, end - tile * steps, BLOCK_SIZE_M, BLOCK_SIZE_N, BLOCK_SIZE_K,
        )  # fmt: skip
        slot = pid * 2 + tile - first_tile
        tl.store(partial_ptr + slot * BLOCK_SIZE_M * BLOCK_SIZE_N + inside_tile, c)
        start = end


@triton.jit
def program_at(step, per_program, extra):
    """The program whose share holds a step: `each` and one more for the first `extra` programs."""
    longer = extra * (per_program + 1)
    if step < longer:
        program = step // (per_program + 1)
    else:
        program = extra + (step - longer) // tl.maximum(per_program, 1)
    return program


@triton.jit
def add_partial_sums_kernel(
    c_ptr,
    partial_ptr,
    M,
    N,
    K,
    stride_cm,
    stride_cn,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    NUM_SMS: tl.constexpr,
    STREAMK_TILES: tl.constexpr,
):
    """Compute one of the last STREAMK_TILES of C from its partial sums, in the order of K."""
    tile = tl.program_id(axis=0)
    steps = tl.cdiv(K, BLOCK_SIZE_K)
    full_tiles = tl.cdiv(M, BLOCK_SIZE_M) * tl.cdiv(N, BLOCK_SIZE_N) - STREAMK_TILES
    each = STREAMK_TILES * steps // NUM_SMS
    extra = STREAMK_TILES * steps % NUM_SMS
    inside_tile = (
        tl.arange(0, BLOCK_SIZE_M)[:, None] * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)[None, :]
    )

    first = program_at(tile * steps, each, extra)
    last = program_at(tile * steps + steps - 1, each, extra)
    c = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for program in range(first, last + 1):
        start = program * each + tl.minimum(program, extra)
        slot = program * 2 + tile - start // steps
        c += tl.load(partial_ptr + slot * BLOCK_SIZE_M * BLOCK_SIZE_N + inside_tile)
    pid_m, pid_n = place_of(full_tiles + tile, M, N, BLOCK_SIZE_M, BLOCK_SIZE_N, GROUP_SIZE_M)
    store_tile(c_ptr, c, M, N, stride_cm, stride_cn, pid_m, pid_n, BLOCK_SIZE_M, BLOCK_SIZE_N)


def gemm_stream_k(a, b, c, partial, block_m, block_n, block_k, group_m, num_warps):
    """Write the product of `a` [M, K] and `b` [K, N] to `c` [M, N].

    `partial` [programs, 2, block_m, block_n] is scratch memory.
    """
    M, K = a.shape
    _, N = b.shape
    programs = partial.shape[0]
    stream_k_tiles = triton.cdiv(M, block_m) * triton.cdiv(N, block_n) % programs
    constants = {
        "BLOCK_SIZE_M": block_m,
        "BLOCK_SIZE_N": block_n,
        "BLOCK_SIZE_K": block_k,
        "GROUP_SIZE_M": group_m,
        "NUM_SMS": programs,
        "STREAMK_TILES": stream_k_tiles,
        "num_warps": num_warps,
    }
    stream_k_kernel[(programs,)](
        a, b, c, partial, M, N, K, *a.stride(), *b.stride(), *c.stride(), **constants
    )
    if stream_k_tiles:
        add_partial_sums_kernel[(stream_k_tiles,)](c, partial, M, N, K, *c.stride(), **constants)


def is_correct(a, b, c):
    """Whether `c` is the product, to one percent of the size of its values; NaN is not."""
    expected = torch.matmul(a.float(), b.float())
    size = expected.square().mean().sqrt().item()
    return torch.allclose(c.float(), expected, rtol=1e-2, atol=1e-2 * size)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--m", type=int, default=8192)
    parser.add_argument("--n", type=int, default=8192)
    parser.add_argument("--k", type=int, default=8192)
    parser.add_argument("--block-m", type=int, default=256)
    parser.add_argument("--block-n", type=int, default=256)
    parser.add_argument("--block-k", type=int, default=64)
    parser.add_argument("--group-m", type=int, default=8, help="tile rows per group")
    parser.add_argument("--programs", type=int, default=304, help="as many as the GPU has CUs")
    parser.add_argument("--num-warps", type=int, default=4)
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument(
        "--small", action="store_true", help="512^3 in tiles of 32^3 by 44 unless told otherwise"
    )
    parser.add_argument("--check", action="store_true", help="compare with torch.matmul")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(m=512, n=512, k=512, block_m=32, block_n=32, block_k=32, programs=44)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    a = torch.randn((args.m, args.k), device=args.device, dtype=dtype)
    b = torch.randn((args.k, args.n), device=args.device, dtype=dtype)
    c = torch.empty((args.m, args.n), device=args.device, dtype=dtype)
    partial = torch.empty((args.programs, 2, args.block_m, args.block_n), device=args.device)
    if args.check:
        c.fill_(float("nan"))
        partial.fill_(float("nan"))
    tile = (args.block_m, args.block_n, args.block_k)

    def launch():
        gemm_stream_k(a, b, c, partial, *tile, args.group_m, args.num_warps)

    for _ in range(args.repeat):
        launch()

    name = f"gemm_stream_k {args.m}x{args.n}x{args.k} {args.dtype}"
    outcome = ""
    if args.check and not is_correct(a, b, c):
        sys.exit(f"{name}: WRONG, differs from torch.matmul")
    if args.check:
        outcome += ", agrees with torch.matmul"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        tflops = 2e-9 * args.m * args.n * args.k / time_ms
        outcome += f", {time_ms:.3f} ms, {tflops:.1f} TFLOP/s"
    print(f"{name}: done{outcome}")


if __name__ == "__main__":
    main()
