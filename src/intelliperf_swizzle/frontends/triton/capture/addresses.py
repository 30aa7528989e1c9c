# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: one map of the memory of its tensors, and what numbers point into it.

Numbers that may be addresses are looked up among all storages that are alive, whoever holds them.
Storages that overlap (`torch.frombuffer`, DLPack) are one span of memory.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.records import Argument, Int64Array, Launch, UInt8Array

if TYPE_CHECKING:
    import torch

_PAGE_BYTES = 4096


@dataclass(frozen=True)
class Span:
    """Memory of one storage, or of several that overlap.

    Attributes:
        begin: its address.
        end: after its last byte.
        integers: whether a tensor of integers shows it; also if no tensor is known that does.
        device: where it lies.
        storage: of all of it; None if there is none, or it is not known.
    """

    begin: int
    end: int
    integers: bool
    device: torch.device
    storage: torch.UntypedStorage | None = field(default=None, compare=False, repr=False)

    def bytes(self) -> torch.Tensor:
        """A live view of it: uint8[bytes]."""
        import torch

        size = self.end - self.begin
        if self.storage is not None:
            view = torch.tensor([], dtype=torch.uint8, device=self.device)
            return view.set_(self.storage, 0, (size,), (1,))
        if self.device.type != "cpu":
            raise NotImplementedError("two storages of a GPU show the same memory")
        return torch.from_numpy(_host_view(self.begin, size))


def span_of(tensor: torch.Tensor) -> Span:
    """The memory of a tensor's storage."""
    storage = tensor.untyped_storage()
    begin = storage.data_ptr()
    integers = not (tensor.is_floating_point() or tensor.is_complex())
    return Span(begin, begin + storage.nbytes(), integers, storage.device, storage)


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The spans in the order of their addresses, those that overlap as one."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.begin, -span.end)):
        last = found[-1] if found else None
        if last is not None and span.begin < last.end:
            end, integers = max(last.end, span.end), last.integers or span.integers
            whole = last.storage if end == last.end else None
            found[-1] = Span(last.begin, end, integers, last.device, whole)
        elif span.end > span.begin:
            found.append(span)
    return found


def live_spans(given: Iterable[Span]) -> list[Span]:
    """All memory of tensors that are alive on the devices of some, merged with these."""
    given = list(given)
    devices = {span.device for span in given}
    alive = (span for span in map(span_of, _tensors()) if span.device in devices)
    return merge_spans([*given, *alive])


def _tensors() -> Iterator[torch.Tensor]:
    import torch

    for found in gc.get_objects():
        if issubclass(type(found), torch.Tensor):
            with suppress(NotImplementedError, RuntimeError):  # sparse and functional ones
                found.untyped_storage().data_ptr()
                yield found


def mapped_twice(spans: list[Span]) -> bool:
    """Whether some of the spans are mapped from the same bytes of one file (`mmap`)."""
    shown: list[tuple[list[str], int, int]] = []
    for place, access, offset, *file in map(str.split, _mappings()):
        begin, end = (int(address, 16) for address in place.split("-"))
        ahead = int(offset, 16) - begin
        shown += [
            (file[:2], max(begin, span.begin) + ahead, min(end, span.end) + ahead)
            for span in spans
            if access.endswith("s") and begin < span.end and span.begin < end
        ]
    pairs = itertools.pairwise(sorted(shown))
    return any(one[0] == other[0] and other[1] < one[2] for one, other in pairs)


def _mappings() -> list[str]:
    return Path("/proc/self/maps").read_text("ascii", "replace").splitlines()


# --- numbers that point ---------------------------------------------------------------------------


def pointed_into(numbers: npt.NDArray[Any], spans: list[Span]) -> list[Span]:
    """Those of some spans, which are in order, that one of int64[n] points into."""
    if not spans:
        return []
    begins, ends = (np.array([getattr(span, at) for span in spans]) for at in ("begin", "end"))
    numbers = numbers[numbers >= lowest_address()]
    at = np.searchsorted(begins, numbers, side="right") - 1
    return [spans[place] for place in dict.fromkeys(at[(at >= 0) & (numbers < ends[at])].tolist())]


def canonical(launch: Launch, contents: UInt8Array) -> UInt8Array:
    """What a storage of a launch holds, with what points where in place of addresses."""
    if all(storage.address is None for storage in launch.storages.values()):
        return contents
    contents = contents.copy()
    words = words_of(contents)
    before = words.copy()
    for number, storage in launch.storages.items():
        if storage.address is not None:
            offsets = before - storage.address
            inside = (offsets >= 0) & (offsets < storage.bytes)
            words[inside] = (number << 48) + offsets[inside]
    return contents


def arguments_without_addresses(launch: Launch) -> dict[str, Argument]:
    """The arguments of a launch, with what points where in place of addresses."""

    def replaced(value: Argument) -> Argument:
        if isinstance(value, tuple):
            return tuple(map(replaced, value))
        if type(value) is int:
            for number, storage in launch.storages.items():
                if storage.address is not None and 0 <= value - storage.address < storage.bytes:
                    return ("address", number, value - storage.address)
        return value

    return {name: replaced(value) for name, value in launch.arguments.items()}


def may_point(numbers: npt.NDArray[Any]) -> bool:
    """Whether some of int64[n] may be addresses at all."""
    return bool((numbers >= lowest_address()).any())


def words_of(contents: UInt8Array) -> Int64Array:
    """The 64-bit numbers in bytes; a live view."""
    return contents[: len(contents) // 8 * 8].view(np.int64)


@cache
def lowest_address() -> int:
    """Nothing that a program may write lies below."""
    for line in _mappings():
        place, access, *_ = line.split()
        if "w" in access:
            return int(place.partition("-")[0], 16) & -_PAGE_BYTES
    return _PAGE_BYTES


def _host_view(begin: int, size: int) -> UInt8Array:
    import ctypes

    memory = memoryview((ctypes.c_uint8 * size).from_address(begin))
    view: UInt8Array = np.frombuffer(memory, np.uint8)
    return view
