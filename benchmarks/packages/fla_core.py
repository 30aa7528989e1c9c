# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""fla-core: linear attentions, forward and backward, and the modules around them."""

from __future__ import annotations

import importlib

import fla.ops
import torch
from calls import DEVICE, by_name, call, half, single
from fla import modules
from torch.nn import functional

B, T, H, D = 1, 2048, 8, 64


def unit() -> torch.Tensor:
    """Keys of length 1."""
    return functional.normalize(half(B, T, H, D, grad=False), dim=-1).requires_grad_()


def gate(*shape: int) -> torch.Tensor:
    """Logarithms of numbers below 1."""
    return functional.logsigmoid(single(*shape, grad=False)).requires_grad_()


def share(*shape: int) -> torch.Tensor:
    """Numbers from 0 to 1."""
    return half(*shape, grad=False).sigmoid().requires_grad_()


COMMON = {
    "q": lambda: half(B, T, H, D),
    "k": unit,
    "v": lambda: half(B, T, H, D),
    "r": lambda: half(B, T, H, D),
    "p": unit,
    "s": lambda: half(B, T, H, 64),
    "w": lambda: gate(B, T, H, D),
    "a": unit,
    "b": unit,
    "u": lambda: half(H, D),
    "beta": lambda: share(B, T, H),
    "beta_atk": lambda: share(B, T, H),
    "g_atk": lambda: gate(B, T, H),
    "gv": lambda: gate(B, T, H, D),
    "lamb": lambda: share(H, D),
    "log_alpha": lambda: gate(B, T, H),
    "log_mu": lambda: gate(B, T, H),
    "eta": lambda: share(B, T, H),
    "layer_idx": lambda: 3,
    "num_layers": lambda: 24,
    "level_scales": lambda: share(B, T, H, 12),
    "delta": lambda: share(B, T, H),
    "num_householder": lambda: 1,
}
VECTOR_GATES = (
    "chunk_gla", "fused_recurrent_gla", "chunk_kda", "fused_recurrent_kda", "chunk_precond_kda",
    "fused_recurrent_precond_kda", "parallel_wall_attn", "chunk_gdn2", "fused_recurrent_gdn2",
    "fused_chunk_gla",
)  # fmt: skip
for name in fla.ops.__all__:
    per_head = (B, T, H, D) if name in VECTOR_GATES else (B, T, H)
    known = {**COMMON, "g": lambda shape=per_head: gate(*shape)}
    if "rwkv6" in name or "dplr" in name or "iplr" in name:
        known |= {"gk": lambda: gate(B, T, H, D), "alpha": unit}
        known |= {"beta": unit} if "plr" in name else {}
    more = {"gk": gate(B, T, H, D)} if name == "fused_recurrent_gla" else {}
    more |= {"g": gate(B, T, H)} if "simple_gla" in name else {}
    more |= {"g": gate(B, T, H, 64)} if name.endswith("_gsa") else {}
    if "nsa" in name:
        more |= {"q": half(B, T, 16 * H, D), "g_cmp": share(B, T, 16 * H)}
        more |= {"g_slc": share(B, T, 16 * H)}
    by_name(name, getattr(fla.ops, name), known, **more)
further = {
    "gdn2": ("chunk_gdn2", "fused_recurrent_gdn2"),
    "gated_oja_rule": ("chunk_gated_oja_rule", "fused_recurrent_gated_oja_rule"),
    "gated_delta_product": ("chunk_gated_delta_product",),
    "lightnet": ("chunk_lightnet", "fused_recurrent_lightnet"),
    "rebased": ("parallel_rebased",),
}
for folder, names in further.items():
    for name in names:
        function = getattr(importlib.import_module(f"fla.ops.{folder}"), name, None)
        vectors = {"g": lambda: gate(B, T, H, D), "b": lambda: share(B, T, H, D)}
        vectors |= {"w": lambda: share(B, T, H, D)} if folder == "gdn2" else {}
        vectors |= {"g": lambda: gate(B, T, H)} if folder == "gated_delta_product" else {}
        by_name(name, function, {**COMMON, **vectors})

WIDE = 2048
x, gated = half(4, T, WIDE), half(4, T, WIDE)
weight, bias = half(WIDE), half(WIDE)
for name in ("layer_norm", "rms_norm"):
    function = getattr(importlib.import_module("fla.modules.layernorm"), name)
    call(name, function, x, weight, bias)
norms = importlib.import_module("fla.modules.fused_norm_gate")
for name in ("layer_norm_gated", "rms_norm_gated"):
    call(name, getattr(norms, name), x, gated, weight, bias)
for name in ("rms_norm_swish_gate_linear", "layer_norm_swish_gate_linear"):
    call(name, getattr(norms, name), x, gated, weight, bias, half(WIDE, WIDE), half(WIDE))
call("l2norm", importlib.import_module("fla.modules.l2norm").l2norm, half(4, T, H, D))
activations = importlib.import_module("fla.modules.activations")
for name in ("sigmoid", "logsigmoid", "swish", "sqrelu", "gelu_fast_fwd", "elu_p1"):
    if hasattr(activations, name):
        call(name, getattr(activations, name), half(4, T, WIDE))
for name in ("swiglu", "powglu"):
    call(name, getattr(activations, name), x, gated)
call("swiglu_linear", activations.swiglu_linear, x, gated, half(WIDE, WIDE), half(WIDE))
convolution = importlib.import_module("fla.modules.causal_conv1d")
call("causal_conv1d", convolution.causal_conv1d, x, half(WIDE, 4), half(WIDE), activation="silu")
call("token_shift", importlib.import_module("fla.modules.token_shift").token_shift, x)
call("rotary", modules.RotaryEmbedding(D).to(DEVICE), half(4, T, H, D), half(4, T, H, D))
logits, target = half(T, 32000), torch.randint(32000, (T,), device=DEVICE)
call("cross_entropy", modules.FusedCrossEntropyLoss(), logits, target)
call(
    "linear_cross_entropy", modules.FusedLinearCrossEntropyLoss(), half(T, 1024), target,
    half(32000, 1024),
)  # fmt: skip
call("kl_div", modules.FusedKLDivLoss(), half(T, 1024), half(T, 1024), half(32000, 1024),
     half(32000, 1024, grad=False))  # fmt: skip
pooling = importlib.import_module("fla.ops.utils.pooling")
call("mean_pooling", pooling.mean_pooling, half(B, T, H, D), 64)
