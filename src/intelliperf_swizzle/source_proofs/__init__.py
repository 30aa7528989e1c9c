# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The remap that a kernel's own source computes from its program ids: is it a permutation?

`watched` makes the source tell its scalars; `watching` runs it in batches (`child`), `written`
keeps who stores each element; `judge` draws the verdict.
"""

from intelliperf_swizzle.source_proofs.judge import RemapVerdict
from intelliperf_swizzle.source_proofs.parent import launches_of, prove_launches, prove_source
from intelliperf_swizzle.source_proofs.words import described

__all__ = ["RemapVerdict", "described", "launches_of", "prove_launches", "prove_source"]
