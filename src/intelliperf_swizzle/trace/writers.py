# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which program stores, and which programs update and read, each element of some memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.jit import jit
from intelliperf_swizzle.records import Access, Int32Array, Int64Array, UInt8Array

STORED, SHARED, UPDATED, MIXED = 1, 2, 4, 8
"""Bits of an element's state: some program stores it; several do; atomics update it; one program
stores and another updates it. 16: several update it."""


class Writers:
    """Takes what programs touch, block by block.

    Args:
        begin: int64[ranges]; addresses, increasing.
        end: int64[ranges]; the address after each range's last byte; ranges are apart.
        grain: bytes of an element.

    Attributes:
        grain: as given.
        state: uint8[elements]; of all ranges, one after the other.
        first: int32[elements]; the program that stored it first; without a meaning if none did.
        clash: int64[3]; an element that several programs store, and two of them; -1 if there is
            none.
    """

    def __init__(self, begin: Int64Array, end: Int64Array, grain: int) -> None:
        self.grain = grain
        elements = -(-(end - begin) // grain)
        self._ranges = np.stack((begin, end, np.cumsum(elements) - elements))
        self.first: Int32Array = np.zeros(elements.sum(), np.int32)
        self._reader: Int32Array = np.zeros(0, np.int32)
        self.state: UInt8Array = np.zeros(elements.sum(), np.uint8)
        self.clash = np.full(3, -1, np.int64)

    def note(
        self,
        kind: Access,
        programs: Int64Array,
        lanes: Int64Array,
        covered: npt.NDArray[np.bool_],
        item_bytes: int,
    ) -> int:
        """Programs touch memory; returns how many lanes lie wholly in one of the ranges.

        Args:
            kind: of the access.
            programs: int64[rows].
            lanes: int64[rows, lanes]; addresses.
            covered: bool[rows, lanes]; which of them are active.
            item_bytes: of a lane.
        """
        if kind == Access.READ and not len(self._reader):
            self._reader = np.zeros_like(self.first)
        return int(
            _note(
                programs, lanes, covered, item_bytes, int(kind), self._ranges, self.grain,
                self.first, self._reader, self.state, self.clash,
            )
        )  # fmt: skip

    def clashes(self) -> npt.NDArray[np.bool_]:
        """The elements that one program stores, or several update, and another one touches."""
        found: npt.NDArray[np.bool_] = self.state & (SHARED | MIXED) > 0
        if len(self._reader):
            several = (self.state & (16 | 64) > 0) | (self.first != self._reader)
            found |= (self.state & (STORED | UPDATED) > 0) & (self.state & 32 > 0) & several
        return found


@jit
def _note(
    programs: Int64Array,
    lanes: Int64Array,
    covered: npt.NDArray[np.bool_],
    item_bytes: int,
    kind: int,
    ranges: Int64Array,
    grain: int,
    first: Int32Array,
    reader: Int32Array,
    state: UInt8Array,
    clash: Int64Array,
) -> int:
    begin, end, offset = ranges[0], ranges[1], ranges[2]
    inside = 0
    last = 0
    for row in range(lanes.shape[0]):
        program = programs[row]
        for lane in range(lanes.shape[1]):
            if not covered[row, lane]:
                continue
            low, high = lanes[row, lane], lanes[row, lane] + item_bytes
            if not begin[last] <= low < end[last]:
                last = max(0, np.searchsorted(begin, low, side="right") - 1)
            inside += begin[last] <= low and high <= end[last]
            place = last
            while place < begin.size and begin[place] < high:
                one = (max(low, begin[place]) - begin[place]) // grain
                past = -((begin[place] - min(high, end[place])) // grain)
                for element in range(offset[place] + one, offset[place] + past):
                    if kind == 0:
                        if not state[element] & 32:
                            reader[element] = program
                        elif reader[element] != program:
                            state[element] |= 64
                        state[element] |= 32
                    elif kind == 2:
                        if not state[element] & 5:
                            first[element] = program
                        elif first[element] != program:
                            state[element] |= 8 if state[element] & 1 else 16
                        state[element] |= 4
                    elif state[element] & 1:
                        if first[element] != program and not state[element] & 2:
                            state[element] |= 2
                            if clash[0] < 0:
                                clash[0], clash[1], clash[2] = element, first[element], program
                    else:
                        if state[element] & 16 or (
                            state[element] & 4 and first[element] != program
                        ):
                            state[element] |= 8
                        first[element] = program
                        state[element] |= 1
                place += 1
    return inside
