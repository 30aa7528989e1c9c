# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Outputs of `rocprofv3` in the layouts of several ROCm versions through the parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.profile.rocprofv3 import read_csv, read_folder

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


def test_csv_of_rocm_6_2_has_no_times():
    first, second, fill = read_csv(recorded("rocprofv3_6.2_counter_collection.csv"))
    assert (first.kernel, fill.kernel) == ("matmul_kernel", "vectorized_elementwise_kernel")
    assert (first.grid, first.programs, first.threads) == (None, 512, 256)
    assert first.counters == {"TCC_HIT_sum": 6000, "TCC_MISS_sum": 4000}
    assert second.counters == {"TCC_HIT_sum": 7000, "TCC_MISS_sum": 3000}
    assert (first.time_ns, first.shared_bytes, first.registers) == (None, 65536, 128)


def test_csv_of_rocm_6_4_has_times_and_decimals():
    [reading] = read_csv(recorded("rocprofv3_6.4_counter_collection.csv"))
    assert reading.time_ns == 500_000
    assert reading.counters == {
        "TCC_EA0_RDREQ_sum": 3900,
        "TCC_EA0_WRREQ_sum": 1100,
        "TCC_HIT_sum": 6000,
        "TCC_MISS_sum": 4000,
    }


def test_a_counter_given_by_instances_is_their_sum():
    header, row, *_ = recorded("rocprofv3_6.4_counter_collection.csv").splitlines()
    [reading] = read_csv("\n".join([header, row, row, row, ""]))
    assert reading.counters == {"TCC_EA0_RDREQ_sum": 3 * 3900}


def test_dispatches_of_two_processes_may_have_one_number():
    text = recorded("rocprofv3_6.2_counter_collection.csv")
    header, row, *_ = text.splitlines()
    readings = read_csv("\n".join([header, row, row.replace("19396,19396", "20000,20000"), ""]))
    assert [reading.counters for reading in readings] == [{"TCC_HIT_sum": 6000}] * 2


def test_a_row_that_was_cut_off_is_left_out():
    text = recorded("rocprofv3_6.2_counter_collection.csv")
    within_a_number = text[: text.index("3000") + 3]
    assert read_csv(within_a_number)[1].counters == {"TCC_HIT_sum": 7000}
    assert [len(kernel.counters) for kernel in read_csv(text[: text.rindex(",")])] == [2, 2, 1]
    assert read_csv(text.replace("6000", "n/a"))[0].counters == {"TCC_MISS_sum": 4000}


def test_a_folder_without_files_has_no_dispatches(tmp_path):
    assert read_folder(tmp_path) == []


def test_another_layout_is_an_error_that_lists_what_was_found():
    with pytest.raises(ProfileError, match="lacks the column Dispatch_Id") as caught:
        read_csv("Index,KernelName,gpu-id,TCC_HIT_sum\n0,k,0,5\n")
    assert "KernelName" in caught.value.details[0]
    with pytest.raises(ProfileError, match="lacks the column"):
        read_csv("")
