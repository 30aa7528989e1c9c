# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The remap that a kernel's own source computes from its program ids: is it a permutation?

`observe` executes the kernel's IR (`child`), while `stores` notes who stores each element and
`accessed_parts` who accesses which part; `judge` draws the verdict.
"""

from intelliperf_swizzle.frontends.triton.source_proofs.entry_points import (
    launches_of,
    prove_calls,
    prove_source,
)
from intelliperf_swizzle.frontends.triton.source_proofs.judge import RemapVerdict, SizesTried
from intelliperf_swizzle.frontends.triton.source_proofs.parent import cautions, prove_launches
from intelliperf_swizzle.frontends.triton.source_proofs.verdict_text import described

__all__ = [
    "RemapVerdict",
    "SizesTried",
    "cautions",
    "described",
    "launches_of",
    "prove_calls",
    "prove_launches",
    "prove_source",
]
