# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""flag-gems: torch's own operators, overridden by Triton kernels."""

from __future__ import annotations

import flag_gems
import torch
from calls import DEVICE, call
from torch.nn import functional

N = 1024


def half(*shape: int) -> torch.Tensor:
    """Random float16 on the GPU."""
    return torch.randn(*shape, device=DEVICE, dtype=torch.float16)


def whole(most: int, *shape: int) -> torch.Tensor:
    """Random integers on the GPU."""
    return torch.randint(most, shape, device=DEVICE)


x, y, mask, numbers = half(N, N), half(N, N), half(N, N) > 0, whole(N, N, N)
row, image, volume = half(N), half(8, 32, 56, 56), half(4, 8, 16, 16, 16)
ONE = [
    "abs",
    "neg",
    "exp",
    "exp2",
    "log",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "tanh",
    "asinh",
    "acos",
    "atan",
    "erf",
    "sigmoid",
    "relu",
    "isnan",
    "isinf",
    "isfinite",
    "ceil",
    "floor",
    "round",
    "square",
    "signbit",
    "sgn",
    "logit",
    "i0",
    "digamma",
    "sum",
    "mean",
    "amax",
    "amin",
    "max",
    "min",
    "prod",
    "argmax",
    "argmin",
    "std",
    "var",
    "var_mean",
    "all",
    "any",
    "count_nonzero",
    "aminmax",
    "trace",
    "diag",
    "triu",
    "tril",
    "flatten",
    "nonzero",
]
TWO = [
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "maximum",
    "minimum",
    "fmin",
    "fmax",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "atan2",
    "hypot",
    "logaddexp",
    "copysign",
    "remainder",
    "floor_divide",
    "isclose",
    "kron",
]
ALONG = [
    "softmax",
    "log_softmax",
    "cumsum",
    "cummax",
    "cummin",
    "sort",
    "argsort",
    "amax",
    "argmax",
    "sum",
    "mean",
    "max",
    "topk",
    "norm",
    "flip",
    "logsumexp",
]
with flag_gems.use_gems():
    for name in ONE:
        call(name, getattr(torch, name), x.float() if name in ("digamma", "i0") else x)
    for name in TWO:
        small = (x[:32, :32], y[:32, :32]) if name == "kron" else (x, y)
        call(name, getattr(torch, name), *small)
    for name in ALONG:
        further = (5, -1) if name == "topk" else (-1,)
        call(f"{name} along", getattr(torch, name), x, *(((-1,),) if name == "flip" else further))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift"):
        call(name, getattr(torch, name), numbers, numbers)
    for name in ("logical_and", "logical_or", "logical_xor"):
        call(name, getattr(torch, name), mask, mask)
    for name in ("gelu", "silu", "elu", "celu", "selu", "hardswish", "hardsigmoid", "softplus",
                 "relu6", "softshrink", "logsigmoid", "glu"):  # fmt: skip
        call(name, getattr(functional, name), half(N, N).requires_grad_())
    call("mm", torch.mm, x, y)
    call("bmm", torch.bmm, half(8, 512, 512), half(8, 512, 512))
    call("addmm", torch.addmm, row, x, y)
    call("mv", torch.mv, x, row)
    call("dot", torch.dot, row, row)
    call("outer", torch.outer, row, row)
    call("baddbmm", torch.baddbmm, half(8, 512, 512), half(8, 512, 512), half(8, 512, 512))
    call("layer_norm", functional.layer_norm, half(N, N).requires_grad_(), (N,), row, row)
    call("group_norm", functional.group_norm, image.clone().requires_grad_(), 8, half(32), half(32))
    call("batch_norm", functional.batch_norm, image.float(), torch.zeros(32, device=DEVICE),
         torch.ones(32, device=DEVICE), training=True)  # fmt: skip
    call("rms_norm", functional.rms_norm, x, (N,), row)
    call("conv1d", functional.conv1d, half(8, 32, N), half(64, 32, 3))
    call("conv2d", functional.conv2d, image, half(64, 32, 3, 3), padding=1)
    call("conv3d", functional.conv3d, volume, half(16, 8, 3, 3, 3))
    call("max_pool2d", functional.max_pool2d, image, 2)
    call("avg_pool2d", functional.avg_pool2d, image, 2)
    call("interpolate", functional.interpolate, image, scale_factor=2, mode="nearest")
    call("bicubic", functional.interpolate, image, scale_factor=2, mode="bicubic")
    call("embedding", functional.embedding, whole(N, 64, 128), half(N, 512).requires_grad_())
    call("cross_entropy", functional.cross_entropy, half(N, N).requires_grad_(), whole(N, N))
    call("mse_loss", functional.mse_loss, x, y)
    call("dropout", functional.dropout, half(N, N).requires_grad_(), 0.5)
    call(
        "attention", functional.scaled_dot_product_attention, *(half(2, 8, N, 64) for _ in range(3))
    )
    call("gather", torch.gather, x, 1, numbers)
    call("scatter", torch.scatter, x, 1, numbers, y)
    call("scatter_add", torch.scatter_add, x, 1, numbers, y)
    call("index_select", torch.index_select, x, 0, whole(N, 256))
    call("index_add", torch.index_add, x, 0, whole(N, N), y)
    call("index", lambda: x[whole(N, 256)])
    call("index_put", lambda: x.clone().index_put((whole(N, 256),), half(256, N)))
    call("masked_fill", torch.masked_fill, x, mask, 0.0)
    call("masked_select", torch.masked_select, x, mask)
    call("where", torch.where, mask, x, y)
    call("clamp", torch.clamp, x, -1.0, 1.0)
    call("lerp", torch.lerp, x, y, 0.3)
    call("addcmul", torch.addcmul, x, y, y)
    call("addcdiv", torch.addcdiv, x, y, y)
    call("nan_to_num", torch.nan_to_num, x)
    call("cat", torch.cat, [x, y])
    call("stack", torch.stack, [x, y])
    call("hstack", torch.hstack, [x, y])
    call("pad", functional.pad, x, (1, 1))
    call("reflect", functional.pad, image, (1, 1, 1, 1), mode="reflect")
    call("repeat", x.repeat, 2, 2)
    call("tile", torch.tile, x, (2, 2))
    call("repeat_interleave", torch.repeat_interleave, x, 2, 0)
    call("roll", torch.roll, x, 3, 0)
    call("unique", torch.unique, numbers)
    call("isin", torch.isin, numbers, whole(N, 64))
    call("diag_embed", torch.diag_embed, x)
    call("vector_norm", torch.linalg.vector_norm, x)
    call("quantile", torch.quantile, x.float(), 0.5)
    call("one_hot", functional.one_hot, whole(64, N), 64)
    call("pixel_unshuffle", functional.pixel_unshuffle, image, 2)
    for name in ("arange", "eye", "rand", "randn", "zeros", "ones", "randperm"):
        call(name, getattr(torch, name), N, device=DEVICE)
    call("full", torch.full, (N, N), 3.0, device=DEVICE)
    call("linspace", torch.linspace, 0, 1, N, device=DEVICE)
    call("multinomial", torch.multinomial, torch.rand(64, N, device=DEVICE), 4)
    for name in ("uniform_", "exponential_", "bernoulli_", "zero_"):
        call(name, getattr(half(N, N).float(), name))
