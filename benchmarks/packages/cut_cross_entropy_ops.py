# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""cut-cross-entropy: a loss without its logits."""

from __future__ import annotations

import torch
from calls import DEVICE, call, half
from cut_cross_entropy import linear_cross_entropy

targets = torch.randint(32000, (2048,), device=DEVICE)
for options in ({}, {"softcap": 30.0}, {"filter_eps": None}, {"reduction": "none"}):
    inputs = half(2048, 2048), half(32000, 2048), targets
    call(f"{options}", linear_cross_entropy, *inputs, **options)
