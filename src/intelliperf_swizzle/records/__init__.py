# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The nouns that rooms hand to each other; frozen, with the unit in the field's name."""

from intelliperf_swizzle.records.attempts import *
from intelliperf_swizzle.records.launches import *
from intelliperf_swizzle.records.quantities import *
from intelliperf_swizzle.records.runs import *
