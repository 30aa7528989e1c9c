# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: each launch is written to disk once, and counted whenever it is made.

To know it again costs some microseconds.
"""

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.triton.capture import addresses, sources, unknown
from intelliperf_swizzle.frontends.triton.capture.calls import BoundCall, Call
from intelliperf_swizzle.frontends.triton.capture.counts import LaunchCounts
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch, as_view, describe
from intelliperf_swizzle.frontends.triton.capture.execution import deciding
from intelliperf_swizzle.frontends.triton.capture.settings import MOST_VARIANTS, Execution
from intelliperf_swizzle.frontends.triton.capture.tuning import choices
from intelliperf_swizzle.frontends.triton.capture.uses import Uses
from intelliperf_swizzle.records import Grid, Launch, UInt8Array, save_launch

KEPT_FLOAT_BYTES = 16 << 20
"""Contents of float storages are kept up to this many bytes per launch, the smallest first."""
MOST_LAUNCHES = 1024
"""Launches of one kernel on one grid that are kept; of others, in which arguments they differ."""
FURTHER_BYTES = 1 << 30
"""Contents of integers that are kept of these further launches of an application, all together."""


class Store:
    """The records of one process of the application.

    Args:
        folder: of the capture; gets `launches/*.json`, `contents/*.npy` and `ttir/*.mlir`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._variants: Counter[tuple[str, str, Grid]] = Counter()
        self._latest: dict[tuple[str, str, Grid], Launch] = {}
        self._varying: dict[str, set[str]] = defaultdict(set)
        self._further_bytes = 0
        for name in ("launches", "contents", "ttir"):
            (folder / name).mkdir(exist_ok=True)

    def keep(
        self,
        live: DescribedLaunch,
        integers: Mapping[int, UInt8Array],
        digests: tuple[str, ...] | None,
        bound: BoundCall,
    ) -> tuple[str, bool]:
        """The name of its record, which is on disk now, and whether it is new; those beyond
        `MOST_LAUNCHES` have one.

        Args:
            live: the launch.
            integers: what its storages of integers hold.
            digests: of these; None if nothing was read.
            bound: what Triton makes of the launch.

        Raises:
            OSError: it cannot be written.
        """
        launch = live.launch
        sizes = {number: storage.bytes for number, storage in launch.storages.items()}
        alike = replace(
            launch, arguments=addresses.arguments_without_addresses(launch), storages={}
        )
        name = self._name(launch.kernel, (alike, sizes, digests))
        if (self._folder / "launches" / f"{name}.json").exists():
            return name, False
        variety = (launch.kernel, launch.source.entry.file, launch.grid)
        if self._variants[variety] >= MOST_LAUNCHES:
            return self._keep_crowd(launch, variety, bound)
        self._variants[variety] += 1
        self._latest[variety] = launch
        further = self._variants[variety] > MOST_VARIANTS
        if further:
            self._further_bytes += sum(contents.nbytes for contents in integers.values())
            integers = integers if self._further_bytes <= FURTHER_BYTES else {}
        kept = {number: self._keep(contents) for number, contents in integers.items()}
        if not further and digests is not None:
            kept |= self._keep_floats(live)
        self._save(launch, name, kept, bound)
        return name, True

    def _keep_crowd(
        self, launch: Launch, variety: tuple[str, str, Grid], bound: BoundCall
    ) -> tuple[str, bool]:
        name = self._name(launch.kernel, ("crowd", variety, bound.name, os.getpid()))
        latest, seen = self._latest[variety].arguments, name in self._varying
        varying = {n for n, value in launch.arguments.items() if latest.get(n) != value}
        if not (seen and varying <= self._varying[name]):
            self._varying[name] |= varying
            known = (*launch.varying, *sorted(self._varying[name]))
            self._save(replace(launch, varying=known), name, {}, bound)
        return name, not seen

    def _name(self, kernel: str, identity: object) -> str:
        return f"{kernel}-{hashlib.blake2b(repr(identity).encode(), digest_size=8).hexdigest()}"

    def _save(self, launch: Launch, name: str, kept: Mapping[int, str], bound: BoundCall) -> None:
        storages = {
            n: replace(s, contents=kept.get(n), decided_at=unknown.decided_at())
            for n, s in launch.storages.items()
        }
        path = self._folder / "launches" / f"{name}.json"
        save_launch(replace(launch, storages=storages, ttir=self._keep_ttir(bound)), path)

    def _keep_ttir(self, bound: BoundCall) -> str | None:
        if bound.ttir is None:
            return None
        path, text = self._folder / "ttir" / f"{bound.name}.mlir", bound.ttir.encode()
        if not path.exists():
            _write(path, lambda stream: stream.write(text))
        return str(path)

    def _keep_floats(self, live: DescribedLaunch) -> dict[int, str]:
        kept, room = {}, KEPT_FLOAT_BYTES
        floats = [n for n, s in live.spans.items() if not s.integers and not unknown.is_unknown(s)]
        for number in sorted(floats, key=lambda number: live.memory[number].nbytes):
            room -= live.memory[number].nbytes
            if room >= 0:
                kept[number] = self._keep(live.contents(number))
        return kept

    def _keep(self, contents: UInt8Array) -> str:
        path = self._folder / "contents" / f"{digest(contents)}.npy"

        def write(stream: BinaryIO) -> None:
            header = np.lib.format.header_data_from_array_1_0(contents)
            np.lib.format.write_array_header_1_0(stream, header)
            stream.write(contents.data)

        if not path.exists():
            _write(path, write)
        return str(path)


def _write(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """A file that is whole, or not there."""
    partial = path.with_suffix(f".{os.getpid()}")
    try:
        with partial.open("wb") as stream:
            write(stream)
        partial.replace(path)
    except OSError:  # a full disk: leave room for the words that say so
        partial.unlink(missing_ok=True)
        raise


def digests(live: DescribedLaunch, held: Mapping[int, UInt8Array]) -> dict[int, str]:
    """Of what storages hold, as far as that is known, whatever the addresses are."""
    known = (number for number in held if not unknown.is_unknown(live.spans[number]))
    return {number: digest(addresses.canonical(live.launch, held[number])) for number in known}


def digest(contents: UInt8Array) -> str:
    """Of what a storage holds."""
    return hashlib.blake2b(contents.data, digest_size=16).hexdigest()


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
        changed: whether they have held something else since; a tensor, as no wait is needed.
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
    """The launches of one process, and their `counts`.

    Args:
        folder: of the capture.
        uses: of the process's jit functions.
    """

    def __init__(self, folder: Path, uses: Uses) -> None:
        self._folder = folder
        self._uses = uses
        self._store = Store(folder)
        self.counts = LaunchCounts(folder)
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
        return self._kinds.setdefault((bound.name, identity(bound.call)), LaunchKind())

    def look(self, bound: BoundCall, kind: LaunchKind) -> tuple[DescribedLaunch, RecordedLaunch]:
        """The launch, and its record, which is on disk now.

        Raises:
            UnreadableKernelError, OSError: it cannot be recorded.
        """
        self.counts.watch()
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

    def record_same(self) -> None:
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
            self._counters[name] = self.counts.counter(name)
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
    return call.kernel.fn, call.grid, *call.kwargs, values, *seen, *_overlaps(storages)


def _overlaps(storages: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
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
    if hasattr(value, "block_shape") and hasattr(value, "base"):  # a descriptor
        extents = (*value.shape, *value.strides, *value.block_shape)
        return (*map(str, extents), _look_into(value.base, tensors))
    if hasattr(value, "data_ptr"):
        tensor, _, seen = as_view(value)
        tensors.append(tensor)
        return seen
    if isinstance(value, (tuple, list)):
        return tuple([(type(item), _look_into(item, tensors)) for item in value])
    if sources.is_jit_function(value):
        return sources.python_function(value)
    return repr(value)
