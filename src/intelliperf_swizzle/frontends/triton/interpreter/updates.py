# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which atomic operation a kernel executes, and whether it uses what that returns."""

from __future__ import annotations

import dis
import sys
from functools import cache
from types import CodeType, FrameType

from intelliperf_swizzle.frontends.triton.ir.render import PACKAGE
from intelliperf_swizzle.trace.atomics import Update


def current_update() -> Update:
    """The atomic operation that is being carried out, found on the stack."""
    name = ""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not frame.f_globals.get("__name__", "").startswith(PACKAGE):
        called = frame.f_code.co_name
        name = called if called.startswith("atomic_") else name
        frame = frame.f_back
    return Update(name, frame is None or not _is_dropped(frame.f_code, frame.f_lasti))


@cache
def _is_dropped(code: CodeType, offset: int) -> bool:
    """Whether what follows the instruction at an offset, or in the caches behind it, drops it."""
    following = (one for one in dis.get_instructions(code) if one.offset > offset)
    return next(following).opname == "POP_TOP"
