# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The loop of a launch in which programs take tiles, found in its kernel's IR."""

from __future__ import annotations

import re

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op
from intelliperf_swizzle.records import Launch


def find_tiles(kernel: Kernel, launch: Launch) -> tuple[Op, str] | None:
    """The operation that is `launch.loop`, and the value that is the number of a tile.

    Raises:
        TraceError: there is none in the IR.
    """
    if launch.loop is None:
        return None
    entry = launch.source.entry
    place = (entry.file, entry.first_line + launch.loop.line - 1)
    for op in kernel.ops():
        if op.name in ("scf.for", "scf.while") and kernel.place(op) == place:
            if op.name == "scf.for":
                return op, op.induction
            for value in op.regions[1][0].args:
                if re.fullmatch(rf"%{re.escape(launch.loop.name)}(_\d+|'\d+)*", value):
                    return op, value
    raise TraceError(f"the loop at line {place[1]} is not in the IR of {launch.kernel}")
