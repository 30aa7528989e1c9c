# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The forward pass of a transformer of the kernels beside: norms, projections, attention, a
feed-forward net in each layer, all in float16."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1] / "kernels"))

from attention import attention
from gemm import gemm
from layer_norm import layer_norm

HEAD_DIM = 128


def project(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Rows of `x` times a matrix."""
    made = torch.empty((len(x), weight.shape[1]), device=x.device, dtype=x.dtype)
    gemm(x, weight, made, 128, 128, 64, 8, num_warps=4)
    return made


def normalize(x: torch.Tensor, ones: torch.Tensor) -> torch.Tensor:
    """Rows of `x`, normalized."""
    made = torch.empty_like(x)
    layer_norm(x, made, ones, torch.zeros_like(ones), 1e-5, num_warps=4)
    return made


def attend(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Each token's mean of the values before it, by its queries."""
    length, width = x.shape
    made = torch.empty((1, length, width // HEAD_DIM, HEAD_DIM), device=x.device, dtype=x.dtype)
    parts = project(x, weight).view(length, 3, *made.shape[2:]).transpose(0, 1)
    q, k, v = (part.contiguous()[None] for part in parts)
    attention(q, k, v, made, 128, 64, causal=True, head_first=True, num_warps=4)
    return made.view(length, width)


def main() -> None:
    """Runs it once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--length", type=int, default=2048, help="tokens")
    parser.add_argument("--width", type=int, default=2048)
    args = parser.parse_args()

    def weight(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device="cuda", dtype=torch.float16) * shape[0] ** -0.5

    width = args.width
    x, ones = weight(args.length, width), torch.ones(width, device="cuda", dtype=torch.float16)
    for _ in range(args.layers):
        seen = attend(normalize(x, ones), weight(width, 3 * width))
        x = x + project(seen, weight(width, width))
        inner = project(normalize(x, ones), weight(width, 4 * width)).relu()
        x = x + project(inner, weight(4 * width, width))
    print(tuple(x.shape))


if __name__ == "__main__":
    main()
