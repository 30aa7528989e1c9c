# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A HIP program under the host, with the host's own options."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.frontends.cpp.compile.toolchain import HipToolchain

pytestmark = [pytest.mark.hip, pytest.mark.long]
EXAMPLES = Path(__file__).parents[2] / "benchmarks" / "hip"


def test_a_hip_program_is_built_patched_and_tested(any_host, tmp_path, read_result):
    try:
        HipToolchain.find()
    except SwizzleError as error:
        if "does not compile" in error.fact:  # what we ship
            raise
        pytest.skip(f"{error.fact}: {error.hint}")
    for name in ("stencil.hip.cpp", "Makefile"):
        shutil.copy(EXAMPLES / name, tmp_path)
    (tmp_path / "prompt.yaml").write_text("base: mi300x\nname: prompt\nlaunch_us: 0\n")
    before = (tmp_path / "stencil.hip.cpp").read_text()
    ran = any_host.run(
        "intelliperf", "--formula", "swizzle", "-b", "make stencil", "-i", "make stencil",
        "-p", ".", "--unittest_command", "./stencil 64 1", "--target", "prompt.yaml",
        "--candidates", "16",
        "-k", "jacobi", "-l", "-o", "out.json", "--", "./stencil", "512", "1", cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    result = read_result(tmp_path / "out.json")
    assert result["success"] is True
    assert result["initial"] == before
    assert result["swizzle"]["best"]["validation"]["method"] == "all-tiles"
    assert (tmp_path / "stencil.hip.cpp").read_text() == result["optimized"]
    patched = subprocess.run(
        ["patch", "-R", "-p1"], input=result["diff"], text=True, cwd=tmp_path, check=True
    )
    assert patched.returncode == 0
    assert (tmp_path / "stencil.hip.cpp").read_text() == before
