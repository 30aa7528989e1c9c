# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces swizzled kernels and compares with the originals; in a child process of `validate`.

Program `p` of the swizzled kernel must touch what program `tile[p]` of the original touches: kinds
of access, cache lines and their sectors, in order. It may read the number that the launch gave it
in the inserted block alone, also if the number decides only what is computed.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

import numpy as np
import triton.runtime.interpreter as triton_interpreter

from intelliperf_swizzle.errors import ValidationError
from intelliperf_swizzle.frontends.triton.interpreter.batched import NotBatchableError, Origins
from intelliperf_swizzle.frontends.triton.interpreter.blocks import Array
from intelliperf_swizzle.frontends.triton.interpreter.revive import LiveLaunch, revive
from intelliperf_swizzle.frontends.triton.ir.render import PACKAGE
from intelliperf_swizzle.frontends.triton.tracing.interpret import record_accesses
from intelliperf_swizzle.frontends.triton.validate.request import Request
from intelliperf_swizzle.records import Int64Array, Trace
from intelliperf_swizzle.trace.difference import access_difference


def compare_traces(launches: Sequence[tuple[Request, Trace]], folder: Path) -> Iterator[str | None]:
    """For each launch, with its trace, the first difference in words, None if there is none.

    Raises:
        ValidationError: the swizzled kernel cannot be traced.
    """
    for request, original in launches:
        live = revive(request.launch, folder, edits=request.marked or request.edits)
        reads = NumberReads(_blocks(live, request)) if request.probes else Origins()
        numbers = _NumberCheck(request.tile[: request.launch.tiles])
        try:
            trace, _, _ = record_accesses(live, reads, numbers.check)
        except NotBatchableError as refusal:
            fact = f"the swizzled kernel cannot be traced: {refusal.reason}"
            raise ValidationError(fact) from refusal
        except Exception as error:
            words = " ".join(str(error).split())[:200]
            yield f"the swizzled kernel fails: {type(error).__name__}: {words}"
        else:
            stray = reads.stray if isinstance(reads, NumberReads) else numbers.difference
            yield stray or access_difference(original, trace, request.tile)


class _NumberCheck:
    """Compares the numbers that the edited text computes in a loop with those that were proved.

    Attributes:
        difference: the first one in words, None if there is none.
    """

    def __init__(self, tile: Int64Array) -> None:
        self._tile = tile
        self.difference: str | None = None

    def check(self, counter: int, *values: Int64Array) -> None:
        """A counter's number and the new one, of each program or one for all."""
        if len(values) != 2:
            return
        active = triton_interpreter.interpreter_builder.active  # others have left the loop
        number, new, active = np.broadcast_arrays(*values, active)
        inside = active & (number >= 0) & (number < len(self._tile))
        wrong = inside & (self._tile[np.where(inside, number, 0)] != new)
        for at in np.flatnonzero(wrong)[:1]:
            self.difference = self.difference or (
                f"the emitted code gives number {number[at]} the tile {new[at]}, the proof "
                f"{self._tile[number[at]]}"
            )


class NumberReads(Origins):
    """Watches where the kernel's text reads program ids.

    Args:
        blocks: file -> the lines of the inserted block in it.

    Attributes:
        stray: in words, the first read elsewhere; also one in a library that is called there.
    """

    def __init__(self, blocks: Mapping[str, range]) -> None:
        self._blocks = blocks
        self.stray: str | None = None

    def program_id(self, axis: int, values: Array) -> int:
        """Notes a read outside of the blocks; no bits."""
        frame: FrameType | None = sys._getframe(1)
        while frame and PACKAGE not in frame.f_code.co_filename:
            frame = frame.f_back
        file, line, name = "", 0, "?"
        if frame:
            file, line, name = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        if line not in self._blocks.get(file, ()):
            self.stray = self.stray or f"`{name}` reads the program id that the launch gives it"
        return 0


def _blocks(live: LiveLaunch, request: Request) -> dict[str, range]:
    """Where the inserted blocks are in the rendered files: there, one decorator stands before."""
    blocks = {}
    for one in request.probes:
        code = live.functions[one.key].fn.__code__
        moved = code.co_firstlineno + 1 - ast.parse(request.edits[one.key]).body[0].lineno
        blocks[code.co_filename] = range(one.lines.start + moved, one.lines.stop + moved)
    return blocks
