# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""CUDA programs on an NVIDIA GPU: built by nvcc, compared and timed in their own process."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from intelliperf_swizzle.api import optimize
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.frontends.cpp.gpu_trials import CppOnGpu
from intelliperf_swizzle.frontends.cpp.language import CUDA
from intelliperf_swizzle.frontends.cpp.trace.trace_slices import trace_here
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.hardware import Device, devices
from intelliperf_swizzle.language import parse

pytestmark = [pytest.mark.gpu, pytest.mark.hip]
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
EXAMPLES = BENCHMARKS / "cuda"
EXTENSION = BENCHMARKS / "applications" / "extension"
SIZES = {"gemm_tiled": 1024, "transpose": 4096}
OUTPUTS = {"gemm_tiled": "c", "transpose": "out"}


@pytest.fixture(scope="module")
def device() -> Device:
    present = [
        device for device in devices() if device.backend == "cuda" and device.target is not None
    ]
    if not present or not CUDA.measures:
        pytest.skip("needs an NVIDIA GPU with a target, nvcc and g++")
    return present[0]


def edited(project: Path, kernel: str, old: str, new: str) -> Edit:
    file = project / f"{kernel}.cu"
    before = file.read_text()
    assert old in before
    text = before.replace(old, new)
    return Edit({}, {str(file): text}, {str(file): before}, f"{old} > {new}")


@pytest.mark.parametrize("kernel", SIZES)
def test_candidates_are_compared_and_timed(kernel: str, device: Device, tmp_path: Path) -> None:
    """Two that agree, one with other bytes, one that faults, one that does not compile."""
    assert device.target is not None
    shutil.copytree(EXAMPLES, project := tmp_path / "project")
    command, build = [f"./{kernel}", str(SIZES[kernel])], f"make {kernel}"
    request = RecordRequest(
        command, project, tmp_path / "capture", device.target, device,
        build_command=build, compute="never",
    )  # fmt: skip
    captured = CUDA.record(request)
    traced = [(launch, trace_here(launch, project)) for launch in captured.launches]
    edits = {
        number: CUDA.edit(captured.launches, parse(text), device.target, name=text, roots=[project])
        for number, text in enumerate(("pid = num_pids - 1 - pid", "pid = pid ^ 1"))
    }
    begin = f"__global__ void {kernel}("
    assert begin in (project / f"{kernel}.cu").read_text()
    body = ") {\n"
    source = (project / f"{kernel}.cu").read_text()
    at = source.index(body, source.index(begin)) + len(body)
    first = source[source.index(begin) : at]
    out = OUTPUTS[kernel]
    edits[2] = edited(project, kernel, first, first + "  if (blockIdx.x == 1) return;\n")
    edits[3] = edited(project, kernel, first, first + f"  {out}[(size_t)1 << 44] = 1;\n")
    edits[4] = edited(project, kernel, first, first + "  nonsense;\n")
    runs = CppOnGpu(
        RecordRequest(
            command, project, tmp_path / "runs", device.target, device, build_command=build
        ),
        (device, device.target), traced, 1e-6,
    )  # fmt: skip
    outcomes = runs.validate_and_time(edits)
    for number, outcome in outcomes.items():
        print(kernel, number, outcome)
    for number in (0, 1):
        assert outcomes[number].refusal is None, outcomes[number].refusal
        timing = outcomes[number].timing
        assert timing is not None
        assert timing.rounds >= 11
        assert 0.5 < timing.ratio.median < 3
    refusals = [outcomes[number].refusal or ("", "") for number in (2, 3, 4)]
    assert [kind for kind, _ in refusals] == ["output differs"] * 2 + ["does not build"]
    assert f"`{out}` differs" in refusals[0][1]
    assert "illegal memory access" in refusals[1][1]
    assert "nonsense" in refusals[2][1]
    again = runs.confirm({0: edits[0], 1: edits[1]})
    assert all(found.timing is not None for found in again.values())
    message = (tmp_path / "runs" / "gpu" / "trial-1" / "journal.jsonl").read_text()
    assert '"event": "working"' in message


@pytest.mark.parametrize("kernel", SIZES)
def test_the_plain_command_measures(kernel: str, device: Device, tmp_path: Path) -> None:
    """Times of the GPU; hit rates of ncu if counters may be read."""
    shutil.copytree(EXAMPLES, project := tmp_path / "project")
    run = optimize(
        [f"./{kernel}", str(SIZES[kernel])], project_directory=str(project),
        build_command=f"make {kernel}", kernel=kernel, candidates=16, measure=4,
        report_dir=str(tmp_path / "out"),
    )  # fmt: skip
    timed = [
        attempt for attempt in run.attempts if attempt.measurement and attempt.measurement.timing
    ]
    for attempt in run.attempts:
        if attempt.validation or attempt.measurement:
            print(kernel, attempt.candidate.name, attempt.verdict, attempt.measurement)
    assert timed
    assert run.baseline.time_ms is not None
    assert all(outcome.validation and outcome.validation.method == "gpu" for outcome in timed)
    print(kernel, run.baseline)


def test_candidates_of_an_extension_of_pytorch(device: Device, tmp_path: Path) -> None:
    """Recorded on the GPU: two that agree, one with other bytes, one that does not compile."""
    assert device.target is not None
    shutil.copytree(EXTENSION, project := tmp_path / "project")
    command = [sys.executable, "app.py", "2048"]
    request = RecordRequest(command, project, tmp_path / "capture", device.target, device)
    captured = CUDA.record(request)
    print(captured)
    assert [(entry.kernel, entry.count) for entry in captured.launches] == [("matmul_kernel", 3)]
    assert captured.exit_code == 0
    launch = captured.launches[0]
    assert [launch.storages[tensor.storage].bytes for _, tensor in launch.tensors()] == [
        2048 * 2048 * 4
    ] * 3
    traced = [(entry, trace_here(entry, project)) for entry in captured.launches]
    edits = {
        number: CUDA.edit(captured.launches, parse(text), device.target, name=text, roots=[project])
        for number, text in enumerate(("pid = num_pids - 1 - pid", "pid = pid ^ 1"))
    }
    begin = "  float sums[TILE / ROWS] = {};\n"
    edits[2] = edited(project, "matmul", begin, begin + "  if (blockIdx.x == 1) return;\n")
    edits[3] = edited(project, "matmul", begin, begin + "  nonsense;\n")
    runs = CppOnGpu(
        RecordRequest(command, project, tmp_path / "runs", device.target, device),
        (device, device.target), traced, 1e-6,
    )  # fmt: skip
    outcomes = runs.validate_and_time(edits)
    for number, outcome in outcomes.items():
        print(number, outcome)
    for number in (0, 1):
        assert outcomes[number].refusal is None, outcomes[number].refusal
        assert outcomes[number].timing is not None
    kinds = [(outcomes[number].refusal or ("", ""))[0] for number in (2, 3)]
    assert kinds == ["output differs", "does not build"]
    message = (tmp_path / "runs" / "gpu" / "trial-1" / "app.log").read_text()
    assert "largest error" in message


def test_the_plain_command_patches_an_extension(device: Device, tmp_path: Path) -> None:
    """From `python app.py` to a patch of the .cu file, with times of the GPU."""
    shutil.copytree(EXTENSION, project := tmp_path / "project")
    run = optimize(
        [sys.executable, "app.py", "2048"], project_directory=str(project), candidates=16,
        measure=3, report_dir=str(tmp_path / "out"),
    )  # fmt: skip
    timed = [
        attempt for attempt in run.attempts if attempt.measurement and attempt.measurement.timing
    ]
    for attempt in timed:
        print(attempt.candidate.name, attempt.verdict, attempt.measurement)
    assert timed
    assert all(outcome.validation and outcome.validation.method == "gpu" for outcome in timed)
    print(run.baseline)
