# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The simulators that the model is timed against count as a cache does."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

SETS, WAYS = 4, 3


@pytest.fixture
def simulators(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import simulators as module

    return module


def misses(lines: list[int]) -> int:
    """LRU by the book, set by set."""
    held: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(SETS)]
    missed = 0
    for line in lines:
        row = held[line % SETS]
        missed += line not in row
        row[line] = None
        row.move_to_end(line)
        if len(row) > WAYS:
            row.popitem(last=False)
    return missed


def test_plain_lru_and_pycachesim_count_the_same_misses(simulators: ModuleType) -> None:
    lines = np.random.default_rng(0).zipf(1.3, 2000).clip(max=99).astype(np.int32)
    set_of_line = (np.arange(100) % SETS).astype(np.int32)
    expected = misses(lines.tolist())
    assert simulators.plain_lru(lines, set_of_line, SETS, WAYS) == expected
    pytest.importorskip("cachesim", reason="the extra `simulators` is not installed")
    assert simulators.pycachesim_misses(lines, set_of_line, SETS, WAYS) == expected


def test_resident_workgroups_advance_an_access_at_a_time(simulators: ModuleType) -> None:
    tile_offset = np.array([0, 2, 3, 4])  # of accesses: two, one, one
    base = np.array([10, 20, 30, 40], np.int32)
    shape = np.array([0, 0, 0, 1], np.int32)  # one line, and two neighbouring ones
    offset, line = np.array([0, 1, 3]), np.array([0, 0, 1], np.int32)
    walked = simulators.lines_in_lockstep(
        np.array([0, 1, 2]), 2, tile_offset, base, shape, offset, line
    )
    assert walked.tolist() == [10, 30, 20, 40, 41]
