# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A kernel as its compiler sees it: Triton's IR (TTIR) of a launch, read in SSA form."""

from collections.abc import Mapping
from pathlib import Path

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel
from intelliperf_swizzle.records import Launch

_MOST_WORDS = 500


def kernel_of(launch: Launch, edits: Mapping[str, str] = {}) -> Kernel:
    """The kernel of a launch, as it was recorded; compiled from its text if that is edited.

    Raises:
        TraceError: it cannot be compiled, or its IR cannot be read.
    """
    try:
        if launch.ttir and not edits:
            return Kernel.parse(Path(launch.ttir).read_text(encoding="utf-8"))
        from intelliperf_swizzle.frontends.triton.ir.compile import ttir_of  # it needs Triton

        return Kernel.parse(ttir_of(launch, edits=edits))
    except Exception as error:  # whatever Triton raises of a kernel; IR of an unknown form
        words = " ".join(str(error).split())[-_MOST_WORDS:]  # the cause stands last
        raise TraceError(f"{launch.kernel} cannot be compiled: {words}") from error


def last_line(error: BaseException) -> str:
    """What Triton says last of an error; it wraps that of a helper in one without words."""
    if error.__cause__ is not None:
        return last_line(error.__cause__)
    return (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()[:200]
