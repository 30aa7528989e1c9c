# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a process of an application tells its parent while it runs: one JSON object a line.

Lines are appended with one write each, so several processes may write, and a kill loses at most
the line that was being written.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

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

    def unread(self) -> list[dict[str, Any]]:
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
