# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which of a profile's launches are those that were recorded: variants, and kernels of one name."""

from __future__ import annotations

from pathlib import Path

import pytest

from intelliperf_swizzle.errors import BuildError, ProfileError
from intelliperf_swizzle.frontends.triton.source.build import Build
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.profile.counters import KernelCounters, totals
from intelliperf_swizzle.profile.ncu import read_ncu

H200, MI300X = load_target("h200"), load_target("mi300x")
AUTOTUNED = Path(__file__).parent / "recorded" / "ncu_2025.3.1_h200_autotuned.csv"
HIT = "lts__t_sectors_srcunit_tex_lookup_hit.sum"


def reading(grid=(64, 1, 1), threads=128, **more):
    more = {"shared_bytes": 0, "registers": 32, "time_ns": 100.0, **more}
    x, y, z = grid
    return KernelCounters(
        "a_kernel", grid, x * y * z, threads, more.pop("counters", {"HIT": 5.0}), **more
    )


def compiled_to(registers, lds_bytes):
    return lambda launch: Build(registers, None, None, lds_bytes, 4, 1.0)


def never(launch):
    raise AssertionError("it is compiled only where the readings leave a choice")


def test_the_variant_of_an_autotuned_kernel_that_was_recorded(launched):
    """As an H200 showed them: two variants on one grid differ in their warps."""
    readings = read_ncu(AUTOTUNED.read_text())
    for grid, num_warps, registers in (
        ((16384, 1, 1), 4, 26),
        ((16384, 1, 1), 8, 20),
        ((8192, 1, 1), 4, 32),
    ):
        one = launched(grid, num_warps=num_warps, kernel="add_kernel")
        sums = totals([one], readings, H200, never)
        assert sums.launches == 2
        assert sums.counters["launch__registers_per_thread"] == registers


def test_variants_of_equal_size_are_distinguished_by_what_they_compile_to(launched):
    shallow = reading(shared_bytes=32768, registers=100, counters={"HIT": 1.0})
    deep = reading(shared_bytes=98304, registers=100, counters={"HIT": 2.0})
    readings = [shallow, shallow, deep]
    assert totals([launched((64, 1, 1))], readings, H200, compiled_to(100, 98304)).counters == {
        "HIT": 2.0
    }
    assert totals([launched((64, 1, 1))], readings, H200, compiled_to(100, 32768)).launches == 2


def test_two_kernels_of_one_name_are_distinguished_by_their_registers(launched):
    mine = reading(registers=40, counters={"HIT": 1.0})
    other = reading(registers=64, counters={"HIT": 9.0})
    sums = totals([launched((64, 1, 1))], [mine, other], H200, compiled_to(40, 0))
    assert sums.counters == {"HIT": 1.0}


def test_two_kernels_of_one_name_that_cannot_be_distinguished_are_not_measured(launched):
    readings = [reading(registers=40), reading(registers=64)]
    for compiled in (compiled_to(50, 0), compiled_to(None, 0), compiled_to(40, 4096)):
        with pytest.raises(ProfileError, match="2 kernels named `a_kernel`") as caught:
            totals([launched((64, 1, 1))], readings, H200, compiled)
        assert "40 registers" in caught.value.details[0]


def test_a_kernel_that_does_not_compile_leaves_the_choice_open(launched):
    def broken(launch):
        raise BuildError("no compiler")

    with pytest.raises(ProfileError, match="which one was recorded") as caught:
        totals([launched((64, 1, 1))], [reading(registers=1), reading(registers=2)], H200, broken)
    assert caught.value.details[-1] == "no compiler"


def test_sizes_are_compared_as_the_hardware_allocates_them(launched):
    """rocprofv3 says 33280 bytes and 104 registers of a kernel that asked for 33000 and 97."""
    mine = reading(threads=256, shared_bytes=33280, registers=104, counters={"HIT": 1.0})
    other = reading(threads=256, shared_bytes=33280, registers=128, counters={"HIT": 9.0})
    sums = totals([launched((64, 1, 1))], [mine, other], MI300X, compiled_to(97, 33000))
    assert sums.counters == {"HIT": 1.0}


def test_a_grid_of_clusters_counts_each_block(launched):
    sums = totals([launched((64, 1, 1), num_ctas=2)], [reading((128, 1, 1))], H200, never)
    assert sums.launches == 1


def test_a_profile_that_knows_only_how_many_workgroups_there_are(launched):
    one = KernelCounters("a_kernel", None, 128, 256, {"HIT": 1.0})
    assert totals([launched((64, 2, 1))], [one], MI300X, never).counters == {"HIT": 1.0}
    with pytest.raises(ProfileError, match="no launch of `a_kernel`"):
        totals([launched((64, 3, 1))], [one], MI300X, never)


def test_a_counter_that_one_launch_lacks_is_not_summed(launched):
    readings = [
        reading((64, 1, 1), counters={"HIT": 1.0, "READ": 7.0}),
        reading((8, 1, 1), counters={"HIT": 1.0}, time_ns=None),
    ]
    sums = totals([launched((64, 1, 1), 5), launched((8, 1, 1))], readings, H200, never)
    assert sums.counters == {"HIT": 6.0}
    assert sums.time_ns is None
