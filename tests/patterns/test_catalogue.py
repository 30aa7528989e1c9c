# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Every pattern is a permutation wherever it claims to be, and does what its summary says."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from intelliperf_swizzle.formulas import Pattern, load_pattern, patterns
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.mapping import prove
from intelliperf_swizzle.records import Int64Array, Proof

XCDS = range(1, 13)
REQUIRED = {
    "identity",
    "xcd-contiguous",
    "grouped-rows",
    "xcd-contiguous-grouped",
    "chunked-xcd-window",
    "column-major",
    "snake",
    "morton",
    "hilbert",
    "head-first",
    "swizzled-head-first",
    "row-bands",
    "column-bands",
    "stream-k",
    "aiter-remap-xcd",
}


def settings(pattern: Pattern) -> Iterator[dict[str, int]]:
    """Every combination of the values that the pattern offers."""
    offered = {name: values for name, values in pattern.parameters.items() if values}
    for values in itertools.product(*offered.values()):
        yield dict(zip(offered, values, strict=True))


def shapes(pattern: Pattern, source: random.Random) -> dict[str, int]:
    """Random numbers for the parameters that belong to the launch, often awkward ones."""
    of_launch = [name for name, values in pattern.parameters.items() if not values]
    return {name: source.choice((1, 2, 3, 8, source.randint(1, 80))) for name in of_launch}


def tiles(pattern: Pattern, programs: int, num_xcds: int = 8, **values: int) -> Int64Array:
    return evaluate(
        parse(pattern.bind(**values)), (programs, 1, 1), {}, num_xcds=num_xcds, cus_per_xcd=38
    )


parsed = cache(parse)


def holds_on(pattern: Pattern, programs: int, num_xcds: int) -> bool:
    if pattern.condition is None:
        return True
    condition = parsed(f"pid = {pattern.condition}")
    where = evaluate(condition, (programs, 1, 1), {}, num_xcds=num_xcds, cus_per_xcd=38)
    return bool(where[0])


def assert_permutation(
    pattern: Pattern, programs: int, num_xcds: int, values: dict[str, int]
) -> None:
    # Parameters bound as constants of the launch: the text is the same for all of them.
    swizzle = parsed(pattern.text)
    outcome = prove(swizzle, (programs, 1, 1), values, num_xcds=num_xcds, cus_per_xcd=38)
    assert isinstance(outcome, Proof), (programs, num_xcds, values, outcome)


def test_the_catalogue_is_complete() -> None:
    assert {pattern.name for pattern in patterns()} >= REQUIRED
    for pattern in patterns():
        assert pattern.summary, pattern.name
        assert pattern.source, pattern.name


@pytest.mark.long
@pytest.mark.parametrize("pattern", patterns(), ids=lambda pattern: pattern.name)
def test_permutation_on_every_grid_up_to_4096_programs(pattern: Pattern) -> None:
    # Each number of programs on 8 XCDs and on another number; parameters change all the time.
    source = random.Random(1)
    every = list(settings(pattern))
    for programs in range(1, 4097):
        for num_xcds in {8, source.choice(XCDS)}:
            if holds_on(pattern, programs, num_xcds):
                values = {**source.choice(every), **shapes(pattern, source)}
                assert_permutation(pattern, programs, num_xcds, values)


@pytest.mark.parametrize("pattern", patterns(), ids=lambda pattern: pattern.name)
def test_permutation_at_every_parameter_on_small_and_on_large_grids(pattern: Pattern) -> None:
    source = random.Random(2)
    for values in settings(pattern):
        for programs in (*source.sample(range(1, 80), 5), source.randint(5_000, 60_000)):
            num_xcds = source.choice(XCDS)
            if holds_on(pattern, programs, num_xcds):
                assert_permutation(
                    pattern, programs, num_xcds, {**values, **shapes(pattern, source)}
                )


@pytest.mark.parametrize("pattern", patterns(), ids=lambda pattern: pattern.name)
def test_permutation_on_all_small_grids_of_every_shape(pattern: Pattern) -> None:
    of_launch = [name for name, values in pattern.parameters.items() if not values]
    typical = next(settings(pattern))
    for shape in itertools.product((1, 2, 3, 5, 9), repeat=len(of_launch)):
        values = {**typical, **dict(zip(of_launch, shape, strict=True))}
        for programs, num_xcds in itertools.product(range(1, 19), (1, 2, 3, 8)):
            if holds_on(pattern, programs, num_xcds):
                assert_permutation(pattern, programs, num_xcds, values)


@pytest.mark.parametrize("grid", [(7, 5, 1), (16, 16, 1), (3, 4, 5), (1, 9, 2)])
@pytest.mark.parametrize("pattern", patterns(), ids=lambda pattern: pattern.name)
def test_without_parameters_a_pattern_takes_the_grid_of_the_launch(
    pattern: Pattern, grid: tuple[int, int, int]
) -> None:
    if holds_on(pattern, grid[0] * grid[1] * grid[2], 4):
        swizzle = parse(pattern.bind())
        assert isinstance(prove(swizzle, grid, {}, num_xcds=4, cus_per_xcd=38), Proof)


def test_a_condition_is_not_too_strict() -> None:
    stream_k = load_pattern("stream-k")
    for programs in range(2, 200):
        outcome = prove(parse(stream_k.text), (programs, 1, 1), {}, num_xcds=8, cus_per_xcd=38)
        assert isinstance(outcome, Proof) is holds_on(stream_k, programs, 8)


def by_hand(programs: int, num_xcds: int, chunk: int, window: int, cols: int) -> list[int]:
    """Algorithm 1 of HipKittens, as printed."""
    rows, order = programs // cols, []
    limit = programs // (num_xcds * chunk) * (num_xcds * chunk)
    for linear in range(programs):
        xy = linear
        if xy < limit:
            xcd, local = xy % num_xcds, xy // num_xcds
            xy = local // chunk * num_xcds * chunk + xcd * chunk + local % chunk
        group = xy // (window * cols)
        height = min(rows - group * window, window)
        inside = xy % (window * cols)
        order.append((group * window + inside % height) * cols + inside // height)
    return order


@pytest.mark.parametrize(
    ("rows", "cols", "window", "chunk"),
    [(48, 36, 7, 216), (48, 36, 5, 25), (76, 57, 8, 542), (76, 57, 8, 64)],
)
def test_chunked_window_is_the_published_algorithm(
    rows: int, cols: int, window: int, chunk: int
) -> None:
    pattern = load_pattern("chunked-xcd-window")
    order = tiles(pattern, rows * cols, cols=cols, window=window, chunk=chunk)
    assert order.tolist() == by_hand(rows * cols, 8, chunk, window, cols)


def test_grouped_rows_walk_down_the_columns_of_a_band() -> None:
    order = tiles(load_pattern("grouped-rows"), 15, cols=3, group=2)
    assert order.tolist() == [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11, 12, 13, 14]


def test_a_tail_that_fills_no_row_keeps_its_order() -> None:
    order = tiles(load_pattern("column-major"), 8, cols=3)
    assert order.tolist() == [0, 3, 1, 4, 2, 5, 6, 7]


@pytest.mark.parametrize("programs", [64, 67, 304, 4096])
@pytest.mark.parametrize("name", ["xcd-contiguous", "aiter-remap-xcd"])
def test_contiguous_tiles_per_xcd(name: str, programs: int) -> None:
    order = tiles(load_pattern(name), programs)
    runs = [order[xcd::8] for xcd in range(8)]
    np.testing.assert_array_equal(np.concatenate(runs), np.arange(programs))


@pytest.mark.parametrize(
    ("name", "side"), [("hilbert", 4), ("hilbert", 16), ("hilbert", 64), ("morton", 8)]
)
def test_a_curve_through_one_block_keeps_together_what_is_near(name: str, side: int) -> None:
    order = tiles(load_pattern(name), side * side, cols=side, side=side)
    rows, cols = order // side, order % side
    if name == "hilbert":
        steps = abs(np.diff(rows)) + abs(np.diff(cols))
        np.testing.assert_array_equal(steps, 1)
    quarters = (rows // (side // 2) * 2 + cols // (side // 2)).reshape(4, -1)
    assert all(len(set(quarter)) == 1 for quarter in quarters.tolist())


def test_snake_never_jumps() -> None:
    order = tiles(load_pattern("snake"), 35, cols=7)
    assert set(abs(np.diff(order // 7)) + abs(np.diff(order % 7))) == {1}


@pytest.mark.parametrize(("heads", "batches"), [(16, 1), (16, 2), (4, 6), (24, 3)])
def test_swizzled_head_first_gives_whole_heads_to_an_xcd(heads: int, batches: int) -> None:
    blocks = 10
    order = tiles(
        load_pattern("swizzled-head-first"), heads * blocks * batches, heads=heads, blocks=blocks
    )
    head = order // (heads * blocks) * heads + order % heads
    for xcd in range(8):
        met = head[xcd::8]
        assert len(set(met.tolist())) == heads * batches // 8
        assert (np.diff(met) != 0).sum() == heads * batches // 8 - 1


def test_bands_give_each_xcd_its_rows_or_columns() -> None:
    rows, cols = 32, 24
    by_rows = tiles(load_pattern("row-bands"), rows * cols, cols=cols)
    by_cols = tiles(load_pattern("column-bands"), rows * cols, cols=cols)
    for xcd in range(8):
        assert set((by_rows[xcd::8] // cols).tolist()) == set(range(4 * xcd, 4 * xcd + 4))
        assert set((by_cols[xcd::8] % cols).tolist()) == set(range(3 * xcd, 3 * xcd + 3))
