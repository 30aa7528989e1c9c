# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Swizzle and grid to mapping: the proof that it is a permutation, or the witness against it."""

from intelliperf_swizzle.mapping.permutation import condition, describe, prove, refusal
from intelliperf_swizzle.mapping.sizes import LONGEST, certify, conditional, extend
