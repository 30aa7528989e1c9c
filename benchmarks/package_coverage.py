# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the plain command makes of the kernels of public packages, without a GPU.

    python benchmarks/package_coverage.py [PACKAGE ...]   # into records/coverage.json
    python benchmarks/package_coverage.py --render        # docs/results/coverage.md from it

Each package is installed with pip into an environment of its own, layered over this one, in which a
script of `packages/` calls its public operators under the plain command, with as many kernels
as there are.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
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
from harness.render import generated, page, table

HERE = Path(__file__).parent
OPTIONS = ("--proposer", "offline", "--top_n", "1000", "--candidates", "64", "--limit_seconds",
           "1800", "--seconds", "3600")  # fmt: skip
NOT_SEARCHED = ("nothing to gain", "too little time to save", "not searched")
"""Verdicts of kernels that were not searched; a note that says `not searched` is one, too."""


class Package(NamedTuple):
    """A package, by pip's name.

    Attributes:
        script: in `packages/`.
        wanted: what pip installs, without dependencies.
        environment: of the script.
        target: for which its kernels are written.
    """

    script: str
    wanted: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    target: str = "mi300x"


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
    "adasplash": Package("adasplash_ops.py", ("adasplash==0.2.2",), target="h200"),
    "attn-gym": Package("attn_gym_ops.py", ("attn-gym==0.0.17",)),
    "flash-sinkhorn": Package("flash_sinkhorn_ops.py", ("flash-sinkhorn==0.4.1",)),
    "flashnn": Package("flashnn_ops.py", ("flashnn==0.1.1",)),
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
    """What the plain command finds in a package's script, run by a Python that has the package."""
    result, failures = folder / "result.json", folder / "failures.txt"
    tool = [sys.executable, "-m", "intelliperf_swizzle", "--target", package.target, *OPTIONS]
    script = ["-o", result, "--report_dir", folder / "out", "--", python,
              HERE / "packages" / package.script]  # fmt: skip
    given = {**os.environ, **dict(package.environment), "FAILED_CALLS": str(failures)}
    begun, before = time.monotonic(), _cpu_seconds()
    ended = subprocess.run([*map(str, tool), *map(str, script)], cwd=HERE, env=given,
                           capture_output=True, text=True)  # fmt: skip
    seconds = round(time.monotonic() - begun)
    read = json.loads(result.read_text()) if result.exists() else {"swizzle": {}}
    rows = read["swizzle"].get("kernels", [])
    traced = [one for one in rows if one["baseline_l2_hit_rate"] is not None]
    others = Counter(why for one in traced if (why := _not_searched(one)))
    cautions = [one.splitlines() for one in read["swizzle"].get("cautions", ())]
    return {
        "options": f"--target {package.target} {' '.join(OPTIONS)}",
        "ended": ended.returncode,
        "said": [] if rows else ended.stderr.splitlines()[-3:],
        "failed_calls": failures.read_text().splitlines() if failures.exists() else [],
        "kernels": len(rows),
        "launches": sum(one["launches"] for one in rows),
        "not_recorded": [" ".join(dict.fromkeys((one[0], one[-1]))) for one in cautions
                         if "is not recorded" in one[0]],
        "not_traced": {_called(one): one["note"] for one in rows if one not in traced},
        "not_searched": dict(others),
        "searched": len(traced) - others.total(),
        "gained": {_called(one): [one["baseline_l2_hit_rate"], one["best_l2_hit_rate"],
                                  one["verdict"]]
                   for one in traced if one["best_l2_hit_rate"] is not None},
        "seconds": seconds,
        "cpu_seconds": round(_cpu_seconds() - before),
    }  # fmt: skip


def _called(row: dict[str, Any]) -> str:
    return f"{row['kernel']} ({row['place']})"


def _not_searched(row: dict[str, Any]) -> str:
    """Why a kernel that was traced was not searched, without names and places; empty if it was."""
    why = row["note"] or row["verdict"]
    if not why.startswith(NOT_SEARCHED) and row["verdict"] not in NOT_SEARCHED:
        return ""
    return re.sub(r"^\S+:\d+: |`[^`]*` ?", "", why)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _commit() -> str:
    head = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(head, cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()


def render(records: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The page, by its path in docs."""
    rows, reasons, found = [], [], []
    for name, one in sorted(records.items()):
        traced = one["kernels"] - len(one["not_traced"])
        numbers = (
            one["launches"],
            one["kernels"],
            len(one["not_recorded"]),
            traced,
            one["searched"],
            one["searched"] if one["searched"] is None else len(one["gained"]),
            one["seconds"],
            one["cpu_seconds"],
        )
        rows.append([f"`{one['installed'][0]}`", *("–" if x is None else str(x) for x in numbers)])
        told = [*one["not_recorded"], *(f"`{k}`: {why}" for k, why in one["not_traced"].items())]
        told += [
            f"{count} traced, not searched: {why}"
            for why, count in sorted(one["not_searched"].items())
        ]
        reasons += [f"- {name}: {re.sub(r'[0-9a-f]{32,}', '…', ' '.join(why.split()))}"
                    for why in told]  # fmt: skip
        found += [
            (name, f"`{kernel}`", f"{100 * before:.1f}", f"{100 * after:.1f}", verdict)
            for kernel, (before, after, verdict) in sorted(one["gained"].items())
        ]
    recorded = sum(one["kernels"] for one in records.values())
    refused = sum(len(one["not_recorded"]) for one in records.values())
    good = recorded - sum(len(one["not_traced"]) for one in records.values())
    searched = sum(one["searched"] or 0 for one in records.values())
    ways: dict[str, list[str]] = {}
    for name, one in sorted(records.items()):
        ways.setdefault(one["options"], []).append(name)
    how = "; ".join(f"`{options}`: {', '.join(names)}" for options, names in ways.items())
    failed = [f"{name} (exit {one['ended']})" for name, one in records.items() if one["ended"]]
    ended = (
        f"The command ended early of these: {', '.join(failed)}"
        if failed
        else "No command ended because of one of them"
    )
    commits = ", ".join(sorted({one["commit"] for one in records.values()}))
    header = ["package", "launches", "recorded", "not recorded", "traced", "searched", "gained",
              "seconds", "CPU seconds"]  # fmt: skip
    text = page(
        generated("package_coverage.py --render"),
        "# Kernels of public packages",
        "The plain command on scripts that call the public operators of "
        f"{len(records)} packages, without a GPU: of {recorded + refused} distinct kernels "
        f"{recorded} were recorded, {good} traced ({100 * good / (recorded + refused):.1f} % of "
        f"all, {100 * good / recorded:.1f} % of those recorded), {searched} searched, and for "
        f"{len(found)} a swizzle was found. {ended}. Code of commit {commits}. Options: {how}. A "
        "dash: that was not looked at in this run. The versions are "
        "those of the table, the scripts in `benchmarks/packages/`; "
        "operators that fail on their own (arguments that the script does not know, backward "
        "passes that are not implemented) are listed in the record. Seconds are of a machine with "
        "two cores that up to fifteen other processes used, too.",
        table(header, rows),
        "What was found, by modelled L2 hit rates (%):",
        table(["package", "kernel", "before", "after", "verdict"], found),
        "Why the others were not recorded, traced or searched:",
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
