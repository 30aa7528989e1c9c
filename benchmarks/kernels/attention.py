# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Attention, forward (flash attention), one program per block of queries of one head.

Source: flash attention 2 (arXiv 2307.08691) as SwizzlePerf ran it (arXiv 2508.20258): one batch, 16
heads, head dimension 128, float32 in blocks of 32 x 32 by 2 warps (16-bit types: 128 x 64 by 4),
head-first: all blocks of one head before the next head. --order block-first is the other order of
arXiv 2511.02132. Departs from it in the length, 8192 and not 65536 (64 times the work), and in that
there is no dropout and no log-sum-exp output.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    SEQLEN,
    NUM_Q_HEADS,
    NUM_K_HEADS,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    HEAD_FIRST: tl.constexpr,
):
    """Compute BLOCK_M rows of one head; all tensors are dense [batch, SEQLEN, heads, HEAD_DIM].

    NUM_Q_HEADS // NUM_K_HEADS heads of q share one of k and v.
    """
    pid = tl.program_id(axis=0)
    num_blocks = tl.cdiv(SEQLEN, BLOCK_M)
    if HEAD_FIRST:
        block = pid % num_blocks
        head = pid // num_blocks % NUM_Q_HEADS
    else:
        head = pid % NUM_Q_HEADS
        block = pid // NUM_Q_HEADS % num_blocks
    first_row = (pid // (num_blocks * NUM_Q_HEADS)).to(tl.int64) * SEQLEN
    k_head = head // (NUM_Q_HEADS // NUM_K_HEADS)

    queries = block * BLOCK_M + tl.arange(0, BLOCK_M)
    features = tl.arange(0, HEAD_DIM)[None, :]
    q_offsets = ((first_row + queries)[:, None] * NUM_Q_HEADS + head) * HEAD_DIM + features
    q = tl.load(q_ptr + q_offsets, mask=queries[:, None] < SEQLEN, other=0.0)

    top = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    accumulator = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    end = tl.minimum(SEQLEN, (block + 1) * BLOCK_M) if IS_CAUSAL else SEQLEN
    for first_key in range(0, end, BLOCK_N):
        keys = first_key + tl.arange(0, BLOCK_N)
        k_offsets = ((first_row + keys)[:, None] * NUM_K_HEADS + k_head) * HEAD_DIM + features
        k = tl.load(k_ptr + k_offsets, mask=keys[:, None] < SEQLEN, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        visible = keys[None, :] < SEQLEN
        if IS_CAUSAL:
            visible = visible & (keys[None, :] <= queries[:, None])
        scores = tl.where(visible, scores, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new_top[:, None])
        decay = tl.exp(top - new_top)
        total = total * decay + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + k_offsets, mask=keys[:, None] < SEQLEN, other=0.0)
        accumulator = accumulator * decay[:, None] + tl.dot(weights.to(v.dtype), v)
        top = new_top

    out = (accumulator / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + q_offsets, out, mask=queries[:, None] < SEQLEN)


def attention(q, k, v, out, block_m, block_n, causal, head_first, num_warps):
    """Write the attention of `q` over `k` and `v` to `out`; all [batch, length, heads, dim]."""
    batch, length, heads, dim = q.shape
    grid = (batch * heads * triton.cdiv(length, block_m),)
    attention_kernel[grid](
        q,
        k,
        v,
        out,
        length,
        heads,
        k.shape[2],
        dim**-0.5,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        HEAD_DIM=dim,
        IS_CAUSAL=causal,
        HEAD_FIRST=head_first,
        num_warps=num_warps,
    )


def is_correct(q, k, v, out, causal):
    """Whether `out` is the attention, to two percent of the size of its values; NaN is not."""
    q, k, v = (tensor.float().transpose(1, 2) for tensor in (q, k, v))
    k, v = (tensor.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for tensor in (k, v))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    size = expected.square().mean().sqrt().item()
    return torch.allclose(out.float().transpose(1, 2), expected, rtol=2e-2, atol=2e-2 * size)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=16, help="of the queries")
    parser.add_argument("--kv-heads", type=int, help="fewer for GQA (default: as many)")
    parser.add_argument("--length", type=int, default=8192, help="queries, and keys")
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--causal", action="store_true", help="no query sees a later key")
    parser.add_argument("--order", choices=["head-first", "block-first"], default="head-first")
    parser.add_argument("--block-m", type=int, help="queries a program (default: by --dtype)")
    parser.add_argument("--block-n", type=int, help="keys a step (default: by --dtype)")
    parser.add_argument("--num-warps", type=int, help="default: by --dtype")
    parser.add_argument("--dtype", choices=["float16", "bfloat16", "float32"], default="float32")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=1, help="number of launches")
    parser.add_argument(
        "--small", action="store_true", help="8 heads of 300 x 32 unless told otherwise"
    )
    parser.add_argument("--check", action="store_true", help="compare with PyTorch")
    parser.add_argument("--bench", action="store_true", help="time the kernel")
    args = parser.parse_args()
    if args.small:
        parser.set_defaults(heads=8, length=300, head_dim=32)
    block_m, block_n, num_warps = (32, 32, 2) if args.dtype == "float32" else (128, 64, 4)
    parser.set_defaults(block_m=block_m, block_n=block_n, num_warps=num_warps)
    args = parser.parse_args()
    args.kv_heads = args.kv_heads or args.heads
    if args.heads % args.kv_heads:
        parser.error("--heads must be a multiple of --kv-heads")
    return args


def main():
    """Run the kernel as the command line says; exit status 1 where its output is wrong."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    q, k, v = (
        torch.randn(
            (args.batch, args.length, heads, args.head_dim), device=args.device, dtype=dtype
        )
        for heads in (args.heads, args.kv_heads, args.kv_heads)
    )
    out = torch.empty_like(q)
    if args.check:
        out.fill_(float("nan"))
    blocks = (args.block_m, args.block_n)

    def launch():
        attention(q, k, v, out, *blocks, args.causal, args.order == "head-first", args.num_warps)

    for _ in range(args.repeat):
        launch()

    heads = f"{args.heads}/{args.kv_heads}"
    kind = "causal" if args.causal else "full"
    name = f"attention {args.batch}x{heads}x{args.length}x{args.head_dim} {kind} {args.dtype}"
    outcome = ""
    if args.check and not is_correct(q, k, v, out, args.causal):
        sys.exit(f"{name}: WRONG, differs from PyTorch")
    if args.check:
        outcome += ", agrees with PyTorch"
    if args.bench:
        time_ms = triton.testing.do_bench(launch)
        pairs = args.length**2 / (2 if args.causal else 1)
        tflops = 4e-9 * args.batch * args.heads * pairs * args.head_dim / time_ms
        outcome += f", {time_ms:.3f} ms, {tflops:.1f} TFLOP/s"
    print(f"{name}: done{outcome}")


if __name__ == "__main__":
    main()
