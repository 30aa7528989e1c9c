# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What `validate` asks of its child process, and what that answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from intelliperf_swizzle.records import Int64Array, Launch

ORIGINAL, EDITED = "original", "edited"
"""What the child is running, as its stage file says, before the number of the launch."""


@dataclass(frozen=True)
class Request:
    """One launch to compare.

    Attributes:
        launch: as it was recorded.
        edits: function key -> its text with the swizzle in it.
        tile: int64[tiles]; the proved mapping, launch index or number of a loop -> tile.
        read_storages: numbers of the storages that the launch reads; the others get poison.
        summed_storages: numbers of those that programs update with atomics.
        sample: launch indices, or numbers, to execute where not all are, the most telling first.
        all_tiles: whether to execute all.
        together: whether programs may be executed at once: none reads what another one writes.
        tolerance: for floats of `summed_storages` where the order of additions matters, else None.
        must_execute: whether `sample` (or all) must be executed, as programs wait for each other;
            otherwise what a time limit leaves is enough.
    """

    launch: Launch
    edits: Mapping[str, str]
    tile: Int64Array
    read_storages: frozenset[int]
    summed_storages: frozenset[int]
    sample: Int64Array
    all_tiles: bool
    together: bool
    tolerance: float | None
    must_execute: bool


@dataclass(frozen=True)
class Answer:
    """What one step found: of tiles of a launch.

    Attributes:
        launch: which one; None = all of them.
        tiles_compared: how many tiles were executed in this step.
        difference: the first one in words, None if there is none.
    """

    launch: int | None
    tiles_compared: int = 0
    difference: str | None = None
