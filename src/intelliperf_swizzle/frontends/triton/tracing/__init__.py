# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A launch interpreted in a child process."""

from intelliperf_swizzle.frontends.child_processes import ChildTracer
from intelliperf_swizzle.frontends.triton.walk import CHILD_ENVIRONMENT

_TRACER = ChildTracer(f"{__name__}.execute", CHILD_ENVIRONMENT)
trace, trace_each, find_dependences = _TRACER.trace, _TRACER.trace_each, _TRACER.find_dependences
