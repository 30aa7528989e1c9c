# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the application's processes tell the parent while they run: one JSON object a line.

Lines are appended with one write each, so several processes may write, and a kill loses at most
the line that was being written. Events:

    {"event": "python"}                                a Python process of the command started
    {"event": "triton"}                                it imported Triton
    {"event": "new", "record": name}                   a launch was seen for the first time
    {"event": "further", "record": name}               … after many on the same grid
    {"event": "ran", "record": name, …}                the first one is over: how it was `Execution`
    {"event": "uses", "name": …, "user": place, "used": [place, …]}    of a jit function: `uses`
    {"event": "refused", "text": sentence, "usage": …} a launch could not be recorded; the user's
                                                       to mend
    {"event": "caution", "text": sentence}             what is missing or doubtful of the recording
    {"event": "note", "text": sentence}                something else for the report
"""

from __future__ import annotations

from dataclasses import dataclass

from intelliperf_swizzle.kernels.trials.journal import FILE, Journal, write

__all__ = ["FILE", "Execution", "Journal", "write"]


@dataclass(frozen=True)
class Execution:
    """Whether a recorded launch was executed.

    Attributes:
        computed: whether all its programs were run.
        seconds: what that took, or would have taken; None where it was not tried.
        for_integers: whether it went on beyond the budget because it writes integers.
    """

    computed: bool
    seconds: float | None
    for_integers: bool = False
