# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs IntelliPerf's HIP examples by their own commands, without ROCm, and records the results.

    python benchmarks/hip_programs.py CHECKOUT [--host INTELLIPERF] [--only NAME ...]

CHECKOUT is one of github.com/AMDResearch/intelliperf. Each program of its `examples` is built and
started as `examples/README.md` does it, for an MI300X, modelled, by `intelliperf-swizzle` and by
`intelliperf --formula swizzle`. A record of each, with the commit and the commands, replaces the
one in `records/hip_programs.json`; `cpp_pages.py` makes the page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parent / "records" / "hip_programs.json"
BUILD = "./scripts/build_examples.sh -c"
TARGET = "mi300x"
CANDIDATES = 60
PROGRAMS = (
    "bank_conflict/matrix_transpose", "bank_conflict/b2b_matrix_transpose",
    "bank_conflict/transpose_scale_add", "bank_conflict/transpose_scale_add_templated",
    "bank_conflict/reduce", "bank_conflict/synthetic", "basic/vector_add",
    "contention/histogram", "contention/simple_reduction", "contention/reduction",
    "contention/reduction_optimized", "access_pattern/uncoalesced",
)  # fmt: skip


def main() -> int:
    """Runs those that are asked for, one after another."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--host", default="intelliperf", help="IntelliPerf, with our hook")
    parser.add_argument("--only", nargs="+", default=PROGRAMS)
    options = parser.parse_args()
    known = json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else []
    records = {record["program"]: record for record in known}
    for program in options.only:
        records[program] = run(options.checkout, options.host, program)
        ordered = [records[name] for name in PROGRAMS if name in records]
        RECORDS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    return 0


def run(checkout: Path, host: str, program: str) -> dict[str, Any]:
    """The record of one program, which is run alone and inside IntelliPerf."""
    head = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    arguments = ["1024", "1024"] if program.endswith("/matrix_transpose") else []
    command = [f"./build/{program}", *arguments]
    begun = time.monotonic()
    alone = [sys.executable, "-m", "intelliperf_swizzle"]
    with ThreadPoolExecutor() as pool:
        starts = (alone, [host, "--formula=swizzle"])
        found, inside = pool.map(lambda start: answer(start, checkout, command), starts)
    return {
        "repository": "AMDResearch/intelliperf",
        "commit": subprocess.run(head, capture_output=True, text=True, check=True).stdout[:7],
        "program": program,
        "build_command": BUILD,
        "command": " ".join(command),
        "target": TARGET,
        "seconds": round(time.monotonic() - begun),
        "same_inside_intelliperf": found == inside,
        **found,
    }


def answer(start: Sequence[str], checkout: Path, command: Sequence[str]) -> dict[str, Any]:
    """What a run comes to: its kernels, or its error."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "result.json"
        ran = subprocess.run(
            [*start, "--target", TARGET, "--candidates", str(CANDIDATES),
             "--project_directory=./examples", f"--build_command={BUILD}",
             f"--instrument_command={BUILD} -i", "-o", str(output), "--report_dir", folder,
             "--trace_path", folder, "--", *command],
            capture_output=True, text=True, check=False, cwd=checkout,
        )  # fmt: skip
        if ran.returncode:
            lines = ran.stderr.replace(f"{checkout}/", "").splitlines()
            return {"error": [line for line in lines if line.startswith(("error: ", "hint: "))]}
        text = output.read_text(encoding="utf-8").replace(f"{checkout.resolve()}/", "")
        own = json.loads(text)["swizzle"]
        best = own["best"]
        return {"kernels": own["kernels"], "validation": best and best["validation"]}


if __name__ == "__main__":
    sys.exit(main())
