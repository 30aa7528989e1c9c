# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What recording costs an application on a GPU, after the first launch of a kernel.

The application below launches a kernel many times, unmodified and recorded, in turns; it takes its
own time from after the first launch to the end of the last one. The shortest kernel takes less
than its launch, so all that recording does is in the way there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

APPLICATION = """\
import sys
import time

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, index, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n)
    tl.store(out + at, value + tl.load(index), mask=at < n)


n, launches = int(sys.argv[1]), int(sys.argv[2])
x, y = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
out = torch.empty(n, device="cuda")
index = torch.ones(1, dtype=torch.int32, device="cuda")


def launch():
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, index, n, BLOCK=1024)


launch()
torch.cuda.synchronize()
begun = time.perf_counter()
for _ in range(launches):
    launch()
torch.cuda.synchronize()
print("seconds", time.perf_counter() - begun)
"""
CASES = ((1 << 12, 150_000), (1 << 24, 20_000), (1 << 27, 3_000))
"""Elements and launches: a kernel shorter than its launch, one of about 50 and one of 400 µs."""


def plain(folder: Path, arguments: list[str]) -> float:
    """Seconds of the unmodified application."""
    command = [sys.executable, "app.py", *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return float(ran.stdout.split()[-1])


def recorded(folder: Path, arguments: list[str]) -> float:
    """Seconds of the application while it is recorded."""
    from intelliperf_swizzle.frontends.ports import RecordRequest
    from intelliperf_swizzle.frontends.triton.capture.recording import capture
    from intelliperf_swizzle.hardware import devices

    place = folder / f"records-{time.monotonic_ns()}" / "capture"
    command = [sys.executable, "app.py", *arguments]
    captured = capture(RecordRequest(command, folder=place, cwd=folder, device=devices()[0]))
    (launch,) = captured.launches
    if launch.count != int(arguments[1]) + 1:
        sys.exit(f"{launch.count} launches were counted, not {int(arguments[1]) + 1}")
    return float((place / "app.log").read_text().split()[-1])


def main() -> None:
    """Prints a line of JSON for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "app.py").write_text(APPLICATION)
        for elements, launches in CASES:
            arguments = [str(elements), str(launches)]
            pairs = [(plain(folder, arguments), recorded(folder, arguments)) for _ in range(repeat)]
            before = statistics.median(pair for pair, _ in pairs)
            overhead = statistics.median(after / pair - 1 for pair, after in pairs)
            row = {
                "elements": elements,
                "launches": launches,
                "microseconds_a_launch": round(1e6 * before / launches, 2),
                "overhead": round(overhead, 4),
                "pairs_seconds": [[round(pair, 4), round(after, 4)] for pair, after in pairs],
            }
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
