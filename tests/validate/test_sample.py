# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A sample holds the corners, the edges and both sides of each branch of a mapping."""

from __future__ import annotations

import numpy as np

from intelliperf_swizzle.mapping.permutation import sample_tiles


def test_corners_and_edges_of_a_box_come_first() -> None:
    grid = (5, 4, 3)
    tile = np.arange(60)[::-1].copy()
    sample = sample_tiles(grid, tile)
    tiles = {(t % 5, t // 5 % 4, t // 20) for t in tile[sample].tolist()}
    assert tiles >= {(x, y, z) for x in (0, 4) for y in (0, 3) for z in (0, 2)}
    assert tiles >= {(2, 0, 0), (0, 2, 0), (0, 0, 1), (4, 3, 1)}
    assert len(set(sample.tolist())) == len(sample)


def test_both_sides_of_a_guard_are_sampled() -> None:
    """The first 96 of 100 programs are dealt to 8 domains, the others keep their place."""
    tile = np.arange(100)
    tile[:96] = tile[:96] % 8 * 12 + tile[:96] // 8
    sample = sample_tiles((100, 1, 1), tile)
    assert {95, 96} <= set(sample.tolist())
    assert {0, 7, 8, 99} <= set(sample.tolist())


def test_one_program_is_enough_for_one_program() -> None:
    sample = sample_tiles((1, 1, 1), np.zeros(1, np.int64))
    assert sample.tolist() == [0]
