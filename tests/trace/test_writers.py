# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Who writes which element, beside sets of programs in plain Python."""

import random
from collections import defaultdict

import numpy as np
import pytest

from intelliperf_swizzle.records import Access
from intelliperf_swizzle.trace.sharing import MIXED, SHARED, STORED, UPDATED, Writers

RANGES = [(0, 64), (96, 128), (200, 232)]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("grain", [1, 4])
def test_states_are_those_of_sets(seed: int, grain: int) -> None:
    source = random.Random(seed)
    begin, end = (np.array(bounds) for bounds in zip(*RANGES, strict=True))
    writers = Writers(begin, end, grain)
    storers, updaters, readers = defaultdict(list), defaultdict(set), defaultdict(set)
    elements = [(low + at, low + at + grain) for low, high in RANGES
                for at in range(0, high - low, grain)]  # fmt: skip
    for _ in range(source.randint(1, 12)):
        kind = source.choice((Access.WRITE, Access.READ, Access.WRITE, Access.ATOMIC))
        programs = np.array([source.randrange(4) for _ in range(2)])
        lanes = np.array([[4 * source.randrange(60) for _ in range(3)] for _ in range(2)])
        covered = np.array([[source.random() < 0.8 for _ in range(3)] for _ in range(2)])
        inside = writers.note(kind, programs, lanes, covered, 4)
        written = [(p, low) for p, row, kept in zip(programs, lanes, covered, strict=True)
                   for low, on in zip(row, kept, strict=True) if on]  # fmt: skip
        assert inside == sum(
            any(a <= low and low + 4 <= b for a, b in RANGES) for _, low in written
        )
        for program, low in written:
            for element, (first, last) in enumerate(elements):
                if low < last and first < low + 4:
                    if kind == Access.READ:
                        readers[element].add(program)
                    elif kind == Access.ATOMIC:
                        updaters[element].add(program)
                    else:
                        storers[element].append(program)
    clashes = writers.clashes()
    for element in range(len(elements)):
        stored, updated = set(storers[element]), updaters[element]
        met = any(a != b for a in stored | updated for b in stored | readers[element])
        assert clashes[element] == met
        state = writers.state[element]
        assert bool(state & STORED) == bool(stored)
        assert bool(state & UPDATED) == bool(updated)
        assert bool(state & SHARED) == (len(stored) > 1)
        if len(stored) == 1:
            assert bool(state & MIXED) == bool(updated - stored)
        if stored:
            assert writers.first[element] == storers[element][0]
    if writers.clash[0] >= 0:
        element, *two = writers.clash
        assert set(two) <= set(storers[element])
        assert two[0] != two[1]
