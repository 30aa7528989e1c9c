# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""attn-gym: linear and sparse attention."""

from __future__ import annotations

import torch
from attn_gym import linear, sparse
from calls import DEVICE, by_name, half, single
from torch.nn import functional

BATCH, LENGTH, HEADS, WIDTH = 1, 2048, 8, 128
KNOWN = {
    **dict.fromkeys(
        ("q", "k"), lambda: functional.normalize(half(BATCH, LENGTH, HEADS, WIDTH), dim=-1)
    ),
    "v": lambda: half(BATCH, LENGTH, HEADS, WIDTH),
    "g": lambda: functional.logsigmoid(single(BATCH, LENGTH, HEADS)),
    "beta": lambda: single(BATCH, LENGTH, HEADS).sigmoid(),
    "x": lambda: half(BATCH, LENGTH, HEADS * WIDTH),
    "weight": lambda: half(HEADS * WIDTH, 4),
    "query": lambda: half(BATCH, HEADS, LENGTH, WIDTH),
    "indices": lambda: torch.randint(LENGTH, (BATCH, LENGTH, 64), device=DEVICE),
}
deep = {"g": lambda: functional.logsigmoid(single(BATCH, LENGTH, HEADS, WIDTH))}
for package in (linear, sparse):
    for name in dir(package):
        operator = getattr(package, name, None)
        if callable(operator) and not isinstance(operator, type) and not name.startswith("_"):
            by_name(name, operator, {**KNOWN, **(deep if "kda" in name else {})})
