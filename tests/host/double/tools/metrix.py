# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Stands in for Metrix, its Python and its command: shows what the application says it does.

What a device would have measured the application says itself, as to the stand-in for GT.
"""

import json
import os
import shlex
import subprocess
import sys
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


def main(words):
    if "--version" in words:
        print("Metrix 0.1.0")
        return
    document = {
        f"dispatch_{number}:{card['kernel']}": {
            "duration_us": {"avg": card["durations"]["ns"] / 1e3},
            "metrics": {
                "memory.l2_hit_rate": {"avg": card["l2"]["hr"]},
                "memory.bytes_transferred_l2": {"avg": 128000.0},
            },
        }
        for number, card in enumerate(measure(words[-1], "."), 1)
    }
    Path(words[words.index("--output") + 1]).write_text(json.dumps(document))


if __name__ == "__main__":
    main(sys.argv[1:])
