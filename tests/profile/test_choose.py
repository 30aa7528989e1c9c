# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which profiler is chosen, and why not another: tools and permissions in a folder."""

from __future__ import annotations

import dataclasses

import pytest
from profiler_stand_ins import NCU, ROCPROFV3

from intelliperf_swizzle.errors import ProfileError, UsageError
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.hardware.detect import Device, Machine
from intelliperf_swizzle.profile import installed
from intelliperf_swizzle.profile.installed import choose_profiler, find_tool
from intelliperf_swizzle.progress import Silent

H200 = Device(0, "NVIDIA H200", "cuda", 90, target=load_target("h200"))
MI300X = Device(0, "AMD Instinct MI300X", "hip", "gfx942", target=load_target("mi300x"))


class Notes(Silent):
    """Remembers the notes."""

    def __init__(self):
        self.messages = []

    def note(self, sentence):
        self.messages.append(sentence)


@pytest.fixture
def machine(bench):
    for tool, body in {"ncu": NCU, "rocprofv3": ROCPROFV3}.items():
        bench.stand_in(tool, body, launches=[])
    for file, text in {
        "dev/kfd": "",
        "proc/driver/nvidia/params": "RmProfilingAdminOnly: 0\n",
        "proc/self/status": "CapEff:\t0000000000000000\n",
    }.items():
        (bench.folder / "root" / file).parent.mkdir(parents=True, exist_ok=True)
        (bench.folder / "root" / file).write_text(text)
    return bench.machine


def chosen(bench, name, target, device, machine, notes=None):
    application = bench.application(device=device)
    return choose_profiler(name, load_target(target), application, notes, machine)


@pytest.mark.parametrize(
    ("name", "target", "device", "profiler"),
    [
        ("auto", "h200", H200, "ncu"),
        ("auto", "mi300x", MI300X, "rocprofv3"),
        ("ncu", "h200", H200, "ncu"),
        ("rocprofv3", "mi300x", MI300X, "rocprofv3"),
    ],
)
def test_the_best_that_works_or_the_one_asked_for(bench, machine, name, target, device, profiler):
    made = chosen(bench, name, target, device, machine)
    assert made.name == profiler
    assert made.device == device.product


def test_without_an_application_or_a_gpu_auto_is_the_model(bench, machine, mocker):
    assert choose_profiler("auto", load_target("h200")) is None
    mocker.patch.object(installed, "devices", return_value=())
    notes = Notes()
    assert chosen(bench, "auto", "mi300x", None, machine, notes) is None
    assert notes.messages == []


def test_the_first_device_is_taken_where_none_is_named(bench, machine, mocker):
    mocker.patch.object(installed, "devices", return_value=(H200, MI300X))
    assert chosen(bench, "auto", "h200", None, machine).device == "NVIDIA H200"


def test_there_is_no_such_profiler():
    with pytest.raises(UsageError, match="no profiler `nsys`") as caught:
        choose_profiler("nsys", load_target("h200"))
    assert caught.value.hint == "one of: auto, model, ncu, rocprofv3"


@pytest.mark.parametrize(
    ("name", "target", "device", "fact"),
    [
        ("rocprofv3", "h200", H200, "measures AMD GPUs, and the GPU here is NVIDIA H200"),
        ("ncu", "mi300x", MI300X, "measures NVIDIA GPUs, and the GPU here is AMD Instinct MI300X"),
        ("ncu", "h100", H200, "the target is h100, and the GPU here is NVIDIA H200"),
        ("rocprofv3", "mi355x", MI300X, "the target is mi355x"),
        ("rocprofv3", "mi325x", MI300X, "the target is mi325x"),
    ],
)
def test_another_gpu_than_the_target_is_not_measured(bench, machine, name, target, device, fact):
    with pytest.raises(ProfileError, match=fact):
        chosen(bench, name, target, device, machine)


def test_if_another_gpu_is_the_target_auto_is_the_model_with_the_reason(bench, machine):
    notes = Notes()
    assert chosen(bench, "auto", "mi300x", H200, machine, notes) is None
    assert "the target is mi300x, and the GPU here is NVIDIA H200" in notes.messages[0]


def test_a_users_own_target_of_the_gpu_present_is_measured(bench, machine):
    own = dataclasses.replace(load_target("h200"), name="mine", memory_gb_s=1.0)
    made = choose_profiler("auto", own, bench.application(device=H200), None, machine)
    assert made.name == "ncu"


def test_a_tool_that_is_not_installed(bench, machine):
    (bench.folder / "bin" / "ncu").unlink()
    with pytest.raises(ProfileError, match="ncu is not installed") as caught:
        chosen(bench, "ncu", "h200", H200, machine)
    assert caught.value.hint.startswith("sudo apt install nsight-compute")
    notes = Notes()
    assert chosen(bench, "auto", "h200", H200, machine, notes) is None
    assert notes.messages == ["hit rates are modelled: ncu is not installed (`doctor` says more)"]


def test_a_tool_in_its_usual_place_is_found_newest_first(bench, machine):
    (bench.folder / "bin" / "ncu").rename(bench.folder / "ncu")
    for version in ("2024.1.0", "2025.3.1"):
        folder = bench.folder / "root" / "opt" / "nvidia" / "nsight-compute" / version
        folder.mkdir(parents=True)
        (folder / "ncu").symlink_to(bench.folder / "ncu")
    tool = find_tool("ncu", machine)
    assert tool.path.endswith("2025.3.1/ncu")
    assert (tool.version, tool.problem) == ("2025.3.1.0", None)


@pytest.mark.parametrize(
    ("body", "fact"),
    [
        ("time.sleep(60)", "does not answer within 0.5 s"),
        ("print('no licence', file=sys.stderr); sys.exit(2)", "exit code 2: no licence"),
    ],
)
def test_a_tool_that_is_broken(bench, machine, body, fact):
    bench.stand_in("ncu", body)
    hasty = Machine(machine.root, machine.search, 0.5)
    with pytest.raises(ProfileError, match=fact):
        chosen(bench, "ncu", "h200", H200, hasty)
    assert chosen(bench, "auto", "h200", H200, hasty) is None


def test_a_tool_that_cannot_be_executed(bench, machine):
    path = bench.folder / "bin" / "ncu"
    path.write_text("#!/no/such/interpreter\n")
    assert "cannot be started" in find_tool("ncu", machine).problem.fact


def test_a_missing_version_is_unknown(bench, machine):
    bench.stand_in("ncu", "print('ncu')")
    assert find_tool("ncu", machine).version is None
    assert find_tool("ncu", machine).problem is None


@pytest.mark.parametrize(
    ("capabilities", "allowed"),
    [("0000000000000000", False), ("00000000a80425fb", False), ("000001ffffffffff", True)],
)
def test_counters_for_administrators_alone(bench, machine, capabilities, allowed):
    """Root in a container lacks CAP_SYS_ADMIN (the second set of capabilities is Docker's)."""
    root = bench.folder / "root"
    (root / "proc/driver/nvidia/params").write_text("RmProfilingAdminOnly: 1\n")
    (root / "proc/self/status").write_text(f"Name:\tpython\nCapEff:\t{capabilities}\n")
    problem = find_tool("ncu", machine).problem
    assert (problem is None) == allowed
    if problem:
        assert "NVreg_RestrictProfilingToAdminUsers=0" in problem.command


def test_an_amd_gpu_that_may_not_be_opened(bench, machine):
    (bench.folder / "root" / "dev" / "kfd").unlink()
    problem = find_tool("rocprofv3", machine).problem
    assert "there is no /dev/kfd" in problem.fact
    assert problem.command == "sudo modprobe amdgpu"
