# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""attn-gym: gated and key-wise delta rules as a server runs them, and their norm."""

from __future__ import annotations

import torch
from attn_gym.linear import gdn, kda, l2norm
from calls import DEVICE, call, half, single
from torch.nn import functional

BATCH, TOKENS, HEADS, WIDE = 1, 2048, 8, 128
plain = [single(BATCH, TOKENS, HEADS, WIDE, grad=False) for _ in range(3)]
query, key, value = (functional.normalize(tensor, dim=-1).bfloat16() for tensor in plain)
gate = functional.logsigmoid(single(BATCH, TOKENS, HEADS, grad=False))
wide_gate = functional.logsigmoid(single(BATCH, TOKENS, HEADS, WIDE, grad=False)).bfloat16()
beta = torch.rand(BATCH, TOKENS, HEADS, device=DEVICE)
state = single(BATCH, HEADS, WIDE, WIDE, grad=False)
with torch.no_grad():
    for rule, decay in ((gdn.recurrent_gdn, gate), (kda.recurrent_kda, wide_gate)):
        call(rule.__name__, rule, query, key, value, decay, beta)
        call(f"{rule.__name__}, state", rule, query, key, value, decay, beta, state,
             output_final_state=True)  # fmt: skip
        call(f"{rule.__name__}, bfloat16", rule, query, key, value, decay, beta.bfloat16())
    call("l2norm", l2norm, query)
call("l2norm, backward", l2norm, half(BATCH, TOKENS, HEADS, WIDE))
