# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which tensors programs share: bytes that one of them writes, and another one reads or writes.

A trace knows sectors. Neighbouring programs may store side by side in one, which is harmless, so
where several programs meet in a sector the launch is run again and looked at byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from intelliperf_swizzle.records import SECTOR_BYTES, Access, Int64Array, Trace
from intelliperf_swizzle.trace.assembling import TraceRecorder
from intelliperf_swizzle.trace.observer import Bits, BlockAccess, Observer
from intelliperf_swizzle.trace.sharing import contested_sectors, updates_collide
from intelliperf_swizzle.trace.writers import Writers

_COARSE = 4
"""Bytes that are noted as one, as long as all accesses are multiples of them."""
MOST_SECTORS = 1 << 22
"""Sectors that are looked at byte by byte (512 MB); where there are more, they count as shared."""


def with_sharing(
    trace: Trace, recorder: TraceRecorder, run_again: Callable[[ByteWatch], object]
) -> Trace:
    """The trace with what its programs do to each other's memory.

    Costs a second run where, and only where, programs meet in a sector that one of them writes.

    Args:
        trace: of the launch.
        recorder: of the trace.
        run_again: runs the launch once more and reports its accesses.
    """
    order_matters = bool((trace.shape_kind == Access.ATOMIC).any()) and updates_collide(
        trace, recorder.atomics.words
    )
    ordered = recorder.atomics.ordered if order_matters else ()  # else each word has one program
    shared = shared_tensors(trace, ordered, run_again)
    return replace(trace, shared_writes=shared, order_matters=order_matters)


def shared_tensors(
    trace: Trace, ordered: Collection[int], run_again: Callable[[ByteWatch], object]
) -> tuple[str, ...]:
    """Names of tensors with a byte that a program stores or updates and another one touches.

    Args:
        trace: of the launch.
        ordered: places of the segments where it shows in what order atomics update.
        run_again: as of `with_sharing`.
    """
    contested = [
        contested_sectors(trace, segment, ordered=place in ordered)
        for place, segment in enumerate(trace.segments)
    ]
    watched = [own for place, own in enumerate(contested) if place not in ordered]
    sectors = np.concatenate((np.zeros(0, np.int64), *watched))
    if 0 < len(sectors) <= MOST_SECTORS:
        grain = _COARSE
        watch = ByteWatch(sectors, grain)
        run_again(watch)
        while watch.finest < grain:
            grain = watch.finest
            watch = ByteWatch(sectors, grain)
            run_again(watch)
        found = watch.shared()
        for place, own in enumerate(contested):
            if place not in ordered:
                contested[place] = own[np.isin(own, found, assume_unique=True)]
    return tuple(
        name
        for segment, own in zip(trace.segments, contested, strict=True)
        if len(own)
        for name in segment.names
    )


class ByteWatch(Observer):
    """Notes who touches each byte of some sectors; takes accesses as `TraceRecorder`.

    Args:
        sectors: int64[n], increasing; addresses over `SECTOR_BYTES`.
        grain: bytes that are noted as one, a power of two.

    Attributes:
        finest: the grain of which all accesses are multiples; if it is less than `grain`, nothing
            was found out.
    """

    def __init__(self, sectors: Int64Array, grain: int) -> None:
        self.finest = grain
        self._grain = grain
        self._sectors = sectors
        gaps = np.diff(sectors) > 1
        begin = sectors[np.concatenate(([True], gaps))] * SECTOR_BYTES
        end = (sectors[np.concatenate((gaps, [True]))] + 1) * SECTOR_BYTES
        self._writers = Writers(begin, end, grain)

    def begin(self, programs: Int64Array) -> None:
        """A batch begins."""
        self._programs = self._batch = programs

    def number(self, values: Int64Array | None, active: Bits | None = None) -> None:
        """What follows belongs to the tiles of these numbers; None = to the programs themselves."""
        own = self._programs if values is None else -1 - values.astype(np.int64)
        self._batch = np.broadcast_to(own, self._programs.shape)

    def access(self, block: BlockAccess) -> int:
        """The active programs access a block."""
        low, high = block.span()
        beyond = (high + block.item_bytes - 1) // SECTOR_BYTES
        last = np.searchsorted(self._sectors, beyond, side="right")
        if last == np.searchsorted(self._sectors, low // SECTOR_BYTES):
            return 0  # no lane comes near
        self._refine(block)
        if self.finest < self._grain:
            return 0
        for own, lanes, covered in block.lanes():
            self._writers.note(block.kind, self._batch[own], lanes, covered, block.item_bytes)
        return 0

    def _refine(self, block: BlockAccess) -> None:
        """Takes note of what addresses and size are multiples of."""
        bits = block.item_bytes
        for term in block.used():
            bits |= int(np.bitwise_or.reduce(term, axis=None))
        while bits & (self.finest - 1):
            self.finest //= 2

    def observe(self, program: int, block: BlockAccess) -> None:
        """One access of one program."""
        self._refine(block)
        _, lanes, covered = next(block.lanes())
        self._writers.note(block.kind, np.array([program]), lanes, covered, block.item_bytes)

    def shared(self) -> Int64Array:
        """The sectors with a byte that one program writes and another one reads or stores."""
        each = SECTOR_BYTES // self._grain
        clash = self._writers.clashes().reshape(-1, each).any(axis=1)
        found: Int64Array = self._sectors[clash]
        return found
