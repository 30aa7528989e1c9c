# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""mlstm-kernels: the mLSTM of xLSTM, in parallel, by chunks and step by step."""

from __future__ import annotations

from calls import call, half, single
from mlstm_kernels.torch import get_available_mlstm_kernels, get_mlstm_kernel
from mlstm_kernels.torch.recurrent import registry_sequence, registry_step

for name in get_available_mlstm_kernels():
    if "triton" in name:
        width = 64 if "limit" in name else 256
        parts = [half(2, 4, 1024, width) for _ in range(3)]
        call(name, get_mlstm_kernel(name), *parts, single(2, 4, 1024), single(2, 4, 1024))
for name, sequence in registry_sequence.items():
    if "triton" in name:
        parts = [half(1, 4, 8, 128, grad=False) for _ in range(3)]
        gates = [single(1, 4, 8, grad=False) for _ in range(2)]
        call(name, sequence, *parts, *gates)
for name, step in registry_step.items():
    if "triton" in name:
        parts = [half(8, 4, 256, grad=False) for _ in range(3)]
        gates = [single(8, 4, 1, grad=False) for _ in range(2)]
        state = [single(8, 4, *s, grad=False) for s in ((256, 256), (256,), (1,))]
        call(name, step, *parts, *gates, *state)
