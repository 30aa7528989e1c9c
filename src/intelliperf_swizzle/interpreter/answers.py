# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether a kernel uses what an atomic operation returns."""

from __future__ import annotations

import dis
import sys
from functools import cache
from types import CodeType, FrameType

from intelliperf_swizzle.interpreter.render import PACKAGE


def answer_is_used() -> bool:
    """Whether the kernel takes the result of the operation that it is executing.

    It does not where Python drops the result at once, as for a call that is a statement. To be
    called while the operation is carried out; true where no kernel is.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not frame.f_globals.get("__name__", "").startswith(PACKAGE):
        frame = frame.f_back
    return frame is None or not _is_dropped(frame.f_code, frame.f_lasti)


@cache
def _is_dropped(code: CodeType, offset: int) -> bool:
    """Whether what follows the instruction at an offset, or in the caches behind it, drops it."""
    following = (one for one in dis.get_instructions(code) if one.offset > offset)
    return next(following).opname == "POP_TOP"
