# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: each launch is written down once, and counted whenever it is made.

To know it again costs some microseconds.
"""

import os
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.triton.capture import sources
from intelliperf_swizzle.frontends.triton.capture.calls import BoundCall, Call
from intelliperf_swizzle.frontends.triton.capture.counts import LaunchCounts
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch, base_of, describe
from intelliperf_swizzle.frontends.triton.capture.execution import deciding
from intelliperf_swizzle.frontends.triton.capture.settings import MOST_VARIANTS, Execution
from intelliperf_swizzle.frontends.triton.capture.store import Store, digests
from intelliperf_swizzle.frontends.triton.capture.tuning import choices
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
        looks: how often their integers have been read.
        records: by the digests of these; of those without any, there is one.
        integers: whether they have some.
        unseen: the record of those that were not read.
        copies: what their integers held at the last look, to be compared on the GPU from then on.
        changed: whether they have held something else since; a tensor, which nobody waits for.
        refused: whether they cannot be recorded.
    """

    looks: int = 0
    records: dict[tuple[str, ...], RecordedLaunch] = field(default_factory=dict)
    integers: bool = False
    unseen: RecordedLaunch | None = None
    copies: dict[int, torch.Tensor] = field(default_factory=dict)
    changed: torch.Tensor | None = None
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
        self._counters: dict[str, int] = {}
        self._kinds: dict[Hashable, LaunchKind] = {}
        os.register_at_fork(after_in_child=self._begin_again)

    def _begin_again(self) -> None:
        """The child of a fork has skipped no launch yet, and its GPU compares nothing."""
        for kind in self._kinds.values():
            kind.unseen, kind.changed = None, None
            kind.copies.clear()

    def kind(self, bound: BoundCall) -> LaunchKind:
        """The kind of a launch."""
        key = bound.name, identity(bound.call)
        return self._kinds.setdefault(key, LaunchKind())

    def count(self, record: RecordedLaunch, again: Callable[[], object] | None) -> None:
        """One launch more; a replay of the graph that it goes into makes it `again`."""
        self._counts.count(record.counter, again)

    def look(self, bound: BoundCall, kind: LaunchKind) -> tuple[DescribedLaunch, RecordedLaunch]:
        """The launch, and its record, which is on disk now.

        Raises:
            UnreadableKernelError, OSError: it cannot be recorded.
        """
        self._counts.watch()
        live = describe(bound.call)
        held = {number: live.contents(number) for number in deciding(bound.ttir, live)}
        kind.looks += 1
        kind.integers = bool(held)
        known = digests(live, held)
        key = tuple(known.get(number, "") for number in held)
        if key not in kind.records:
            kind.records[key] = self._write(bound, live, {n: held[n] for n in known}, key)
        follows = any(storage.address is not None for storage in live.launch.storages.values())
        if kind.looks > MOST_VARIANTS and len(kind.records) == 1 and not follows:
            kind.copies = {number: live.memory[number].clone() for number in held}
        return live, kind.records[key]

    def skip(self, bound: BoundCall, kind: LaunchKind, *, compare: bool) -> RecordedLaunch:
        """The record of launches of a kind whose integers are not read.

        Args:
            bound: the launch.
            kind: of it.
            compare: whether the GPU may compare them with what they held at the last look.
        """
        live = describe(bound.call, look=False)
        if kind.unseen is None:
            kind.unseen = self._write(bound, live, {}, None)
            journal.write(self._folder, "unseen", record=kind.unseen.name)
        if not compare:
            kind.copies.clear()
        for number, copy in kind.copies.items():
            differs = (live.memory[number] != copy).any()
            kind.changed = differs if kind.changed is None else kind.changed | differs
        return kind.unseen

    def tell_same(self) -> None:
        """Reports which launches whose integers were not read turned out to be the same."""
        for kind in self._kinds.values():
            if kind.unseen and kind.changed is not None and kind.copies and not kind.changed:
                (known,) = kind.records.values()
                journal.write(self._folder, "same", record=kind.unseen.name, known=known.name)

    def _write(
        self, bound: BoundCall, live: DescribedLaunch, held: dict[int, UInt8Array],
        key: tuple[str, ...] | None,
    ) -> RecordedLaunch:  # fmt: skip
        tensors = tuple(name for name, _ in live.launch.tensors())
        live = replace(live, launch=replace(live.launch, **choices(bound.call, tensors)))
        name, new = self._store.keep(live, held, key, bound)
        if name not in self._counters:
            self._counters[name] = self._counts.counter(name)
        if new:
            self._uses.tell_new()
            journal.write(self._folder, "new", record=name)
        return RecordedLaunch(name, self._counters[name], new)

    def refuse(self, bound: BoundCall, kind: LaunchKind, error: Exception) -> None:
        """Tells that a launch cannot be recorded, and why."""
        kind.refused = True
        kernel, usage = bound.call.kernel.fn.__name__, isinstance(error, sources.NotUtf8Error)
        sentence = f"`{kernel}` was not recorded: {error}"
        journal.write(self._folder, "refused", kernel=kernel, text=sentence, usage=usage)


# --- what distinguishes launches -----------------------------------------------------------------


_PLAIN = frozenset({int, float, bool, str, type(None)})


def identity(call: Call) -> Hashable:
    """Equal for calls that differ at most in what their tensors hold, and where they lie.

    Looks at the types, shapes, strides and sharing of tensors, and at all other values.
    """
    tensors: list[Any] = []
    values = _look_into((*call.args, *call.kwargs.values()), tensors)
    seen: list[object] = []
    storages: list[tuple[int, int]] = []
    for tensor in tensors:
        storage = tensor.untyped_storage()
        storages.append((storage.data_ptr(), storage.nbytes()))
        seen += (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset())
    return call.kernel.fn, call.grid, *call.kwargs, values, *seen, *_shared(storages)


def _shared(storages: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Of each storage its bytes, the first that it overlaps with, and how far their begin is."""
    pieces: dict[int, int] = {}
    piece = end = 0
    for begin, size in sorted(storages):
        piece = begin if begin >= end else piece
        pieces[begin], end = piece, max(end, begin + size)
    order = [pieces[begin] for begin, _ in storages]
    for (begin, size), piece in zip(storages, order, strict=True):
        yield size, order.index(piece), begin - piece


def _look_into(value: Any, tensors: list[Any]) -> Hashable:
    """What distinguishes a value from others of its type; the tensors in it are listed."""
    if type(value) in _PLAIN:
        return value  # type: ignore[no-any-return]
    if hasattr(value, "storage_offset"):
        tensors.append(value)
        return None
    if hasattr(value, "block_shape") and hasattr(value, "base"):  # a descriptor
        extents = (*value.shape, *value.strides, *value.block_shape)
        return (*map(str, extents), _look_into(value.base, tensors))
    if hasattr(value, "data_ptr"):  # a tensor seen in another way
        base = base_of(value)
        sizes = (*getattr(value, "shape", ()), *getattr(value, "stride", lambda: ())())
        ahead = value.data_ptr() - base.data_ptr()
        return (str(value.dtype), sizes, ahead, _look_into(base, tensors))
    if isinstance(value, (tuple, list)):
        return tuple([(type(item), _look_into(item, tensors)) for item in value])
    if sources.is_jit_function(value):
        return sources.python_function(value)
    return repr(value)
