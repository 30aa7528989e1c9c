# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The search knows nothing of Triton: it runs whole on another language, with Triton not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def test_a_second_language_is_searched_proved_and_validated(tmp_path: Path) -> None:
    script = Path(__file__).with_name("second_language.py")
    installed = tmp_path / "site" / "sums-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: sums\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        "[intelliperf_swizzle.frontends]\nsums = second_language:SUMS\n"
    )
    search = os.pathsep.join([str(script.parent), str(installed.parent)])
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["after"] > found["before"] + 0.05
    assert found["same_bits"]
    assert found["file"].startswith(found["text"])
    assert (tmp_path / "kernel.sums").read_text() == "c[t] = a[t / N] + b[t % N]\n"


def test_a_front_end_that_is_left_out_is_not_missed() -> None:
    without = """
import sys
sys.modules["intelliperf_swizzle.frontends.cpp"] = None
from intelliperf_swizzle.doctor import diagnose
from intelliperf_swizzle.frontends.ports import frontends
from intelliperf_swizzle.options import Options
print(*(one.name for one in frontends()), bool(diagnose(Options()).findings))
"""
    ran = subprocess.run(
        [sys.executable, "-c", without], capture_output=True, text=True, check=False
    )
    assert ran.stdout.split() == ["Triton", "True"], ran.stderr
