# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The model on a real application's recorded and traced launch, against the trace by hand."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
from traces_by_hand import gemm

from intelliperf_swizzle.cache import ReplayedLaunch, Screen, ceiling, replay
from intelliperf_swizzle.cache.stream import merge
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.tracing import trace
from intelliperf_swizzle.hardware import load_target

APPLICATION = Path(__file__).parents[2] / "benchmarks" / "kernels" / "gemm.py"
SIZES = {"m": 512, "n": 768, "k": 256, "block-n": 128, "group-m": 1}


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    sizes = [text for name, size in SIZES.items() for text in (f"--{name}", str(size))]
    found = capture(
        RecordRequest(
            [sys.executable, str(APPLICATION), *sizes],
            folder=tmp_path_factory.mktemp("capture"),
            cwd=tmp_path_factory.mktemp("cwd"),
            compute="never",
        )
    )
    return trace(found.launches[0])


def test_the_traced_gemm_reads_as_the_one_made_by_hand(traced):
    by_hand = gemm(512, 768, 256, 128, 128, 64)
    by_hand = dataclasses.replace(by_hand, tile_arithmetic=traced.tile_arithmetic)
    assert traced.line_accesses == by_hand.line_accesses
    assert sorted(merge(traced).unit_lines) == sorted(merge(by_hand).unit_lines)
    target = load_target("mi300x")
    bound = ceiling([traced], target)
    assert bound.l2_hit_rate == ceiling([by_hand], target).l2_hit_rate
    for seed in range(3):
        tile = np.random.default_rng(seed).permutation(traced.tiles)
        found = replay([ReplayedLaunch(traced, tile)], target)
        assert found.l2_hit_rate <= bound.l2_hit_rate
        assert found.l2_requests == replay([ReplayedLaunch(by_hand, tile)], target).l2_requests
        assert Screen(traced, target, 1).hit_rate(tile) == pytest.approx(found.l2_hit_rate)
