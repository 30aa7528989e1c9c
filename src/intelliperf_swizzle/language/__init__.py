# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The swizzle language: a small, total, integer language in Python's syntax."""

from intelliperf_swizzle.language.evaluation import Owners, evaluate
from intelliperf_swizzle.language.grammar import MAX_CHARACTERS, check, parse, parse_family
from intelliperf_swizzle.language.syntax import INPUTS, Family, Swizzle
