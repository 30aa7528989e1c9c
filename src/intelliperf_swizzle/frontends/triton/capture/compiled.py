# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, on a GPU: each kind of launch is written down once, and all are counted.

A launch like one before costs a look at its arguments, some microseconds of the host. Integers are
copied from the GPU for the first launches of a kind only.
"""

from __future__ import annotations

from pathlib import Path

from intelliperf_swizzle.codec import encode
from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.triton.capture.calls import Call
from intelliperf_swizzle.frontends.triton.capture.graphs import is_capturing
from intelliperf_swizzle.frontends.triton.capture.identity import Identified
from intelliperf_swizzle.frontends.triton.capture.ledger import (
    LaunchKind,
    Ledger,
    RecordedLaunch,
    integers,
)
from intelliperf_swizzle.frontends.triton.capture.settings import Execution
from intelliperf_swizzle.frontends.triton.capture.store import MOST_VARIANTS
from intelliperf_swizzle.frontends.triton.capture.uses import Uses


class CompiledRecorder:
    """Writes down what a process launches on its GPU.

    Args:
        folder: of the capture.
        uses: of the process's jit functions.
    """

    def __init__(self, folder: Path, uses: Uses) -> None:
        self._folder = folder
        self._ledger = Ledger(folder, uses, "was not recorded")
        self._cautions: set[str] = set()

    def launch(self, call: Call) -> None:
        """Looks at one call before it is made."""
        found = self._ledger.identify(call)
        kind = self._ledger.kind(found)
        if kind is not None and not (kind.integers and kind.looks <= MOST_VARIANTS):
            record = kind.last
        elif is_capturing():  # nothing may be copied now
            record = kind.last if kind else None
            if kind is None:
                self.caution(
                    f"launches of `{call.kernel.fn.__name__}` that come from a CUDA graph only are"
                    " missing"
                )
        else:
            record = self._look(call, found, kind)
        if record is not None:
            self._ledger.count(record)

    def _look(
        self, call: Call, found: Identified, kind: LaunchKind | None
    ) -> RecordedLaunch | None:
        """The record of a launch that may be new."""
        if kind is not None:
            record = self._ledger.look_up(kind, integers(kind, found))
            if kind.looks > MOST_VARIANTS and len(kind.records) > 1:
                self.caution(
                    f"the integer tensors of `{call.kernel.fn.__name__}` were read at"
                    f" {MOST_VARIANTS + 1} launches of a kind: later ones count as the last of them"
                )
            if record is not None:
                return record
        kind, new = self._ledger.write(call, found)
        if new and kind.last:
            execution = encode(Execution(computed=True, seconds=None))
            journal.write(self._folder, "ran", record=kind.last.name, **execution)
        return kind.last

    def caution(self, sentence: str) -> None:
        """Tells once what is missing or doubtful."""
        if sentence not in self._cautions:
            self._cautions.add(sentence)
            journal.write(self._folder, "caution", text=sentence)
