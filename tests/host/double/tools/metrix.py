# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Stands in for Metrix's Python: shows what the application says it does.

What a device would have measured the application says itself, as to the stand-in for GT.
"""

import json
import os
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace


def measure(command, cwd):
    environment = {**os.environ, "UNDER_GT": "1"}
    subprocess.run(shlex.split(command), check=True, cwd=cwd, env=environment)
    return json.loads((Path(cwd) / "card.json").read_text())


class Metrix:
    def profile(self, command, metrics, cwd):
        assert metrics == ["memory.l2_hit_rate"]
        kernels = [
            SimpleNamespace(
                name=card["kernel"],
                duration_us=SimpleNamespace(avg=card["durations"]["ns"] / 1e3),
                metrics={metrics[0]: SimpleNamespace(avg=card["l2"]["hr"])},
            )
            for card in measure(command, cwd)
        ]
        return SimpleNamespace(kernels=kernels)
