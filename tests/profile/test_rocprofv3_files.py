# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Outputs of `rocprofv3` in the layouts of several ROCm versions through the parser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.profile.rocprofv3 import read_csv, read_folder, read_json

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


def test_json_of_rocm_7_has_the_axes_of_the_grid():
    [reading] = read_json(recorded("rocprofv3_7.1_results.json"))
    assert (reading.kernel, reading.grid, reading.threads) == ("matmul_kernel", (256, 2, 1), 256)
    assert reading.counters == {"TCC_HIT_sum": 6000, "TCC_MISS_sum": 4000, "TCC_REQ_sum": 10400}
    assert (reading.time_ns, reading.shared_bytes, reading.registers) == (500_000, 65536, 128)


def test_one_process_need_not_be_a_list():
    document = json.loads(recorded("rocprofv3_7.1_results.json"))
    [process] = document["rocprofiler-sdk-tool"]
    assert read_json(json.dumps({"rocprofiler-sdk-tool": process})) == read_json(
        json.dumps(document)
    )


def test_a_counter_given_by_instances_is_their_sum():
    header, row, *_ = recorded("rocprofv3_6.4_counter_collection.csv").splitlines()
    [reading] = read_csv("\n".join([header, row, row, row, ""]))
    assert reading.counters == {"TCC_EA0_RDREQ_sum": 3 * 3900}


def test_dispatches_of_two_processes_may_have_one_number():
    text = recorded("rocprofv3_6.2_counter_collection.csv")
    header, row, *_ = text.splitlines()
    readings = read_csv("\n".join([header, row, row.replace("19396,19396", "20000,20000"), ""]))
    assert [one.counters for one in readings] == [{"TCC_HIT_sum": 6000}] * 2


def test_a_row_that_was_cut_off_is_left_out():
    text = recorded("rocprofv3_6.2_counter_collection.csv")
    within_a_number = text[: text.index("3000") + 3]
    assert read_csv(within_a_number)[1].counters == {"TCC_HIT_sum": 7000}
    assert [len(one.counters) for one in read_csv(text[: text.rindex(",")])] == [2, 2, 1]
    assert read_csv(text.replace("6000", "n/a"))[0].counters == {"TCC_MISS_sum": 4000}


def test_a_json_file_that_was_cut_off_leaves_the_csv_file(tmp_path):
    text = recorded("rocprofv3_7.1_results.json")
    folder = tmp_path / "pass_1" / "host"
    folder.mkdir(parents=True)
    (folder / "1_results.json").write_text(text[: len(text) // 2])
    shutil.copy(
        RECORDED / "rocprofv3_6.4_counter_collection.csv", folder / "1_counter_collection.csv"
    )
    assert [one.grid for one in read_folder(tmp_path)] == [None]
    (folder / "1_results.json").write_text(text)
    assert [one.grid for one in read_folder(tmp_path)] == [(256, 2, 1)]


def test_a_folder_without_files_has_no_dispatches(tmp_path):
    assert read_folder(tmp_path) == []


def test_another_layout_is_an_error_that_says_what_is_there():
    with pytest.raises(ProfileError, match="lacks the column Dispatch_Id") as caught:
        read_csv("Index,KernelName,gpu-id,TCC_HIT_sum\n0,k,0,5\n")
    assert "KernelName" in caught.value.details[0]
    with pytest.raises(ProfileError, match="lacks the column"):
        read_csv("")
    for text in ("{}", "[]", '{"rocprofiler-sdk-tool": [{"counters": []}]}'):
        with pytest.raises(ProfileError, match="unknown layout"):
            read_json(text)
