# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The whole default command as a user runs it: wall time, peak memory, attempts, result.

    python benchmarks/default_run.py                 # gemm, transpose and stencil at 8192
    python benchmarks/default_run.py gemm -- --n 4096

Prints a Markdown table with the machine it was made on.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KERNELS = ("gemm", "transpose", "stencil_2d")
HERE = Path(__file__).parent


def run(kernel: str, arguments: list[str]) -> tuple[float, dict[str, object]]:
    """Seconds of wall time, and the result file, of one run of the command."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        application = [sys.executable, str(HERE / "kernels" / f"{kernel}.py"), *arguments]
        options = ["--target", "mi300x", "--report_dir", folder, "-o", str(result)]
        start = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "intelliperf_swizzle", *options, "--", *application],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return time.monotonic() - start, json.loads(result.read_text())


def row(kernel: str, arguments: list[str]) -> str:
    """One line of the table."""
    seconds, result = run(kernel, arguments)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    attempts = result["swizzle"]["attempts"]  # type: ignore[index]
    scored = sum(attempt["screened_l2_hit_rate"] is not None for attempt in attempts)
    after = result["metric_after"]
    return (
        f"| {kernel} | {seconds:.1f} | {peak:.2f} | {len(attempts)} | {scored} "
        f"| {result['metric_before']:.1f} | {'none' if after is None else f'{after:.1f}'} "
        f"| {100 * result['swizzle']['ceiling_l2_hit_rate']:.1f} |"  # type: ignore[index]
    )


def main() -> None:
    """Prints the table."""
    own, _, arguments = " ".join(sys.argv[1:]).partition("-- ")
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores\n")
    print(
        "| kernel | wall s | peak GiB (largest process so far) | attempts | scored "
        "| L2 before % | after % | ceiling % |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for kernel in own.split() or KERNELS:
        print(row(kernel, arguments.split()), flush=True)


if __name__ == "__main__":
    main()
