# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""conch-triton-kernels: attention, norms and quantised products of a server."""

from __future__ import annotations

import torch
from calls import DEVICE, call
from conch.ops.activation.gelu_tanh_and_mul import gelu_tanh_and_mul
from conch.ops.activation.silu_and_mul import silu_and_mul
from conch.ops.attention.paged_attention import paged_attention
from conch.ops.attention.varlen_attention import varlen_attention
from conch.ops.embedding.rotary_embedding import rotary_embedding
from conch.ops.normalization.gemma_rms_norm import gemma_rms_norm
from conch.ops.normalization.rms_norm import fused_add_rms_norm, rms_norm
from conch.ops.quantization import fp8, int8
from conch.ops.quantization.bitsandbytes import functional as four_bits
from conch.ops.quantization.gemm import mixed_precision_gemm, scaled_gemm
from conch.ops.vision.nms import nms
from conch.ops.vllm.copy_blocks import copy_blocks
from conch.ops.vllm.reshape_and_cache import reshape_and_cache


def half(*shape: int) -> torch.Tensor:
    """Random float16 on the GPU."""
    return torch.randn(*shape, device=DEVICE, dtype=torch.float16)


def whole(most: int, *shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """Random integers on the GPU."""
    return torch.randint(most, shape, device=DEVICE, dtype=dtype)


x, weight = half(2048, 4096), half(4096)
call("silu_and_mul", silu_and_mul, half(2048, 8192))
call("gelu_tanh_and_mul", gelu_tanh_and_mul, half(2048, 8192))
call("rms_norm", rms_norm, x, weight, 1e-6)
call("fused_add_rms_norm", fused_add_rms_norm, x, half(2048, 4096), weight, 1e-6)
call("gemma_rms_norm", gemma_rms_norm, x, weight, 1e-6)
call("gemma_rms_norm, residual", gemma_rms_norm, x, weight, 1e-6, half(2048, 4096))
call("fp8", fp8.scaled_fp8_quant, x)
call("int8", int8.scaled_int8_quant, x)
call("static int8", int8.scaled_int8_quant, x, torch.ones(1, device=DEVICE))
call("rotary", rotary_embedding, whole(2048, 2048, dtype=torch.int64), half(2048, 4096),
     half(2048, 1024), 128, half(4096, 128))  # fmt: skip
BLOCKS, BLOCK, HEADS, WIDTH, SEQUENCES = 1024, 16, 8, 128, 16
keys, values = (half(BLOCKS, BLOCK, HEADS, WIDTH) for _ in range(2))
table = torch.arange(BLOCKS, device=DEVICE, dtype=torch.int32).view(SEQUENCES, -1)
lengths = whole(512, SEQUENCES) + 500
call("paged_attention", paged_attention, half(SEQUENCES, 32, WIDTH), keys, values, table, lengths)
starts = torch.arange(SEQUENCES + 1, device=DEVICE, dtype=torch.int32) * 64
call("varlen_attention", varlen_attention, half(SEQUENCES * 64, 32, WIDTH), keys, values, starts,
     64, lengths, 1012, table, causal=True)  # fmt: skip
slots = torch.arange(2048, device=DEVICE)
call("reshape_and_cache", reshape_and_cache, half(2048, HEADS, WIDTH), half(2048, HEADS, WIDTH),
     keys, values, slots)  # fmt: skip
call("copy_blocks", copy_blocks, [keys], [values], whole(BLOCKS, 64, 2, dtype=torch.int64))
call("scaled_gemm", scaled_gemm, whole(100, 1024, 2048, dtype=torch.int8),
     whole(100, 2048, 4096, dtype=torch.int8), torch.ones(1024, 1, device=DEVICE),
     torch.ones(4096, 1, device=DEVICE), torch.float16)  # fmt: skip
call("mixed_precision_gemm", mixed_precision_gemm, half(1024, 2048), whole(1 << 30, 256, 4096),
     half(16, 4096), None, 4, 8, 128)  # fmt: skip
call("quantize_4bit", four_bits.quantize_4bit, x)
boxes = torch.rand(2048, 4, device=DEVICE)
boxes[:, 2:] += boxes[:, :2]
call("nms", nms, boxes, torch.rand(2048, device=DEVICE), 0.5)
