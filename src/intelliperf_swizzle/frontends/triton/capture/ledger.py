# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: each launch is written down once, and counted whenever it is made."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.triton.capture.calls import Call
from intelliperf_swizzle.frontends.triton.capture.counts import LaunchCounts
from intelliperf_swizzle.frontends.triton.capture.describe import describe, host_bytes
from intelliperf_swizzle.frontends.triton.capture.graphs import Graphs
from intelliperf_swizzle.frontends.triton.capture.identity import Identified, Identity
from intelliperf_swizzle.frontends.triton.capture.settings import Execution
from intelliperf_swizzle.frontends.triton.capture.sources import NotUtf8Error, UnreadableKernelError
from intelliperf_swizzle.frontends.triton.capture.store import MOST_LAUNCHES, Store, digest
from intelliperf_swizzle.frontends.triton.capture.uses import Uses
from intelliperf_swizzle.records import Grid, UInt8Array

if TYPE_CHECKING:
    from collections.abc import Hashable


@dataclass
class RecordedLaunch:
    """A launch on disk.

    Attributes:
        name: of its file.
        counter: of `LaunchCounts`.
        grid: programs along the three axes.
        reach: first address and address after the last byte of its storages, if it follows
            pointers.
        execution: of its first launch, under the interpreter.
    """

    name: str
    counter: int
    grid: Grid
    reach: tuple[tuple[int, int], ...] = ()
    execution: Execution | None = None


@dataclass
class LaunchKind:
    """Launches that differ at most in what their tensors hold.

    Attributes:
        integers: which tensors of the call (`Identified`) show each storage of integers.
        records: by the digests of these storages.
        last: the record of the last launch that was looked at; None if there cannot be one.
        looks: how often the integers have been looked at.
    """

    integers: tuple[int, ...] = ()
    records: dict[tuple[str, ...], RecordedLaunch] = field(default_factory=dict)
    last: RecordedLaunch | None = None
    looks: int = 0


class Ledger:
    """The launches of one process.

    Args:
        folder: of the capture.
        uses: of the process's jit functions.
        refusal: what is said of a kernel that cannot be recorded: `was not recorded`.
    """

    def __init__(self, folder: Path, uses: Uses, refusal: str) -> None:
        self._folder = folder
        self._uses = uses
        self._refusal = refusal
        self._store = Store(folder)
        self._counts = LaunchCounts(folder)
        self._graphs = Graphs(self._counts.add)
        self._counters: dict[str, int] = {}
        self._crowded: set[str] = set()
        self._lock = threading.Lock()
        self._kinds: dict[Hashable, LaunchKind] = {}
        self.identify = Identity()

    def kind(self, found: Identified) -> LaunchKind | None:
        """The kind of a call, None if it is the first."""
        return self._kinds.get(found.key)

    def count(self, record: RecordedLaunch) -> None:
        """One launch more."""
        self._graphs.count(record.counter)

    def look_up(self, kind: LaunchKind, held: Sequence[UInt8Array]) -> RecordedLaunch | None:
        """The record of a launch of a known kind; None if its integers are new.

        Args:
            kind: that has records.
            held: what its integers hold.
        """
        kind.looks += 1
        if record := kind.records.get(tuple(map(digest, held))):
            kind.last = record
        return record

    def write(self, call: Call, found: Identified) -> tuple[LaunchKind, bool]:
        """The kind of a launch that is not known, and whether it is new to all processes, too.

        `last` is its record; there is none if the launch is empty or cannot be recorded.
        """
        self._graphs.watch()
        with self._lock:
            kind = self._kinds.get(found.key) or LaunchKind()
            try:
                return kind, self._write(call, found, kind)
            except (UnreadableKernelError, OSError) as error:
                self._kinds[found.key] = kind
                sentence = f"`{call.kernel.fn.__name__}` {self._refusal}: {error}"
                usage = isinstance(error, NotUtf8Error)
                journal.write(self._folder, "refused", text=sentence, usage=usage)
                return kind, False

    def _write(self, call: Call, found: Identified, kind: LaunchKind) -> bool:
        live = describe(call)
        if not live.launch.programs:  # Triton launches nothing then, and says nothing
            self._kinds[found.key] = kind
            return False
        held = {number: live.recorded(number) for number in sorted(live.integers)}
        name, seen = self._store.keep(live, held)
        if name not in self._counters:
            self._counters[name] = self._counts.counter(name)
        kind.last = RecordedLaunch(name, self._counters[name], live.launch.grid, live.reach)
        starts = [tensor.untyped_storage().data_ptr() for tensor in found.tensors]
        places = [live.memory[number].data_ptr() for number in held]
        kind.integers = tuple(starts.index(one) for one in places if one in starts)
        if seen == "crowded":  # too many to remember them
            self._caution_crowd(call.kernel.fn.__name__)
            return False
        kind.records[tuple(map(digest, integers(kind, found)))] = kind.last
        self._kinds[found.key] = kind  # another thread sees it when it is complete
        if seen == "again":
            return False
        self._uses.tell()
        journal.write(self._folder, seen, record=name)
        return True

    def _caution_crowd(self, kernel: str) -> None:
        if kernel not in self._crowded:
            self._crowded.add(kernel)
            sentence = (
                f"`{kernel}` was launched with more than {MOST_LAUNCHES} different arguments on a"
                " grid: further ones are counted, as the last that was recorded"
            )
            journal.write(self._folder, "caution", text=sentence)


def integers(kind: LaunchKind, found: Identified) -> list[UInt8Array]:
    """What the kind's storages of integers hold: live views of host memory, or copies."""
    return [host_bytes(found.tensors[at].untyped_storage()) for at in kind.integers]
