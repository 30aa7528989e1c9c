# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: each launch is written down once, and counted whenever it is made."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path

from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.triton.capture.addresses import canonical
from intelliperf_swizzle.frontends.triton.capture.calls import BoundCall
from intelliperf_swizzle.frontends.triton.capture.counts import LaunchCounts
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch, describe
from intelliperf_swizzle.frontends.triton.capture.graphs import Graphs
from intelliperf_swizzle.frontends.triton.capture.identity import Identity
from intelliperf_swizzle.frontends.triton.capture.settings import Execution
from intelliperf_swizzle.frontends.triton.capture.sources import NotUtf8Error, UnreadableKernelError
from intelliperf_swizzle.frontends.triton.capture.store import Store, digest
from intelliperf_swizzle.frontends.triton.capture.uses import Uses
from intelliperf_swizzle.records import UInt8Array


@dataclass
class RecordedLaunch:
    """A launch on disk.

    Attributes:
        name: of its file.
        counter: of `LaunchCounts`.
        new: whether no process had seen it before.
        execution: of its first launch, without a GPU.
    """

    name: str
    counter: int
    new: bool
    execution: Execution | None = None


@dataclass
class LaunchKind:
    """Launches that differ at most in what their memory holds, and where it lies.

    Attributes:
        looks: how often their integers have been looked at.
        records: by the digests of these; of those without any, there is one.
        integers: whether they have some.
        unseen: the record of those that were not looked at.
        refused: whether they cannot be recorded.
    """

    looks: int = 0
    records: dict[tuple[str, ...], RecordedLaunch] = field(default_factory=dict)
    integers: bool = False
    unseen: RecordedLaunch | None = None
    refused: bool = False


class Ledger:
    """The launches of one process.

    Args:
        folder: of the capture.
        uses: of the process's jit functions.
    """

    def __init__(self, folder: Path, uses: Uses) -> None:
        self._folder = folder
        self._uses = uses
        self._store = Store(folder)
        self._counts = LaunchCounts(folder)
        self._graphs = Graphs(self._counts.add)
        self._counters: dict[str, int] = {}
        self._kinds: dict[Hashable, LaunchKind] = {}
        self._identify = Identity()

    def kind(self, bound: BoundCall) -> LaunchKind:
        """The kind of a launch."""
        key = bound.name, self._identify(bound.call)
        return self._kinds.setdefault(key, LaunchKind())

    def count(self, record: RecordedLaunch) -> None:
        """One launch more."""
        self._graphs.count(record.counter)

    def look(self, bound: BoundCall, kind: LaunchKind) -> tuple[DescribedLaunch, RecordedLaunch]:
        """The launch, and its record, which is on disk now.

        Raises:
            UnreadableKernelError, OSError: it cannot be recorded.
        """
        self._graphs.watch()
        live = describe(bound.call)
        held = {number: live.contents(number) for number in live.integers}
        kind.looks += 1
        kind.integers = bool(held)
        key = tuple(digest(canonical(live.launch, one)) for one in held.values())
        if key not in kind.records:
            kind.records[key] = self._write(bound, live, held, key)
        return live, kind.records[key]

    def skip(self, bound: BoundCall, kind: LaunchKind) -> RecordedLaunch:
        """The record of launches of a kind whose integers are not looked at."""
        if kind.unseen is None:
            kind.unseen = self._write(bound, describe(bound.call, look=False), {}, None)
        return kind.unseen

    def _write(
        self, bound: BoundCall, live: DescribedLaunch, held: dict[int, UInt8Array],
        key: tuple[str, ...] | None,
    ) -> RecordedLaunch:  # fmt: skip
        name, seen = self._store.keep(live, held, key, bound)
        if name not in self._counters:
            self._counters[name] = self._counts.counter(name)
        new = seen != "again"
        if new:
            self._uses.tell_new()
            journal.write(self._folder, seen, record=name)
        return RecordedLaunch(name, self._counters[name], new)

    def refuse(self, bound: BoundCall, kind: LaunchKind, error: Exception) -> None:
        """Tells that a launch cannot be recorded, and why."""
        kind.refused = True
        sentence = f"`{bound.call.kernel.fn.__name__}` was not recorded: {error}"
        usage = isinstance(error, NotUtf8Error)
        journal.write(self._folder, "refused", text=sentence, usage=usage)


REFUSALS = (UnreadableKernelError, OSError)
"""Why a launch cannot be recorded."""
