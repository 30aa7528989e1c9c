# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whatever the local search writes down is a permutation that says what its name says."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.mapping import prove
from intelliperf_swizzle.propose.nest import Axis, Digit, Nest, neighbours, plain
from intelliperf_swizzle.records import Proof

COLUMNS = Axis("cdiv(N, BN)", 24)
ROWS = Axis("num_pids // cdiv(N, BN)", 36)
CONSTANTS = {"N": 24 * 128 - 5, "BN": 128}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12]))
def test_every_walk_stays_among_permutations(seed: int, steps: int, num_xcds: int) -> None:
    nest = plain((ROWS, COLUMNS), linear=True, chunk=None)
    rng = random.Random(seed)
    for _ in range(steps):
        nest = next(neighbours(nest, rng))
    proof = prove(parse(nest.text()), (864, 1, 1), CONSTANTS, num_xcds=num_xcds, cus_per_xcd=38)
    assert isinstance(proof, Proof), nest.text()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_nests_of_grids_with_several_axes_set_each_axis(seed: int) -> None:
    axes = (Axis("grid_2", 3), Axis("grid_1", 8), Axis("grid_0", 10))
    nest = plain(axes, linear=False, chunk=None)
    rng = random.Random(seed)
    for _ in range(6):
        nest = next(neighbours(nest, rng))
    proof = prove(parse(nest.text()), (10, 8, 3), {}, num_xcds=8, cus_per_xcd=38)
    assert isinstance(proof, Proof), nest.text()


def test_a_plain_nest_as_dealt_is_the_identity() -> None:
    nest = plain((ROWS, COLUMNS), linear=True, chunk=1)
    tiles = evaluate(parse(nest.text()), (864, 1, 1), CONSTANTS, num_xcds=8, cus_per_xcd=38)
    assert (tiles == np.arange(864)).all()


@pytest.mark.parametrize("chunk", [None, 4, 64])
def test_the_domain_owns_chunks_of_the_nest(chunk: int | None) -> None:
    """Eight rows of eight; bands of two rows walked column by column."""
    axes = (Axis("num_pids // 8", 8), Axis("8", 8))
    nest = Nest(axes, (Digit(0, 4), Digit(1, 8), Digit(0, 2)), chunk)
    walk = [(2 * band + row) * 8 + col for band in range(4) for col in range(8) for row in range(2)]
    tiles = evaluate(parse(nest.text()), (64, 1, 1), {}, num_xcds=4, cus_per_xcd=1)
    if chunk == 64:  # 64 tiles do not fill 4 x 64: everything is the tail, which stays as dealt
        assert tiles.tolist() == walk
        return
    size = 16 if chunk is None else chunk
    for xcd in range(4):
        owned = [walk[start + i] for start in range(xcd * size, 64, 4 * size) for i in range(size)]
        assert tiles[xcd::4].tolist() == owned


def test_a_reversed_digit_turns_back_at_every_second_step_of_the_slower_one() -> None:
    axes = (Axis("num_pids // 4", 3), Axis("4", 4))
    nest = Nest(axes, (Digit(0, 3), Digit(1, 4, reverse=True)), chunk=1)
    tiles = evaluate(parse(nest.text()), (12, 1, 1), {}, num_xcds=8, cus_per_xcd=1)
    assert tiles.tolist() == [0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11]
