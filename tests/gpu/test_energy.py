# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Joules of a launch, from a counter that moves now and then."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from intelliperf_swizzle.frontends.trials.statistics import timing, with_energy
from intelliperf_swizzle.frontends.triton.gpu import energy
from intelliperf_swizzle.frontends.triton.gpu.energy import energy_counter, joules_per_launch

WATTS = 500.0


class Gpu:
    """A GPU and its host on a clock of their own, which each look at it moves by 0.1 ms.

    Its counter moves every 20 ms; a launch takes the host `host_seconds`.
    """

    def __init__(self, launch_seconds: float, host_seconds: float = 0.0):
        self.now = self.busy_until = 0.0
        self.launch_seconds = launch_seconds
        self.host_seconds = host_seconds

    def perf_counter(self) -> float:
        self.now += 1e-4
        return self.now

    def launch(self) -> None:
        self.now += self.host_seconds
        self.busy_until = max(self.busy_until, self.now) + self.launch_seconds

    def mark(self):
        end = self.busy_until
        return lambda: self.now >= end

    def counter(self) -> float:
        return self.now // 0.02 * 0.02 * WATTS


def told(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> float | None:
    monkeypatch.setattr(energy.time, "perf_counter", gpu.perf_counter)
    return joules_per_launch(
        gpu.launch, gpu.mark, gpu.counter, launch_seconds=gpu.launch_seconds, seconds=0.5
    )


@pytest.mark.parametrize("seconds", [0.0001, 0.002, 0.03])
def test_power_times_the_time_of_a_launch(seconds, monkeypatch):
    assert told(Gpu(seconds), monkeypatch) == pytest.approx(WATTS * seconds, rel=0.02)


def test_nothing_is_told_where_the_gpu_waits_for_the_host(monkeypatch):
    assert told(Gpu(0.0001, host_seconds=0.0002), monkeypatch) is None


def test_nothing_is_told_by_a_counter_that_stands(monkeypatch):
    gpu = Gpu(0.002)
    gpu.counter = lambda: 17.0
    assert told(gpu, monkeypatch) is None


def test_millijoules_of_the_gpu_in_use(monkeypatch):
    nvml = ModuleType("pynvml")
    nvml.nvmlInit = lambda: None
    nvml.nvmlDeviceGetHandleByUUID = {"GPU-1-2": "handle"}.__getitem__
    nvml.nvmlDeviceGetTotalEnergyConsumption = {"handle": 12_345}.__getitem__
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(uuid="1-2"))
    read = energy_counter()
    assert read is not None
    assert read() == pytest.approx(12.345)


def test_ticks_of_an_amd_gpu(monkeypatch):
    smi = ModuleType("amdsmi")
    smi.amdsmi_init = lambda: None
    smi.amdsmi_get_processor_handle_from_bdf = {"0000:c1:00.0": "handle"}.__getitem__
    ticks = {"energy_accumulator": 4_000_000, "counter_resolution": 15.3, "timestamp": 1}
    smi.amdsmi_get_energy_count = {"handle": ticks}.__getitem__
    monkeypatch.setitem(sys.modules, "amdsmi", smi)
    monkeypatch.setattr(torch.version, "hip", "6.4")
    place = SimpleNamespace(pci_domain_id=0, pci_bus_id=0xC1, pci_device_id=0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: place)
    read = energy_counter()
    assert read is not None
    assert read() == pytest.approx(61.2)  # micro-joules a tick


def test_without_a_counter_there_is_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert energy_counter() is None


def test_launches_count_as_often_as_they_are_made():
    rounds = [[(2.0, 1.0)] * 11, [(4.0, 4.0)] * 11]
    found = with_energy(timing(rounds, [3, 1], "a GPU"), [(2.0, 1.5), (5.0, 5.0)], [3, 1])
    assert (found.original_joules, found.joules) == (11.0, 9.5)


def test_a_launch_that_is_not_known_leaves_all_unknown():
    rounds = [[(2.0, 1.0)] * 11] * 2
    found = with_energy(timing(rounds, [1, 1], "a GPU"), [(2.0, 1.5), None], [1, 1])
    assert found.joules is None
