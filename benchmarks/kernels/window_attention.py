# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Attention with a sliding window, forward: each query sees itself and WINDOW - 1 keys before it.

Axis 0 counts the blocks of queries, axis 1 the heads; several heads of the queries share one of the
keys. Neighbouring blocks read nearly the same keys, and the first ones read fewer.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def window_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    SEQLEN,
    WINDOW,
    HEADS_PER_KV,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
):
    """Compute BLOCK_M rows of one head; all tensors are dense [heads, SEQLEN, HEAD_DIM]."""
    block = tl.program_id(axis=0)
    head = tl.program_id(axis=1)
    features = tl.arange(0, HEAD_DIM)[None, :]
    queries = block * BLOCK_M + tl.arange(0, BLOCK_M)
    q_offsets = (head * SEQLEN + queries)[:, None] * HEAD_DIM + features
    q = tl.load(q_ptr + q_offsets, mask=queries[:, None] < SEQLEN, other=0.0)

    top = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    accumulator = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    oldest = tl.maximum(block * BLOCK_M - WINDOW + 1, 0) // BLOCK_N * BLOCK_N
    end = tl.minimum((block + 1) * BLOCK_M, SEQLEN)
    for first_key in range(oldest, end, BLOCK_N):
        keys = first_key + tl.arange(0, BLOCK_N)
        k_offsets = (head // HEADS_PER_KV * SEQLEN + keys)[:, None] * HEAD_DIM + features
        k = tl.load(k_ptr + k_offsets, mask=keys[:, None] < SEQLEN, other=0.0)
        distance = queries[:, None] - keys[None, :]
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where((distance >= 0) & (distance < WINDOW), scores, -1e30)
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new_top[:, None])
        decay = tl.exp(top - new_top)
        total = total * decay + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + k_offsets, mask=keys[:, None] < SEQLEN, other=0.0)
        accumulator = accumulator * decay[:, None] + tl.dot(weights.to(v.dtype), v)
        top = new_top

    out = (accumulator / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + q_offsets, out, mask=queries[:, None] < SEQLEN)


def window_attention(q, k, v, out, window, block_m, block_n):
    """Write the attention of `q` over `k` and `v` to `out`; all [heads, length, dim]."""
    heads, length, dim = q.shape
    window_attention_kernel[(triton.cdiv(length, block_m), heads)](
        q,
        k,
        v,
        out,
        length,
        window,
        heads // k.shape[0],
        dim**-0.5,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        HEAD_DIM=dim,
    )


def is_correct(q, k, v, out, window):
    """Whether `out` is the attention, to two percent of the size of its values; NaN is not."""
    q, k, v = (tensor.float() for tensor in (q, k, v))
    k, v = (tensor.repeat_interleave(q.shape[0] // k.shape[0], dim=0) for tensor in (k, v))
    place = torch.arange(q.shape[1], device=q.device)
    distance = place[:, None] - place[None, :]
    seen = (distance >= 0) & (distance < window)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    size = expected.square().mean().sqrt().item()
    return torch.allclose(out.float(), expected, rtol=2e-2, atol=2e-2 * size)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heads", type=int, default=16, help="of the queries")
    parser.add_argument("--kv-heads", type=int, default=4, help="of keys and values")
    parser.add_argument("--length", type=int, default=8192, help="queries, and keys")
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--window", type=int, default=512, help="keys that a query sees")
    parser.add_argument("--block-m", type=int, default=64, help="queries a program")
    parser.add_argument("--block-n", type=int, default=64, help="keys a step")
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument(
        "--small", action="store_true", help="4 heads of 300 x 32 unless told otherwise"
    )
    parser.add_argument("--check", action="store_true", help="compare with PyTorch")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    if parser.parse_args().small:
        parser.set_defaults(heads=4, kv_heads=2, length=300, head_dim=32, window=100)
    args = parser.parse_args()
    if args.heads % args.kv_heads:
        parser.error("--heads must be a multiple of --kv-heads")
    return args


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    q, k, v = (
        torch.randn((heads, args.length, args.head_dim), device=args.device, dtype=dtype)
        for heads in (args.heads, args.kv_heads, args.kv_heads)
    )
    out = torch.full_like(q, float("nan"))

    def launch():
        window_attention(q, k, v, out, args.window, args.block_m, args.block_n)

    for _ in range(args.repeat):
        launch()

    heads = f"{args.heads}/{args.kv_heads}"
    name = f"window_attention {heads}x{args.length}x{args.head_dim} of {args.window} {args.dtype}"
    outcome = ""
    if args.check and not is_correct(q, k, v, out, args.window):
        sys.exit(f"{name}: WRONG, differs from PyTorch")
    if args.check:
        outcome += ", agrees with PyTorch"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        tflops = 4e-9 * args.heads * args.length * args.window * args.head_dim / time_ms
        outcome += f", {time_ms:.3f} ms, {tflops:.1f} TFLOP/s"
    print(f"{name}: done{outcome}")


if __name__ == "__main__":
    main()
