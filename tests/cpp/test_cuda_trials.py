# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Candidates of a CUDA or HIP kernel, tried in the program's own process.

Without a GPU the program runs on a stand-in for the runtime and the driver whose kernels are host
code; all else is real: processes, the preloaded library, builds. `test_cuda_on_gpu.py` has a GPU.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from standin_machine import STANDIN, as_hip, machine

from intelliperf_swizzle.api import optimize
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import SwizzleError, ValidationError
from intelliperf_swizzle.frontends.cpp import gpu_trials as trials
from intelliperf_swizzle.frontends.cpp.code.binaries import read_fat_binaries
from intelliperf_swizzle.frontends.cpp.language import CUDA, HIP, Cpp
from intelliperf_swizzle.frontends.cpp.trace.trace_slices import trace_here
from intelliperf_swizzle.frontends.ports import GpuOutcome, RecordRequest
from intelliperf_swizzle.hardware import Device, load_target
from intelliperf_swizzle.records import Launch, Trace
from intelliperf_swizzle.search import setup

pytestmark = pytest.mark.hip
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

    language: Cpp
    file: Path
    environment: dict[str, str]
    traced: list[tuple[Launch, Trace]]

    @property
    def compiler(self) -> str:
        return "nvcc" if self.language is CUDA else "hipcc"

    @property
    def device(self) -> Device:
        target = load_target(self.language.default_target)
        return Device(0, "a test", target.backend, target.arch, target=target)

    def enter(self, patch: pytest.MonkeyPatch, **variables: str) -> None:
        """Makes this process's environment that of the machine, with other variables."""
        for name in ("PATH", "FAKE_CUDA", "FAKE_LANGUAGE", "LD_LIBRARY_PATH"):
            patch.setenv(name, (self.environment | variables)[name])

    def edit(self, old: str, new: str) -> Edit:
        before = self.file.read_text()
        assert old in before
        text = before.replace(old, new)
        return Edit({}, {str(self.file): text}, {str(self.file): before}, f"{old} > {new}")

    def runs(
        self, folder: Path, build: str | None = None, limit_seconds: float = 60
    ) -> trials.CppOnGpu:
        request = RecordRequest(
            ["./app"], self.file.parent, folder, environment=self.environment,
            limit_seconds=limit_seconds,
            build_command=build or f"{self.compiler} {self.file.name} -o app",
        )  # fmt: skip
        assert self.device.target is not None
        return trials.CppOnGpu(request, (self.device, self.device.target), self.traced, 1e-6)


@pytest.fixture(scope="module", params=[CUDA, HIP], ids=["cuda", "hip"])
def bed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bed:
    language: Cpp = request.param
    try:
        language.tools.find(os.environ)
    except SwizzleError as error:
        if "does not compile" in error.fact:  # what we ship
            raise
        pytest.skip(f"{error.fact}: {error.hint}")
    folder = tmp_path_factory.mktemp("bed")
    (folder / "project").mkdir()
    file = folder / "project" / ("app.cu" if language is CUDA else "app.hip.cpp")
    text = (STANDIN / "app.cu").read_text()
    file.write_text(as_hip(text) if language is HIP else text)
    environment = machine(folder, language.name)
    bed = Bed(language, file, environment, [])
    captured = language.record(
        RecordRequest(
            ["./app"], folder / "project", folder / "capture", bed.device.target,
            build_command=f"{bed.compiler} {bed.file.name} -o app",
        )
    )  # fmt: skip
    assert [launch.count for launch in captured.launches] == [1, 2]
    bed.traced.extend((launch, trace_here(launch, bed.file.parent)) for launch in captured.launches)
    return bed


@pytest.fixture(scope="module")
def outcomes(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> dict[str, GpuOutcome]:
    """All changes in one call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "RUN_SECONDS", 1.0)
        patch.setattr(trials.processes, "RACE_SECONDS", 0.2)
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
    outcomes = runs.confirm({0: bed.edit(*CHANGES["reverses"])})
    assert outcomes[0].timing is not None
    sums = [n * (n - 1) for n in (1 << 16, 1 << 16, 1 << 16)]
    message = (tmp_path / "gpu" / "trial-1" / "app.log").read_text().split()
    assert list(map(int, message)) == sums


def test_what_cannot_be_tried_in_its_process_is_not_validated(bed: Bed, tmp_path: Path) -> None:
    """Of a runtime before CUDA 11.1, which does not tell what the driver calls a kernel."""
    old = replace(bed, environment={**bed.environment, "FAKE_OLD": "1"})
    runs = old.runs(tmp_path, limit_seconds=5)
    refusal = runs.validate_and_time({0: bed.edit(*CHANGES["reverses"])})[0].refusal
    assert refusal is not None
    assert refusal[0] == "not validated"
    assert "does not tell the kernel's handle" in refusal[1]


def test_a_static_runtime_is_refused_by_name(bed: Bed, tmp_path: Path) -> None:
    """Nothing can be preloaded before it."""
    section = ".nv_fatbin" if bed.language is CUDA else ".hip_fatbin"
    (bed.file.parent / "static.sh").write_text(
        f"{bed.compiler} {bed.file.name} -o shared && objcopy -O binary -j {section} shared fat && "
        f"g++ -x c++ -I$FAKE_CUDA {bed.file.name} $FAKE_CUDA/fake.cpp -ldl -o app && "
        f"objcopy --add-section {section}=fat app\n"
    )
    runs = bed.runs(tmp_path, "sh static.sh")
    refusal = runs.validate_and_time({0: bed.edit(*CHANGES["reverses"])})[0].refusal
    assert refusal is not None
    assert refusal[0] == "not validated"
    assert "nothing was launched through a shared runtime" in refusal[1]


@pytest.mark.parametrize("bed", [CUDA], ids=["cuda"], indirect=True)
def test_a_static_runtime_is_linked_as_the_shared_one(bed: Bed, tmp_path: Path) -> None:
    """As CMake links: by its whole name, by the compiler of the host."""
    (bed.file.parent / "link.sh").write_text(
        f"nvcc -c {bed.file.name} -o app.o && g++ app.o $FAKE_CUDA/libcudart_static.a -o app\n"
    )
    outcomes = bed.runs(tmp_path, "sh link.sh").validate_and_time(
        {0: bed.edit(*CHANGES["reverses"])}
    )
    assert outcomes[0].refusal is None
    assert outcomes[0].timing is not None


def test_a_section_for_device_code_may_hold_none(tmp_path: Path) -> None:
    """As of what CMake compiles to see what the compiler is."""
    assembly = '.section .nv_fatbin,"a"\n'
    command = ["g++", "-x", "assembler", "-", "-c", "-o", "empty.o"]
    subprocess.run(command, input=assembly, text=True, cwd=tmp_path, check=True)
    assert read_fat_binaries(tmp_path / "empty.o") == []


def test_a_program_that_does_not_build_is_refused(bed: Bed, tmp_path: Path) -> None:
    runs = bed.runs(tmp_path, f"{bed.compiler} absent.cu -o app")
    with pytest.raises(ValidationError, match="fails with the compiler for the GPU"):
        runs.validate_and_time({0: bed.edit(*CHANGES["reverses"])})


@pytest.mark.parametrize("bed", [CUDA], ids=["cuda"], indirect=True)  # a hipcc would also record
def test_the_plain_command_measures(
    bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From recording to the report, on a machine that seems to have the GPU."""
    monkeypatch.setattr(setup, "devices", lambda: [bed.device])
    monkeypatch.setattr(trials.processes, "RACE_SECONDS", 0.2)
    bed.enter(monkeypatch)
    run = optimize(
        ["./app"], project_directory=str(bed.file.parent),
        build_command=f"{bed.compiler} {bed.file.name} -o app",
        target=bed.language.default_target, candidates=8, measure=3, all=True,
        report_dir=str(tmp_path / "out"),
    )  # fmt: skip
    timed = [
        attempt for attempt in run.attempts if attempt.measurement and attempt.measurement.timing
    ]
    assert timed
    assert all(outcome.validation and outcome.validation.method == "gpu" for outcome in timed)
    assert run.baseline.time_ms is not None
