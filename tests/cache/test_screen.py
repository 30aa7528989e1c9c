# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The screen: LRU over whole units is LRU over lines, and ranks as the full replay does."""

import dataclasses
from collections import OrderedDict

import numpy as np
import pytest
from traces_by_hand import READ, WRITE, gemm, transpose, written_out

from intelliperf_swizzle.cache import Physics, ReplayedLaunch, Screen, replay
from intelliperf_swizzle.cache.stream import merge
from intelliperf_swizzle.hardware import load_target

MI300X = load_target("mi300x")


def small(lines, **changes):
    """Two XCDs of two CUs in lockstep whose L2s hold `lines` lines."""
    facts = {
        "num_xcds": 2,
        "cus_per_xcd": 2,
        "dispatch_domains": (0, 1),
        "l2_bytes_per_xcd": 128 * lines,
        "l2_channel_bits": None,
        "l2_set_bits": None,
        "turn_skip_fraction": 0.0,
        "accesses_per_turn": 1,
    }
    return dataclasses.replace(MI300X, **(facts | changes))


def plain_lru(trace, tile, target, occupancy):
    """The same physics with nothing merged: lists, an ordered dictionary, line after line.

    All workgroups have one access a round, and miss none.
    """
    halves = misses = 0
    for domain in range(target.num_xcds):
        waiting = [t for i, t in enumerate(tile) if i % target.num_xcds == domain]
        slots = [[] for _ in range(target.cus_per_xcd * occupancy)]
        l2 = OrderedDict()
        while waiting or any(slots):
            for s in range(len(slots)):
                while not slots[s] and waiting:
                    t = waiting.pop(0)
                    slots[s] = list(range(trace.tile_offset[t], trace.tile_offset[t + 1]))
                if not slots[s]:
                    continue
                a = slots[s].pop(0)
                shape = trace.access_shape[a]
                begin, end = trace.shape_offset[shape : shape + 2]
                for line in trace.access_base[a] + trace.shape_line[begin:end]:
                    halves += 1 + (trace.shape_kind[shape] == WRITE)
                    misses += line not in l2
                    l2[line] = l2.pop(line, None)
                    if len(l2) > target.l2_lines_per_xcd:
                        l2.popitem(last=False)
    return 1 - misses / halves


@pytest.mark.parametrize("occupancy", [1, 3])
@pytest.mark.parametrize("lines", [5, 16, 40, 1000])
def test_without_overlap_the_screen_is_the_plain_lru_exactly(lines, occupancy):
    rng = np.random.default_rng(lines)
    blocks = [list(range(8 * b, 8 * b + 1 + rng.integers(5))) for b in range(30)]
    kinds = [WRITE if b % 5 == 0 else READ for b in range(30)]
    trace = written_out(
        [
            [(kinds[b], blocks[b]) for b in rng.integers(0, 30, rng.integers(1, 9))]
            for _ in range(40)
        ]
    )
    target = small(lines)
    screen = Screen(trace, target, occupancy)
    for _ in range(3):
        tile = rng.permutation(trace.tiles)
        assert screen.hit_rate(tile) == pytest.approx(plain_lru(trace, tile, target, occupancy))


@pytest.mark.parametrize("seed", range(3))
def test_with_overlap_merging_changes_less_than_a_tenth_of_a_point(seed):
    """A stencil's footprints overlap by a row; its units are the rows that always go together."""
    rng = np.random.default_rng(seed)
    rows, cols, high = 24, 24, 16
    width = cols + 1
    tiles = []
    for pm in range(rows):
        for pn in range(cols):
            first = 1 + pm * high
            box = [(first + r) * width + pn for r in range(high)]
            up, down = [line - width for line in box], [line + width for line in box]
            out = [line + 100_000 for line in box]
            tiles.append([(READ, box), (READ, up), (READ, down), (WRITE, out)])
    trace = written_out(tiles)
    target = small(1024, num_xcds=8, cus_per_xcd=38, dispatch_domains=tuple(range(8)))
    screen = Screen(trace, target, 1)
    for tile in (np.arange(trace.tiles), rng.permutation(trace.tiles)):
        assert abs(screen.hit_rate(tile) - plain_lru(trace, tile, target, 1)) < 1e-3


def test_a_gemm_is_merged_into_the_blocks_that_its_programs_load():
    stream = merge(gemm(512, 256, 256, 128, 128, 64))
    # 4 × 4 blocks of A, 4 × 2 of B, 4 × 2 of C
    assert stream.units == 16 + 8 + 8
    assert stream.unit_lines.tolist().count(128) == 24
    assert sorted(stream.unit_line) == list(range(512 * 4 + 256 * 4 + 512 * 4))


def test_halves_of_a_line_that_different_tiles_touch_are_distinguished():
    stream = merge(transpose(256))
    codes = set(stream.ref_code.tolist())
    assert codes == {READ << 4 | 3, READ << 4 | 12, WRITE << 4 | 3, WRITE << 4 | 12}
    assert stream.unit_lines.tolist() == [32] * (2 * 8 * 8 // 2)


@pytest.mark.parametrize("occupancy", [1, 2])
def test_sets_taken_together_are_the_line_by_line_replay_exactly(occupancy):
    """Channels and sets as on MI300X, strides a power of two, drift: to the last miss."""
    trace = gemm(1024, 1024, 1024, 128, 128, 64)
    l2 = {"l2_bytes_per_xcd": 4194304 // 8, "l2_set_bits": ((4,), (5,), (6,), (7,))}
    target = dataclasses.replace(MI300X, **l2)
    screen = Screen(trace, target, occupancy)
    assert screen.parts == 16 * 16
    for seed in range(3):
        tile = np.random.default_rng(seed).permutation(trace.tiles)
        run = ReplayedLaunch(trace, tile, 1, occupancy)
        full = replay([run], target, Physics(l1=False, llc=False)).l2_hit_rate
        assert screen.hit_rate(tile) == pytest.approx(full, abs=1e-12)


def test_channels_are_kept_apart_where_blocks_lie_in_few_of_them_or_evenly_in_all():
    blocks = [gemm(512, k, k, 128, 128, 64) for k in (1024, 1088)]
    assert [Screen(trace, MI300X, 1).parts for trace in blocks] == [16, 16]
    assert Screen(blocks[0], load_target("h200"), 1).parts == 1
    rng = np.random.default_rng(0)
    scattered = [[(READ, sorted(rng.choice(100_000, 40, replace=False)))] for _ in range(40)]
    assert Screen(written_out(scattered), MI300X, 1).parts == 1


@pytest.mark.parametrize("lines", [16, 40, 600])
def test_pieces_that_overflow_their_set_hit_nothing(lines):
    """All lines of a unit in one set of 16 ways, touched twice over."""
    target = dataclasses.replace(MI300X, num_xcds=1, dispatch_domains=(0,))
    block = (np.arange(lines) << 11).tolist()
    trace = written_out([[(READ, block), (READ, block)]])
    run = ReplayedLaunch(trace, np.arange(1))
    hit_rate = Screen(trace, target, 1).hit_rate(np.arange(1))
    assert hit_rate == replay([run], target, Physics(l1=False, llc=False)).l2_hit_rate


@pytest.mark.parametrize("occupancy", [1, 3])
@pytest.mark.parametrize("ways", [16, 14, 9, 4])
@pytest.mark.parametrize("seed", range(3))
def test_pieces_of_a_few_quanta_are_the_line_by_line_replay_exactly(ways, occupancy, seed):
    """A quantum is 4 lines in each of 4 sets; pieces are 1 to 4, of 4 to 1 that a set holds."""
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.integers(1, 5, 24))
    blocks = [list(range(64 * b, 64 * b + 16 * int(n))) for b, n in enumerate(sizes)]
    trace = written_out(
        [
            [(READ, blocks[b]) for b in rng.choice(24, 1 + rng.integers(12), p=_skewed(24))]
            for _ in range(60)
        ]
    )
    target = dataclasses.replace(
        MI300X,
        num_xcds=2,
        cus_per_xcd=2,
        dispatch_domains=(0, 1),
        l2_bytes_per_xcd=128 * 4 * ways,
        l2_ways=ways,
        l2_channels_per_xcd=1,
        l2_channel_bits=(),
        l2_set_bits=((0,), (1,)),
    )
    tile = rng.permutation(trace.tiles)
    full = replay([ReplayedLaunch(trace, tile, 1, occupancy)], target, Physics(l1=False, llc=False))
    assert 0.01 < full.l2_hit_rate < 0.9
    screen = Screen(trace, target, occupancy)
    assert screen.parts == 4
    assert screen.hit_rate(tile) == pytest.approx(full.l2_hit_rate, abs=1e-12)


def _skewed(n):
    """Probabilities that make some blocks more popular, as 1 / rank."""
    weight = 1 / np.arange(1, n + 1)
    return weight / weight.sum()


def test_importing_the_room_does_not_import_the_compiler():
    import subprocess
    import sys

    code = "import sys, intelliperf_swizzle.cache;" + ("sys.exit('numba' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
