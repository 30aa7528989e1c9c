# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which program stores each element of a launch's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.frontends.triton.source_proofs.observation import Output
from intelliperf_swizzle.frontends.triton.walk.memory import Memory
from intelliperf_swizzle.records import (
    Access,
    Int32Array,
    Int64Array,
    Launch,
    TensorArgument,
)
from intelliperf_swizzle.trace.lanes import lanes_in_pieces
from intelliperf_swizzle.trace.writers import SHARED, STORED, UPDATED, Writers

MOST_ELEMENTS = 1 << 28
"""Elements of all tensors written to that are looked at one by one (1.3 GB)."""


class Written:
    """Notes who writes each element; complete as soon as all programs have been seen.

    Args:
        launch: whose tensors.
        memory: where they lie.
    """

    def __init__(self, launch: Launch, memory: Memory) -> None:
        self._memory = memory
        self._views = list(launch.tensors())
        self._writers: dict[int, Writers] = {}
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
            if covered.any():
                self._note(kind, programs[rows], lanes, covered, item_bytes)
        return wrote

    def _note(
        self,
        kind: Access,
        programs: Int64Array,
        lanes: Int64Array,
        covered: npt.NDArray[np.bool_],
        item_bytes: int,
    ) -> None:
        inside = 0
        used = lanes if covered.all() else lanes[covered]
        first, last = np.searchsorted(self._memory.begin, (used.min(), used.max()), side="right")
        for place in range(max(0, int(first) - 1), int(last)):
            writers = self._writers_of(place)
            inside += writers.note(kind, programs, lanes, covered, item_bytes)
        if self._elements <= MOST_ELEMENTS:  # else nothing is known
            self.lanes_outside += used.size - inside

    def _writers_of(self, place: int) -> Writers:
        if place not in self._writers:
            number = self._memory.numbers[place]
            grain = min(view.item_bytes for _, view in self._views if view.storage == number)
            begin, end = self._memory.begin[[place]], self._memory.end[[place]]
            self._elements += -(-int(end[0] - begin[0]) // grain)
            kept = end if self._elements <= MOST_ELEMENTS else begin
            self._writers[place] = Writers(begin, kept, grain)
        return self._writers[place]

    def outputs(self) -> tuple[Output, ...] | None:
        """The tensors that were written to; None where they have too many elements."""
        if self._elements > MOST_ELEMENTS:
            return None
        found = []
        for place, writers in sorted(self._writers.items()):
            number = self._memory.numbers[place]
            for name, view in self._views:
                if view.storage == number:
                    output = _output(name, view, writers)
                    if output.unwritten < output.elements:
                        found.append(output)
        return tuple(found)


def _output(name: str, view: TensorArgument, writers: Writers) -> Output:
    state = _elements_of(view, writers.state, writers.grain)
    missing = state == 0
    axes = range(missing.ndim)
    bounds = []
    for axis in axes:
        places = np.flatnonzero(missing.any(axis=tuple(other for other in axes if other != axis)))
        bounds.append((int(places[0]), int(places[-1])) if len(places) else (0, -1))
    element, one, other = (int(part) for part in writers.clash)
    index = view.index(element * writers.grain) if element >= 0 else None
    return Output(
        name=name,
        shape=view.shape,
        elements=state.size,
        unwritten=int(missing.sum()),
        shared=int(((state & SHARED) != 0).sum()),
        updated=int(((state & UPDATED) != 0).sum()),
        programs=_distinct(_elements_of(view, writers.first, writers.grain)[(state & STORED) != 0]),
        unwritten_range=tuple(bounds) if missing.any() else (),
        clash=None if index is None else (index, one, other),
    )


def _distinct(first: Int32Array) -> int:
    """How many programs there are among those that stored an element first."""
    present = np.zeros(int(first.max(initial=0)) + 1, np.bool_)
    present[first] = True
    return int(present.sum())


def _elements_of(view: TensorArgument, array: npt.NDArray[Any], grain: int) -> npt.NDArray[Any]:
    """The entries of a tensor's elements, in the tensor's shape (no copy)."""
    step = view.item_bytes // grain
    return np.lib.stride_tricks.as_strided(
        array[view.offset_bytes // grain :],
        view.shape,
        tuple(stride * step * array.itemsize for stride in view.strides),
    )
