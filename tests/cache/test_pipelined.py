# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Loops that load a step ahead, replayed in time on XCDs that know nothing of each other."""

import dataclasses

import numpy as np
import pytest
from traces_by_hand import gemm

from intelliperf_swizzle.cache import Physics, ReplayedLaunch, Screen, replay, requests
from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.hardware import load_target

MI300X = load_target("mi300x")
M, N, K, BLOCK, STEP = 2048, 2048, 2048, 256, 64


def multiplying(trace, products=K // STEP):
    """The trace with the matrix products of its loop."""
    work = np.zeros((trace.tiles, 3), np.int64)
    work[:, 0] = products
    work[:, 1] = 2 * BLOCK * BLOCK * STEP * products
    return dataclasses.replace(trace, tile_arithmetic=work)


@pytest.fixture(scope="module")
def plain():
    return gemm(M, N, K, BLOCK, BLOCK, STEP)


@pytest.fixture(scope="module")
def pipelined(plain):
    return multiplying(plain)


def run(trace, target=MI300X, physics=None, order=None):
    tile = np.arange(trace.tiles) if order is None else order
    return replay([ReplayedLaunch(trace, tile)], target, physics or Physics())


def test_columns_of_blocks_in_one_channel_do_not_drive_each_other_out(plain, pipelined):
    """Rows of 4 KiB: a block's lines lie in one channel. CUs ask for them line by line."""
    access_by_access = run(plain, physics=Physics(drift=False))
    in_time = run(pipelined)
    assert in_time.l2_hit_rate > access_by_access.l2_hit_rate
    hashed = dataclasses.replace(MI300X, l2_channel_bits=None)
    assert in_time.l2_hit_rate == pytest.approx(run(pipelined, hashed).l2_hit_rate, abs=0.01)


def test_results_of_products_are_stored_in_requests_of_32_bytes(plain, pipelined):
    writes = M * N * 2
    assert requests(pipelined, MI300X) - requests(plain, MI300X) == writes // 32 - writes // 64


def test_it_takes_as_long_as_the_arithmetic_at_least_and_longer_where_data_come_late(pipelined):
    soon = dataclasses.replace(
        MI300X, clocks_l2_hit=0.0, clocks_llc=0.0, clocks_memory=0.0, clocks_workgroup_start=0.0
    )
    late = dataclasses.replace(MI300X, clocks_llc=20_000.0, clocks_memory=20_000.0)
    clocks = int(stream_of(pipelined).tile_arithmetic[0, 1]) / MI300X.flops_per_clock_cu
    least = clocks / (MI300X.clock_ghz * 1e6)
    times = [run(pipelined, target).replayed_time_ms for target in (soon, MI300X, late)]
    assert least < times[0] < 1.2 * least
    assert times[0] < times[1] < times[2]
    # a step is loaded while the one before is: of 32 each second one waits for data that come late
    assert times[2] > 16 * 20_000 / (MI300X.clock_ghz * 1e6)


def test_the_same_twice_and_with_causes(pipelined):
    both = [
        replay([ReplayedLaunch(pipelined, np.arange(pipelined.tiles))], MI300X, causes=causes)
        for causes in (False, True)
    ]
    assert both[0].l2_hit_rate == both[1].l2_hit_rate
    misses = round((1 - both[1].l2_hit_rate) * both[1].l2_requests)
    assert sum(cause.misses for cause in both[1].causes) == misses


def test_the_screen_ranks_as_the_replay_in_time(pipelined):
    screen = Screen(pipelined, MI300X, 1)
    assert screen.parts == 1
    rows = np.arange(pipelined.tiles)
    orders = [rows, rows.reshape(8, 8).T.reshape(-1), np.random.default_rng(0).permutation(rows)]
    screened = [screen.hit_rate(order) for order in orders]
    replayed = [run(pipelined, order=order).l2_hit_rate for order in orders]
    assert np.argmin(screened) == np.argmin(replayed)


def test_what_one_xcd_alone_reads_is_waited_for_longer(pipelined):
    """64 tiles on 8 XCDs: a row of them each, or halves of two rows."""
    index = np.arange(pipelined.tiles)
    xcd, at = index % 8, index // 8
    light = dataclasses.replace(pipelined, tile_arithmetic=pipelined.tile_arithmetic // 8)
    light.tile_arithmetic[:, 0] = pipelined.tile_arithmetic[:, 0]
    alone = run(light, order=xcd * 8 + at)
    shared = run(light, order=(xcd // 2 * 2 + at // 4) * 8 + xcd % 2 * 4 + at % 4)
    assert alone.l2_hit_rate < shared.l2_hit_rate
    assert alone.replayed_time_ms > 1.1 * shared.replayed_time_ms
    assert shared.modelled_time_ms >= shared.replayed_time_ms
