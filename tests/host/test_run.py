# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whole runs under the double: its command line, its trace files, its profiler, its failures.

`machine.py` is the GPU of the runs that measure; real are the processes and the comparison of
outputs.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SMALL_CACHE = """\
base: mi300x
name: mi300x-small
launch_us: 0
l2_bytes_per_xcd: 65536
l2_channels_per_xcd: 1
l2_channel_bits: hashed
l2_set_bits: hashed
cus_per_xcd: 4
llc_gb_s: 400
memory_gb_s: 100
"""
"""An MI300X on which a small GEMM is large: its L2s hold 512 lines, and memory is slow."""

UPSTREAM_FIELDS = {
    "version", "optimized", "initial", "report_message", "bottleneck_report", "diff", "diff_lines",
    "formula", "success", "kernel_name", "metric", "metric_name", "metric_before", "metric_after",
    "time_before_ms", "time_after_ms",
}  # fmt: skip
FORMULA = ("intelliperf", "--formula", "swizzle")
PHASES = (
    "recording",
    "tracing",
    "profiling",
    "screening",
    "predicting",
    "validating",
    "confirming",
)


@pytest.fixture
def small(tmp_path):
    """Options for a short run on a target on which the GEMM can be improved."""
    (tmp_path / "small.yaml").write_text(SMALL_CACHE)
    return ("--target", str(tmp_path / "small.yaml"), "--candidates", "60")


@pytest.fixture
def temporary(tmp_path):
    """An empty directory for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@pytest.fixture
def on_gpu(any_host, tmp_path):
    """The start of a short run on a small MI300X, its options, and rocprofv3 in the search path."""
    (tmp_path / "gpu.yaml").write_text(SMALL_CACHE.replace("mi300x-small", "mi300x"))
    machine = ("python", str(HERE / "machine.py"), str(tmp_path / "machine"))
    options = ("--target", str(tmp_path / "gpu.yaml"), "--candidates", "24", "--measure", "3")
    tools = HERE / "double" / "tools"
    path = f"{tools}:{any_host.folder / 'bin'}:{os.environ['PATH']}"
    return machine, options, {"PATH": path, "PYTHONPATH": str(tools), "TINY": "1"}


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_finds_what_our_own_command_finds(any_host, project, small, temporary, read_result):
    ran = any_host.run(
        *FORMULA, *small, "-o", "out.json", "-l", "--", "python", "app.py", cwd=project,
        TMPDIR=str(temporary),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    result = read_result(project / "out.json")
    assert set(result) >= UPSTREAM_FIELDS
    assert result["success"] is True
    assert result["metric_name"] == "L2 hit rate (modelled, mi300x-small)"
    assert result["report_message"].startswith("Modelled: ")
    assert result["time_before_ms"] is None
    assert result["time_after_ms"] is None
    assert result["metric_after"] > result["metric_before"]
    assert result["swizzle"]["best"]["validation"]["same_bits"] is True
    assert (project / "gemm.py").read_text() == result["optimized"]
    backup = project / "gemm.py.swizzle-backup"
    assert backup.read_text() == result["initial"]
    assert not list(temporary.iterdir())
    (log,) = (project / "trace").glob("intelliperf_run*.json")
    events = json.loads(log.read_text())["events"]
    assert {event["type"] for event in events} >= {"formula_init", "optimization_pass"}
    (code,) = (project / "trace").glob("gemm_kernel_iteration_*.hip")
    assert code.read_text() == result["optimized"]

    backup.replace(project / "gemm.py")
    own = any_host.run(
        "intelliperf-swizzle", *small, "-o", "own.json", "--", "python", "app.py", cwd=project
    )
    assert own.returncode == 0, own.stderr
    same = read_result(project / "own.json")
    assert same["swizzle"]["best"]["fingerprint"] == result["swizzle"]["best"]["fingerprint"]
    assert same["diff"] == result["diff"]


@pytest.mark.parametrize("output", ["out.csv", None])
def test_nothing_to_gain_leaves_every_file_as_it_was(output, any_host, project, read_result):
    before = contents(project)
    where = ("-o", output) if output else ()
    ran = any_host.run(*FORMULA, "-l", *where, "--", "python", "copying.py", cwd=project)
    assert ran.returncode == 0, ran.stderr
    assert {path: text for path, text in contents(project).items() if path in before} == before
    assert "nothing applied" in ran.stderr
    if output is None:
        fields = read_result(ran.stdout)
        assert fields["success"] is False
        assert fields["optimized"] is None
        assert fields["diff"] == ""
    else:
        (row,) = csv.DictReader((project / output).open())
        assert row["success"] == "False"


def test_candidates_that_fail_the_users_test_leave_every_file_as_it_was(
    any_host, project, small, read_result
):
    """The test is a command with quotes in it."""
    before = contents(project)
    ran = any_host.run(
        *FORMULA, *small, "-l", "--num_attempts", "1", "--unittest_command",
        "python app.py 'and fail'", "--", "python", "app.py", cwd=project,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert {path: text for path, text in contents(project).items() if path in before} == before
    result = read_result(ran.stdout)
    assert result["success"] is False
    kinds = [attempt["verdict"] for attempt in result["swizzle"]["attempts"]]
    assert "unit test failed" in kinds


def test_trace_path_with_a_suffix_is_a_file(any_host, project, small, read_result):
    """The file of an earlier run is there already, as IntelliPerf's own example repeated."""
    trace = project / "logs" / "run_1.json"
    trace.parent.mkdir()
    trace.write_text("{}")
    ran = any_host.run(
        *FORMULA, *small, "--trace_path", "logs/run_1.json", "--", "python", "app.py", cwd=project
    )
    assert ran.returncode == 0, ran.stderr
    events = json.loads(trace.read_text())["events"]
    assert {event["type"] for event in events} >= {"formula_init", "optimization_pass"}
    (code,) = trace.parent.glob("gemm_kernel_iteration_*.hip")
    assert code.read_text() == read_result(ran.stdout)["optimized"]


def test_takes_the_steps_of_our_own_command_on_a_gpu(
    any_host, project, on_gpu, temporary, read_result
):
    """Recorded, compared and timed on the GPU; rocprofv3 reads hit rates."""
    machine, options, environment = on_gpu
    records = {}
    for name, command in (("own", ("intelliperf-swizzle",)), ("host", FORMULA)):
        ran = any_host.run(
            *machine, *command, *options, "-o", f"{name}.json", "--report_dir", name,
            "-b", "python -c \"open('built', 'w')\"",
            "--", "python", "app.py", "--quoted", "two words",
            cwd=project, TMPDIR=str(temporary), **environment,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        records[name] = steps(ran.stderr), read_result(project / f"{name}.json")
        assert not list(temporary.iterdir())
    expected, result = records["own"]
    assert result["success"] is True
    assert result["metric_name"] == "L2 hit rate"
    assert (result["metric_before"], result["metric_after"]) == (40.0, 80.0)
    assert result["time_before_ms"] == 2.0
    assert result["time_after_ms"] < 2.0
    assert result["swizzle"]["best"]["validation"]["method"] == "gpu"
    assert result["swizzle"]["profiler"] == "rocprofv3"
    profiled = [step for step in expected if step.startswith("profiling")]
    assert len(profiled) == 1  # the leaders, with the unmodified kernel
    phases, other = records["host"]
    assert phases == expected
    assert other["swizzle"]["attempts"] == result["swizzle"]["attempts"]
    for field in UPSTREAM_FIELDS - {"version"}:
        assert other[field] == result[field], field


def steps(stderr):
    """The phases of a run as it tells of them, without the seconds that they may take; what is
    compiled once on a machine is none."""
    shown = [line.strip() for line in stderr.splitlines() if ", while the cache model" not in line]
    return [re.sub(r", about \d+ s$", "", line) for line in shown if line.startswith(PHASES)]


def test_kernel_that_is_renamed_is_an_attempt_that_failed(any_host, project, on_gpu, read_result):
    check_not_measured(
        any_host, project, on_gpu, read_result, "--rename",
        "does not show `gemm_kernel`",
    )  # fmt: skip


def test_edit_that_the_application_does_not_run_is_an_attempt_that_failed(
    any_host, project, on_gpu, read_result
):
    check_not_measured(
        any_host, project, on_gpu, read_result, "--elsewhere",
        "runs a different copy of `gemm_kernel`",
    )  # fmt: skip


def check_not_measured(any_host, project, on_gpu, read_result, flag, reason):
    machine, options, environment = on_gpu
    ran = any_host.run(
        *machine, *FORMULA, *options, "--profiler", "rocprofv3", "--num_attempts", "1",
        "-o", "out.json", "--", "python", "app.py", flag, cwd=project, **environment,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    result = read_result(project / "out.json")
    assert result["success"] is False
    failed = [
        attempt for attempt in result["swizzle"]["attempts"] if attempt["verdict"] == "not measured"
    ]
    assert failed
    assert reason in failed[0]["reason"]


def test_host_that_has_drifted_is_refused_before_anything_is_touched(host, project):
    before = contents(project)
    ran = host.run(*FORMULA, "--", "python", "app.py", cwd=project, DOUBLE_DRIFT="1")
    assert ran.returncode == 2
    assert "no Logger.flush" in ran.stderr
    assert "Logger(): " in ran.stderr
    assert "172b698" in ran.stderr
    assert contents(project) == before


def test_host_without_its_core_is_refused(host, project, tmp_path):
    """As a host that was not installed editable: only its top-level modules are there."""
    partial = tmp_path / "partial" / "intelliperf"
    partial.mkdir(parents=True)
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(HERE / "double" / "src" / "intelliperf" / name, partial)
    ran = host.run(*FORMULA, "--", "python", "app.py", cwd=project, PYTHONPATH=str(partial.parent))
    assert ran.returncode == 2
    assert "intelliperf.core" in ran.stderr
    assert "pip install -e" in ran.stderr


def test_host_that_drives_formulas_itself(host, project, small, read_result):
    """Its passes come in its order, and it passes our options on."""
    ran = host.run(
        *FORMULA, *small, "-o", "out.json", "--", "python", "copying.py",
        cwd=project, DOUBLE_PATCHED="1",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    result = read_result(project / "out.json")
    assert set(result) >= UPSTREAM_FIELDS
    assert result["success"] is False
    assert result["swizzle"]["nothing_to_gain"] is True
    assert result["swizzle"]["target"] == "mi300x-small"
    assert (project / "trace" / "intelliperf_run.json").exists()


def test_host_that_drives_a_run_that_fails(host, project):
    """It calls the passes again and again, and gets the same failure."""
    ran = host.run(*FORMULA, "--", "python", "nothing.py", cwd=project, DOUBLE_PATCHED="1")
    assert ran.returncode == 1
    assert ran.stderr.count("recording python nothing.py") == 1
    assert "Traceback" not in ran.stderr
    ran = host.run(*FORMULA, "-o", "out.xml", "--", "python", "app.py", cwd=project,
                   DOUBLE_PATCHED="1")  # fmt: skip
    assert ran.returncode == 2
    assert "out.xml" in ran.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_host_that_drives_dies_of_a_signal_and_leaves_nothing(number, host, project, temporary):
    """It is sent by the application, whose grandparent the host is."""
    (project / "long.py").write_text(f"""
import os, time
from pathlib import Path

host = Path(f"/proc/{{os.getppid()}}/stat").read_text().split()[3]
os.kill(int(host), {int(number)})
time.sleep(600)
""")
    ran = host.run(
        *FORMULA, "--", "python", "long.py", cwd=project, DOUBLE_PATCHED="1",
        TMPDIR=str(temporary),
    )  # fmt: skip
    assert ran.returncode == -number, ran.stderr
    assert f"interrupted by {number.name}" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not list(temporary.iterdir())
