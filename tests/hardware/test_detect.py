# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which GPUs are found: tables of the drivers and a stand-in for nvidia-smi, in a folder."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from intelliperf_swizzle.hardware import Target, devices, load_target
from intelliperf_swizzle.hardware.detect import Device, Machine, nearest, unknown

MI300X = {"device_id": 0x74A1, "gfx_target_version": 90402, "simd_per_cu": 4, "vendor_id": 4098}
H200 = "NVIDIA H200, GPU-eb132614-7621-0129-aaa1-5c0b0bb20bb5, 580.159.04, 9.0, Disabled"
H100 = "NVIDIA H100 80GB HBM3, GPU-11111111-7621-0129-aaa1-5c0b0bb20bb5, 580.159.04, 9.0, Disabled"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine without any GPU."""
    return Machine(tmp_path, str(tmp_path), limit_seconds=60.0)


def detect(number: int, machine: Machine, environment: dict[str, str]) -> Target | None:
    """The target of the device of this number; None if there is none or it is no known GPU."""
    present = devices(machine, environment)
    return present[number].target if number < len(present) else None


def add_node(machine: Machine, number: int, **properties: int) -> None:
    node = machine.root / "sys/class/kfd/kfd/topology/nodes" / str(number)
    node.mkdir(parents=True)
    (node / "properties").write_text("".join(f"{k} {v}\n" for k, v in properties.items()))


def add_card(machine: Machine, minor: int, **files: str) -> None:
    card = machine.root / "sys/class/drm" / f"renderD{minor}" / "device"
    card.mkdir(parents=True)
    for name, text in files.items():
        (card / name).write_text(f"{text}\n")


def add_nvidia_smi(machine: Machine, body: str) -> None:
    path = machine.root / "nvidia-smi"
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(0o755)


def test_without_a_gpu_there_is_no_device(machine):
    add_node(machine, 0, cpu_cores_count=96, simd_count=0, device_id=0)
    assert devices(machine, {}) == ()
    assert detect(0, machine, {}) is None


def test_an_mi300x_in_spx_mode(machine):
    add_node(machine, 0, cpu_cores_count=96, simd_count=0)
    add_node(machine, 1, **MI300X, simd_count=1216, num_xcc=8, drm_render_minor=128)
    add_card(machine, 128, product_name="AMD Instinct MI300X OAM", current_compute_partition="SPX")
    (machine.root / "sys/module/amdgpu").mkdir(parents=True)
    (machine.root / "sys/module/amdgpu/version").write_text("6.12.12\n")
    [device] = devices(machine, {})
    assert device.target == load_target("mi300x")
    assert (device.product, device.arch, device.num_xcds, device.cus) == (
        *("AMD Instinct MI300X OAM", "gfx942"),
        *(8, 304),
    )
    assert (device.partition, device.driver) == ("SPX", "6.12.12")
    assert device.environment == {"HIP_VISIBLE_DEVICES": "0"}


def test_a_gpu_in_cpx_mode_is_eight_devices_of_one_xcd(machine):
    for number in range(1, 9):
        add_node(
            machine, number, **MI300X, simd_count=152, num_xcc=1, drm_render_minor=127 + number
        )
    add_card(machine, 128, current_compute_partition="CPX")
    seen = devices(machine, {})
    assert [device.number for device in seen] == list(range(8))
    assert {device.partition for device in seen} == {"CPX"}  # from the counts where no file says it
    assert seen[3].environment == {"HIP_VISIBLE_DEVICES": "3"}
    target = detect(3, machine, {})
    assert (target.num_xcds, target.cus, target.dispatch_domains) == (1, 38, (0,))
    assert target.l2_gb_s == load_target("mi300x").l2_gb_s / 8


@pytest.mark.parametrize(
    ("device_id", "num_xcc", "mode"),
    [
        (0x74A1, 4, "DPX"),
        (0x74A1, 2, "QPX"),
        (0x74A0, 2, "TPX"),
        (0x74A0, 6, "SPX"),
        (0x740C, 1, None),
    ],
)
def test_the_mode_follows_from_the_xcds(machine, device_id, num_xcc, mode):
    add_node(machine, 1, device_id=device_id, num_xcc=num_xcc, simd_count=4)
    assert devices(machine, {})[0].partition == mode


def test_an_old_driver_does_not_count_xcds(machine):
    add_node(machine, 1, device_id=0x74A1, simd_count=1216)
    assert detect(0, machine, {}) == load_target("mi300x")


def test_a_new_device_id_is_known_by_its_product_name(machine):
    facts = {**MI300X, "device_id": 0x7FFF}
    add_node(machine, 1, **facts, simd_count=1216, num_xcc=8, drm_render_minor=128)
    add_card(machine, 128, product_name="AMD Instinct MI325X OAM")
    assert detect(0, machine, {}).name == "mi325x"


def test_nodes_are_in_the_order_of_their_numbers(machine):
    add_node(machine, 10, device_id=0x74A0, num_xcc=6, simd_count=4)
    add_node(machine, 9, device_id=0x74A1, num_xcc=8, simd_count=4)
    assert [device.target.name for device in devices(machine, {})] == ["mi300x", "mi300a"]


@pytest.mark.parametrize(
    ("environment", "seen"),
    [
        ({}, ["0", "1", "2"]),
        ({"HIP_VISIBLE_DEVICES": "2,0"}, ["2", "0"]),
        ({"ROCR_VISIBLE_DEVICES": "1,2"}, ["0", "1"]),  # HIP counts what ROCr leaves
        ({"ROCR_VISIBLE_DEVICES": "GPU-00000000000000b2", "HIP_VISIBLE_DEVICES": "0"}, ["0"]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, ["1"]),
        ({"HIP_VISIBLE_DEVICES": "1,7,0"}, ["1"]),  # ends at the first that names nothing
        ({"HIP_VISIBLE_DEVICES": ""}, []),
    ],
)
def test_visible_amd_devices(machine, environment, seen):
    for number in range(3):
        add_node(machine, 1 + number, **MI300X, simd_count=4, num_xcc=8, unique_id=0xB0 + number)
    found = [device.environment["HIP_VISIBLE_DEVICES"] for device in devices(machine, environment)]
    assert found == seen


def test_an_nvidia_gpu_as_nvidia_smi_prints_it(machine):
    add_nvidia_smi(machine, f"print({H200!r})")
    [device] = devices(machine, {})
    assert device.target == load_target("h200")
    assert (device.product, device.arch, device.driver) == ("NVIDIA H200", 90, "580.159.04")
    assert device.environment == {
        "CUDA_VISIBLE_DEVICES": "GPU-eb132614-7621-0129-aaa1-5c0b0bb20bb5"
    }


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["h200", "h100"]),
        ("1,0", ["h100", "h200"]),
        ("GPU-1111", ["h100"]),
        ("GPU-", []),  # ambiguous
        ("-1", []),
        ("", []),
    ],
)
def test_visible_nvidia_devices(machine, visible, names):
    add_nvidia_smi(machine, f"print({H200!r}); print({H100!r})")
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    seen = devices(machine, environment)
    assert [device.target.name for device in seen] == names
    assert [device.number for device in seen] == list(range(len(names)))


@pytest.mark.parametrize(
    "body",
    ["import time; time.sleep(600)", "raise SystemExit(9)", "print('No devices were found')"],
)
def test_where_nvidia_smi_does_not_answer_the_drivers_table_does(machine, body):
    machine = replace(machine, limit_seconds=0.5 if "sleep" in body else 60.0)
    add_nvidia_smi(machine, body)
    gpu = machine.root / "proc/driver/nvidia/gpus" / "0000:00:06.0"
    gpu.mkdir(parents=True)
    (gpu / "information").write_text("Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-eb13\nIRQ: 41\n")
    (machine.root / "sys/module/nvidia").mkdir(parents=True)
    (machine.root / "sys/module/nvidia/version").write_text("580.159.04\n")
    [device] = devices(machine, {})
    assert device.target == load_target("h200")
    assert (device.arch, device.driver) == (90, "580.159.04")


def test_a_sliced_gpu_is_no_known_target(machine):
    add_nvidia_smi(machine, f"print({H200.replace('Disabled', 'Enabled')!r})")
    [device] = devices(machine, {})
    assert (device.partition, device.target) == ("MIG", None)
    assert "NVIDIA H200, MIG, is not a known target" in unknown(device)[0]


def test_amd_devices_come_first_and_numbers_go_on(machine):
    add_node(machine, 1, **MI300X, simd_count=4, num_xcc=8)
    add_nvidia_smi(machine, f"print({H200!r})")
    assert [(device.number, device.target.name) for device in devices(machine, {})] == [
        *((0, "mi300x"), (1, "h200"))
    ]
    assert detect(1, machine, {}).name == "h200"
    assert detect(2, machine, {}) is None


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (Device(0, "AMD GPU 0x74a2", "hip", "gfx942", num_xcds=4, cus=80), "mi300a"),
        (Device(0, "AMD GPU 0x75b0", "hip", "gfx950", num_xcds=8, cus=256), "mi355x"),
        (Device(0, "NVIDIA GH200 480GB", "cuda", 90), "h100"),
        (Device(0, "NVIDIA B300", "cuda", 103), "b200"),
        (Device(0, "NVIDIA A100-SXM4-80GB", "cuda", 80), "h100"),
    ],
)
def test_an_unknown_gpu_is_answered_with_the_nearest(device, name):
    assert nearest(device) == name
    fact, hint = unknown(device)
    assert device.product in fact
    assert f"--target {name} " in hint


def test_xcds_that_share_an_l2_are_one_domain(machine):
    add_node(machine, 1, device_id=0x75C1, num_xcc=8, simd_count=1024, gfx_target_version=120500)
    [device] = devices(machine, {})
    assert (device.arch, device.num_xcds) == ("gfx1250", 8)
    assert device.target == load_target("mi455x")
