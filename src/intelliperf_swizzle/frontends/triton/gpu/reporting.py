# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the agent tells the parent, by the journal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from intelliperf_swizzle.codec import encode
from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.trials.trial import Check, Failure, FailureKind


@dataclass
class AgentReport:
    """Writes what the agent does, and what came of it, into the journal of a folder.

    Attributes:
        folder: of the journal.
        failed: the candidates that need not be tried any more.
    """

    folder: Path
    failed: set[int]

    def tell(self, event: str, **fields: object) -> None:
        """Any event."""
        journal.write(self.folder, event, **fields)

    def working(self, number: int, candidate: int | None, what: str, seconds: float) -> None:
        """What is begun, and how long it may take."""
        self.tell("working", launch=number, candidate=candidate, what=what, limit_seconds=seconds)

    def checked(self, number: int, candidate: int, check: Check) -> None:
        """What came of a comparison."""
        if not check.same:
            self.failed.add(candidate)
        self.tell("checked", launch=number, candidate=candidate, check=encode(check))

    def fail(self, number: int, candidate: int, kind: FailureKind, error: BaseException) -> None:
        """Why there is no comparison."""
        self.failed.add(candidate)
        failure = encode(Failure(kind, in_words(error)))
        self.tell("failed", launch=number, candidate=candidate, failure=failure)


def in_words(error: BaseException) -> str:
    """Its type and first line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:500]
