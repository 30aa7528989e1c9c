# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What programs access, and who takes note of it, whatever language they are written in;
and of which words are updated by atomics, and whether their order shows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.records import Access, Int64Array

Bits: TypeAlias = npt.NDArray[np.bool_]
_MOST_LANES = 1 << 22
"""Lanes that are spread out at once where programs are irregular (32 MB of addresses)."""


@dataclass(frozen=True, eq=False)
class BlockAccess:
    """A block that programs of a batch access at once.

    Attributes:
        kind: of the access.
        addresses: terms of a sum, each int64 of shape `(programs or 1, *extents or 1)`.
        mask: terms of a conjunction that says which lanes take part, bool of such shapes.
        item_bytes: of a lane.
        active: bool[programs]; which of them make the access.
        site: where in the source, as a number; None = not reported.
    """

    kind: Access
    addresses: Sequence[npt.NDArray[np.int64]]
    mask: Sequence[Bits]
    item_bytes: int
    active: Bits
    site: int | None = None

    @property
    def extents(self) -> tuple[int, ...]:
        """Of the block."""
        return np.broadcast_shapes(*(term.shape[1:] for term in (*self.addresses, *self.mask)))

    def used(self) -> list[npt.NDArray[np.int64]]:
        """The terms of the addresses of the active programs."""
        return [term if len(term) == 1 else term[self.active] for term in self.addresses]

    def span(self) -> tuple[int, int]:
        """Addresses of the active programs: none is below the first or above the second."""
        used = self.used()
        return sum(int(term.min()) for term in used), sum(int(term.max()) for term in used)

    def lanes(
        self, rows: Int64Array | None = None
    ) -> Iterator[tuple[Int64Array, Int64Array, Bits]]:
        """All lanes of some programs, by default the active ones, in pieces that fit memory.

        Yields:
            rows int64[n], addresses int64[n, lanes], which take part bool[n, lanes].
        """
        rows, extents = np.flatnonzero(self.active) if rows is None else rows, self.extents
        step = max(1, _MOST_LANES // max(1, int(np.prod(extents))))
        for start in range(0, len(rows), step):
            at = rows[start : start + step]
            lanes: Any = sum(_rows(term, at) for term in self.addresses)
            active: Any = np.ones((1,) * (1 + len(extents)), np.bool_)
            for term in self.mask:
                active = active & _rows(term, at)
            whole = [np.broadcast_to(array, (len(at), *extents)) for array in (lanes, active)]
            spread = [np.ascontiguousarray(array).reshape(len(at), -1) for array in whole]
            yield at, spread[0], spread[1]


def _rows(term: npt.NDArray[Any], at: Int64Array) -> npt.NDArray[Any]:
    return term if len(term) == 1 else term[at]


class Observer:
    """Takes the accesses of programs that run together, in batches, or one by one.

    This one takes note of none; others override what they want to know.
    """

    def begin(self, programs: Int64Array) -> None:
        """A batch begins."""

    def number(self, values: Int64Array | None, active: Bits | None = None) -> bool | None:
        """The active programs begin the tiles of these numbers; None = of no tile, or of all.

        False ends the batch.
        """
        return None

    def access(self, block: BlockAccess) -> int:
        """The active programs access a block; returns the access's number in the batch."""
        return 0

    def observe(self, program: int, block: BlockAccess) -> None:
        """A program that runs alone is about to access a block; the block has one row."""

    def end(self, active: Bits, value_loads: Mapping[int, int]) -> None:
        """The batch is over.

        `value_loads`: number of an access -> bit set of storages, for the loads whose values
        decided something.
        """


_WORD_BYTES = 4
_MOST_WORDS = 1 << 22  # words that are kept (64 MB) to see whether programs update the same one

EXCHANGES = frozenset(("atomic_xchg", "atomic_cas"))
"""What these leave depends on the order of programs; others commute with their own kind."""


@dataclass(frozen=True)
class Update:
    """The atomic operation that a kernel is executing.

    Attributes:
        name: as Triton calls it, `atomic_add`, with its type (and a limit, if it has one) where
            words are updated as several; empty if no kernel is executing one. Operations of one
            name commute, but for `EXCHANGES`.
        answer_is_used: whether the kernel takes its result.
    """

    name: str
    answer_is_used: bool


class Atomics:
    """The words that programs update with atomics, and where it shows in what order.

    Args:
        begin: int64[storages]; first address of each storage, increasing.
        current_update: the operation that is being carried out, if one is.

    Attributes:
        words: programs and words (addresses over 4) of all atomics; None if they are too many.
        ordered: places of the storages where it shows in what order programs update a word.
    """

    def __init__(self, begin: Int64Array, current_update: Callable[[], Update]) -> None:
        self._begin = begin
        self._current_update = current_update
        self.words: list[tuple[Int64Array, Int64Array]] | None = []
        self.ordered: set[int] = set()
        self._count = 0
        self._updates: dict[int, set[str]] = {}

    def note_update(self, low: int, high: int) -> None:
        """Keep which storages show in what order programs update them between two addresses.

        They do where an answer is used, and where the updates do not commute.
        """
        update = self._current_update()
        first, last = np.searchsorted(self._begin, (low, high), side="right") - 1
        for place in range(int(first), int(last) + 1):
            names = self._updates.setdefault(place, {update.name})
            names.add(update.name)
            if update.answer_is_used or names & EXCHANGES or len(names) > 1:
                self.ordered.add(place)

    def has_room(self, count: int) -> bool:
        """Whether that many more words can be kept; if not, none are."""
        if self._count + count > _MOST_WORDS:
            self.words = None
        return self.words is not None

    def keep(self, programs: Int64Array, addresses: Int64Array, item_bytes: int) -> None:
        """Keeps the words of four bytes that programs update."""
        words = addresses >> 2
        if item_bytes > _WORD_BYTES:
            more = np.arange(item_bytes // _WORD_BYTES)
            programs, words = np.repeat(programs, len(more)), (words[:, None] + more).ravel()
        if self.has_room(len(words)) and self.words is not None:
            self._count += len(words)
            self.words.append((programs, words))
