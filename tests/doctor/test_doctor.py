# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`doctor` on machines that lie in a folder: what is found, what is missing, what would be used."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from intelliperf_swizzle import doctor, hardware
from intelliperf_swizzle.doctor import as_json, as_text, diagnose
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.hardware.detect import Machine
from intelliperf_swizzle.options import Options

H200 = "NVIDIA H200, GPU-eb132614-7621, 580.159.04, 9.0, Disabled"


class Computer:
    """A machine in a folder: its executables and the tables of its drivers."""

    def __init__(self, folder: Path):
        self.bin, self.root = folder / "bin", folder / "root"
        self.bin.mkdir()
        self.root.mkdir()
        self.environment: dict[str, str] = {}
        self.patience_seconds = 60.0  # a stand-in is a Python

    @property
    def machine(self) -> Machine:
        return Machine(self.root, str(self.bin), self.patience_seconds)

    def install(self, name: str, says: str = "", body: str = "") -> None:
        path = self.bin / name
        path.write_text(f"#!{sys.executable}\n{body}\nprint({says!r})\n")
        path.chmod(0o755)

    def write(self, file: str, text: str) -> None:
        (self.root / file).parent.mkdir(parents=True, exist_ok=True)
        (self.root / file).write_text(text)

    def diagnose(self, **wishes):
        return diagnose(Options(**wishes), self.machine, self.environment)


@pytest.fixture
def computer(tmp_path):
    return Computer(tmp_path)


@pytest.fixture
def with_h200(computer, mocker):
    mocker.patch.object(hardware, "torch_build", return_value="cuda")
    computer.install("nvidia-smi", H200)
    computer.install("ncu", "Version 2025.3.1.0 (build 36398880)")
    computer.install("gcc")
    computer.write("proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n")
    return computer


@pytest.fixture
def with_mi300x(computer, mocker):
    mocker.patch.object(hardware, "torch_build", return_value="hip")
    facts = {"device_id": 0x74A1, "gfx_target_version": 90402, "num_xcc": 1, "simd_count": 152}
    text = "".join(f"{key} {value}\n" for key, value in facts.items())
    for number in range(1, 9):
        computer.write(f"sys/class/kfd/kfd/topology/nodes/{number}/properties", text)
    computer.write("sys/module/amdgpu/version", "6.12.12\n")
    computer.write("opt/rocm/.info/version", "7.1.0\n")
    computer.write("dev/kfd", "")
    computer.install("rocprofv3", "   version: 1.1.0")
    computer.install("gcc")
    return computer


def finding(diagnosis, part):
    [one] = [finding for finding in diagnosis.findings if finding.part == part]
    return one


def test_without_a_gpu_all_is_modelled_and_it_works(computer):
    diagnosis = computer.diagnose()
    assert diagnosis.works
    assert (diagnosis.target, diagnosis.device) == ("mi300x", None)
    assert (diagnosis.profiler, diagnosis.proposer) == ("model", "offline")
    assert finding(diagnosis, "GPU").found == "none: hit rates are modelled"
    assert metadata.version("triton") in finding(diagnosis, "Triton").found
    parts = [gap.part for gap in diagnosis.findings]
    assert "ncu" not in parts
    assert "C compiler" not in parts


def test_an_h200_with_ncu(with_h200):
    diagnosis = with_h200.diagnose()
    assert diagnosis.works
    assert (diagnosis.target, diagnosis.device, diagnosis.profiler) == (
        *("h200", "NVIDIA H200"),
        "ncu",
    )
    assert finding(diagnosis, "GPU 0").found == "NVIDIA H200, target h200, driver 580.159.04"
    ncu = finding(diagnosis, "ncu")
    assert ncu.found.startswith("2025.3.1.0 (")
    assert ncu.found.endswith("may read counters")
    assert "hit rates from ncu, times from the NVIDIA H200" in " ".join(as_text(diagnosis).split())


def test_an_mi300x_in_cpx_mode(with_mi300x):
    diagnosis = with_mi300x.diagnose(device=7)
    assert diagnosis.works
    assert finding(diagnosis, "GPU 7").found == (
        "AMD Instinct MI300X, target mi300x, CPX mode of 1 XCD, driver 6.12.12, ROCm 7.1.0"
    )
    assert "1 L2 " in finding(diagnosis, "target").found
    assert diagnosis.profiler == "rocprofv3"


def test_no_permission_for_counters(with_h200):
    with_h200.write("proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n")
    with_h200.write("proc/self/status", "CapEff:\t0\n")
    diagnosis = with_h200.diagnose()
    assert diagnosis.works
    assert (diagnosis.profiler, diagnosis.device) == ("model", "NVIDIA H200")
    assert "only administrators" in finding(diagnosis, "ncu").gap
    demanded = with_h200.diagnose(profiler="ncu")
    assert not demanded.works
    assert finding(demanded, "ncu").needed
    command = shlex.split(finding(demanded, "ncu").command)
    assert "NVreg_RestrictProfilingToAdminUsers=0" in command


@pytest.mark.parametrize(
    "body", ["import time; time.sleep(600)", "raise SystemExit('no licence')", "1 / 0"]
)
def test_broken_tools_are_survived(with_h200, body):
    with_h200.patience_seconds = 0.5 if "sleep" in body else 60.0
    for name in ("ncu", "nvidia-smi"):
        with_h200.install(name, body=body)
    gpu = "proc/driver/nvidia/gpus/0/information"
    with_h200.write(gpu, "Model: NVIDIA H200\nGPU UUID: GPU-1\n")
    diagnosis = with_h200.diagnose()
    assert diagnosis.works
    assert (diagnosis.target, diagnosis.profiler) == ("h200", "model")
    assert finding(diagnosis, "ncu").gap
    assert not with_h200.diagnose(profiler="ncu").works


def test_a_missing_profiler_is_a_gap_that_a_command_mends(with_h200):
    (with_h200.bin / "ncu").unlink()
    diagnosis = with_h200.diagnose()
    assert diagnosis.works
    missing = finding(diagnosis, "ncu")
    assert (missing.found, missing.needed) == (None, False)
    assert missing.command == "sudo apt install nsight-compute"


def test_an_unknown_gpu_is_answered_with_the_nearest(with_h200):
    with_h200.install("nvidia-smi", H200.replace("NVIDIA H200", "NVIDIA GH200 480GB"))
    diagnosis = with_h200.diagnose()
    assert diagnosis.works
    assert diagnosis.target == "mi300x"
    assert "--target h100 is the nearest" in finding(diagnosis, "GPU 0").gap
    assert finding(with_h200.diagnose(target="h100"), "GPU 0").gap is None


def test_another_target_than_the_gpu_is_modelled(with_h200):
    diagnosis = with_h200.diagnose(target="mi300x")
    assert diagnosis.works
    assert (diagnosis.target, diagnosis.device, diagnosis.profiler) == ("mi300x", None, "model")
    demanded = with_h200.diagnose(target="mi300x", profiler="ncu")
    assert not demanded.works
    assert "the target is mi300x" in finding(demanded, "ncu").gap


def test_a_torch_for_cpus_cannot_use_the_gpu(with_h200, mocker):
    mocker.patch.object(hardware, "torch_build", return_value=None)
    torch = finding(with_h200.diagnose(), "PyTorch")
    assert "cannot use the NVIDIA H200" in torch.gap
    assert torch.command.startswith("pip install")
    assert not with_h200.diagnose(profiler="ncu").works


def test_triton_needs_a_c_compiler_where_kernels_are_launched(with_h200):
    (with_h200.bin / "gcc").unlink()
    diagnosis = with_h200.diagnose()
    assert not diagnosis.works
    assert finding(diagnosis, "C compiler").command == "sudo apt install gcc"
    assert with_h200.diagnose(profiler="model").works


def test_hidden_gpus(with_h200):
    with_h200.environment["CUDA_VISIBLE_DEVICES"] = ""
    diagnosis = with_h200.diagnose()
    assert diagnosis.works
    assert "CUDA_VISIBLE_DEVICES= hides every GPU" in finding(diagnosis, "GPU").gap
    assert finding(diagnosis, "GPU").command == "unset CUDA_VISIBLE_DEVICES"


def test_a_driver_that_shows_no_gpu(computer):
    computer.install("nvidia-smi", "No devices were found")
    gap = finding(computer.diagnose(), "GPU").gap
    assert "shows no GPU" in gap


def test_the_language_model_without_its_key(computer):
    computer.environment["LLM_GATEWAY_KEY"] = "sk-secret"
    diagnosis = computer.diagnose(model="m", provider="http://user:sk-word@host.example:8000/v1")
    assert finding(diagnosis, "language model").found == (
        "openai/m at host.example:8000, key in LLM_GATEWAY_KEY"
    )
    assert diagnosis.proposer == "both"
    page = as_text(diagnosis) + json.dumps(as_json(diagnosis))
    assert "sk-" not in page


@pytest.mark.parametrize("wishes", [{"proposer": "llm"}, {"formula": "swizzle-unaware"}])
def test_what_needs_a_language_model_does_not_work_without(computer, wishes):
    diagnosis = computer.diagnose(**wishes)
    assert not diagnosis.works
    assert finding(diagnosis, "language model").command == "export LLM_GATEWAY_KEY=..."
    computer.environment["LLM_GATEWAY_KEY"] = "sk-secret"
    assert computer.diagnose(**wishes).works


def test_without_dspy_a_configured_model_cannot_be_reached(computer, mocker):
    known = doctor._version
    mocker.patch.object(doctor, "_version", lambda name: None if name == "dspy" else known(name))
    assert computer.diagnose().works
    computer.environment["LLM_GATEWAY_KEY"] = "sk-secret"
    diagnosis = computer.diagnose()
    assert not diagnosis.works
    assert finding(diagnosis, "DSPy").command == "pip install 'intelliperf-swizzle[llm]'"
    assert computer.diagnose(proposer="offline").works


@pytest.mark.parametrize(
    ("wishes", "fact"),
    [
        ({"profiler": "nsys"}, "no profiler `nsys`"),
        ({"proposer": "oracle"}, "no proposer `oracle`"),
        ({"target": "mi301x"}, "no target `mi301x`"),
        ({"device": 3}, "no GPU 3"),
    ],
)
def test_bad_usage(computer, wishes, fact):
    with pytest.raises(UsageError, match=fact):
        computer.diagnose(**wishes)


def test_the_text_fits_80_columns_and_its_commands_are_whole(with_h200):
    with_h200.write("proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n")
    with_h200.write("proc/self/status", "CapEff:\t0\n")
    diagnosis = with_h200.diagnose(profiler="ncu")
    text = as_text(diagnosis)
    assert max(map(len, text.splitlines())) <= 80
    shown = text[text.index("$ ") + 2 :].split("\n\n")[0].replace("\\\n", "")
    assert " ".join(shown.split()) == finding(diagnosis, "ncu").command


def test_json_holds_what_the_text_says(with_mi300x):
    document = as_json(with_mi300x.diagnose())
    assert json.loads(json.dumps(document)) == document
    assert document["works"] is True
    assert document["would_use"] == {
        "target": "mi300x",
        "device": "AMD Instinct MI300X",
        "profiler": "rocprofv3",
        "proposer": "offline",
    }
    assert {"part", "found", "gap", "command", "needed"} == set(document["findings"][0])


def run_doctor(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "intelliperf_swizzle", "doctor", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_command(tmp_path):
    ran = run_doctor("--json", "--target", "mi300x", "--", "python", "app.py")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)["would_use"]["target"] == "mi300x"
    ran = run_doctor("--target", "mi300a", INTELLIPERF_SWIZZLE_PROFILER="ncu")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "These options cannot work here." in ran.stdout
    ran = run_doctor("--profiler", "nsys")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("error: there is no profiler `nsys`")


def test_the_size_of_the_cache(computer, tmp_path):
    computer.environment["XDG_CACHE_HOME"] = str(tmp_path)
    entry = tmp_path / "intelliperf-swizzle" / "kept" / "trace-1.pickle"
    entry.parent.mkdir(parents=True)
    entry.write_bytes(bytes(3 << 20))
    [cache] = [finding for finding in computer.diagnose().findings if finding.part == "cache"]
    assert cache.found == f"3.0 MiB of at most 2.0 GiB in {entry.parent}"
