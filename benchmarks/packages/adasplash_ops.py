# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""adasplash: sparse attention by entmax, forward and backward."""

from __future__ import annotations

import adasplash
from calls import call, half, single

heads = (1, 8, 2048, 64)
call("v1", adasplash.adasplash_v1, *(half(*heads) for _ in range(3)))
call("v1, causal", adasplash.adasplash_v1, *(half(*heads) for _ in range(3)), is_causal=True)
call("v2", adasplash.adasplash_v2, *(half(*heads) for _ in range(3)))
call("no block mask", adasplash.adasplash_no_block_mask, *(half(*heads) for _ in range(3)))
call("entmax 1", adasplash.triton_entmax_v1, single(2048, 4096))
call("entmax 2", adasplash.triton_entmax_v2, single(2048, 4096))
call("sparsemax", adasplash.triton_sparsemax, single(2048, 4096))
call("entmax 1.5", adasplash.triton_entmax15, single(2048, 4096))
