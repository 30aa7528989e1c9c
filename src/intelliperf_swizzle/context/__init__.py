# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The hardware-aware context: what a performance engineer would want to know of a kernel.

Everything is computed from the launch, its trace, the target and the measurements; nothing is
guessed. Structured first (`hardware_context`), in words second (`render`).
"""

from intelliperf_swizzle.context.locality import hardware_context
from intelliperf_swizzle.context.record import HardwareContext
from intelliperf_swizzle.context.sections import COUNTERS, SECTIONS, readings, render
