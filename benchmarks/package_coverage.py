# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How many kernels of public packages are recorded and traced, without a GPU.

    python benchmarks/package_coverage.py [PACKAGE ...]   # into records/coverage.json
    python benchmarks/package_coverage.py --render        # docs/results/coverage.md from it

Each package is installed with pip into an environment of its own, layered over this one, in which a
script of `packages/` calls its public operators. Recording and tracing are those of the plain
command; nothing is searched.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness.command import DOCUMENTS, Table
from harness.render import generated, page, percent, table
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.language import TRITON
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import Launch

HERE = Path(__file__).parent
LIMIT_SECONDS = 3600.0


class Package(NamedTuple):
    """A package, by pip's name.

    Attributes:
        script: in `packages/`.
        wanted: what pip installs, without dependencies.
        environment: of the script.
    """

    script: str
    wanted: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


OLDER = "triton==3.7.1"
"""Of packages that use block pointers, which Triton 3.9 has no more."""
PACKAGES = {
    "fla-core": Package("fla_core.py", ("fla-core==0.6.0", "einops==0.8.2")),
    "liger-kernel": Package("liger_kernel_ops.py", ("liger-kernel==0.8.5",)),
    "flag-gems": Package(
        "flag_gems_ops.py",
        ("flag-gems==5.0.2", "sqlalchemy==2.1.9", OLDER),
        (("GEMS_VENDOR", "amd"),),
    ),
    "sageattention": Package("sageattention_ops.py", ("sageattention==1.0.6",)),
    "cut-cross-entropy": Package("cut_cross_entropy_ops.py", ("cut-cross-entropy==25.1.1",)),
    "conch-triton-kernels": Package("conch_ops.py", ("conch-triton-kernels==1.3",)),
    "adasplash": Package("adasplash_ops.py", ("adasplash==0.2.2",)),
}


def python_with(wanted: Sequence[str], folder: Path) -> Path:
    """The Python of a new environment that has these, and all that this one has."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (Path(found.stdout.strip()) / "below.pth").write_text(line)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, *wanted], check=True)
    return python


def run(name: str) -> dict[str, Any]:
    """The record of one package."""
    package = PACKAGES[name]
    with tempfile.TemporaryDirectory() as folder:
        python = python_with(package.wanted, Path(folder) / "environment")
        found = look_at(package, python, Path(folder))
        return {"commit": _commit(), "installed": [*package.wanted], **found}


def look_at(package: Package, python: Path, folder: Path) -> dict[str, Any]:
    """What is recorded and traced of a package's script, run by a Python that has the package."""
    request = RecordRequest(
        [str(python), str(HERE / "packages" / package.script)],
        cwd=HERE,
        folder=folder / "capture",
        target=load_target("mi300x"),
        limit_seconds=LIMIT_SECONDS,
        environment={**os.environ, **dict(package.environment)},
    )
    begun = time.monotonic()
    recorded = TRITON.record(request)
    record_seconds = time.monotonic() - begun
    by_kernel: dict[tuple[str, str, int], list[Launch]] = {}
    for launch in recorded.launches:
        entry = launch.source.entry
        by_kernel.setdefault((launch.kernel, entry.file, entry.first_line), []).append(launch)
    refused = {}
    begun = time.monotonic()
    for (kernel, file, line), launches in by_kernel.items():
        try:
            TRITON.trace(max(launches, key=lambda one: one.programs * one.count))
        except SwizzleError as error:
            refused[f"{kernel} ({Path(file).name}:{line})"] = error.fact
    missing = [one.splitlines() for one in recorded.cautions if "not recorded" in one]
    return {
        "ended": f"{recorded.ended_by} {recorded.exit_code}",
        "failed_calls": [x for x in recorded.last_lines if x.startswith("failed: ")],
        "kernels": len(by_kernel),
        "launches": len(recorded.launches),
        "not_recorded": [" ".join(dict.fromkeys((one[0], one[-1]))) for one in missing],
        "not_traced": refused,
        "record_seconds": round(record_seconds),
        "trace_seconds": round(time.monotonic() - begun),
    }


def _commit() -> str:
    head = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(head, cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()


def render(records: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The page, by its path in docs."""
    rows, reasons = [], []
    for name, one in sorted(records.items()):
        traced = one["kernels"] - len(one["not_traced"])
        numbers = (one["launches"], one["kernels"], len(one["not_recorded"]), traced)
        rows.append([f"`{one['installed'][0]}`", *map(str, numbers), str(one["record_seconds"]),
                     str(one["trace_seconds"])])  # fmt: skip
        told = [*one["not_recorded"], *(f"`{k}`: {why}" for k, why in one["not_traced"].items())]
        reasons += [f"- {name}: {re.sub(r'[0-9a-f]{32,}', '…', ' '.join(why.split()))}"
                    for why in told]  # fmt: skip
    recorded = sum(one["kernels"] for one in records.values())
    refused = sum(len(one["not_recorded"]) for one in records.values())
    good = recorded - sum(len(one["not_traced"]) for one in records.values())
    failed = [
        f"{name} ({one['ended']})" for name, one in records.items() if one["ended"] != "exit 0"
    ]
    ended = (
        f"These did not run to their end: {', '.join(failed)}" if failed else "All ran to their end"
    )
    commits = ", ".join(sorted({one["commit"] for one in records.values()}))
    header = ["package", "launches", "recorded", "not recorded", "traced", "recording, s",
              "tracing, s"]  # fmt: skip
    text = page(
        generated("package_coverage.py --render"),
        "# Kernels of public packages",
        "Scripts that call the public operators of packages, without a GPU, as on an MI300X: of "
        f"{recorded + refused} distinct kernels {recorded} were recorded and {good} "
        f"({percent(good / (recorded + refused))} %) traced. {ended}. Nothing is "
        f"searched. Code of commit {commits}. The versions are those of the table, the scripts in "
        "`benchmarks/packages/`; "
        "operators that fail on their own (arguments that the script does not know, backward "
        "passes that are not implemented) are listed in the record. Seconds are of a machine with "
        "two cores that others used, too.",
        table(header, rows),
        "Why the others were not:",
        "\n".join(reasons),
    )
    return {"results/coverage.md": text}


COVERAGE = Table("coverage", lambda *_: {name: run(name) for name in PACKAGES}, render)


def main() -> None:
    """Runs packages, or renders the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("packages", nargs="*", default=[*PACKAGES], metavar="PACKAGE")
    parser.add_argument("--render", action="store_true")
    arguments = parser.parse_args()
    record = COVERAGE.record
    records = json.loads(record.read_text("utf-8")) if record.exists() else {}
    for name in () if arguments.render else arguments.packages:
        records[name] = run(name)
        record.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n", "utf-8")
    for path, text in render(records).items():
        (DOCUMENTS / path).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
