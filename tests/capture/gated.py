# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The text of a kernel whose tiles depend on each other if a tensor says so."""

GATED = """@triton.jit
def gated(w, gate):
    at = w + tl.program_id(0)
    if tl.load(gate) > 0:
        tl.store(at + 1, tl.load(at))
    tl.store(at, 1)
"""
