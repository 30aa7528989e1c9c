# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs as functions; `from intelliperf_swizzle import optimize, score, prove`.

Each does what the command of its name does, with the same defaults and the same errors, and prints
nothing. Environment variables of options are not read.
"""

from intelliperf_swizzle.api.applications import Score, explain, optimize, score
from intelliperf_swizzle.api.finished import Run
from intelliperf_swizzle.api.given import AnySwizzle, AnyTarget, loaded_target
from intelliperf_swizzle.api.permutation import prove
from intelliperf_swizzle.frontends.triton.source_proofs import prove_source

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
