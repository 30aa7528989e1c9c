# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The timed replay does what the micro-benchmarks of benchmarks/measured/h200_probe saw."""

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest
from traces_by_hand import ATOMIC, READ, WRITE, assembled, gemm, written_out

from intelliperf_swizzle.cache import FULL, Physics, ReplayedLaunch, replay
from intelliperf_swizzle.cache.nvidia_replay import nvidia_replay, pace, slots
from intelliperf_swizzle.cache.stream import merge
from intelliperf_swizzle.hardware import load_target

H200 = load_target("h200")
LINES = list(range(4096))
PROBE = Path(__file__).parents[2] / "benchmarks" / "measured" / "h200_probe"
SETS = list(csv.DictReader((PROBE / "sets.csv").read_text().splitlines()))
"""What one SM found there when it read the same lines for the second time."""
MERGING = [
    row
    for row in csv.DictReader((PROBE / "merging.csv").read_text().splitlines())
    if (row["from"], row["lag_ns"], row["chunk_bytes"], row["own"]) == ("memory", "0", "16384", "0")
]
"""SMs that asked for the same lines at once."""


def two_cus(**changes):
    """One CU on either side, without L1s."""
    facts = {"cus_per_xcd": 1, "gpc_cus": (1, 1), "gpc_domains": (0, 1)}
    return dataclasses.replace(H200, **(facts | changes))


def counted(tiles, target, sectors=15, occupancy=1, **switches):
    stream = merge(written_out(tiles, sectors))
    order = np.arange(stream.tiles)
    return nvidia_replay(stream, order, target, occupancy, Physics(l1=False, **switches))


def missed_sectors(tiles, **given):
    return int(counted(tiles, two_cus(), **given).misses.sum())


def test_a_second_read_hits_on_the_same_side():
    alone = [[(READ, LINES), (READ, LINES)], []]
    assert missed_sectors(alone) == 4 * len(LINES)


def test_the_other_side_copies_the_half_that_is_not_at_home_there():
    late = [(READ, [100_000 + i]) for i in range(30)]
    total = counted([[(READ, LINES)], [*late, (READ, LINES)]], two_cus())
    own, other = total.misses.tolist()
    assert own == 4 * len(LINES)
    assert other - 4 * len(late) == pytest.approx(2 * len(LINES), rel=0.1)
    assert total.fill_lines == len(LINES) + len(late)


def test_a_missing_sector_brings_its_neighbour():
    total = counted([[(READ, LINES)], []], two_cus(), sectors=1)
    assert (total.misses.sum(), total.fill_lines) == (len(LINES), len(LINES) // 2)
    whole_lines = two_cus(l2_fill_bytes=128)
    assert counted([[(READ, LINES)], []], whole_lines, sectors=1).fill_lines == len(LINES)


def test_requests_of_one_gpc_at_the_same_time_are_merged():
    one_gpc = two_cus(cus_per_xcd=2, gpc_cus=(2, 2))
    total = counted([[(READ, LINES)], [(READ, LINES)]], one_gpc)
    assert total.requests.sum() == 4 * len(LINES), "of twice as many that were asked for"


@pytest.mark.parametrize("sms", [2, 4, 6, 8, 12, 16])
def test_four_requests_are_merged_at_most(sms):
    [*_, measured] = [row for row in MERGING if row["test"] == "one GPC" and int(row["sms"]) == sms]
    asked, reached = measured["sectors_asked"], measured["lts__t_sectors_srcunit_tex_op_read"]
    one_gpc = two_cus(cus_per_xcd=sms, gpc_cus=(sms, sms))
    total = counted([[(READ, LINES)]] * sms, one_gpc)
    assert total.requests.sum() / (4 * len(LINES)) == round(sms * int(reached) / int(asked))


def test_workgroups_of_a_cu_share_its_l1():
    lines = LINES[:1000]
    late = [(READ, [100_000 + i]) for i in range(30)]
    stream = merge(written_out([[(READ, lines)], [*late, (READ, lines)]]))
    one_cu = dataclasses.replace(two_cus(), num_xcds=1, gpc_cus=(1,), gpc_domains=(0,))
    total = nvidia_replay(stream, np.arange(2), one_cu, 2, FULL)
    assert total.l1_hit_lines == len(lines)
    assert total.requests.sum() == 4 * (len(lines) + len(late))


def test_what_does_not_fit_a_side_is_gone_when_it_is_read_again():
    fits, too_much = (list(range(n)) for n in (200_000, 300_000))
    for lines, times in ((fits, 1), (too_much, 2)):
        pieces = [(READ, lines[i : i + 1000]) for i in range(0, len(lines), 1000)]
        assert missed_sectors([[*pieces, *pieces], []]) == times * 4 * len(lines)


@pytest.mark.parametrize(
    ("lines", "step"), [("one after the other", 1), ("every 16th", 16), ("every 256th", 256)]
)
@pytest.mark.parametrize("mebibytes", [16, 24, 28, 36])
def test_lines_strewn_over_memory_crowd_some_sets(lines, step, mebibytes):
    [measured] = [
        row for row in SETS if (row["lines"], row["mebibytes"]) == (lines, str(mebibytes))
    ]
    asked = mebibytes * 8192
    again = int(measured["lts__t_sectors_srcunit_tex_lookup_hit"]) / (4 * asked)
    pieces = [
        (READ, range(step * first, step * (first + 256), step)) for first in range(0, asked, 256)
    ]
    missed = missed_sectors([[*pieces, *pieces], []])
    assert 2 - missed / (4 * asked) == pytest.approx(again, abs=0.12), "quarters are coarse steps"
    if step > 1 and mebibytes == 24:
        assert missed_sectors([[*pieces, *pieces], []], sets=False) == 4 * asked


def test_the_profilers_own_rate_counts_what_crosses_again():
    trace = written_out([[(READ, LINES), (READ, LINES)], []])
    read = replay([ReplayedLaunch(trace, np.arange(2), 1, 1)], two_cus(), Physics(l1=False))
    crossed = read.fabric_bytes // 32
    assert read.l2_hit_rate == 0.5
    assert read.l2_counter_hit_rate == pytest.approx(4 * len(LINES) / (8 * len(LINES) + crossed))
    assert crossed == pytest.approx(2 * len(LINES), rel=0.1)


def test_writes_hit_and_are_written_back_once():
    total = counted([[(WRITE, LINES), (WRITE, LINES)], []], two_cus())
    assert total.misses.sum() == 0
    assert total.requests.sum() == 8 * len(LINES)
    assert total.written_bytes == 128 * len(LINES)


def test_waves_that_touch_a_line_in_one_access_load_it_once_and_store_it_each():
    """The first two waves touch a half each, the third what the first one has."""
    waves = [line for line in LINES for _ in range(3)]
    halves = np.tile([3, 12, 3], len(LINES))
    for kind, sectors in ((READ, 4), (WRITE, 6), (ATOMIC, 6)):
        stream = merge(assembled([0, 1, 1], [0], [0], [(kind, np.array(waves), halves)]))
        total = nvidia_replay(stream, np.arange(2), two_cus(), 1, Physics(l1=False))
        assert total.requests.sum() == sectors * len(LINES)
        assert total.fill_lines == (0 if kind == WRITE else len(LINES))


def test_atomics_fetch_what_they_change():
    total = counted([[(ATOMIC, LINES)], []], two_cus())
    assert total.misses.sum() == 4 * len(LINES)
    assert (total.fill_lines, total.written_bytes) == (len(LINES), 128 * len(LINES))


def unaligned(tiles, shapes, passes, late):
    """What a launch of accesses (shape, first line) of shapes (lines, sectors) reads, on two CUs.

    Both are on one side; every access is made by `passes` instructions, and only the later ones
    of the first shape touch its sectors `late`.
    """
    accesses = [access for tile in tiles for access in tile]
    trace = assembled(
        np.cumsum([0, *(len(tile) for tile in tiles)]),
        [base for _, base in accesses],
        [shape for shape, _ in accesses],
        [(READ, np.array(lines), sectors) for lines, sectors in shapes],
    )
    touched = len(trace.shape_line)
    masks = np.zeros(touched, np.uint8)
    masks[: len(shapes[0][0])] = late
    marked = dataclasses.replace(
        trace, shape_late=masks, shape_passes=np.full(touched, passes, np.uint8)
    )
    one_side = two_cus(cus_per_xcd=2, gpc_cus=(1, 1), gpc_domains=(0, 0))
    stream = merge(marked)
    return nvidia_replay(stream, np.arange(stream.tiles), one_side, 1, Physics(l1=False))


def test_every_instruction_of_an_access_takes_the_cu_its_time():
    shapes = [(LINES, 1)]
    once, often = (unaligned([[(0, 0), (0, 8192)]], shapes, passes, 0) for passes in (1, 8))
    assert once.requests.tolist() == often.requests.tolist()
    assert often.clocks - once.clocks > 6 * len(LINES)


def test_a_sector_that_a_later_instruction_touches_is_asked_for_later():
    """The first workgroup touches sectors 0 and 2, the second one a little later 2 and 3."""
    shapes = [(LINES, 0b0101), (LINES, 0b1100), ([0], 1)]
    waits = [(2, 100_000 + i) for i in range(3)]
    tiles = [[(0, 0)], [*waits, (1, 0)]]
    in_step, late = (unaligned(tiles, shapes, 8, mask) for mask in (0, 0b0100))
    assert in_step.misses.sum() == 2 * len(LINES) + len(waits)
    assert late.misses.sum() == 3 * len(LINES) + len(waits)
    assert late.requests.sum() == in_step.requests.sum()


def test_how_many_loads_are_issued_ahead():
    """A GEMM has two loads a product and three buffers of each, attention one and two."""
    arithmetic = np.array([[64, 64 << 20, 0], [256, 256 << 20, 0], [0, 0, 0], [1, 1 << 20, 0]])
    tiles = [[(READ, [i]) for i in range(accesses)] for accesses in (130, 258, 40, 40)]
    trace = dataclasses.replace(written_out(tiles), tile_arithmetic=arithmetic)
    work, ahead = pace(merge(trace), H200)
    assert ahead.tolist() == [6, 2, 6, 6]
    assert work[0] == pytest.approx((64 << 20) / H200.flops_per_clock_cu / 130)


def test_arithmetic_takes_its_time():
    trace = written_out([[(READ, LINES), (READ, LINES)], []])
    flops, lanes = H200.flops_per_clock_cu, H200.lanes_per_clock_cu
    for counts in ([2, int(1e6 * flops), 0], [0, 0, int(1e6 * lanes)]):
        busy = dataclasses.replace(trace, tile_arithmetic=np.array([counts, [0, 0, 0]]))
        known, idle = (
            nvidia_replay(merge(traced), np.arange(2), two_cus(), 1, FULL)
            for traced in (busy, trace)
        )
        assert known.clocks == pytest.approx(1e6, rel=0.1)
        assert idle.clocks < 1e5


@pytest.mark.parametrize(("waves", "part"), [(0, 1), (1, 16), (2, 8), (16, 1), (32, 1)])
def test_a_workgroup_of_few_waves_has_only_a_part_of_its_cu(waves, part):
    trace = written_out([[(READ, LINES), (READ, LINES)], []])
    lanes = np.array([[0, 0, int(1e6 * H200.lanes_per_clock_cu)], [0, 0, 0]])
    busy = dataclasses.replace(trace, tile_arithmetic=lanes, waves=waves)
    total = nvidia_replay(merge(busy), np.arange(2), two_cus(), 1, FULL)
    assert total.clocks == pytest.approx(part * 1e6, rel=0.1)


def test_the_oldest_workgroup_of_a_cu_computes_first():
    """Two that read the same lines share them if they compute in turn, one place each.

    If there is one place, the second one reads when the lines have gone from the L2.
    """
    reads = [(READ, list(range(at, at + 256))) for at in range(0, 32768, 256)]
    trace = written_out([reads, [], reads, []])
    lanes = np.array([[0, 0, 128 * 5000 * H200.lanes_per_clock_cu]] * 4)
    small = two_cus(l2_bytes_per_xcd=1 << 20)
    fetched = {}
    for waves in (8, 16):
        busy = dataclasses.replace(trace, tile_arithmetic=lanes, waves=waves)
        total = nvidia_replay(merge(busy), np.arange(4), small, 2, Physics(l1=False))
        fetched[waves] = total.fill_lines
        assert total.clocks == pytest.approx(2 * 128 * 5000, rel=0.1)
    assert fetched[8] < 1.3 * 32768
    assert fetched[16] > 1.9 * 32768


def test_dispatch_fills_one_gpc_after_the_other():
    cu, group, domain = slots(H200, 2)
    assert len(cu) == 264
    assert group[:17].tolist() == [0] * 16 + [1]
    assert sorted(cu[:132]) == list(range(132))
    assert np.bincount(domain).tolist() == [132, 132]


def test_workgroups_of_a_cu_drift_apart_only_where_lots_are_drawn():
    trace = gemm(2048, 2048, 2048, 128, 128, 64)
    small = dataclasses.replace(H200, l2_bytes_per_xcd=1 << 20)
    run = [ReplayedLaunch(trace, np.random.default_rng(0).permutation(trace.tiles), 1, 2)]
    in_step = replay(run, small, Physics(drift=False))
    assert in_step.memory_bytes < replay(run, small, FULL).memory_bytes


def test_workgroups_alone_on_their_cus_fall_out_of_step():
    """Of 132 workgroups, one per CU, fewer requests are merged where their pace varies.

    Memory, whose GPCs' shares hold them up in different places anyway, is no limit here.
    """
    trace = gemm(1408, 1536, 32768, 128, 128, 64)
    run = [ReplayedLaunch(trace, np.arange(trace.tiles), 1, 1)]
    fast = dataclasses.replace(H200, bytes_per_clock_memory=1e6)
    in_step = replay(run, fast, Physics(drift=False))
    assert replay(run, fast, FULL).l2_requests > 1.02 * in_step.l2_requests


def test_a_gpc_has_its_share_of_the_bandwidth_of_memory():
    """Sixteen workgroups, all on the first of eight GPCs, get an eighth of it."""
    trace = gemm(2048, 128, 8192, 128, 128, 64)
    one = nvidia_replay(merge(trace), np.arange(trace.tiles), H200, 1, FULL)
    assert one.clocks > 8 * 128 * one.fill_lines / H200.bytes_per_clock_memory
    fast = dataclasses.replace(H200, bytes_per_clock_memory=1e6)
    assert nvidia_replay(merge(trace), np.arange(trace.tiles), fast, 1, FULL).clocks < one.clocks


def test_the_same_seed_gives_the_same_counts():
    trace = gemm(1024, 1024, 1024, 128, 128, 64)
    run = [ReplayedLaunch(trace, np.arange(trace.tiles), 1, 2)]
    assert replay(run, H200) == replay(run, H200)


def test_an_effect_left_out_changes_what_is_read():
    trace = gemm(2048, 2048, 1024, 128, 128, 64)
    run = [ReplayedLaunch(trace, np.arange(trace.tiles), 1, 1)]
    without = replay(run, H200, Physics(drift=False))
    assert without.l2_hit_rate != replay(run, H200).l2_hit_rate
