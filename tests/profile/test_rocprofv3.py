# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The profiler `rocprofv3` with a stand-in for the tool."""

from __future__ import annotations

import json
import os
import sys

import pytest
from profiler_stand_ins import ROCPROFV3, row

from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.frontends.ports import Replay
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.profile.installed import find_tool
from intelliperf_swizzle.profile.rocprofv3 import Rocprofv3Profiler

MI300X = load_target("mi300x")


@pytest.fixture
def machine(bench):
    """A machine on which a user may open the GPU."""
    (bench.folder / "root" / "dev").mkdir()
    (bench.folder / "root" / "dev" / "kfd").touch()
    return bench.machine


@pytest.fixture
def rocprofv3(bench, machine):
    def make(*launches, application=None, **behaviour):
        bench.stand_in("rocprofv3", ROCPROFV3, launches=launches, **behaviour)
        tool = find_tool("rocprofv3", machine)
        assert (tool.version, tool.problem) == ("1.1.0", None)
        return Rocprofv3Profiler(application or bench.application(), MI300X, tool)

    return make


def test_a_measurement_is_the_ratio_of_sums_over_all_launches(rocprofv3, launched):
    profiler = rocprofv3(
        row((64, 1, 1), 256),
        row((64, 1, 1), 256, share=0.5),
        row((8, 2, 1), 256, share=0.2),
        row((8, 2, 1), 256, kernel="a_kernel_2"),
    )
    measured = profiler.measure([launched((64, 1, 1), count=3), launched((8, 2, 1))])
    hits = 3 * (600 + 300) / 2 + 120
    assert measured.l2_hit_rate == pytest.approx(hits / 4000)
    assert measured.counters == {
        "TCC_HIT_sum": hits,
        "TCC_MISS_sum": 4000 - hits,
        "TCC_REQ_sum": 4160,
        "TCC_EA0_RDREQ_sum": 1600,
        "TCC_EA0_WRREQ_sum": 320,
    }
    assert (measured.l2_requests, measured.time_ms, measured.l2_before) == (4000, 4.0, "warm")
    assert measured.memory_bytes is None  # requests of 32, 64 and 128 bytes are counted as one


def test_what_does_not_fit_one_run_is_left_out(bench, rocprofv3, launched):
    profiler = rocprofv3(row(block=256), at_once=4)
    measured = profiler.measure([launched((64, 1, 1))])
    assert "TCC_REQ_sum" not in measured.counters
    assert measured.counters["TCC_EA0_RDREQ_sum"] == 400
    runs = len(bench.calls)
    assert profiler.measure([launched((64, 1, 1))]) == measured
    assert len(bench.calls) == runs + 1


def test_some_versions_say_that_it_does_not_fit_and_end_well(rocprofv3, launched):
    profiler = rocprofv3(row(block=256), at_once=2, exit_code=0)
    measured = profiler.measure([launched((64, 1, 1))])
    assert set(measured.counters) == {"TCC_HIT_sum", "TCC_MISS_sum"}
    with pytest.raises(ProfileError, match="at once on this GPU"):
        rocprofv3(row(block=256), at_once=1).measure([launched((64, 1, 1))])


def test_an_edit_is_measured_in_a_copy(bench, rocprofv3, launched):
    profiler = rocprofv3(row(block=256))
    assert profiler.measure([launched((64, 1, 1))], bench.edit(900)).l2_hit_rate == 0.9


def test_no_permission_says_what_to_set_and_how_to_go_on(rocprofv3, launched):
    profiler = rocprofv3(error="Unable to open /dev/kfd read-write: Permission denied")
    with pytest.raises(ProfileError, match="may not read the counters") as caught:
        profiler.measure([launched((64, 1, 1))])
    assert "usermod -aG render,video" in caught.value.hint
    assert "times are measured" in caught.value.hint


def test_a_kernel_that_is_not_launched(rocprofv3, launched):
    with pytest.raises(ProfileError, match="does not show `a_kernel`") as caught:
        rocprofv3(row(kernel="another")).measure([launched((64, 1, 1))])
    assert caught.value.details == ("the application is done",)


def test_an_application_that_fails(bench, rocprofv3, launched):
    command = (sys.executable, "-c", "import sys; sys.exit(3)")
    profiler = rocprofv3(row(block=256), application=bench.application(*command))
    with pytest.raises(ProfileError, match="failed under rocprofv3 with exit code 3"):
        profiler.measure([launched((64, 1, 1))])


def test_the_counters_of_an_mi250x_have_other_names(bench, rocprofv3, launched):
    rocprofv3(row(block=256), error="stop here")
    tool = find_tool("rocprofv3", bench.machine)
    mi250x = load_target("mi250x")
    request = bench.folder / "request.json"
    bench.stand_in(
        "rocprofv3",
        f"Path({str(request)!r}).write_text(Path(sys.argv[2]).read_text())\nsys.exit(1)\n",
    )
    with pytest.raises(ProfileError):
        Rocprofv3Profiler(bench.application(), mi250x, tool).measure([launched((1, 1, 1))])
    [job] = json.loads(request.read_text())["jobs"]
    assert {"TCC_EA_RDREQ_sum", "TCC_EA_WRREQ_sum"} <= set(job["pmc"])


def test_all_variants_of_a_replay_are_counted_in_one_session(bench, rocprofv3, launched, tmp_path):
    shares = {(64, 1, 1): (1.0, 0.5), (8, 2, 1): (0.2, 1.5)}
    rows = [row(g, 256, share=s) for g, both in shares.items() for s in both for _ in range(3)]
    edits, given = [bench.edit(hits=900)], []

    def replay(repeats):
        assert repeats == 3
        (folder := tmp_path / f"replay-{len(given)}").mkdir()
        return Replay([sys.executable, "-c", "pass"], dict(os.environ), folder, given.append)

    read = rocprofv3(*rows, at_once=4).begin([*map(launched, shares)], replay)(edits)
    assert [measurement.l2_hit_rate for measurement in read] == [
        (600 + 120) / 2000,
        (300 + 900) / 2000,
    ]
    assert [measurement.l2_before for measurement in read] == ["cold", "cold"]
    assert given == [edits, edits], "what does not fit is asked for no second time"
    assert all("app.py" not in call for call in bench.calls)
    with pytest.raises(ProfileError):
        rocprofv3(*rows[1:]).begin([*map(launched, shares)], replay)(edits)


def test_grids_of_as_many_programs_are_not_distinguished(rocprofv3, launched):
    profiler = rocprofv3(row((64, 1, 1), 256), row((8, 8, 1), 256))
    with pytest.raises(ProfileError, match="does not distinguish"):
        profiler.measure([launched((64, 1, 1)), launched((8, 8, 1))])
