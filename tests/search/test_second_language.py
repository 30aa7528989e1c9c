# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The search knows nothing of Triton: it runs whole on another language, with Triton not there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_a_second_language_is_searched_proved_and_validated(tmp_path: Path) -> None:
    script = Path(__file__).with_name("second_language.py")
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["after"] > found["before"] + 0.05
    assert found["same_bits"]
    assert found["file"].startswith(found["text"])
    assert (tmp_path / "kernel.sums").read_text() == "c[t] = a[t / N] + b[t % N]\n"
