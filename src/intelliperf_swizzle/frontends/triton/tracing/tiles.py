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
    first = entry.first_line - 1
    place = (entry.file, first + launch.loop.line)
    for op in kernel.ops():
        if op.name in ("scf.for", "scf.while") and kernel.place(op) == place:
            number = _number(kernel, op, launch.loop.name, first + launch.loop.counters[0].line)
            if number is not None:
                return op, number
    raise TraceError(f"the loop at line {place[1]} is not in the IR of {launch.kernel}")


def _number(kernel: Kernel, loop: Op, name: str, read_from: int) -> str | None:
    """The value that a variable holds in a loop's body before the line from which it is read."""
    body = loop.regions[-1][0]
    for value in body.args:
        if re.fullmatch(rf"%{re.escape(name)}(_\d+|'\d+)*", value):
            return value
    made = [
        op.results[0]
        for op in body.ops
        if op.results and kernel.name(op) == name and (kernel.place(op) or ("", 0))[1] < read_from
    ]
    return made[-1] if made else None
