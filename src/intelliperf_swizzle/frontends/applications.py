# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An application that is recorded: watched to its end, and what is said of how that came."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from intelliperf_swizzle.children import Child, signal_name

if TYPE_CHECKING:
    from intelliperf_swizzle.frontends.ports import RecordRequest

LOG = "app.log"
"""What the application prints, in the folder that it is started with."""
PATIENCE_SECONDS = 2.0
"""Between asking the application to end and killing it."""
_LAST_BYTES = 1 << 18
_LAST_LINES = 20
_ERROR_LINES = 5
_TRACEBACK = "Traceback (most recent call last):"
_RANK = re.compile(r"^\[\w+\]: ?")
"""Before each line of a process of PyTorch's launchers."""

EndedBy: TypeAlias = Literal["exit", "limit"]


def watch_to_end(
    application: Child, request: RecordRequest, folder: Path, deadline: float
) -> Ending:
    """Waits until an application exits, or its time is up; nothing is left of it.

    Args:
        application: just started.
        request: that it was started for.
        folder: of its log.
        deadline: on the monotonic clock.
    """
    try:
        exit_code = application.wait(max(0.0, deadline - time.monotonic()))
    finally:
        application.end(PATIENCE_SECONDS)
    return Ending("limit" if exit_code is None else "exit", exit_code, request, last_lines(folder))


@dataclass(frozen=True)
class Ending:
    """How an application ended.

    Attributes:
        ended_by: itself or the recording.
        exit_code: of it, None if it was ended.
        request: that it was started for.
        last_lines: that it has printed.
    """

    ended_by: EndedBy
    exit_code: int | None
    request: RecordRequest
    last_lines: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The same in words."""
        if self.ended_by == "limit":
            return (
                f"the application was ended at the time limit of {self.request.limit_seconds:g} s"
            )
        return f"the application {how_ended(self.exit_code)}"

    def cautions(self, computed: bool) -> tuple[str, ...]:
        """What may be missing, if the application did not come to a good end.

        Args:
            computed: whether all launches were executed.
        """
        if self.exit_code == 0:
            return ()
        remedy = ""
        if self.ended_by == "limit":
            remedy = "; --limit_seconds gives it more time"
        elif self.exit_code and self.exit_code > 0 and not computed:
            remedy = "; --compute always executes what it may have checked"
        return (
            f"{self.sentence}: launches are counted until then, and what it launches later is"
            f" missing{remedy}",
        )


def how_ended(exit_code: int | None) -> str:
    """What a process did at its end."""
    if exit_code is not None and exit_code < 0:
        return f"was killed by {signal_name(-exit_code)}"
    return f"ended with exit status {exit_code}"


def last_lines(folder: Path) -> tuple[str, ...]:
    """The last lines that the application printed, and before them the first error, if that is cut.

    A launcher such as `torchrun` prints more of its own after a child's error than fits.
    """
    with (folder / LOG).open("rb") as log:
        log.seek(0, os.SEEK_END)
        log.seek(max(0, log.tell() - _LAST_BYTES))
        text = log.read().decode("utf-8", "replace")
    printable = "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    lines = [line.rstrip() for line in printable.splitlines()]
    first = _first_error(lines[:-_LAST_LINES])
    return (*first, *(["…"] if first else []), *lines[-_LAST_LINES:])


def _first_error(lines: Sequence[str]) -> list[str]:
    """The end of the first traceback; empty if there is none."""
    texts = [_RANK.sub("", line) for line in lines]
    if _TRACEBACK not in texts:
        return []
    begin = texts.index(_TRACEBACK)
    ends = (at for at in range(begin + 1, len(texts)) if not texts[at].startswith(" "))
    end = next(ends, -1) + 1
    return list(lines[max(begin, end - _ERROR_LINES) : end])
