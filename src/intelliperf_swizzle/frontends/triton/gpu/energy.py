# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: what a launch takes in energy, by the GPU's own counter.

NVIDIA GPUs count millijoules (`nvmlDeviceGetTotalEnergyConsumption`, NVML), AMD GPUs ticks of a
stated resolution (`amdsmi_get_energy_count`, AMD SMI). Both counters move only every so many
milliseconds, which is longer than most launches: so a kernel is launched over and over, and the
power between the first and the last movement of the counter is taken times the time of a launch.
"""

from __future__ import annotations

import importlib
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

import torch

Joules: TypeAlias = Callable[[], float]
"""Reads what the GPU has used since some instant, in joules."""

WARM_SECONDS = 0.1
"""After another kernel the clocks settle; not counted."""
_BATCH_SECONDS = 0.01
_BATCHES_AHEAD = 3
MOST_WAITING = 1.2
"""A launch that takes so many times as long when one follows the other was waited for."""


def energy_counter() -> Joules | None:
    """That of the current GPU, or None where it has none or none that can be read."""
    module, find = ("amdsmi", _amd) if torch.version.hip else ("pynvml", _nvidia)
    try:
        read = find(importlib.import_module(module), torch.cuda.get_device_properties("cuda"))
        read()
    except Exception:  # the library is missing, too old, or the counter is: no energy is told
        return None
    return read


def _nvidia(nvml: Any, gpu: Any) -> Joules:
    nvml.nvmlInit()
    handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{gpu.uuid}")
    return lambda: float(nvml.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1e3


def _amd(smi: Any, gpu: Any) -> Joules:
    smi.amdsmi_init()
    place = f"{gpu.pci_domain_id:04x}:{gpu.pci_bus_id:02x}:{gpu.pci_device_id:02x}.0"
    handle = smi.amdsmi_get_processor_handle_from_bdf(place)

    def read() -> float:
        told = smi.amdsmi_get_energy_count(handle)
        return float(told["energy_accumulator"] * told["counter_resolution"]) / 1e6

    return read


def joules_per_launch(
    launch: Callable[[], object],
    mark: Callable[[], Callable[[], bool]],
    counter: Joules,
    *,
    launch_seconds: float,
    seconds: float,
) -> float | None:
    """Keeps the GPU busy with a kernel for a while, and looks at the counter all the time.

    Args:
        launch: makes one launch, and does not wait for its end.
        mark: returns what says whether all launches made until now have ended.
        counter: of the GPU.
        launch_seconds: of one launch, as it was timed.
        seconds: to measure.

    Returns:
        Joules of one launch: the power from the first movement of the counter to the last one,
        times the time of a launch meanwhile. None where it moved less than three times, or where
        the host was so slow to launch that the GPU waited.
    """
    batch = max(1, round(_BATCH_SECONDS / launch_seconds))
    ahead: deque[Callable[[], bool]] = deque()
    ended: list[float] = []  # when a batch was seen to have ended
    moved: list[tuple[float, float]] = []  # when the counter moved, and to what
    last = counter()
    begun = time.perf_counter()
    while (now := time.perf_counter()) < begun + WARM_SECONDS + seconds:
        if len(ahead) < _BATCHES_AHEAD:
            for _ in range(batch):
                launch()
            ahead.append(mark())
        if ahead[0]():
            ahead.popleft()
            ended.append(time.perf_counter())
        found = counter()
        if found != last and now > begun + WARM_SECONDS:
            moved.append((time.perf_counter(), found))
        last = found
    while ahead and time.perf_counter() < now + seconds:  # or the next kernel would pay for them
        if ahead[0]():
            ahead.popleft()
    if len(moved) < 3 or len(ended) < 2:
        return None
    each = (ended[-1] - ended[0]) / ((len(ended) - 1) * batch)
    (first, joules), (end, more) = moved[0], moved[-1]
    return each * (more - joules) / (end - first) if each < MOST_WAITING * launch_seconds else None
