# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The full replay on caches so small that what is resident can be written out by hand."""

import dataclasses
from collections import OrderedDict

import numpy as np
import pytest
from traces_by_hand import (
    ATOMIC,
    READ,
    WRITE,
    assembled,
    gemm,
    streaming,
    transpose,
    written_out,
)

from intelliperf_swizzle.cache import Physics, ReplayedLaunch, replay
from intelliperf_swizzle.cache.model import traffic
from intelliperf_swizzle.cache.stream import merge
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import evaluate, parse

MI300X = load_target("mi300x")
PLAIN = Physics(l1=False, llc=False, drift=False)


def tiny(**changes):
    """One XCD with one CU and an L2 of two sets of two ways; four lines in all."""
    facts = {
        "num_xcds": 1,
        "cus_per_xcd": 1,
        "dispatch_domains": (0,),
        "l1_bytes": 256,
        "l2_bytes_per_xcd": 512,
        "l2_ways": 2,
        "l2_channels_per_xcd": 1,
        "l2_channel_bits": (),
        "l2_set_bits": ((0,),),
        "llc_bytes": 1024,
    }
    return dataclasses.replace(MI300X, **(facts | changes))


def counted(trace, target, physics=PLAIN, tile=None, occupancy=1):
    order = np.arange(trace.tiles) if tile is None else np.asarray(tile)
    return traffic(merge(trace), order, target, occupancy, physics)


def reads(*lines):
    return [(READ, [line]) for line in lines]


@pytest.mark.parametrize(
    ("lines", "misses"),
    [
        ((0, 2, 0, 2), 2),  # set 0 holds both
        ((0, 2, 4, 0), 4),  # 4 drives out 0, the oldest; 0 then drives out 2
        ((0, 2, 0, 4, 0), 3),  # 0 was touched again, so 4 drives out 2
        ((0, 2, 0, 4, 2), 4),
        ((0, 1, 2, 3, 0, 1, 2, 3), 4),  # both sets full
        ((0, 2, 4, 1, 3, 1, 3), 5),  # set 1 is not disturbed by set 0
    ],
)
def test_reads_miss_where_the_set_has_been_refilled(lines, misses):
    total = counted(written_out([reads(*lines)]), tiny())
    assert (total.requests.tolist(), total.misses.tolist()) == ([len(lines)], [misses])
    assert total.fill_lines == misses


def test_the_set_is_the_parity_of_the_bits_that_the_target_names():
    crossed = tiny(l2_set_bits=((0, 1),))
    lines = (0, 3, 5, 0)  # parities of bits 0 and 1: 0, 0, 1
    assert counted(written_out([reads(*lines)]), crossed).misses.tolist() == [3]
    assert counted(written_out([reads(0, 3, 6, 0)]), crossed).misses.tolist() == [3]
    assert counted(written_out([reads(0, 3, 4, 0)]), crossed).misses.tolist() == [4]


def test_workgroups_of_one_l2_share_and_those_of_two_do_not():
    trace = written_out([reads(7), reads(7), reads(7), reads(7)])
    together = counted(trace, tiny())
    apart = counted(trace, tiny(num_xcds=2, dispatch_domains=(0, 1)))
    assert (together.misses.tolist(), apart.misses.tolist()) == ([1], [1, 1])
    assert apart.requests.tolist() == [2, 2]


def test_the_order_decides_who_meets():
    trace = written_out([reads(0), reads(1), reads(0), reads(1)])
    target = tiny(num_xcds=2, dispatch_domains=(0, 1))
    assert counted(trace, target).misses.sum() == 2
    assert counted(trace, target, tile=[0, 2, 1, 3]).misses.sum() == 4


def test_resident_workgroups_take_turns_access_by_access():
    trace = written_out([reads(0, 2, 4), reads(0, 2, 4)])
    # one after the other: 0 2 4 | 0 2 4 all miss; side by side: 0 0 2 2 4 4
    assert counted(trace, tiny()).misses.tolist() == [6]
    assert counted(trace, tiny(), occupancy=2).misses.tolist() == [3]


def test_where_nothing_is_multiplied_turns_are_missed_at_random(small_gemm):
    facts = {"cus_per_xcd": 16, "l2_bytes_per_xcd": 1 << 16, "l2_set_bits": None}

    def rates(trace):
        return {counted(trace, tiny(**facts), Physics(seed=seed)).misses[0] for seed in range(4)}

    assert len(rates(small_gemm)) > 1
    work = np.tile([4, 1 << 20, 0], (small_gemm.tiles, 1))
    assert len(rates(dataclasses.replace(small_gemm, tile_arithmetic=work))) == 1


def test_an_l1_hides_what_its_cu_has_just_read():
    trace = written_out([reads(0, 0, 1, 0, 2, 1)])
    total = counted(trace, tiny(), Physics(llc=False, drift=False))
    # L1 of two lines: 0, 1 miss; 0 hits twice; 2 drives out 1, which then misses
    assert (total.l1_hit_lines, total.requests.tolist()) == (2, [4])
    assert total.misses.tolist() == [3]


def test_writes_go_past_the_l1():
    trace = written_out([[(READ, [0]), (WRITE, [0]), (ATOMIC, [0])]])
    total = counted(trace, tiny(), Physics(llc=False, drift=False))
    assert total.requests.tolist() == [1 + 2 + 2]


def test_a_write_allocates_and_its_second_half_hits():
    total = counted(written_out([[(WRITE, [0, 1])]]), tiny())
    assert (total.requests.tolist(), total.misses.tolist()) == ([4], [2])
    assert (total.fill_lines, total.written_bytes) == (0, 256)


def test_a_half_line_write_is_one_request_and_64_bytes():
    total = counted(written_out([[(WRITE, [0])]], sectors=3), tiny())
    assert (total.requests.tolist(), total.misses.tolist()) == ([1], [1])
    assert (total.l2_bytes, total.written_bytes) == (64, 64)


def test_a_line_written_twice_is_written_back_once_unless_driven_out():
    kept = [(WRITE, [0]), (WRITE, [0])]
    driven_out = [(WRITE, [0]), *reads(2, 4), (WRITE, [0])]
    assert counted(written_out([kept]), tiny()).written_bytes == 128
    assert counted(written_out([driven_out]), tiny()).written_bytes == 256


def test_nvidia_counts_sectors_and_lets_writes_hit():
    nvidia = tiny(l2_read_request_bytes=32, l2_write_request_bytes=32, l2_writes_always_hit=True)
    total = counted(written_out([[(READ, [0]), (READ, [0]), (WRITE, [2])]]), nvidia)
    assert (total.requests.tolist(), total.misses.tolist()) == ([12], [4])


def test_the_last_level_cache_is_shared_and_sees_only_read_misses():
    trace = written_out([reads(7), reads(7)])
    target = tiny(num_xcds=2, dispatch_domains=(0, 1))
    total = counted(trace, target, Physics(l1=False, drift=False))
    assert (total.fill_lines, total.llc_hit_lines) == (2, 1)


def test_the_last_level_cache_forgets_its_oldest():
    # L2 of 4 lines, last-level cache of 8: nine lines twice over miss everywhere, eight do not
    nine = counted(written_out([reads(*range(9), *range(9))]), tiny(), Physics(l1=False))
    eight = counted(written_out([reads(*range(8), *range(8))]), tiny(), Physics(l1=False))
    assert (nine.fill_lines, nine.llc_hit_lines) == (18, 0)
    assert (eight.fill_lines, eight.llc_hit_lines) == (16, 8)


def line_by_line(trace, target, occupancy):
    """Requests' lines and misses of one domain in lockstep, written as plainly as can be."""
    sets = [OrderedDict() for _ in range(target.l2_sets_per_channel)]
    tiles = list(range(trace.tiles))
    slots = [iter(()) for _ in range(target.cus_per_xcd * occupancy)]
    touched = misses = 0

    def accesses(t):
        for a in range(trace.tile_offset[t], trace.tile_offset[t + 1]):
            s = trace.access_shape[a]
            shape = trace.shape_line[trace.shape_offset[s] : trace.shape_offset[s + 1]]
            yield trace.access_base[a] + shape

    for s in range(len(slots)):
        if tiles:
            slots[s] = accesses(tiles.pop(0))
    while slots:
        for s in list(slots):
            lines = next(s, None)
            if lines is None and tiles:
                slots[slots.index(s)] = s = accesses(tiles.pop(0))
                lines = next(s)
            if lines is None:
                slots.remove(s)
                continue
            for line in lines:
                row = sets[line % len(sets)]
                touched += 1
                misses += line not in row
                row[line] = row.pop(line, None)
                if len(row) > target.l2_ways:
                    row.popitem(last=False)
    return touched, misses


@pytest.mark.parametrize("occupancy", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_units_change_nothing_where_footprints_do_not_overlap(seed, occupancy):
    """Equal, to the line, to a replay that knows nothing of units."""
    rng = np.random.default_rng(seed)
    blocks = [list(range(8 * b, 8 * b + 1 + rng.integers(8))) for b in range(24)]
    trace = written_out(
        [[(READ, blocks[b]) for b in rng.integers(0, 24, rng.integers(1, 9))] for _ in range(30)]
    )
    target = tiny(
        cus_per_xcd=3, l2_bytes_per_xcd=8192, l2_ways=4, l2_set_bits=((0,), (1,), (2,), (3,))
    )
    total = counted(trace, target, occupancy=occupancy)
    touched, misses = line_by_line(trace, target, occupancy)
    assert (total.requests.sum(), total.misses.sum()) == (touched, misses)


@pytest.mark.parametrize(
    ("reads_", "writes", "rate"), [(1, 1, 1 / 3), (3, 1, 1 / 5), (0, 1, 1 / 2), (2, 2, 2 / 6)]
)
def test_streaming_hits_on_the_second_halves_of_its_writes_only(reads_, writes, rate):
    trace = streaming(2048, reads_, writes)
    found = replay([(trace, np.arange(2048), 1, 4)], MI300X)
    assert found.l2_hit_rate == pytest.approx(rate)


def test_layer_norm_that_reads_its_row_twice_hits_four_requests_in_six():
    # per line of the row: x, x again, w, b and two half-line writes; w and b are shared
    programs, lines = 608, 320
    row = np.arange(lines)
    tiles = [
        [
            (READ, (p * lines + row).tolist()),
            (READ, (p * lines + row).tolist()),
            (READ, (programs * lines + row).tolist()),
            (READ, ((programs + 1) * lines + row).tolist()),
            (WRITE, ((programs + 2 + p) * lines + row).tolist()),
        ]
        for p in range(programs)
    ]
    found = replay([ReplayedLaunch(written_out(tiles), np.arange(programs))], MI300X)
    assert found.l2_hit_rate == pytest.approx(4 / 6, abs=0.01)


def test_strides_of_a_power_of_two_crowd_one_channel():
    """A column of a matrix with 2^k columns lies in one channel, so much less of it is kept."""
    order = np.arange(32 * 32)
    stride = transpose(1024)
    spread = dataclasses.replace(MI300X, l2_channel_bits=None, l2_set_bits=None)
    small = {"l2_bytes_per_xcd": 4194304 // 16, "l2_set_bits": ((4,), (5,), (6,))}
    plain = dataclasses.replace(MI300X, l2_channel_bits=((0,), (1,), (2,), (3,)), **small)
    assert (
        counted(stride, plain, tile=order).misses.sum()
        > counted(
            stride, dataclasses.replace(spread, **small | {"l2_set_bits": None}), tile=order
        ).misses.sum()
    )


@pytest.fixture(scope="module")
def small_gemm():
    return gemm(512, 512, 256, 64, 64, 64)


def test_bytes_are_conserved_from_level_to_level(small_gemm):
    order = np.random.default_rng(0).permutation(small_gemm.tiles)
    total = counted(small_gemm, tiny(), Physics(), tile=order)
    read_lines = small_gemm.tiles * 4 * (64 + 64)
    written_lines = 512 * 512 * 2 // 128
    assert total.l1_hit_lines + total.requests.sum() == read_lines + 2 * written_lines
    assert total.written_bytes == 512 * 512 * 2
    assert total.fill_lines == total.misses.sum() - written_lines
    found = replay([ReplayedLaunch(small_gemm, order)], tiny())
    assert found.memory_bytes == found.llc_bytes - 128 * total.llc_hit_lines
    assert found.llc_bytes == 128 * total.fill_lines + total.written_bytes


def test_same_seed_same_numbers_and_another_seed_others(small_gemm):
    target = tiny(cus_per_xcd=16, l2_bytes_per_xcd=1 << 16, l2_set_bits=None)
    order = np.arange(small_gemm.tiles)

    def run(seed):
        return replay([ReplayedLaunch(small_gemm, order)], target, Physics(seed=seed))

    assert run(5) == run(5)
    assert len({run(seed).l2_hit_rate for seed in range(4)}) > 1


def hipkittens_gemm(size):
    """Reads of HipKittens' GEMM as `benchmarks/hipkittens_table4.py` makes them, C left out."""
    row, rows, cols = size // 64, size // 192, size // 256
    pid, step = np.arange(rows * cols)[:, None], np.arange(row)
    a = pid // cols * 192 * row + step
    b = (size + pid % cols * 256) * row + step
    base = np.stack((b, a, a + 64 * row, a + 128 * row), 2)
    shapes = [(READ, np.arange(high) * row, 15) for high in (256, 64)]
    shape = np.tile([0, 1, 1, 1], rows * cols * row)
    offset = np.arange(rows * cols + 1) * 4 * row
    return assembled(offset, base.ravel(), shape, shapes, (rows * cols, 1, 1))


def test_the_orders_of_hipkittens_table_4_at_9216_are_in_the_measured_order():
    """MI355X, arXiv 2511.08083; the benchmark has the orders at 14592, which take longer."""
    trace, target = hipkittens_gemm(9216), load_target("mi355x")
    work = np.tile([3 * 9216 // 64, 2 * 192 * 256 * 9216, 0], (trace.tiles, 1))
    trace = dataclasses.replace(trace, tile_arithmetic=work)
    pattern = load_pattern("chunked-xcd-window")
    modelled = []
    for window, chunk in ((None, None), (5, 25), (7, 216)):
        swizzle = parse(pattern.bind(cols=36, chunk=chunk, window=window) if chunk else "pid = pid")
        order = evaluate(swizzle, (trace.tiles, 1, 1), {}, num_xcds=8, cus_per_xcd=32)
        found = replay([ReplayedLaunch(trace, order)], target, Physics(domains=1))
        modelled.append(100 * found.l2_hit_rate)
    row_major, small_chunks, large_chunks = modelled
    assert abs(row_major - 55) <= 6
    assert row_major < small_chunks < large_chunks
    assert abs(large_chunks - 79) <= 6


def test_launches_are_summed_with_their_counts():
    streams = [streaming(64, 1, 1), streaming(64, 3, 1)]
    order = np.arange(64)
    found = replay(
        [ReplayedLaunch(streams[0], order, 2), ReplayedLaunch(streams[1], order)], MI300X
    )
    # 2 × (1 + 2) + 1 × (3 + 2) requests per line, one hit per written line
    assert found.l2_hit_rate == pytest.approx(3 / 11)
    assert found.l2_requests == 64 * 4 * 11


def test_a_launch_without_accesses_has_no_rate_to_speak_of():
    found = replay([ReplayedLaunch(written_out([[], reads(0)]), np.arange(2))], MI300X)
    assert (found.l2_requests, found.l2_hit_rate) == (1, 0.0)
