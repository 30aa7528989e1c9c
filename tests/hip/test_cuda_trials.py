# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Candidates of a CUDA kernel, tried in the program's own process.

Without a GPU the program runs on a stand-in for libcudart and libcuda whose kernels are host code;
all else is real: processes, the preloaded library, builds. `test_cuda_on_gpu.py` has a GPU.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from intelliperf_swizzle.api import optimize
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import SwizzleError, ValidationError
from intelliperf_swizzle.hardware import Device, load_target
from intelliperf_swizzle.kernels.base import GpuOutcome, RecordRequest
from intelliperf_swizzle.kernels.hip import cuda_toolchain, trials
from intelliperf_swizzle.kernels.hip.language import CUDA
from intelliperf_swizzle.kernels.hip.trace_slices import trace_here
from intelliperf_swizzle.records import Launch, Trace
from intelliperf_swizzle.search import setup

pytestmark = pytest.mark.hip
STANDIN = Path(__file__).parent / "gpu_standin"
INDEX = "blockIdx.x * blockDim.x + threadIdx.x;"
STORE = "if (i < n) out[i] = in[i] * factor;"
CHANGES = {
    "reverses": (INDEX, "(gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x;"),
    "drops a tile": (INDEX, "blockIdx.x % (gridDim.x - 1) * blockDim.x + threadIdx.x;"),
    "leaves what is there": (STORE, ""),
    "writes to an input": (STORE, STORE + " ((float*)in)[i / 2] = 0;"),
    "writes behind": (STORE, STORE + " if (i == n - 1 && n < 65536) out[n] = 1;"),
    "changes a variable": (STORE, STORE + " factor = 2.5f;"),
    "faults": (STORE, "out[1ll << 40] = 1;"),
    "hangs": (STORE, "while (true) *(volatile float*)out = 1;"),
    "does not compile": (STORE, "nonsense;"),
    "reverses again": (INDEX, "(gridDim.x - blockIdx.x - 1) * blockDim.x + threadIdx.x;"),
}
SAID = {
    "drops a tile": "`out` differs in ",
    "leaves what is there": "`out` differs in ",
    "writes to an input": "it writes to `in`, which is an input",
    "changes a variable": "it writes to `factor`, which is an input",
    "faults": "the swizzled kernel faulted: the process was killed by SIGSEGV",
    "hangs": "the swizzled kernel hung: took too long",
    "does not compile": "error: ‘nonsense’ was not declared",
}


@dataclass(frozen=True)
class Bed:
    """The application, its recorded launches and a machine that seems to have a GPU."""

    project: Path
    environment: dict[str, str]
    traced: list[tuple[Launch, Trace]]

    def edit(self, old: str, new: str) -> Edit:
        file = self.project / "app.cu"
        before = file.read_text()
        assert old in before
        text = before.replace(old, new)
        return Edit({}, {str(file): text}, {str(file): before}, f"{old} > {new}", 1)

    def runs(self, folder: Path, build: str = "nvcc app.cu -o app", **more: str) -> trials.CppOnGpu:
        request = RecordRequest(
            ["./app"], self.project, folder, environment={**self.environment, **more},
            build_command=build, limit_seconds=60,
        )  # fmt: skip
        device = Device(0, "a test", "cuda")
        return trials.CppOnGpu(request, (device, load_target("h200")), self.traced, 1e-6)


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Bed:
    try:
        cuda_toolchain.find_toolchain()
    except SwizzleError as error:
        pytest.skip(f"{error.fact}: {error.hint}")
    folder = tmp_path_factory.mktemp("bed")
    shutil.copytree(STANDIN, project := folder / "project")
    (bin_folder := folder / "bin").mkdir()
    (bin_folder / "nvcc").write_text(f'#!/bin/sh\nexec {sys.executable} "{STANDIN}/nvcc.py" "$@"\n')
    (bin_folder / "nvcc").chmod(0o755)
    library = ["-shared", "-fPIC", str(STANDIN / "fake_cuda.cpp"), "-ldl"]
    named = ["-Wl,-soname,libcudart.so", "-o", str(folder / "libcudart.so")]
    subprocess.run(["g++", *library, *named], check=True)
    (folder / "libcuda.so.1").symlink_to("libcudart.so")
    environment = {
        **os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "FAKE_CUDA": str(folder),
    }  # fmt: skip
    request = RecordRequest(
        ["./app"], project, folder / "capture", load_target("h200"),
        build_command="nvcc app.cu -o app",
    )  # fmt: skip
    captured = CUDA.record(request)
    assert [one.count for one in captured.launches] == [1, 2]
    traced = [(one, trace_here(one, project)) for one in captured.launches]
    return Bed(project, environment, traced)


@pytest.fixture(scope="module")
def outcomes(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> dict[str, GpuOutcome]:
    """All changes in one call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "RUN_SECONDS", 1.0)
        patch.setattr(trials, "RACE_SECONDS", 0.2)
        edits = {n: bed.edit(*change) for n, change in enumerate(CHANGES.values())}
        found = bed.runs(tmp_path_factory.mktemp("trials")).validate_and_time(edits)
    return dict(zip(CHANGES, (found[n] for n in edits), strict=True))


@pytest.mark.parametrize("name", SAID)
def test_what_is_not_the_same_is_refused(name: str, outcomes: dict[str, GpuOutcome]) -> None:
    refusal = outcomes[name].refusal
    assert refusal is not None
    assert SAID[name] in refusal[1]
    assert refusal[0] == ("does not build" if name == "does not compile" else "output differs")
    assert outcomes[name].timing is None


@pytest.mark.parametrize("name", ["reverses", "reverses again"])
def test_the_same_bytes_are_timed(name: str, outcomes: dict[str, GpuOutcome]) -> None:
    outcome = outcomes[name]
    assert outcome.refusal is None
    assert outcome.validation is not None
    assert outcome.validation.launches == 2
    assert outcome.validation.same_bits
    assert outcome.timing is not None
    assert outcome.timing.rounds >= 11
    assert outcome.timing.ratio.median > 0


def test_a_byte_of_the_other_half_is_seen(outcomes: dict[str, GpuOutcome]) -> None:
    """The second launch writes half of a buffer."""
    refusal = outcomes["writes behind"].refusal
    assert refusal is not None
    assert "`out` differs in" in refusal[1]


def test_the_application_goes_on_as_ever(bed: Bed, tmp_path: Path) -> None:
    runs = bed.runs(tmp_path)
    timings = runs.time({0: bed.edit(*CHANGES["reverses"])})
    assert timings[0] is not None
    sums = [n * (n - 1) for n in (1 << 16, 1 << 16, 1 << 16)]
    said = (tmp_path / "gpu" / "trial-1" / "app.log").read_text().split()
    assert list(map(int, said)) == sums


def test_a_static_runtime_is_refused_by_name(bed: Bed, tmp_path: Path) -> None:
    """Nothing can be preloaded before it."""
    (bed.project / "static.sh").write_text(
        "nvcc app.cu -o shared && objcopy -O binary -j .nv_fatbin shared fat && "
        "g++ -x c++ -I. app.cu fake_cuda.cpp -ldl -o app && "
        "objcopy --add-section .nv_fatbin=fat app\n"
    )
    refusal = bed.runs(tmp_path, "sh static.sh").validate_and_time(
        {0: bed.edit(*CHANGES["reverses"])}
    )[0].refusal  # fmt: skip
    assert refusal is not None
    assert refusal[0] == "not validated"
    assert "nothing was launched through a shared runtime" in refusal[1]


def test_a_program_that_does_not_build_is_refused(bed: Bed, tmp_path: Path) -> None:
    runs = bed.runs(tmp_path, "nvcc absent.cu -o app")
    with pytest.raises(ValidationError, match="fails with the compiler for the GPU"):
        runs.validate_and_time({0: bed.edit(*CHANGES["reverses"])})


def test_the_plain_command_measures(
    bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From recording to the report, on a machine that seems to have an H200."""
    present = Device(0, "NVIDIA H200", "cuda", 90, target=load_target("h200"))
    monkeypatch.setattr(setup, "devices", lambda: [present])
    monkeypatch.setattr(trials, "RACE_SECONDS", 0.2)
    for name in ("PATH", "FAKE_CUDA"):
        monkeypatch.setenv(name, bed.environment[name])
    run = optimize(
        ["./app"], project_directory=str(bed.project), build_command="nvcc app.cu -o app",
        target="h200", candidates=8, measure=3, report_dir=str(tmp_path / "out"),
    )  # fmt: skip
    timed = [one for one in run.attempts if one.measurement and one.measurement.timing]
    assert timed
    assert all(one.validation and one.validation.method == "gpu" for one in timed)
    assert run.baseline.time_ms is not None
