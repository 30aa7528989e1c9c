# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs a command as on a machine with an MI300X: `machine.py FOLDER COMMAND ARGUMENTS...`.

The kernel driver's tables are files in the folder. What the GPU would run Triton's interpreter
runs, in the application's own process; the clock is made up of the text of a swizzle.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.frontends import ports
from intelliperf_swizzle.frontends.ports import GpuOutcome, RecordRequest
from intelliperf_swizzle.frontends.triton import trials
from intelliperf_swizzle.frontends.triton.capture.settings import gpu_of
from intelliperf_swizzle.frontends.triton.gpu import Rig
from intelliperf_swizzle.frontends.triton.language import Triton
from intelliperf_swizzle.hardware import Device, Target
from intelliperf_swizzle.hardware.detect import HERE
from intelliperf_swizzle.records import Capture, Interval, Launch, Timing, Trace

NODE = {
    "simd_count": 1216, "simd_per_cu": 4, "num_xcc": 8, "device_id": 0x74A1,
    "gfx_target_version": 90402, "drm_render_minor": 128, "unique_id": 1,
}  # fmt: skip


class Interpreted(Triton):
    """Triton with its interpreter in place of the GPU."""

    def record(self, request: RecordRequest) -> Capture:
        return super().record(replace(request, device=None))

    def on_gpu(
        self,
        request: RecordRequest,
        gpu: tuple[Device, Target],
        traced: Sequence[tuple[Launch, Trace]],
        *,
        tolerance: float,
    ) -> Timed:
        device, target = gpu
        rig = Rig(replace(request, device=None), device.product, gpu=gpu_of(target))
        return Timed(rig, traced, tolerance)


class Timed(trials.TritonOnGpu):
    """Compares for real; a swizzle takes 0.8 to 1.1 of the time, by its text."""

    def validate_and_time(self, edits: Mapping[int, Edit]) -> dict[int, GpuOutcome]:
        outcomes = super().validate_and_time(edits)
        return {
            number: GpuOutcome(None, outcome.validation, clock(edits[number]))
            if outcome.refusal == ("not measured", "no times were taken")
            else outcome
            for number, outcome in outcomes.items()
        }


def clock(edit: Edit) -> Timing:
    text = "".join(edit.functions.values())
    ratio = 0.8 + 0.01 * (zlib.crc32(text.encode()) % 30)
    around = Interval(ratio, ratio - 0.001, ratio + 0.001)
    return Timing("a test", Interval(2.0, 2.0, 2.0), Interval(2 * ratio, 2.0, 2.0), around, 11)


INTERPRETED = Interpreted()


def add_gpu(folder: Path) -> None:
    """Writes the driver's tables, and has all be looked for there."""
    node = folder / "sys/class/kfd/kfd/topology/nodes/1"
    node.mkdir(parents=True, exist_ok=True)
    (node / "properties").write_text("".join(f"{name} {value}\n" for name, value in NODE.items()))
    (folder / "dev").mkdir(exist_ok=True)
    (folder / "dev" / "kfd").touch()
    object.__setattr__(HERE, "root", folder)  # it is the default of every look-up
    trials.RACE_SECONDS = 0.0
    ports._loaded["triton"] = INTERPRETED


if __name__ == "__main__":
    _, where, *sys.argv = sys.argv
    add_gpu(Path(where))
    if sys.argv[0] == "intelliperf":
        from intelliperf.__main__ import main
    else:
        from intelliperf_swizzle.cli import main
    sys.exit(main())
