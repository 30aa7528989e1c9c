# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which program stores each element of a launch's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import triton.language as tl

from intelliperf_swizzle.jit import jit
from intelliperf_swizzle.kernels.triton.interpreter.memory import Memory
from intelliperf_swizzle.kernels.triton.source_proofs.observation import Output
from intelliperf_swizzle.records import (
    Access,
    Int32Array,
    Int64Array,
    Launch,
    TensorArgument,
    UInt8Array,
)
from intelliperf_swizzle.trace.recorder import lanes_in_pieces

MOST_ELEMENTS = 1 << 28
"""Elements of all tensors written to that are looked at one by one (1.3 GB)."""
NOBODY = -1
STORED, SHARED, UPDATED = 1, 2, 4


@dataclass(frozen=True)
class _Table:
    """Elements of one storage.

    Attributes:
        begin, end: its addresses.
        grain: bytes of an element.
        first: int32[elements]; the program that stored it first.
        state: uint8[elements]; `STORED`, `SHARED`, `UPDATED`.
        clash: int64[3]; an element that is shared and two programs that store it.
    """

    begin: int
    end: int
    grain: int
    first: Int32Array
    state: UInt8Array
    clash: Int64Array


class Written:
    """Notes who writes each element; complete as soon as all programs have been seen.

    Args:
        launch: whose tensors.
        memory: where they lie.
    """

    def __init__(self, launch: Launch, memory: Memory) -> None:
        self._memory = memory
        self._views = list(launch.tensors())
        self._tables: dict[int, _Table] = {}
        self._elements = 0
        self.lanes_outside = 0

    def write(
        self,
        kind: Access,
        addresses: Sequence[npt.NDArray[np.int64]],
        mask: Sequence[npt.NDArray[np.bool_]],
        item_bytes: int,
        programs: Int64Array,
        active: npt.NDArray[np.bool_],
    ) -> npt.NDArray[np.bool_]:
        """The active programs of a batch write; returns which of the batch write at all."""
        wrote = np.zeros(len(programs), np.bool_)
        for rows, lanes, covered in lanes_in_pieces(addresses, mask, np.flatnonzero(active)):
            wrote[rows] = covered.any(axis=1)
            inside = 0
            for place in self._places(lanes, covered):
                inside += self._mark(place, kind, programs[rows], lanes, covered, item_bytes)
            self.lanes_outside += int(covered.sum()) - inside
        return wrote

    def _places(self, lanes: Int64Array, covered: npt.NDArray[np.bool_]) -> range:
        if not covered.any():
            return range(0)
        used = lanes if covered.all() else lanes[covered]
        first, last = np.searchsorted(self._memory.begin, (used.min(), used.max()), side="right")
        return range(max(0, int(first) - 1), int(last))

    def _mark(
        self,
        place: int,
        kind: Access,
        programs: Int64Array,
        lanes: Int64Array,
        covered: npt.NDArray[np.bool_],
        item_bytes: int,
    ) -> int:
        table = self._table(place)
        return int(
            _mark(
                programs, lanes, covered, item_bytes, kind == Access.ATOMIC,
                table.begin, table.end, table.grain, table.first, table.state, table.clash,
            )
        )  # fmt: skip

    def _table(self, place: int) -> _Table:
        if place not in self._tables:
            begin, end = int(self._memory.begin[place]), int(self._memory.end[place])
            number = self._memory.numbers[place]
            grain = min(item_bytes_of(view) for _, view in self._views if view.storage == number)
            elements = -(-(end - begin) // grain)
            self._elements += elements
            kept = elements if self._elements <= MOST_ELEMENTS else 0
            self._tables[place] = _Table(
                begin, end, grain,
                np.full(kept, NOBODY, np.int32),
                np.zeros(kept, np.uint8),
                np.full(3, -1, np.int64),
            )  # fmt: skip
        return self._tables[place]

    def outputs(self) -> tuple[Output, ...] | None:
        """The tensors that were written to; None where they have too many elements."""
        if self._elements > MOST_ELEMENTS:
            return None
        found = []
        for place, table in sorted(self._tables.items()):
            number = self._memory.numbers[place]
            for name, view in self._views:
                if view.storage == number:
                    output = _output(name, view, table)
                    if output.unwritten < output.elements:
                        found.append(output)
        return tuple(found)


def _output(name: str, view: TensorArgument, table: _Table) -> Output:
    state = _elements_of(view, table.state, table.grain)
    missing = state == 0
    axes = range(missing.ndim)
    bounds = []
    for axis in axes:
        places = np.flatnonzero(missing.any(axis=tuple(other for other in axes if other != axis)))
        bounds.append((int(places[0]), int(places[-1])) if len(places) else (0, -1))
    element, one, other = (int(part) for part in table.clash)
    index = _index(view, element * table.grain - view.offset_bytes) if element >= 0 else None
    return Output(
        name=name,
        shape=view.shape,
        elements=state.size,
        unwritten=int(missing.sum()),
        shared=int(((state & SHARED) != 0).sum()),
        updated=int(((state & UPDATED) != 0).sum()),
        programs=_distinct(_elements_of(view, table.first, table.grain)),
        unwritten_range=tuple(bounds) if missing.any() else (),
        clash=None if index is None else (index, one, other),
    )


def _distinct(first: Int32Array) -> int:
    """How many programs there are among those that stored an element first."""
    if not first.size:
        return 0
    present = np.zeros(int(first.max()) + 2, np.bool_)
    present[first + 1] = True
    return int(present[1:].sum())


def _index(view: TensorArgument, offset_bytes: int) -> tuple[int, ...] | None:
    """Which element of a tensor lies at an offset from its first; None if none does."""
    rest = offset_bytes // item_bytes_of(view)
    index = [0] * len(view.shape)
    for axis in sorted(range(len(view.shape)), key=lambda axis: -view.strides[axis]):
        if view.strides[axis] > 0:
            index[axis] = min(rest // view.strides[axis], view.shape[axis] - 1)
            rest -= index[axis] * view.strides[axis]
    return tuple(index) if rest == 0 and offset_bytes >= 0 else None


def _elements_of(view: TensorArgument, array: npt.NDArray[Any], grain: int) -> npt.NDArray[Any]:
    """The table's entries of a tensor's elements, in the tensor's shape (no copy)."""
    step = item_bytes_of(view) // grain
    return np.lib.stride_tricks.as_strided(
        array[view.offset_bytes // grain :],
        view.shape,
        tuple(stride * step * array.itemsize for stride in view.strides),
    )


def item_bytes_of(view: TensorArgument) -> int:
    """Bytes of an element."""
    bits: int = tl.dtype(view.dtype).primitive_bitwidth
    return max(1, bits // 8)


@jit
def _mark(
    programs: Int64Array,
    lanes: Int64Array,
    covered: npt.NDArray[np.bool_],
    item_bytes: int,
    atomic: bool,
    begin: int,
    end: int,
    grain: int,
    first: Int32Array,
    state: UInt8Array,
    clash: Int64Array,
) -> int:
    """Enter the programs at the elements that their lanes write; returns the lanes inside."""
    inside = 0
    for row in range(lanes.shape[0]):
        program = programs[row]
        for lane in range(lanes.shape[1]):
            address = lanes[row, lane]
            if not covered[row, lane] or address < begin or address + item_bytes > end:
                continue
            inside += 1
            if state.size == 0:
                continue
            low = (address - begin) // grain
            high = (address - begin + item_bytes - 1) // grain
            for element in range(low, high + 1):
                if atomic:
                    state[element] |= 4
                    continue
                if first[element] == -1:
                    first[element] = program
                    state[element] |= 1
                elif first[element] != program and not state[element] & 2:
                    state[element] |= 2
                    if clash[0] < 0:
                        clash[0], clash[1], clash[2] = element, first[element], program
    return inside
