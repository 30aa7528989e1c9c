# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces swizzled kernels and compares with the originals; in a child process of `validate`.

Program `p` of the swizzled kernel must touch what program `tile[p]` of the original touches: kinds
of access, cache lines and their sectors, in order. It may read the number that the launch gave it
in the inserted block alone, also if the number decides only what is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from intelliperf_swizzle.errors import TraceError, ValidationError
from intelliperf_swizzle.frontends.triton.tracing.execute import (
    kernel_of,
    make_live,
    record_accesses,
)
from intelliperf_swizzle.frontends.triton.validate.request import Request
from intelliperf_swizzle.frontends.triton.walk.batch import NotKnownError
from intelliperf_swizzle.records import Trace
from intelliperf_swizzle.trace.difference import access_difference


def compare_traces(launches: Sequence[tuple[Request, Trace]], folder: Path) -> Iterator[str | None]:
    """For each launch, with its trace, the first difference in words, None if there is none.

    Raises:
        ValidationError: the swizzled kernel cannot be traced.
    """
    for request, original in launches:
        launch = request.launch
        try:
            stray = stray_read(request)
            live = make_live(launch, kernel_of(launch, request.edits), whole=False)
            trace, _ = record_accesses(launch, live)
        except NotKnownError as refusal:
            raise ValidationError(f"the swizzled kernel cannot be traced: {refusal}") from refusal
        except TraceError as error:
            yield f"the swizzled kernel fails: {error.fact}"
        else:
            yield stray or access_difference(original, trace, request.tile)


def stray_read(request: Request) -> str | None:
    """Where the swizzled kernel reads its program id outside of the inserted blocks, in words.

    In the blocks, the number of programs is put in the place of the program id: whatever read of it
    is then left in the IR is another one, also one in a library that is called.
    """
    edits = dict(request.edits)
    for probe in request.probes:
        lines = edits[probe.key].splitlines(keepends=True)
        inside = range(probe.lines.start - 1, probe.lines.stop - 1)
        edits[probe.key] = "".join(
            line.replace("program_id", "num_programs") if at in inside else line
            for at, line in enumerate(lines)
        )
    if edits == request.edits:
        return None
    kernel = kernel_of(request.launch, edits)
    for function in kernel.functions:
        for op in function.walk():
            if op.name == "tt.get_program_id":
                place = kernel.line(op)
                return f"`{function.symbol}` reads the program id that the launch gives it: {place}"
    return None
