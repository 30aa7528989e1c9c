# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Heaviest tiles first, where their work grows along an axis."""

from __future__ import annotations

import numpy as np
import pytest

from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.mapping import prove
from intelliperf_swizzle.propose import Problem
from intelliperf_swizzle.propose.nest import (
    Axis,
    Nest,
    Slope,
    heaviest_first,
    plain,
    slopes,
    upside_down,
)
from intelliperf_swizzle.records import Float64Array, KernelSource, Launch, Proof
from intelliperf_swizzle.records import SourceFunction as Function

MI300X = load_target("mi300x")
SOURCE = KernelSource("k", {"k": Function("k", "/k.py", 1, "def k(): pass")})
GRID = (12, 32, 1)
"""Blocks of queries, which are axis 1 of the axes slow to fast, and heads."""

HEADS_AND_QUERIES = (Axis("grid_1", 32), Axis("grid_0", 12))
CAUSAL = np.tile(np.arange(1.0, 13), 32)


def orders(work: Float64Array | None) -> list[Nest]:
    launch = Launch("k", SOURCE, GRID, {}, (), {}, {})
    callbacks = (lambda: None, lambda: (), lambda _: None)
    none = Problem((launch,), MI300X, 0, 1, 99, *callbacks, work=work)  # type: ignore[arg-type]
    return list(heaviest_first(none))


def tiles(nest: Nest) -> np.ndarray:
    return evaluate(parse(nest.text()), GRID, {}, num_xcds=8, cus_per_xcd=38)


@pytest.mark.parametrize(
    ("work", "found"),
    [
        (CAUSAL, [Slope(1, True)]),
        (np.tile(np.arange(12.0, 0, -1), 32), [Slope(1, False)]),
        (np.repeat(np.arange(1.0, 33), 12), [Slope(0, True)]),
        (np.tile([1.0, 2, 3, 4, 4, 5, 6, 7, 4, 4, 5, 5], 32), [Slope(1, True)]),
        (np.tile([1.0, 2] * 6, 32), []),
        (CAUSAL + np.repeat(np.arange(32.0, 0, -1), 12), [Slope(0, False), Slope(1, True)]),
        (np.full(384, 7.0), []),
        (np.tile(np.arange(100.0, 101, 1 / 12), 32), []),
    ],
)
def test_the_work_must_grow_or_fall_along_an_axis(work: Float64Array, found: list[Slope]) -> None:
    assert slopes(HEADS_AND_QUERIES, work) == found


def test_the_first_order_starts_all_of_the_heaviest_before_any_lighter_one() -> None:
    nest, *_ = orders(CAUSAL)
    assert (np.diff(CAUSAL[tiles(nest)]) <= 0).all()


def test_in_the_others_each_domain_has_separate_heads_and_starts_heavy() -> None:
    _, *within = orders(CAUSAL)
    assert [nest.name() for nest in within] == [
        "nest 0:8 1:12 0:4 share down 1",
        "nest 0:16 1:12 0:2 share down 1",
        "nest 0:32 1:12 share down 1",
    ]
    for nest in within:
        tile = tiles(nest)
        for domain in range(8):
            mine = tile[domain::8]
            assert set(mine // 12) == set(range(4 * domain, 4 * domain + 4))
            assert CAUSAL[mine[0]] == 12


def test_work_that_falls_is_taken_from_the_front() -> None:
    falling = np.tile(np.arange(12.0, 0, -1), 32)
    assert [nest.down for nest in orders(falling)] == [None] * 4
    assert (np.diff(falling[tiles(orders(falling)[0])]) <= 0).all()


@pytest.mark.parametrize("work", [None, np.tile([1.0, 2] * 6, 32)])
def test_other_work_gives_no_such_order(work: Float64Array | None) -> None:
    assert orders(work) == []


def test_an_order_upside_down_is_a_permutation_with_the_axis_from_its_end() -> None:
    nest = plain(HEADS_AND_QUERIES, linear=False, chunk=None)
    turned = upside_down(nest, CAUSAL)
    assert turned is not None
    proof = prove(parse(turned.text()), GRID, {}, num_xcds=8, cus_per_xcd=38)
    assert isinstance(proof, Proof)
    assert (tiles(turned) % 12 == 11 - tiles(nest) % 12).all()
    assert (tiles(turned) // 12 == tiles(nest) // 12).all()
    assert upside_down(turned, CAUSAL) is None
    assert upside_down(nest, None) is None
    flat = (Axis("num_pids // cdiv(N, 4)", 32), Axis("cdiv(N, 4)", 12))
    linear = upside_down(plain(flat, linear=True, chunk=4), CAUSAL)
    assert linear is not None
    proof = prove(parse(linear.text()), (384, 1, 1), {"N": 48}, num_xcds=8, cus_per_xcd=38)
    assert isinstance(proof, Proof)
