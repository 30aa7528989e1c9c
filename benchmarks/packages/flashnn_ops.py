# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""flashnn: attention, norms and quantised products of a server of language models."""

from __future__ import annotations

import torch
from calls import DEVICE, call
from flashnn.triton_kernels import (
    dynamic_quant,
    flash_attn_v2,
    gemm_a8w8,
    gemm_a16w4,
    gemm_a16w8,
    layer_norm,
    layer_norm_dquant,
    logits_processor,
    paged_attn_v1,
    paged_attn_v2,
    rms_norm,
    rms_norm_dquant,
    rotary_embedding,
)


def half(*shape: int) -> torch.Tensor:
    """Random float16 on the GPU."""
    return torch.randn(*shape, device=DEVICE, dtype=torch.float16)


def bytes_(*shape: int) -> torch.Tensor:
    """Random 8-bit integers on the GPU."""
    return torch.randint(-100, 100, shape, device=DEVICE, dtype=torch.int8)


TOKENS, WIDE, OUT = 2048, 4096, 4096
x, weight, bias = half(TOKENS, WIDE), half(WIDE), half(WIDE)
call("rms_norm", rms_norm.triton_rmsnorm_forward, x, weight, 1e-6)
call("rms_norm_dquant", rms_norm_dquant.triton_rmsnorm_dquant_forward, x, weight, 1e-6)
call("layer_norm", layer_norm.triton_layer_norm_forward, x, weight, bias, 1e-6)
call("layer_norm_dquant", layer_norm_dquant.triton_layer_norm_dquant_forward, x, weight, bias, 1e-6)
call("dynamic_quantize", dynamic_quant.triton_dynamic_quantize, bytes_(TOKENS, WIDE), x,
     torch.empty(TOKENS, 1, device=DEVICE))  # fmt: skip
query, keys, values = half(1, 4096, 32, 128), half(1, 4096, 8, 128), half(1, 4096, 8, 128)
for causal in (False, True):
    call(f"attention, causal {causal}", flash_attn_v2.triton_flash_attention_forward, query, keys,
         values, causal, 0.1)  # fmt: skip
out = half(TOKENS, OUT)
call("gemm_a8w8", gemm_a8w8.triton_gemm_a8w8_forward, out, bytes_(TOKENS, WIDE), bytes_(OUT, WIDE),
     half(TOKENS, 1), half(1, OUT))  # fmt: skip
for name, gemm, wide in (("a16w8", gemm_a16w8.triton_gemm_a16w8_forward, WIDE),
                         ("a16w4", gemm_a16w4.triton_gemm_a16w4_forward, WIDE // 2)):  # fmt: skip
    call(f"gemm_{name}", gemm, out, x, bytes_(OUT, wide), half(OUT))
    call(f"gemm_{name}, groups", gemm, out, x, bytes_(OUT, wide), half(OUT, WIDE // 64))
angles = half(TOKENS, 1, 1, 64)
call("rotary", rotary_embedding.triton_rotary_embd_forward, half(TOKENS, 1, 32, 128),
     half(TOKENS, 1, 8, 128), angles, angles)  # fmt: skip
words = torch.randint(32000, (16, 512), device=DEVICE)
call("logits", logits_processor.triton_logits_processor_forward, half(16, 32000),
     torch.ones(16, device=DEVICE), words, torch.full((16,), 512, device=DEVICE), 512,
     "REPETITION")  # fmt: skip
SEQUENCES, HEADS, HEAD, BLOCKS, BLOCK = 16, 32, 128, 1024, 16
cache = [half(BLOCKS, HEADS, BLOCK, HEAD) for _ in range(2)]
table = torch.arange(BLOCKS, device=DEVICE, dtype=torch.int32).view(SEQUENCES, -1)
lengths = torch.full((SEQUENCES,), 1000, device=DEVICE, dtype=torch.int32)
heads = torch.arange(HEADS, device=DEVICE, dtype=torch.int32)
one = (half(SEQUENCES, HEADS, HEAD), half(SEQUENCES, HEADS, HEAD), *cache, heads, 0.1, table)
call("paged attention", paged_attn_v1.triton_paged_attention_v1, *one, lengths)
call("paged attention, partitions", paged_attn_v2.triton_paged_attention_v2, *one, lengths, 1000)
