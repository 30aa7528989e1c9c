# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The same applications recorded on a GPU and without one: same launches, same traces."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from applications import ROWS
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.gpu.order import form
from intelliperf_swizzle.frontends.triton.tracing import trace
from intelliperf_swizzle.hardware import devices, load_target
from intelliperf_swizzle.records import Capture, Trace

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
HIDDEN = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}

pytestmark = pytest.mark.gpu


def both(command: list[str], folder: Path) -> tuple[Capture, Capture]:
    target = load_target("h200")
    real = capture(
        RecordRequest(command, folder=folder / "real" / "capture", cwd=folder, device=devices()[0])
    )
    none = capture(
        RecordRequest(
            command, folder=folder / "none", cwd=folder, target=target, environment=HIDDEN
        )
    )
    return real, none


def same(trace: Trace, other: Trace) -> bool:
    arrays = ("tile_offset", "access_base", "access_shape", "shape_offset", "shape_line",
              "shape_sectors", "shape_kind")  # fmt: skip
    return all(np.array_equal(getattr(trace, name), getattr(other, name)) for name in arrays)


@pytest.mark.parametrize(
    "command",
    [
        ["app.py"],
        [str(KERNELS / "gemm.py"), "--m", "512", "--n", "512", "--k", "256"],
        [str(KERNELS / "transpose.py"), "--m", "512", "--n", "512"],
        [str(KERNELS / "stencil_2d.py"), "--m", "512", "--n", "512"],
    ],
    ids=["gather", "gemm", "transpose", "stencil"],
)
def test_the_traces_are_the_same(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(ROWS)
    real, none = both([sys.executable, *command], tmp_path)
    assert [form(launch) for launch in real.launches] == [form(launch) for launch in none.launches]
    assert [launch.count for launch in real.launches] == [launch.count for launch in none.launches]
    assert all(launch.computed for launch in real.launches)
    for launch, other in zip(real.launches, none.launches, strict=True):
        assert same(trace(launch), trace(other))
