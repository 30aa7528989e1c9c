# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Why requests miss, on caches so small that every class can be written out by hand."""

import dataclasses
from collections import OrderedDict

import numpy as np
import pytest
from traces_by_hand import ATOMIC, READ, WRITE, gemm, transpose, written_out

from intelliperf_swizzle.cache import Physics, replay
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import Segment

PLAIN = Physics(l1=False, llc=False, drift=False)
H200 = load_target("h200")


def tiny(**changes):
    """XCDs of one CU and an L2 of two sets of two ways; even lines are in one set, odd ones not."""
    facts = {
        "num_xcds": 2,
        "cus_per_xcd": 1,
        "dispatch_domains": (0, 1),
        "l2_bytes_per_xcd": 512,
        "l2_ways": 2,
        "l2_channels_per_xcd": 1,
        "l2_channel_bits": (),
        "l2_set_bits": ((0,),),
    }
    return dataclasses.replace(load_target("mi300x"), **(facts | changes))


def explained(trace, target, physics=PLAIN, occupancy=1, launches=1):
    """Compulsory, another domain's, capacity, conflict: of all tensors; they are the misses."""
    run = (trace, np.arange(trace.tiles), launches, occupancy)
    measured = replay([run], target, physics, causes=True)
    plain = replay([run], target, physics)
    assert dataclasses.replace(measured, causes=None) == plain
    found = np.array([dataclasses.astuple(cause)[1:] for cause in measured.causes])
    requests, *causes = found.sum(axis=0).tolist()
    assert requests == measured.l2_requests
    assert sum(causes) == round((1 - measured.l2_hit_rate) * requests)
    return tuple(causes)


def reads(*lines):
    return [(READ, [line]) for line in lines]


@pytest.mark.parametrize(
    ("tiles", "causes"),
    [
        ([reads(0, 2, 0, 2)], (2, 0, 0, 0)),
        ([reads(0, 2, 4, 0)], (3, 0, 0, 1)),  # four lines fit, but set 0 holds two
        ([reads(0, 1, 2, 3, 4, 0)], (5, 0, 1, 0)),  # 0 is the fifth line before the last
        ([reads(0, 1, 2, 3, 4, 1, 0)], (5, 0, 1, 0)),  # set 1 still holds 1, the LRU does not
        ([reads(7), reads(7)], (1, 1, 0, 0)),  # an XCD each, in the same round
        ([reads(7, 7), reads(9, 7)], (2, 1, 0, 0)),
        ([reads(0, 2, 4, 0), reads(6, 8, 10, 0, 6)], (6, 1, 0, 2)),
        ([reads(0, 2, 4), [], reads(0), reads(0)], (3, 1, 0, 1)),  # the last two side by side
        ([[(WRITE, [0]), *reads(2, 4), (ATOMIC, [0])]], (3, 0, 0, 1)),
    ],
)
def test_each_miss_has_the_cause_that_is_worked_out_by_hand(tiles, causes):
    assert explained(written_out(tiles), tiny()) == causes
    assert explained(written_out(tiles), tiny(), launches=3) == tuple(3 * cause for cause in causes)


def by_the_book(trace, target):
    """Causes in lockstep, line by line, as plainly as can be written."""
    domains = range(target.num_xcds)
    queues = [
        [
            trace.access_base[a] + trace.shape_line[slice(*trace.shape_offset[s : s + 2])]
            for t in range(d, trace.tiles, target.num_xcds)
            for a in range(trace.tile_offset[t], trace.tile_offset[t + 1])
            for s in [trace.access_shape[a]]
        ]
        for d in domains
    ]
    sets = [[OrderedDict() for _ in range(target.l2_sets_per_channel)] for _ in domains]
    whole = [OrderedDict() for _ in domains]
    seen = [set() for _ in domains]
    causes = [0, 0, 0, 0]
    for step in range(max(map(len, queues))):
        for d in domains:
            for line in queues[d][step] if step < len(queues[d]) else ():
                row = sets[d][line % len(sets[d])]
                if line not in row:
                    new = line not in seen[d]
                    elsewhere = any(line in lines for lines in seen)
                    causes[(1 if elsewhere else 0) if new else 3 if line in whole[d] else 2] += 1
                seen[d].add(line)
                for cache, size in (
                    (row, target.l2_ways), (whole[d], target.l2_lines_per_xcd)
                ):  # fmt: skip
                    cache[line] = cache.pop(line, None)
                    if len(cache) > size:
                        cache.popitem(last=False)
    return tuple(causes)


@pytest.mark.parametrize("seed", range(4))
def test_causes_are_those_of_a_replay_that_knows_nothing_of_units(seed):
    rng = np.random.default_rng(seed)
    blocks = [list(range(8 * b, 8 * b + 1 + rng.integers(8))) for b in range(24)]
    trace = written_out(
        [[(READ, blocks[b]) for b in rng.integers(0, 24, rng.integers(1, 9))] for _ in range(30)]
    )
    target = tiny(l2_bytes_per_xcd=8192, l2_ways=4, l2_set_bits=((0,), (1,), (2,), (3,)))
    causes = explained(trace, target)
    assert causes == by_the_book(trace, target)
    assert min(causes) > 0


@pytest.mark.parametrize("gpu", ["mi300x", "h200"])
@pytest.mark.parametrize("trace", [gemm(1024, 2048, 512, 128, 128, 64), transpose(1024)])
def test_classes_of_real_gpus_add_up_to_the_misses(trace, gpu):
    compulsory, *_ = explained(trace, load_target(gpu), Physics(), occupancy=2)
    lines = (
        replay([(trace, np.arange(trace.tiles), 1, 2)], load_target(gpu)).compulsory_bytes // 128
    )
    assert compulsory <= 4 * lines if gpu == "h200" else compulsory == lines


def test_each_tensor_has_separate_causes_the_most_misses_first():
    trace = dataclasses.replace(
        written_out([reads(0, 1, 8, 0, 1, 9)]),
        segments=(Segment(("a", "b"), 0, 1024), Segment(("c",), 8, 1024), Segment(("d",), 16, 128)),
    )
    measured = replay([(trace, np.arange(1), 1, 1)], tiny(), PLAIN, causes=True)
    assert [(cause.names, cause.requests, cause.misses) for cause in measured.causes] == [
        (("a", "b"), 4, 2),
        (("c",), 2, 2),
    ]


def test_a_side_that_copies_lines_misses_on_another_domains():
    """Of what both sides read, each has half at home; the later one misses on the other half."""
    target = dataclasses.replace(H200, cus_per_xcd=1, gpc_cus=(1, 1), gpc_domains=(0, 1))
    lines = list(range(4096))
    late = [(READ, [100_000 + i]) for i in range(30)]
    trace = written_out([[(READ, lines)], [*late, (READ, lines)]])
    compulsory, other, capacity, conflict = explained(trace, target, Physics(l1=False))
    assert (compulsory, capacity, conflict) == (4 * (len(lines) + len(late)), 0, 0)
    assert other == pytest.approx(2 * len(lines), rel=0.1)


@pytest.mark.parametrize(("step", "cause"), [(1, 2), (16, 3)])
def test_a_side_that_is_too_small_or_crowded(step, cause):
    """36 MiB do not fit the 30 of a side; every 16th line crowds some of its sets at 24 MiB."""
    asked = (36 if step == 1 else 24) * 8192
    target = dataclasses.replace(H200, cus_per_xcd=1, gpc_cus=(1, 1), gpc_domains=(0, 1))
    pieces = [
        (READ, range(step * first, step * (first + 256), step)) for first in range(0, asked, 256)
    ]
    causes = explained(written_out([[*pieces, *pieces], []]), target, Physics(l1=False))
    assert causes[0] == 4 * asked
    assert causes[cause] == sum(causes[1:]) > 0
