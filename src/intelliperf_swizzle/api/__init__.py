# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs as functions; `from intelliperf_swizzle import optimize, score, prove`.

Each does what the command of its name does, with the same defaults and the same errors, and prints
nothing. Environment variables of options are not read.
"""

from intelliperf_swizzle.api.given import AnySwizzle, AnyTarget, loaded_target
from intelliperf_swizzle.api.proofs import prove, prove_source
from intelliperf_swizzle.api.runs import Run, Score, explain, optimize, score

__all__ = [
    "AnySwizzle",
    "AnyTarget",
    "Run",
    "Score",
    "explain",
    "loaded_target",
    "optimize",
    "prove",
    "prove_source",
    "score",
]
