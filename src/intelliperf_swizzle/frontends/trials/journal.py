# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a process of an application reports to its parent while it runs, as JSON lines.

Lines are appended with one write each, so several processes may write, and a kill loses at most
the line that was being written.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from intelliperf_swizzle.records import Timing

FILE = "journal.jsonl"


def write(folder: Path, event: str, **fields: object) -> None:
    """Append one event to the journal in `folder`."""
    line = json.dumps({"event": event, **fields}) + "\n"
    with (folder / FILE).open("ab", buffering=0) as stream:
        stream.write(line.encode())


class Journal:
    """The journal as the parent reads it: from where it stopped the last time.

    Args:
        folder: of the capture.
        file: in it.
    """

    def __init__(self, folder: Path, file: str = FILE):
        self._path = folder / file
        self._position = 0

    def read_new(self) -> list[dict[str, Any]]:
        """The complete lines written since the last call; lines that are not JSON are left out."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as stream:
            stream.seek(self._position)
            text = stream.read()
        complete = text[: text.rfind(b"\n") + 1]
        self._position += len(complete)
        events = []
        for line in complete.splitlines():
            with suppress(ValueError):
                events.append(json.loads(line))
        return [event for event in events if isinstance(event, dict)]


FailureKind = Literal["does not build", "faulted", "hung", "not validated"]


@dataclass(frozen=True)
class Check:
    """One comparison of the original with a candidate, at one launch.

    Attributes:
        same: whether all bytes agree.
        difference: the first difference as text, None if there is none.
        loose: whether floats that atomics add up were compared within the tolerance.
    """

    same: bool
    difference: str | None
    loose: bool


@dataclass(frozen=True)
class Failure:
    """Why a candidate could not be compared.

    Attributes:
        kind: `faulted` and `hung` took the process with them.
        text: as a sentence.
    """

    kind: FailureKind
    text: str


@dataclass(frozen=True)
class Trial:
    """A candidate over all tasks.

    Attributes:
        checks: by task; those that were made.
        failure: None if it ran everywhere.
        timing: over all tasks, None if no times were taken.
        note: why not, or why the application was ended before all was tried.
    """

    checks: Mapping[int, Check]
    failure: Failure | None
    timing: Timing | None
    note: str | None = None

    @property
    def difference(self) -> str | None:
        """The first difference as text, None if all bytes agree."""
        return next((check.difference for check in self.checks.values() if not check.same), None)


@dataclass(frozen=True)
class Known:
    """What a process need not try any more.

    Attributes:
        checked: (task, candidate) pairs that need not be compared again.
        failed: candidates that are not tried any more.
        raced: tasks whose times are known.
    """

    checked: frozenset[tuple[int, int]] = frozenset()
    failed: frozenset[int] = frozenset()
    raced: frozenset[int] = frozenset()
