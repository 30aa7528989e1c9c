# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Loops in which the programs of a launch take tiles by a number, one after another.

`find` judges the loops of the kernel's IR and computes which program takes which number;
`candidates` proposes names from the text, and `names` takes those that the IR says are the number
of a tile, or where numbers end.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from intelliperf_swizzle.children import call_each
from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.triton.tile_loops.candidates import LoopScan, find_candidates
from intelliperf_swizzle.frontends.triton.walk import CHILD_ENVIRONMENT
from intelliperf_swizzle.language.grammar import PARSING
from intelliperf_swizzle.records import Launch

SECONDS = 600.0
"""What the launches of one kernel may take together."""


def with_loops(
    launches: Sequence[Launch], name: str | None, *, alike: bool = True
) -> tuple[tuple[Launch, ...], tuple[str, ...]]:
    """As `ports.TileLoops`; costs a child process where the kernel has a loop."""
    plain = tuple(replace(launch, loop=None) for launch in launches)
    found = False
    with PARSING, suppress(SpliceError):
        found = any(map(find_candidates, plain))
    if not found:
        return plain, ()
    seen: list[LoopScan]
    seen, _ = call_each(
        "intelliperf_swizzle.frontends.triton.tile_loops.find:find_here",
        (plain, name),
        environment=CHILD_ENVIRONMENT,
        limit_seconds=SECONDS,
    )
    reasons = tuple(dict.fromkeys(reason for scan in seen for reason in scan.reasons))
    loops = [scan.loop for scan in seen]
    forms = {loop and (loop.line, loop.count, loop.counters) for loop in loops}
    several = any(loop.turn.any() for loop in loops if loop)  # else each program takes one
    if len(loops) < len(plain) or (alike and (len(forms) > 1 or not several)):
        return plain, reasons
    return tuple(
        replace(launch, loop=loop) for launch, loop in zip(plain, loops, strict=True)
    ), reasons
