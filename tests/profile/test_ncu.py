# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The profiler `ncu` with a stand-in for the tool: what it is asked for, and what goes wrong."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from pathlib import Path

import pytest
from profiler_stand_ins import NCU, row

from intelliperf_swizzle import profile
from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.frontends.ports import Replay
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.hardware.detect import Device
from intelliperf_swizzle.hardware.target import Build
from intelliperf_swizzle.profile.installed import find_tool
from intelliperf_swizzle.profile.ncu import HITS, REQUESTS, SECTORS, NcuProfiler

H200 = load_target("h200")


@pytest.fixture
def profiler(bench):
    """Installs the stand-in; the profiler that uses it."""

    def make(*launches, application=None, **behaviour):
        bench.stand_in("ncu", NCU, launches=launches, **behaviour)
        tool = find_tool("ncu", bench.machine)
        return NcuProfiler(application or bench.application(), H200, tool)

    return make


def test_a_measurement_is_the_ratio_of_sums_over_all_launches(profiler, launched):
    ncu = profiler(
        row((64, 1, 1)),
        row((64, 1, 1), share=0.5),
        row((8, 2, 1), share=0.2),
        row((9, 9, 9), kernel="another_kernel"),
    )
    measured = ncu.measure([launched((64, 1, 1), count=3), launched((8, 2, 1))])
    hits = 3 * (600 + 300) / 2 + 120
    assert measured.l2_hit_rate == pytest.approx(hits / 4000)
    assert measured.l2_requests == 4000
    assert measured.l2_bytes == 4000 * 32
    assert measured.memory_bytes == 4 * (3200 + 800)
    assert measured.time_ms == 4.0
    assert (measured.profiler, measured.l2_before) == ("ncu", "cold")
    assert measured.counters[HITS] == hits
    assert measured.counters[REQUESTS] == 1000
    assert measured.counters[f"{SECTORS} per request"] == 4.0
    assert measured.llc_hit_rate is None


@pytest.mark.parametrize("spills", [False, True])
def test_all_variants_of_a_replay_are_counted_without_the_application(
    bench, profiler, launched, tmp_path, spills
):
    """What a request has of sectors is counted of the unmodified kernel, unless it spills."""
    shares = {(64, 1, 1): (1.0, 0.5), (8, 2, 1): (0.2, 1.5)}
    rows = [
        {**row(grid, share=share), "edited": number and not spills}
        for grid, both in shares.items()
        for number, share in enumerate(both)
        for _ in range(3)
    ]
    build = Build(255, None, 96 * spills, 0, 4, 1.0)
    launches = [dataclasses.replace(launched(grid), build=build) for grid in shares]
    edits, folders, replays = [bench.edit(hits=900)], [], tmp_path / "replays"
    replays.mkdir()

    def replay(repeats):
        folder = replays / str(len([*replays.iterdir()]))
        folder.mkdir()
        waits = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"

        def go(edits):
            folders.append(len([*replays.iterdir()]))
            (folder / "go").touch()

        return Replay([sys.executable, "-c", waits], dict(os.environ), folder, go)

    read = profiler(*rows).begin(launches, replay)(edits)
    assert [measurement.l2_hit_rate for measurement in read] == [
        (600 + 120) / 2000,
        (300 + 900) / 2000,
    ]
    assert [measurement.time_ms for measurement in read] == [2.0, 2.0]
    assert folders == [2, 2], "both are started before the first may begin"
    assert all("app.py" not in call for call in bench.calls)
    with pytest.raises(ProfileError):
        profiler(*rows[1:]).begin(launches, replay)(edits)


def test_sectors_of_a_request_are_counted_once_and_of_the_unmodified_kernel(
    bench, profiler, launched
):
    ncu = profiler(row())
    measured = ncu.measure([launched((64, 1, 1))], bench.edit(hits=900))
    assert measured.l2_hit_rate == 0.9
    assert ncu.measure([launched((64, 1, 1))]).l2_hit_rate == 0.6
    asked = [call[call.index("--metrics") + 1] for call in bench.calls[1:]]
    assert [HITS in metrics.split(",") for metrics in asked] == [False, True, True]


def test_sectors_of_a_request_are_counted_of_each_build_that_spills(bench, profiler, launched):
    ncu = profiler(row())
    spilling = dataclasses.replace(launched((64, 1, 1)), build=Build(255, None, 96, 0, 4, 1.0))
    for edit in (bench.edit(hits=900), bench.edit(hits=900), None):
        ncu.measure([spilling], edit)
    asked = [call[call.index("--metrics") + 1] for call in bench.calls[1:]]
    assert [SECTORS in counters.split(",") for counters in asked] == [
        True,
        False,
        False,
        True,
        False,
    ]


def test_hits_and_sectors_are_never_asked_for_at_once(bench, profiler, launched):
    """An H200 counts them in two runs of the kernel, as `recorded/` shows."""
    profiler(row()).measure([launched((64, 1, 1))])
    for call in bench.calls[1:]:
        metrics = call[call.index("--metrics") + 1].split(",")
        assert not {HITS, SECTORS} <= set(metrics)
        assert REQUESTS in metrics


def test_what_ncu_is_asked_for(bench, profiler, launched):
    profiler(row()).measure([launched((64, 1, 1))])
    arguments = bench.calls[-1]
    for option, value in {
        "--clock-control": "none",
        "--cache-control": "all",
        "--kernel-name": "a_kernel",
        "--filter-mode": "per-launch-config",
        "--launch-count": "10",
        "--target-processes": "all",
    }.items():
        assert arguments[arguments.index(option) + 1] == value
    assert arguments[-2:] == [sys.executable, "app.py"]


def test_no_more_is_counted_than_in_one_pass(bench, profiler, launched):
    ncu = profiler(row(), at_once=4)
    measured = ncu.measure([launched((64, 1, 1))])
    assert (measured.l2_hit_rate, measured.memory_bytes) == (0.6, None)
    assert len(bench.calls) == 4  # version, sectors, a run that asked for too much, hits
    ncu.measure([launched((64, 1, 1))])
    assert len(bench.calls) == 5


def test_what_takes_two_passes_is_refused(profiler, launched):
    with pytest.raises(ProfileError, match=r"cannot count .* at once on this GPU"):
        profiler(row(), at_once=2).measure([launched((64, 1, 1))])


def test_where_ncu_does_not_say_the_passes_as_little_as_possible_is_asked_for(profiler, launched):
    measured = profiler(row(), says_passes=False).measure([launched((64, 1, 1))])
    assert (measured.l2_hit_rate, measured.memory_bytes, measured.time_ms) == (0.6, None, 1.0)


def test_an_edit_is_measured_in_a_copy(bench, profiler, launched):
    before = bench.app.read_bytes()
    ncu = profiler(row())
    assert ncu.measure([launched((64, 1, 1))], bench.edit(hits=900)).l2_hit_rate == 0.9
    assert ncu.measure([launched((64, 1, 1))]).l2_hit_rate == 0.6
    assert bench.app.read_bytes() == before
    assert [path.name for path in bench.project.iterdir()] == ["app.py"]


def test_an_edit_that_the_application_does_not_run_is_not_measured(bench, profiler, launched):
    """The kernel comes from an installed package; the copy that carries the edit is idle."""
    installed = bench.folder / "site" / "app.py"
    installed.parent.mkdir()
    installed.write_text(bench.app.read_text())
    ncu = profiler(row(), application=bench.application(sys.executable, str(installed)))
    ncu.measure([launched((64, 1, 1))])
    with pytest.raises(ProfileError, match="a different copy of `a_kernel`") as caught:
        ncu.measure([launched((64, 1, 1))], bench.edit(hits=900))
    assert "-p" in caught.value.hint


def test_an_application_that_compiles_nothing_did_not_run_the_edit(bench, profiler, launched):
    ncu = profiler(row(), application=bench.application(sys.executable, "-c", "print('idle')"))
    with pytest.raises(ProfileError, match="compiled no `a_kernel`"):
        ncu.measure([launched((64, 1, 1))], bench.edit(hits=900))


@pytest.mark.parametrize("script", ["{project}/app.py", "../project/app.py"])
def test_a_script_elsewhere_is_measured_in_a_copy_of_its_folder(bench, profiler, launched, script):
    before = bench.app.read_bytes()
    elsewhere = bench.folder / "elsewhere"
    elsewhere.mkdir()
    started = bench.application(sys.executable, script.format(project=bench.project))
    ncu = profiler(row(), application=dataclasses.replace(started, project=elsewhere))
    assert ncu.measure([launched((64, 1, 1))], bench.edit(hits=900)).l2_hit_rate == 0.9
    assert ncu.measure([launched((64, 1, 1))]).l2_hit_rate == 0.6
    assert bench.app.read_bytes() == before


def test_an_edit_outside_the_project_is_not_measured(bench, profiler, launched):
    edit = dataclasses.replace(bench.edit(900), files={str(bench.folder / "x.py"): ""})
    with pytest.raises(ProfileError, match="lies outside") as caught:
        profiler(row()).measure([launched((64, 1, 1))], edit)
    assert "-p" in caught.value.hint


def test_the_application_sees_the_device_alone_and_the_copys_modules(bench, launched, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{bench.project / 'lib'}{os.pathsep}/elsewhere")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    device = Device(1, "NVIDIA H200", "cuda", 90, environment={"CUDA_VISIBLE_DEVICES": "GPU-1"})
    shown = "CUDA_VISIBLE_DEVICES", "PYTHONPATH", "TRITON_INTERPRET"
    script = f"import os, sys; sys.exit(str([os.environ.get(name) for name in {shown}]))"
    bench.stand_in("ncu", NCU, launches=[])
    app = bench.application(sys.executable, "-c", script, device=device)
    with pytest.raises(ProfileError) as caught:
        NcuProfiler(app, H200, find_tool("ncu", bench.machine)).measure([launched((1, 1, 1))])
    message = caught.value.details[-1]
    assert "'GPU-1'" in message
    assert "/project/lib:/elsewhere', None]" in message
    assert str(bench.project) not in message


def test_no_permission_says_what_to_set_and_how_to_go_on(profiler, launched):
    ncu = profiler(
        error="ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
        "Performance Counters on the target device 0."
    )
    with pytest.raises(ProfileError, match="ERR_NVGPUCTRPERM") as caught:
        ncu.measure([launched((64, 1, 1))])
    assert "NVreg_RestrictProfilingToAdminUsers=0" in caught.value.hint
    assert "times are measured" in caught.value.hint
    assert "--cap-add=SYS_ADMIN" in caught.value.details[0]


def test_another_error_of_ncu_is_shown(profiler, launched):
    ncu = profiler(error="Failed to initialize the profiler: LibraryNotLoaded", exit_code=0)
    with pytest.raises(ProfileError, match="ncu failed") as caught:
        ncu.measure([launched((64, 1, 1))])
    assert "LibraryNotLoaded" in caught.value.details[0]


def test_a_kernel_that_is_not_launched(profiler, launched):
    ncu = profiler(row(kernel="one_kernel"), row(kernel="two_kernel"))
    with pytest.raises(ProfileError, match="does not show `a_kernel`") as caught:
        ncu.measure([launched((64, 1, 1))])
    assert caught.value.details == ("it shows: one_kernel, two_kernel",)


def test_a_launch_that_is_not_there(profiler, launched):
    with pytest.raises(ProfileError, match=r"no launch of `a_kernel` on the grid \(65, 1, 1\)"):
        profiler(row()).measure([launched((64, 1, 1)), launched((65, 1, 1))])


def test_an_application_that_fails(bench, profiler, launched):
    command = (sys.executable, "-c", "import sys; print('no data'); sys.exit(3)")
    ncu = profiler(row(), application=bench.application(*command))
    with pytest.raises(ProfileError, match="failed under ncu with exit code 3") as caught:
        ncu.measure([launched((64, 1, 1))])
    assert caught.value.details[-1] == "no data"


def test_after_the_limit_counts_what_was_measured(bench, profiler, launched):
    ncu = profiler(row(), slow=True, application=bench.application(limit_seconds=2.0))
    assert ncu.measure([launched((64, 1, 1))]).l2_hit_rate == 0.6


def test_a_profiler_that_hangs_is_ended(bench, profiler, launched, mocker):
    mocker.patch.object(profile, "GRACE_SECONDS", 0.5)
    sleeper = f"import os, time; open({str(bench.folder / 'pid')!r}, 'w').write(str(os.getpid()))"
    command = (sys.executable, "-c", f"{sleeper}; time.sleep(60)")
    ncu = profiler(row(), deaf=True, application=bench.application(*command, limit_seconds=2.0))
    with pytest.raises(ProfileError, match="not launched under ncu before the time limit"):
        ncu.measure([launched((64, 1, 1))])
    status = Path(f"/proc/{(bench.folder / 'pid').read_text()}/status")
    for _ in range(100):
        if not status.exists() or "zombie" in status.read_text():
            return
        time.sleep(0.05)
    pytest.fail("the application outlived its profiler")


def test_a_table_that_was_cut_off(profiler, launched):
    first, second = row((64, 1, 1)), row((8, 2, 1))
    measured = profiler(first, second, cut=9).measure([launched((64, 1, 1))])
    assert measured.l2_hit_rate == 0.6
    with pytest.raises(ProfileError, match=r"on the grid \(8, 2, 1\)"):
        profiler(first, second, cut=9).measure([launched((8, 2, 1))])


def test_other_columns(profiler, launched):
    with pytest.raises(ProfileError, match="does not show `a_kernel`"):
        profiler(row(), header=["Index", "Function"]).measure([launched((64, 1, 1))])


def test_a_counter_that_is_not_there_is_null(profiler, launched):
    measured = profiler(row(), missing="write").measure([launched((64, 1, 1))])
    assert (measured.l2_hit_rate, measured.memory_bytes) == (0.6, None)
    measured = profiler(row(), missing="time").measure([launched((64, 1, 1))])
    assert (measured.time_ms, measured.memory_bytes) == (None, 4000)


@pytest.mark.parametrize(
    "missing", ["lookup_hit", "requests_srcunit_tex", "sectors_srcunit_tex.sum"]
)
def test_without_hits_and_requests_there_is_no_measurement(profiler, launched, missing):
    with pytest.raises(ProfileError, match="no L2 hits and requests"):
        profiler(row(), missing=missing).measure([launched((64, 1, 1))])


def test_an_executable_that_is_gone(bench, profiler, launched):
    ncu = profiler(row())
    (bench.folder / "bin" / "ncu").unlink()
    with pytest.raises(ProfileError, match="cannot be started"):
        ncu.measure([launched((64, 1, 1))])
