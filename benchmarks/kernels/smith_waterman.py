# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Smith-Waterman's substitution scores of all pairs of two sequences, one program per tile.

Source: Smith-Waterman of SwizzlePerf (arXiv 2508.20258), which computes this first step only; the
recurrence over anti-diagonals that follows is in neither, so programs do not depend on each other.
Launch shape as measured on an MI300X: 8192 x 8192 bases, 32 x 32 tiles. Departs from it in the
sequences: random, where upstream's are all A and all C, of which every tile is the same.
"""

import argparse
import sys

import numpy as np
import torch
import triton
import triton.language as tl

MATCH_SCORE = 3
MISMATCH_PENALTY = -3


@triton.jit
def smith_waterman_kernel(
    seq1_ptr,
    seq2_ptr,
    score_ptr,
    M,
    N,
    stride_m,
    stride_n,
    match_score,
    mismatch_penalty,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
):
    """Compute one tile of score[M, N] from the sequences of lengths M and N."""
    pid_m = tl.program_id(axis=0)
    pid_n = tl.program_id(axis=1)
    offs_m = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_n = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    base1 = tl.load(seq1_ptr + offs_m, mask=offs_m < M, other=0)
    base2 = tl.load(seq2_ptr + offs_n, mask=offs_n < N, other=0)
    score = tl.where(base1[:, None] == base2[None, :], match_score, mismatch_penalty)
    score_ptrs = score_ptr + offs_m[:, None] * stride_m + offs_n[None, :] * stride_n
    tl.store(score_ptrs, score, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def smith_waterman(seq1, seq2, score, block_m, block_n):
    """Write the scores of all pairs of `seq1` [M] and `seq2` [N] to `score` [M, N]."""
    M, N = score.shape
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, block_n))
    smith_waterman_kernel[grid](
        seq1,
        seq2,
        score,
        M,
        N,
        score.stride(0),
        score.stride(1),
        MATCH_SCORE,
        MISMATCH_PENALTY,
        BLOCK_SIZE_M=block_m,
        BLOCK_SIZE_N=block_n,
    )


def random_sequence(length, seed):
    """A sequence (int8) of the bases A, C, G and T."""
    bases = np.frombuffer(b"ACGT", np.int8)
    return torch.from_numpy(np.random.default_rng(seed).choice(bases, length))


def is_correct(seq1, seq2, score):
    """Whether `score` holds the scores of all pairs, exactly."""
    seq1, seq2 = seq1.cpu().numpy(), seq2.cpu().numpy()
    expected = np.where(seq1[:, None] == seq2[None, :], MATCH_SCORE, MISMATCH_PENALTY)
    return np.array_equal(score.cpu().numpy(), expected)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--m", type=int, default=8192, help="length of the first sequence")
    parser.add_argument("--n", type=int, default=8192, help="length of the second sequence")
    parser.add_argument("--block-m", type=int, default=32)
    parser.add_argument("--block-n", type=int, default=32)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument("--small", action="store_true", help="1000 x 500 unless told otherwise")
    parser.add_argument("--check", action="store_true", help="compare with NumPy")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(m=1000, n=500)
    return parser.parse_args()


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    seq1 = random_sequence(args.m, seed=1).to(args.device)
    seq2 = random_sequence(args.n, seed=2).to(args.device)
    score = torch.empty((args.m, args.n), device=args.device, dtype=torch.int32)
    if args.check:
        score.fill_(torch.iinfo(torch.int32).min)

    def launch():
        smith_waterman(seq1, seq2, score, args.block_m, args.block_n)

    for _ in range(args.repeat):
        launch()

    outcome = ""
    if args.check and not is_correct(seq1, seq2, score):
        sys.exit(f"smith_waterman {args.m}x{args.n}: WRONG, differs from NumPy")
    if args.check:
        outcome += ", agrees with NumPy"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        gb_per_s = 1e-6 * score.numel() * score.element_size() / time_ms
        outcome += f", {time_ms:.3f} ms, {gb_per_s:.0f} GB/s"
    print(f"smith_waterman {args.m}x{args.n}: done{outcome}")


if __name__ == "__main__":
    main()
