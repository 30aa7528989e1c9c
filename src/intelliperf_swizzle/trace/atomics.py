# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The atomic updates of a launch: of which words, and whether their order shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from intelliperf_swizzle.records import Int64Array

_MOST_WORDS = 1 << 22
"""Words that are kept (64 MB) to tell whether programs update the same one."""

EXCHANGES = frozenset(("atomic_xchg", "atomic_cas"))
"""What these leave depends on the order of programs; others commute with their own kind."""


@dataclass(frozen=True)
class Update:
    """The atomic operation that a kernel is executing.

    Attributes:
        name: as Triton calls it, `atomic_add`; empty where no kernel is executing one.
        answer_is_used: whether the kernel takes its result.
        kind: width and kind of the numbers, and a limit if there is one: only updates that are
            the same in all of these commute.
    """

    name: str
    answer_is_used: bool
    kind: str = ""


class Atomics:
    """The words that programs update with atomics, and where it shows in what order.

    Args:
        begin: int64[storages]; first address of each storage, increasing.
        current_update: the operation that is being carried out, if one is.

    Attributes:
        words: programs and addresses of all atomics; None if they are too many.
        ordered: places of the storages where it shows in what order programs update a word.
    """

    def __init__(self, begin: Int64Array, current_update: Callable[[], Update]) -> None:
        self._begin = begin
        self._current_update = current_update
        self.words: list[tuple[Int64Array, Int64Array]] | None = []
        self.ordered: set[int] = set()
        self._count = 0
        self._updates: dict[int, set[tuple[str, str]]] = {}

    def note_update(self, low: int, high: int) -> None:
        """Keep which storages show in what order programs update them between two addresses.

        They do where an answer is used, and where the updates do not commute.
        """
        update = self._current_update()
        first, last = np.searchsorted(self._begin, (low, high), side="right") - 1
        for place in range(int(first), int(last) + 1):
            kinds = self._updates.setdefault(place, set())
            kinds.add((update.name, update.kind))
            if update.answer_is_used or update.name in EXCHANGES or len(kinds) > 1:
                self.ordered.add(place)

    def has_room(self, count: int) -> bool:
        """Whether so many more words can be kept; if not, none are."""
        if self._count + count > _MOST_WORDS:
            self.words = None
        return self.words is not None

    def keep(self, programs: Int64Array, words: Int64Array) -> None:
        """Keeps the addresses that programs update."""
        if self.has_room(len(words)) and self.words is not None:
            self._count += len(words)
            self.words.append((programs, words))
