# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The ceiling: counted by hand, and never exceeded by any order under any physics."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces_by_hand import ATOMIC, READ, WRITE, gemm, written_out

from intelliperf_swizzle.cache import Physics, ReplayedLaunch, Screen, ceiling, replay
from intelliperf_swizzle.hardware import load_target

MI300X, H200 = load_target("mi300x"), load_target("h200")


def domains(target, count):
    return dataclasses.replace(target, num_xcds=count, dispatch_domains=tuple(range(count)))


def reads(*lines):
    return [(READ, [line]) for line in lines]


@pytest.mark.parametrize(
    ("tiles", "rate"),
    [
        ([reads(0)] * 8, 1 - 2 / 8),  # eight tiles, four programs per domain: two domains
        ([reads(0)] * 4 + [[]] * 4, 1 - 1 / 4),  # four fit on one
        ([reads(0)] * 5 + [[]] * 3, 1 - 2 / 5),
        ([reads(0, 1, 0)] * 2, 1 - 4 / 6),  # one program per domain
        ([reads(0, 0), reads(1)], 1 - 2 / 3),
        ([[(WRITE, [0])], [(WRITE, [1])]], 1 - 2 / 4),
        ([[(ATOMIC, [0])], [(READ, [0])]], 1 - 2 / 3),
    ],
)
def test_the_ceiling_counted_by_hand(tiles, rate):
    found = ceiling([written_out(tiles)], domains(MI300X, 2))
    assert found.l2_hit_rate == pytest.approx(rate)
    assert "compulsory" in found.derivation


def test_where_writes_hit_a_written_line_need_not_miss():
    trace = written_out([[(WRITE, [0]), (READ, [0]), (READ, [1])]])
    assert ceiling([trace], domains(H200, 1)).l2_hit_rate == pytest.approx(1 - 4 / 12)


def test_several_launches_by_their_counts_or_by_the_greatest():
    one, two = written_out([reads(0)]), written_out([reads(0, 0, 0, 0)])
    target = domains(MI300X, 1)
    assert ceiling([one, two], target).l2_hit_rate == pytest.approx(3 / 4)
    assert ceiling([one, two], target, [2, 1]).l2_hit_rate == pytest.approx(1 - 3 / 6)


accesses = st.tuples(
    st.sampled_from([READ, READ, READ, WRITE, ATOMIC]),
    st.lists(st.integers(0, 12), min_size=1, max_size=4, unique=True),
)
kernels = st.lists(st.lists(accesses, max_size=5), min_size=1, max_size=7)


def machines():
    for base, count, ways in itertools.product((MI300X, H200), (1, 2, 3), (1, 4)):
        yield dataclasses.replace(
            domains(base, count),
            cus_per_xcd=2,
            l1_bytes=256,
            l1_ways=1,
            l2_bytes_per_xcd=128 * 4 * ways,
            l2_ways=ways,
            l2_channels_per_xcd=2,
            l2_channel_bits=((0,),),
            l2_set_bits=((1,),),
        )


@settings(max_examples=25, deadline=None)
@given(kernels, st.sampled_from([1, 3, 15]), st.randoms(use_true_random=False))
def test_no_order_exceeds_the_ceiling_under_any_physics(tiles, sectors, random):
    trace = written_out(tiles, sectors)
    orders = list(itertools.permutations(range(trace.tiles)))
    for target in random.sample(list(machines()), 4):
        bound = ceiling([trace], target).l2_hit_rate + 1e-12
        for order in random.sample(orders, min(6, len(orders))):
            tile = np.array(order, np.int64)
            for occupancy in (1, 2):
                physics = Physics(l1=random.random() < 0.5, drift=random.random() < 0.5)
                assert (
                    replay([ReplayedLaunch(trace, tile, 1, occupancy)], target, physics).l2_hit_rate
                    <= bound
                )
                assert Screen(trace, target, occupancy).hit_rate(tile) <= bound


def test_every_permutation_of_a_small_kernel_stays_below():
    trace = written_out([reads(0, 1), reads(0, 2), reads(3, 1), reads(3, 2), reads(0, 3)])
    target = domains(MI300X, 2)
    bound = ceiling([trace], target).l2_hit_rate
    rates = [
        Screen(trace, target, 1).hit_rate(np.array(order))
        for order in itertools.permutations(range(5))
    ]
    assert max(rates) <= bound
    assert max(rates) > min(rates)


def test_a_gemm_cannot_hit_more_often_than_its_matrices_allow():
    trace = gemm(512, 512, 512, 128, 128, 64)
    lines = 3 * 512 * 512 * 2 // 128
    requests = 16 * 8 * 256 + 2 * lines // 3
    # a block row or column is read by four of the sixteen programs; two go to each XCD
    matrices = 2 * (lines // 3) * 2 + lines // 3
    assert ceiling([trace], MI300X).l2_hit_rate == pytest.approx(1 - matrices / requests)
