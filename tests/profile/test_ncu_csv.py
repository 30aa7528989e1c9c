# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Recorded outputs of `ncu` through the parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from intelliperf_swizzle.profile.counters import plain_name
from intelliperf_swizzle.profile.ncu import PASSES, read_ncu

RECORDED = Path(__file__).parent / "recorded"
HIT = "lts__t_sectors_srcunit_tex_lookup_hit.sum"
MISS = "lts__t_sectors_srcunit_tex_lookup_miss.sum"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


def test_a_page_of_raw_metrics_from_an_h200():
    first, second = read_ncu(recorded("ncu_2025.3.1_h200_gemm_four_passes.csv"))
    assert (first.kernel, first.grid, first.programs, first.threads) == (
        *("gemm_kernel", (512, 1, 1)),
        *(512, 256),
    )
    assert first.counters[HIT] == 18_722_496
    assert first.counters["dram__bytes_read.sum"] == 186_483_968
    assert first.counters["lts__t_sector_hit_rate.pct"] == 63.68
    assert (first.time_ns, second.time_ns) == (189_376, 190_528)
    assert (first.shared_bytes, first.registers) == (147_456, 220)


def test_in_several_passes_hits_and_misses_do_not_add_up_to_the_lookups():
    """What an H200 printed; the reason for which more than one pass is refused."""
    for reading in read_ncu(recorded("ncu_2025.3.1_h200_gemm_four_passes.csv")):
        counted = reading.counters
        lookups = counted["lts__t_sectors_srcunit_tex.sum"]
        assert counted[PASSES] == 4
        assert abs(counted[HIT] + counted[MISS] - lookups) > 0.01 * lookups


def test_a_request_of_the_gemm_has_four_sectors_in_each_launch():
    """So sectors follow from requests, which an H200 counts in one pass with the hits."""
    for reading in read_ncu(recorded("ncu_2025.3.1_h200_gemm_sectors.csv")):
        counted = reading.counters
        requests = counted["lts__t_requests_srcunit_tex.sum"]
        assert counted[PASSES] == 1
        assert counted["lts__t_sectors_srcunit_tex.sum"] == pytest.approx(4 * requests, rel=1e-5)


def test_hits_and_requests_of_one_pass():
    readings = read_ncu(recorded("ncu_2025.3.1_h200_gemm_hits.csv"))
    rates = [
        reading.counters[HIT] / (4 * reading.counters["lts__t_requests_srcunit_tex.sum"])
        for reading in readings
    ]
    assert {reading.counters[PASSES] for reading in readings} == {1}
    assert rates == pytest.approx([0.727, 0.714, 0.718, 0.730], abs=5e-4)


def test_the_variants_of_an_autotuned_kernel_have_separate_sizes_and_registers():
    variants = {
        (launch.grid, launch.threads, launch.registers)
        for launch in read_ncu(recorded("ncu_2025.3.1_h200_autotuned.csv"))
    }
    assert variants == {
        ((16384, 1, 1), 128, 26),
        ((16384, 1, 1), 256, 20),
        ((8192, 1, 1), 128, 32),
    }


def test_a_row_that_was_cut_off_is_left_out():
    text = recorded("ncu_2025.3.1_h200_autotuned.csv")
    assert len(read_ncu(text)) == 6
    assert len(read_ncu(text[: len(text) - 400])) == 5
    units_only = text[: text.index('"0","817"')]
    assert read_ncu(units_only) == []
    assert read_ncu(text[: text.index('"byte"')]) == []


def test_without_a_table_there_is_no_reading():
    assert read_ncu(recorded("ncu_2025.3.1_h200_kernel_absent.txt")) == []
    assert read_ncu("") == []
    assert read_ncu('"Name","Value"\n"a","1"\n') == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234,567", 1_234_567),
        ("1,234.5", 1234.5),
        ("12.345", 12.345),
        ("0", 0),
    ],
)
def test_numbers(text, number):
    table = f'"ID","Kernel Name","dram__bytes_read.sum"\n"","","byte"\n"0","k","{text}"\n'
    assert read_ncu(table)[0].counters == {"dram__bytes_read.sum": number}


@pytest.mark.parametrize("text", ["n/a", "", "nan", "inf", "-", "63,68", "PolicySpread"])
def test_what_is_no_number_was_not_collected(text):
    table = f'"ID","Kernel Name","dram__bytes_read.sum"\n"","","byte"\n"0","k","{text}"\n'
    assert read_ncu(table)[0].counters == {}


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("matmul_kernel", "matmul_kernel"),
        ("matmul_kernel.kd", "matmul_kernel"),
        ("void at::native::fill<4, Fill<float> >(int, T2)", "fill"),
        ("void at::<unnamed>::fill<float>(int)", "fill"),
        ("void (anonymous namespace)::fill(int)", "fill"),
        ("void fill(int)", "fill"),
        ("", ""),
    ],
)
def test_plain_names(signature, name):
    assert plain_name(signature) == name
