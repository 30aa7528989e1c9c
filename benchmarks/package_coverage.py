# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How many kernels of public packages are recorded, traced, searched and gain, without a GPU.

    python benchmarks/package_coverage.py [PACKAGE ...]   # into records/coverage.json
    python benchmarks/package_coverage.py --render        # docs/results/coverage.md from it

Each package is installed with pip into an environment of its own, layered over this one, in which a
script of `packages/` calls its public operators. The plain command runs it, for so many seconds.
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
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness.command import DOCUMENTS, Table
from harness.render import generated, page, percent, table

HERE = Path(__file__).parent
LIMIT_SECONDS = 3600
ROW = ("kernel", "place", "launches", "baseline_l2_hit_rate", "ceiling_l2_hit_rate",
       "best_l2_hit_rate", "time_share", "time_saved", "verdict", "note")  # fmt: skip
"""What is kept of a row of the table of kernels."""
SEARCHED = ("better", "nothing found", "interrupted")


class Package(NamedTuple):
    """A package, by pip's name.

    Attributes:
        script: in `packages/`.
        wanted: what pip installs, without dependencies.
        environment: of the script.
        seconds: after which its command ends with what was found until then.
    """

    script: str
    wanted: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    seconds: int = 150


OLDER = "triton==3.7.1"
"""Of packages that use block pointers, which Triton 3.9 has no more."""
PACKAGES = {
    "fla-core": Package("fla_core.py", ("fla-core==0.6.0", "einops==0.8.2"), seconds=1000),
    "liger-kernel": Package("liger_kernel_ops.py", ("liger-kernel==0.8.5",)),
    "flag-gems": Package(
        "flag_gems_ops.py",
        ("flag-gems==5.0.2", "sqlalchemy==2.1.9", OLDER),
        (("GEMS_VENDOR", "amd"),),
        seconds=650,
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
        failed, result = Path(folder) / "failed", Path(folder) / "result.json"
        command = [
            *(sys.executable, "-m", "intelliperf_swizzle", "--target", "mi300x", "-p", str(HERE)),
            *("--top_n", "1000", "--limit_seconds", str(LIMIT_SECONDS), "-o", str(result)),
            *("--seconds", str(package.seconds), "--report_dir", str(Path(folder) / "out")),
            *("--", str(python), str(HERE / "packages" / package.script)),
        ]
        failed.touch()
        told = {"PACKAGE_FAILED_CALLS": str(failed), **dict(package.environment)}
        begun = time.monotonic()
        ended = subprocess.run(command, env={**os.environ, **told}, check=False)
        seconds = time.monotonic() - begun
        found = json.loads(result.read_text("utf-8"))["swizzle"] if result.exists() else {}
        rows = [
            {one: row[one] for one in ROW} | {"traced": row["baseline_l2_hit_rate"] is not None}
            for row in found.get("kernels", ())
        ]
        missing = [one.splitlines() for one in found.get("cautions", ()) if "not recorded" in one]
        return {
            "commit": _commit(),
            "installed": [*package.wanted],
            "exit_code": ended.returncode,
            "failed_calls": failed.read_text("utf-8").splitlines(),
            "kernels": rows,
            "not_recorded": [" ".join(dict.fromkeys((one[0], one[-1]))) for one in missing],
            "seconds": round(seconds),
        }


def _commit() -> str:
    head = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(head, cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()


def render(records: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The page, by its path in docs."""
    rows, reasons, totals = [], [], [0] * 5
    for name, one in sorted(records.items()):
        kernels = one["kernels"]
        numbers = [
            len(kernels),
            len(one["not_recorded"]),
            sum(row["traced"] for row in kernels),
            sum(row["verdict"] in SEARCHED for row in kernels),
            sum(row["verdict"] == "better" for row in kernels),
        ]
        totals = [sum(both) for both in zip(totals, numbers, strict=True)]
        rows.append([f"`{one['installed'][0]}`", sum(row["launches"] for row in kernels), *numbers,
                     one["seconds"]])  # fmt: skip
        refused = Counter(_reason(row) for row in kernels if row["note"])
        told = [*one["not_recorded"], *(f"{why}: {n}" for why, n in refused.items())]
        reasons += [f"- {name}: {re.sub(r'[0-9a-f]{32,}', '…', ' '.join(why.split()))}"
                    for why in told]  # fmt: skip
    recorded, missing, traced, searched, gained = totals
    failed = [f"{name} ({one['exit_code']})" for name, one in records.items() if one["exit_code"]]
    ended = f"These ended with another exit code than 0: {', '.join(failed)}" if failed else (
        "Every command ended with 0")  # fmt: skip
    commits = ", ".join(sorted({one["commit"] for one in records.values()}))
    header = ["package", "launches", "recorded", "not recorded", "traced", "searched", "gained",
              "seconds"]  # fmt: skip
    better = [
        [f"`{row['kernel']}`", f"{name}, {row['place']}", percent(row["baseline_l2_hit_rate"]),
         percent(row["best_l2_hit_rate"]), percent(row["time_saved"])]
        for name, one in sorted(records.items())
        for row in one["kernels"]
        if row["verdict"] == "better"
    ]  # fmt: skip
    text = page(
        generated("package_coverage.py --render"),
        "# Kernels of public packages",
        f"Scripts that call the public operators of {len(records)} packages, by the plain command "
        f"without a GPU, as on an MI300X: of {recorded + missing} distinct kernels {recorded} were "
        f"recorded and {traced} ({percent(traced / (recorded + missing))} %) traced, {searched} "
        f"were searched and {gained} gained. {ended}. Code of commit {commits}. A kernel is "
        "searched if it takes half a percent of the time of all and could save some of it; "
        "`--seconds` ends each command, so what comes late is not searched. The versions are "
        "those of the table, the scripts in `benchmarks/packages/`; operators that fail on their "
        "own (arguments that the script does not know, backward passes that are not implemented) "
        "are listed in the record. Seconds are of a machine with two cores that others used, too.",
        table(header, rows),
        "What gained, modelled: L2 hit rates in %, and the part of the time of all kernels of the "
        "script that is saved, in %.",
        table(["kernel", "where", "before", "after", "saved"], better),
        "Why others were not recorded, traced or searched, and how many:",
        "\n".join(reasons),
    )
    return {"results/coverage.md": text}


def _reason(row: dict[str, Any]) -> str:
    """Why a kernel has no result, without what is its own."""
    what = "" if row["traced"] else "not traced: "
    return what + re.sub(r"\S+\.py:\d+|`\w+`|, in \w+$|of \w+ were", "…", row["note"])


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
