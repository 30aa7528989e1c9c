# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Launches of C++ at sizes that the program was not run with."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.frontends.cpp.language import HIP
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import Launch

pytestmark = pytest.mark.hip
EXAMPLES = Path(__file__).parents[2] / "benchmarks" / "hip"


def recorded(folder: Path, *sizes: str) -> Launch:
    if (compiler := HIP.compiler(os.environ)).found is None:
        pytest.skip(f"{compiler.gap}: {compiler.command}")
    request = RecordRequest(
        command=["./gemm", *sizes], cwd=EXAMPLES, folder=folder,
        target=load_target("mi300x"), build_command="make gemm",
    )  # fmt: skip
    [launch] = HIP.record(request).launches
    return launch


def test_a_launch_at_another_size_touches_what_the_program_would(tmp_path: Path) -> None:
    """Of three sizes and equal blocks, each is changed along its own axis of the grid."""
    made = HIP.resize(recorded(tmp_path / "small", "96", "64", "32"), lambda count: [2 * count])
    assert [(launch.grid, launch.constants) for launch in made] == [
        ((2, 6, 1), {"M": 192, "N": 64, "K": 32}),
        ((4, 3, 1), {"M": 96, "N": 128, "K": 32}),
    ]
    found = HIP.trace_each(made)[0]
    real = HIP.trace(recorded(tmp_path / "large", "192", "64", "32"))
    assert found is not None
    for array in ("tile_offset", "access_shape", "shape_line", "shape_sectors"):
        assert np.array_equal(getattr(found, array), getattr(real, array)), array
