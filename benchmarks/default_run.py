# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The whole default command as a user runs it: time, peak memory, attempts, result.

    python benchmarks/default_run.py                 # all of `APPLICATIONS`
    python benchmarks/default_run.py gemm -- --n 4096
    python benchmarks/default_run.py path/to/application.py -- 8192 8192

Prints a Markdown table with the machine it was made on. The processor's seconds are of all
processes: on a machine that does nothing else, those on the wall are about half of them.
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
from collections.abc import Sequence
from pathlib import Path

APPLICATIONS = {
    "gemm": ("--m", "8192", "--n", "8192", "--k", "8192"),
    "transpose": ("--m", "32768", "--n", "32768"),
    "stencil_2d": (),
    "gemm_stream_k": (),
    "transformer": (),
}
"""Their arguments; `gemm_stream_k` is persistent: 304 programs for 1024 tiles."""
HERE = Path(__file__).parent


def run(kernel: str, arguments: Sequence[str]) -> tuple[float, float, dict[str, object]]:
    """Seconds on the wall and of the processor, and the result file, of one run of the command."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        found = HERE.glob(f"*/{kernel}.py")
        script = kernel if kernel.endswith(".py") else str(next(found))
        application = [sys.executable, script, *arguments]
        options = ["--target", "mi300x", "--no_cache", "--report_dir", folder, "-o", str(result)]
        start, used = time.monotonic(), _processor_seconds()
        subprocess.run(
            [sys.executable, "-m", "intelliperf_swizzle", *options, "--", *application],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        seconds = time.monotonic() - start
        return seconds, _processor_seconds() - used, json.loads(result.read_text())


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def row(kernel: str, arguments: Sequence[str]) -> str:
    """One line of the table."""
    seconds, used, result = run(kernel, arguments)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    attempts = result["swizzle"]["attempts"]  # type: ignore[index]
    scored = sum(attempt["screened_l2_hit_rate"] is not None for attempt in attempts)
    after = result["metric_after"]
    return (
        f"| {Path(kernel).stem} | {seconds:.1f} | {used:.1f} | {peak:.2f} "
        f"| {len(attempts)} | {scored} | {result['metric_before']:.1f} "
        f"| {'none' if after is None else f'{after:.1f}'} "
        f"| {100 * result['swizzle']['ceiling']['l2_hit_rate']:.1f} |"  # type: ignore[index]
    )


def main() -> None:
    """Prints the table."""
    own, _, arguments = " ".join(sys.argv[1:]).partition("-- ")
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores\n")
    print(
        "| kernel | wall s | processor s | peak GiB (largest process so far) | attempts | scored "
        "| L2 before % | after % | ceiling % |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for kernel in own.split() or APPLICATIONS:
        given = arguments.split() or APPLICATIONS.get(kernel, ())
        print(row(kernel, given), flush=True)


if __name__ == "__main__":
    main()
