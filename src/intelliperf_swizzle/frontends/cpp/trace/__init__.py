# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The memory that each workgroup touches: slices, interpreted or executed."""

from intelliperf_swizzle.frontends.child_processes import ChildTracer

_TRACER = ChildTracer(f"{__name__}.trace_slices", {})
trace, trace_each, find_dependences = _TRACER.trace, _TRACER.trace_each, _TRACER.find_dependences
