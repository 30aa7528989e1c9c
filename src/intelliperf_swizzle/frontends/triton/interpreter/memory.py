# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The storages of a launch at synthetic addresses, with buffers for those whose bytes are needed.

Kernels see synthetic addresses only, so that a trace does not depend on where an allocator put
things, and storages of hundreds of gigabytes cost nothing until their bytes are read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.records import (
    LINE_BYTES,
    Launch,
    Segment,
    Storage,
    UInt8Array,
)

Fill: TypeAlias = Callable[[int, Storage, UInt8Array], None]
"""Writes the initial bytes of a storage (its number, its record, its buffer of zeros)."""

_LARGE_BYTES = 1 << 20
_LARGE_ALIGNMENT = 2 << 20
_SMALL_ALIGNMENT = 512
_FIRST_ADDRESS = _LARGE_ALIGNMENT


def restore_contents(number: int, storage: Storage, buffer: UInt8Array) -> None:
    """Fill a storage with its recorded contents; with zeros where there are none."""
    if storage.contents is not None:
        buffer[:] = np.load(storage.contents, mmap_mode="r")


class Memory:
    """Storages of a launch: laid out at once, allocated one by one when first touched.

    The layout follows the order of the arguments: storages of a mebibyte or more begin at
    multiples of 2 MiB, smaller ones at multiples of 512 bytes, as GPU allocators place them.

    Args:
        launch: whose storages.
        fill: writes a storage's initial bytes.
    """

    def __init__(self, launch: Launch, fill: Fill = restore_contents) -> None:
        self._storages = dict(launch.storages)
        self._fill = fill
        self._names = _names_of_storages(launch)
        self.base: dict[int, int] = _layout(self._names, self._storages)
        self._buffers: dict[int, UInt8Array] = {}
        self._numbers = list(self.base)
        self._begin = np.array([self.base[n] for n in self._numbers], np.int64)
        self._end = self._begin + np.array(
            [self._storages[n].bytes for n in self._numbers], np.int64
        )
        self._delta = np.zeros(len(self._numbers), np.int64)
        self._allocated = np.zeros(len(self._numbers), np.bool_)

    @property
    def begin(self) -> npt.NDArray[np.int64]:
        """First address of each storage, increasing."""
        return self._begin

    @property
    def end(self) -> npt.NDArray[np.int64]:
        """Address after the last byte of each storage, in the order of `begin`."""
        return self._end

    @property
    def numbers(self) -> tuple[int, ...]:
        """Storage numbers in the order of `begin`."""
        return tuple(self._numbers)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The layout as a trace names it."""
        return tuple(
            Segment(self._names[n], self.base[n] // LINE_BYTES, self._storages[n].bytes)
            for n in self._numbers
        )

    def names(self, number: int) -> tuple[str, ...]:
        """The tensor arguments that are views of a storage."""
        return self._names[number]

    def has_contents(self, number: int) -> bool:
        """Whether the storage's bytes were recorded."""
        return self._storages[number].contents is not None

    def bytes(self, number: int) -> UInt8Array:
        """A storage's bytes (uint8[bytes], a live view; allocated and filled at the first call)."""
        if number not in self._buffers:
            size = self._storages[number].bytes
            raw = np.zeros(size + LINE_BYTES, np.uint8)
            skip = -raw.ctypes.data % LINE_BYTES
            buffer = raw[skip : skip + size]
            self._fill(number, self._storages[number], buffer)
            self._buffers[number] = buffer
            place = self._numbers.index(number)
            self._delta[place] = buffer.ctypes.data - self.base[number]
            self._allocated[place] = True
        return self._buffers[number]

    def locate(
        self, addresses: npt.NDArray[np.uint64], mask: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
        """Host addresses of the lanes, and which active lanes lie inside a storage.

        Returns the very `mask` where all active lanes lie inside. Allocates what is touched.
        """
        synthetic = addresses.view(np.int64)
        if synthetic.size:
            place = int(np.searchsorted(self._begin, synthetic.min(), side="right")) - 1
            if place >= 0 and synthetic.max() < self._end[place]:
                self.bytes(self._numbers[place])
                return (synthetic + self._delta[place]).view(np.uint64), mask
        places = np.searchsorted(self._begin, synthetic, side="right") - 1
        inside = mask & (places >= 0) & (synthetic < self._end[places])
        for place in np.unique(places[inside]):
            if not self._allocated[place]:
                self.bytes(self._numbers[place])
        host = (synthetic + self._delta[places]).view(np.uint64)
        return host, (mask if np.array_equal(inside, mask) else inside)


def _names_of_storages(launch: Launch) -> dict[int, tuple[str, ...]]:
    """Storage number -> names of the arguments that view it, in order of first argument."""
    names: dict[int, list[str]] = {}
    for name, tensor in launch.tensors():
        names.setdefault(tensor.storage, []).append(name)
    return {number: tuple(views) for number, views in names.items()}


def _layout(
    names: Mapping[int, tuple[str, ...]], storages: Mapping[int, Storage]
) -> dict[int, int]:
    base, address = {}, _FIRST_ADDRESS
    for number in names:
        large = storages[number].bytes >= _LARGE_BYTES
        alignment = _LARGE_ALIGNMENT if large else _SMALL_ALIGNMENT
        address = -(-address // alignment) * alignment
        base[number] = address
        address += storages[number].bytes
    return base
