# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The atomic updates of a launch: of which words, and whether their order shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from intelliperf_swizzle.records import Int64Array

_WORD_BYTES = 4
_MOST_WORDS = 1 << 22
"""Words that are kept (64 MB) to tell whether programs update the same one."""

EXCHANGES = frozenset(("atomic_xchg", "atomic_cas"))
"""What these leave depends on the order of programs; others commute with their own kind."""


@dataclass(frozen=True)
class Update:
    """The atomic operation that a kernel is executing.

    Attributes:
        name: as Triton calls it, `atomic_add`, with its type (and a limit, if it has one) where
            words are updated as several; empty where no kernel is executing one. Operations of one
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
        """Whether so many more words can be kept; if not, none are."""
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
