# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""liger-kernel: the operators of a training step of a language model, forward and backward."""

from __future__ import annotations

import torch
from calls import DEVICE, call, half, single
from liger_kernel.transformers import functional as ops

TOKENS, WIDE, WORDS = 2048, 2048, 32000
x, gated = half(TOKENS, WIDE), half(TOKENS, WIDE)
weight, bias = half(WIDE), half(WIDE)
logits, target = half(TOKENS, WORDS), torch.randint(WORDS, (TOKENS,), device=DEVICE)
head, teacher = half(WORDS, WIDE), half(WORDS, WIDE, grad=False)

call("cross_entropy", ops.liger_cross_entropy, logits, target)
call("linear_cross_entropy", ops.liger_fused_linear_cross_entropy, x, head, target)
call("linear_jsd", ops.liger_fused_linear_jsd, x, head, gated.detach(), teacher, target)
call("geglu", ops.liger_geglu, x, gated)
call("swiglu", ops.liger_swiglu, x, gated)
call("relu_squared", ops.liger_relu_squared, x)
call("layer_norm", ops.liger_layer_norm, x, weight, bias, 1e-6)
call("rms_norm", ops.liger_rms_norm, x, weight, 1e-6, in_place=False)
call("add_rms_norm", ops.liger_fused_add_rms_norm, x, gated, weight, 1e-6, in_place=False)
call("poly_norm", ops.liger_poly_norm, x, half(3), half(1), in_place=False)
call("group_norm", ops.liger_group_norm, half(8, 128, 1024), half(128), half(128), 128, 16, 1e-6)
call("softmax", ops.liger_softmax, half(TOKENS, 4096))
call("sparsemax", ops.liger_sparsemax, half(TOKENS, 4096))
call("dyt", ops.liger_dyt, x, half(1), weight, bias)
probabilities = torch.softmax(single(TOKENS, 4096, grad=False), -1)
logarithms = torch.log_softmax(single(TOKENS, 4096, grad=False), -1).requires_grad_()
call("jsd", ops.liger_jsd, logarithms, probabilities.log())
call("kl_div", ops.liger_kl_div, logarithms, probabilities)
call("tvd", ops.liger_tvd, torch.softmax(logarithms.detach(), -1).requires_grad_(), probabilities)
heads, angle = (2, 32, TOKENS, 64), (1, TOKENS, 64)
query, key = half(*heads), half(2, 8, TOKENS, 64)
call("rope", ops.liger_rope, query, key, half(*angle, grad=False), half(*angle, grad=False))
three = (3, 2, TOKENS, 64)
call(
    "mrope", ops.liger_qwen2vl_mrope, query, key, half(*three, grad=False),
    half(*three, grad=False), [16, 24, 24],
)  # fmt: skip
neighbours = [half(1, 8, 512, 64) for _ in range(3)]
call("neighborhood_attention", ops.liger_fused_neighborhood_attention, *neighbours)
call("multi_token_attention", ops.liger_multi_token_attention, half(1, 4, 512, 512),
     half(4, 4, 3, 3), padding=1)  # fmt: skip
call("attention_residuals", ops.liger_attn_res, half(4, 2, 512, WIDE), half(WIDE), half(WIDE))
