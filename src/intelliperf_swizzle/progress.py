# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How a run reports what it is doing; what shows it is not decided here."""

from collections.abc import Callable
from typing import Protocol

compiling: list[Callable[[], None]] = []
"""Called when a function of the cache model is compiled: the first time on a machine."""


class Progress(Protocol):
    """Told of each phase of a run and of the steps inside it."""

    def phase(self, sentence: str) -> None:
        """A new phase begins; a few words, `tracing matmul_kernel`."""

    def step(self, done: int, total: int, best: str) -> None:
        """`done` of about `total` steps of the phase are over; `best` is the best so far."""

    def note(self, sentence: str) -> None:
        """Something the user should know, as one sentence."""


class Silent:
    """Shows nothing."""

    def phase(self, sentence: str) -> None:
        """Ignores it."""

    def step(self, done: int, total: int, best: str) -> None:
        """Ignores it."""

    def note(self, sentence: str) -> None:
        """Ignores it."""
