# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A PyTorch program that builds a C++ extension itself; compares it with `torch.matmul`."""

import sys
from pathlib import Path

import torch
from torch.utils.cpp_extension import load

HERE = Path(__file__).resolve().parent
REPEATS = 3

extension = load("swizzle_example", [str(HERE / "binding.cpp"), str(HERE / "matmul.cu")])
size = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
torch.manual_seed(0)
a, b = (torch.randn(size, size, device="cuda") for _ in range(2))
for _ in range(REPEATS):
    product = extension.matmul(a.relu(), b)
expected = torch.matmul(a.relu().double(), b.double()).float()
error = (product - expected).abs().max().item()
print(f"largest error: {error:.2e}")
sys.exit(error > 1e-4 * size)
