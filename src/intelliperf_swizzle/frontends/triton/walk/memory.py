# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The storages of a launch at synthetic addresses, with buffers for those whose bytes are needed.

Kernels see synthetic addresses only, so that a trace does not depend on where an allocator put
things, and storages of hundreds of gigabytes cost nothing until their bytes are read or written.
An address that the application itself handed over, as an integer or in a tensor, is translated.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import EllipsisType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel
from intelliperf_swizzle.frontends.triton.walk import blocks
from intelliperf_swizzle.records import (
    LINE_BYTES,
    SECTOR_BYTES,
    Argument,
    Int64Array,
    Launch,
    Segment,
    Storage,
    TensorArgument,
    Trace,
    UInt8Array,
)

Fill: TypeAlias = Callable[[int, Storage, UInt8Array], None]
"""Writes the initial bytes of a storage (its number, its record, its buffer of zeros)."""
Lanes: TypeAlias = npt.NDArray[np.bool_]

_LARGE_BYTES = 1 << 20
_LARGE_ALIGNMENT = 2 << 20
_SMALL_ALIGNMENT = 512
_FIRST_ADDRESS = _LARGE_ALIGNMENT
_APART = 64 << 20  # a multiple of both; what runs over the end of one reaches no other


class Memory:
    """Storages of a launch: laid out at once, allocated one by one when first touched.

    The layout follows the order of the arguments: storages of a mebibyte or more begin at
    multiples of 2 MiB, smaller ones at multiples of 512 bytes, as GPU allocators place them, but
    `_APART` from each other; `side_by_side` takes that out of a trace.

    Args:
        launch: whose storages.
        fill: writes a storage's initial bytes; by default the recorded ones, and what was not
            recorded is not known.
    """

    def __init__(self, launch: Launch, fill: Fill | None = None) -> None:
        self._storages = dict(launch.storages)
        self._fill = fill
        self._names = _names_of_storages(launch)
        self.base: dict[int, int] = _layout(self._names, self._storages, _APART)
        self.base_side_by_side: dict[int, int] = _layout(self._names, self._storages)
        self.numbers = tuple(self.base)
        self.begin: Int64Array = np.array(list(self.base.values()), np.int64)
        sizes = [self._storages[number].bytes for number in self.numbers]
        self.end: Int64Array = self.begin + np.array(sizes, np.int64)
        self._buffers: dict[int, UInt8Array] = {}
        self._not_known: dict[int, Lanes] = {}
        self._lent: set[int] = set()
        recorded = [(self._storages[number].address, number) for number in self.numbers]
        self._recorded = sorted((at, number) for at, number in recorded if at is not None)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The layout as a trace names it."""
        return tuple(
            Segment(self._names[n], self.base[n] // LINE_BYTES, self._storages[n].bytes)
            for n in self.numbers
        )

    def side_by_side(self, trace: Trace) -> Trace:
        """A trace of this memory as if nothing lay between its storages."""
        base = self.base_side_by_side
        by = np.array([base[n] - self.base[n] for n in self.numbers], np.int64) // LINE_BYTES
        if not len(by):
            return trace
        lines, contested = trace.access_base.astype(np.int64), trace.contested
        if contested is not None:
            each = LINE_BYTES // SECTOR_BYTES
            contested = np.sort(contested + by[trace.segment_of(contested // each)] * each)
        return replace(
            trace,
            access_base=(lines + by[trace.segment_of(lines)]).astype(np.int32),
            contested=contested,
            segments=tuple(
                replace(segment, first_line=base[number] // LINE_BYTES)
                for segment, number in zip(trace.segments, self.numbers, strict=True)
            ),
        )

    def names(self, number: int) -> tuple[str, ...]:
        """The tensor arguments that are views of a storage."""
        return self._names[number]

    def has_contents(self, number: int) -> bool:
        """Whether the storage's bytes are known."""
        given = self._fill is not None or number in self._lent
        return given or self._storages[number].contents is not None

    def why_not(self, number: int) -> str:
        """Why a storage's contents are not known, as text."""
        place = self._storages[number].decided_at
        after = f", as {place} decides by what was not computed" if place else ""
        return f"the contents of {', '.join(self._names[number])} were not recorded{after}"

    def bytes(self, number: int) -> UInt8Array:
        """A storage's bytes (uint8[bytes], a live view; allocated and filled at the first call)."""
        if number not in self._buffers:
            storage = self._storages[number]
            buffer = np.zeros(-(-storage.bytes // 8) * 8, np.uint8)[: storage.bytes]
            if self._fill is not None:
                self._fill(number, storage, buffer)
            elif storage.contents is not None:
                buffer[:] = np.load(storage.contents, mmap_mode="r")
            self._buffers[number] = buffer
        return self._buffers[number]

    def lend(self, number: int, buffer: UInt8Array) -> None:
        """Has a storage's bytes be those of a buffer: uint8[bytes]."""
        self._buffers[number] = buffer
        self._lent.add(number)

    def not_known(self, number: int) -> Lanes:
        """bool[bytes]: the bytes of a storage that are not known, a live view."""
        if number not in self._not_known:
            make = np.zeros if self.has_contents(number) else np.ones
            self._not_known[number] = make(self._storages[number].bytes, np.bool_)
        return self._not_known[number]

    # --- addresses ------------------------------------------------------------------------------

    def place(self, addresses: Int64Array) -> Int64Array:
        """The place in `numbers` of the storage that each address lies in; -1 for none."""
        places = np.searchsorted(self.begin, addresses, side="right") - 1
        return np.where((places < 0) | (addresses >= self.end[places]), -1, places)

    def translate(self, addresses: Int64Array) -> Int64Array:
        """The synthetic addresses of the application's; those in no storage become 0 or less."""
        found = np.where(addresses == 0, 0, -1 - (addresses & (1 << 62) - 1)).astype(np.int64)
        for at, number in self._recorded:
            inside = (addresses >= at) & (addresses <= at + self._storages[number].bytes)
            found = np.where(inside & (found <= 0), addresses - at + self.base[number], found)
        return found

    def original(self, addresses: Int64Array) -> Int64Array:
        """The application's addresses of synthetic ones, if they are known."""
        places = self.place(addresses)
        found = addresses.copy()
        for place in np.unique(places[places >= 0]):
            at = self._storages[self.numbers[place]].address
            if at is not None:
                found = np.where(places == place, addresses - self.begin[place] + at, found)
        return found

    # --- values ---------------------------------------------------------------------------------

    def read(
        self, addresses: Int64Array, lanes: Lanes, others: blocks.Array, element: blocks.Element
    ) -> tuple[blocks.Array, list[int], set[int]]:
        """Values at the addresses of some lanes, `others` in the remaining ones, outside too.

        Returns also the places of the storages, and the numbers of those of which bytes were read
        that are not known.
        """
        values = np.broadcast_to(others, addresses.shape).astype(element.array)
        places: list[int] = []
        missing: set[int] = set()
        for place, chosen, offsets, whole in self._each(addresses, lanes, element):
            number = self.numbers[place]
            places.append(place)
            raw = _gather(self.bytes(number), np.where(whole, offsets, 0), element.bytes)
            values[chosen] = blocks.decode(raw, element)
            if number in self._not_known or not self.has_contents(number):
                bad = self.not_known(number)
                if any(bad[offsets[whole] + byte].any() for byte in range(element.bytes)):
                    missing.add(number)
        return values, places, missing

    def write(
        self,
        addresses: Int64Array,
        lanes: Lanes,
        values: blocks.Array,
        element: blocks.Element,
        known: bool,
    ) -> None:
        """Puts values at the addresses of some lanes; what lies outside is dropped."""
        values = np.broadcast_to(values, addresses.shape)
        for place, chosen, offsets, whole in self._each(addresses, lanes, element):
            number = self.numbers[place]
            if known:
                raw = blocks.encode(values[chosen][whole], element)
                _scatter(self.bytes(number), offsets[whole], raw, element.bytes)
            if not known or number in self._not_known or not self.has_contents(number):
                bad = self.not_known(number)
                for byte in range(element.bytes):
                    bad[offsets[whole] + byte] = not known

    def _each(
        self, addresses: Int64Array, lanes: Lanes, element: blocks.Element
    ) -> Iterator[tuple[int, Lanes | EllipsisType, Int64Array, Lanes]]:
        """The places that lanes point into, which lanes these are, their offsets, and which of
        them lie inside whole."""
        places = np.where(lanes, self.place(addresses), -1)
        single = places.size and places.min() == places.max()
        for place in places.ravel()[:1].tolist() if single else np.unique(places).tolist():
            if place >= 0:
                chosen = ... if single else places == place
                at = addresses[chosen]
                yield place, chosen, at - self.begin[place], at <= self.end[place] - element.bytes


def _gather(buffer: UInt8Array, offsets: Int64Array, size: int) -> blocks.Array:
    """Unsigned integers of a size at offsets in bytes."""
    whole = len(buffer) // size * size
    if size == 1 or not (offsets % size).any():
        return buffer[:whole].view(f"u{size}")[offsets // size]
    raw = np.stack([buffer[offsets + byte] for byte in range(size)], axis=-1)
    return np.ascontiguousarray(raw).view(f"u{size}")[..., 0]


def _scatter(buffer: UInt8Array, offsets: Int64Array, raw: blocks.Array, size: int) -> None:
    whole = len(buffer) // size * size
    if size == 1 or not (offsets % size).any():
        buffer[:whole].view(f"u{size}")[offsets // size] = raw
        return
    pieces = np.ascontiguousarray(raw).view(np.uint8).reshape(*raw.shape, size)
    for byte in range(size):
        buffer[offsets + byte] = pieces[..., byte]


def _names_of_storages(launch: Launch) -> dict[int, tuple[str, ...]]:
    """Storage number -> names of the arguments that view it, in order of first argument.

    Storages that no argument views follow; they are named by their number.
    """
    names: dict[int, list[str]] = {}
    for name, tensor in launch.tensors():
        names.setdefault(tensor.storage, []).append(name)
    for number in launch.storages:
        names.setdefault(number, [f"storage {number}"])
    return {number: tuple(views) for number, views in names.items()}


def _layout(
    names: Mapping[int, tuple[str, ...]], storages: Mapping[int, Storage], apart: int = 0
) -> dict[int, int]:
    base, address = {}, _FIRST_ADDRESS
    for number in names:
        alignment = _LARGE_ALIGNMENT if storages[number].bytes >= _LARGE_BYTES else _SMALL_ALIGNMENT
        address = -(-address // alignment) * alignment
        base[number] = address
        address += storages[number].bytes + apart
    return base


def bind_arguments(kernel: Kernel, launch: Launch, memory: Memory) -> dict[str, blocks.Block]:
    """The value of each argument of a kernel, by name; none of a descriptor before the passes.

    The kernel has no argument for what was specialised; the others come in the launch's order.

    Raises:
        TraceError: an argument of the kernel is none of the launch.
    """
    bound: dict[str, blocks.Block] = {}
    for name, _, value in pairs_of(kernel, launch):
        if "tensordesc" in kernel.types[name]:
            continue  # passes make a pointer of it, and numbers that are separate arguments
        element = blocks.element_of(kernel.types[name])
        if isinstance(value, TensorArgument):
            value = memory.base[value.storage] + value.offset_bytes
        elif element.pointee:
            value = int(memory.translate(np.array([value or 0], np.uint64).view(np.int64))[0])
        number = np.array([value])
        if isinstance(value, int) and element.array.kind == "i":
            number = np.array([value & (1 << element.bits) - 1], np.uint64)
            number = number.astype(f"u{element.bytes}").view(element.array)
        bound[name] = blocks.Block((blocks.rounded(number, element),), element, ())
    return bound


def scalar_values(kernel: Kernel, launch: Launch) -> dict[str, str]:
    """The scalar arguments of a launch that are values of its kernel: argument -> value."""
    return {
        name: value
        for value, name, argument in pairs_of(kernel, launch)
        if isinstance(launch.arguments.get(name), int | float) and argument is not None
    }


_SIMPLE = (TensorArgument, int, float, bool, type(None))
"""What is an argument of the kernel unless it is None or an integer 1, which are compiled in."""


def pairs_of(kernel: Kernel, launch: Launch) -> Iterator[tuple[str, str, Argument]]:
    """Value, name and argument of each."""
    leaves = [*launch.leaves()]
    present = [(n, v) for n, v in leaves if v is not None and (type(v), v) != (int, 1)]
    simple = all("." not in name and type(value) in _SIMPLE for name, value in leaves)
    if simple and len(present) == len(kernel.args):  # one that is assigned to is renamed by that
        yield from ((value, *leaf) for value, leaf in zip(kernel.args, present, strict=True))
        return
    at = 0
    for value, kind in zip(kernel.args, kernel.arg_types, strict=True):
        wanted = value.removeprefix("%")
        while at < len(leaves) and not _is_printed(wanted, kind, *leaves[at]):
            at += 1
        if at == len(leaves):
            raise TraceError(f"{launch.kernel} has no argument `{wanted}`")
        yield value, *leaves[at]
        at += 1


def _is_printed(printed: str, kind: str, name: str, argument: Argument) -> bool:
    """Whether a value is what an argument, or a part of one, is printed as."""
    whole, _, part = name.partition(".")
    if _is_called(printed, name):
        return True
    # Triton 3.6 calls all parts alike; what is 1 or None in a tuple is compiled in
    one = (type(argument), argument) == (int, 1) and not part.startswith(("shape.", "stride."))
    kinds = (kind == "i1", kind[0] == "!") == (type(argument) is bool, hasattr(argument, "storage"))
    return bool(part) and _is_called(printed, whole) and kinds and not one and argument is not None


def _is_called(printed: str, name: str) -> bool:
    """Whether a value is printed as MLIR prints this name; a second one gets a number."""
    plain = re.sub(r"[^\w$.\-]", "_", name)
    return printed == plain or bool(re.fullmatch(re.escape(plain) + r"_\d+", printed))
