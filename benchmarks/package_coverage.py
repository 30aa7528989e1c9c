# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the plain command makes of the kernels of public packages, without a GPU.

    python benchmarks/package_coverage.py [PACKAGE ...]   # into records/coverage.json
    python benchmarks/package_coverage.py PACKAGE --part 3/16 --parts FOLDER   # a part of it, here
    python benchmarks/package_coverage.py --parts FOLDER  # the record of what lies there
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
    "flashnn": Package("flashnn_ops.py", ("flashnn==0.1.1", OLDER)),
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
        return record_of(package, [look_at(package, python, Path(folder))])


def look_at(
    package: Package,
    python: Path,
    folder: Path,
    part: str = "0/1",
    options: Sequence[str] = OPTIONS,
) -> dict[str, Any]:
    """What the plain command finds in a package's script, run by a Python that has the package.

    Args:
        package: whose script.
        python: that has it.
        folder: for results.
        part: which of how many parts of the script's calls.
        options: of the command.
    """
    result, failures = folder / "result.json", folder / "failures.txt"
    options = ("--target", package.target, *options)
    tool = [sys.executable, "-m", "intelliperf_swizzle", *options]
    script = ["-o", result, "--report_dir", folder / "out", "--", python,
              HERE / "packages" / package.script]  # fmt: skip
    given = {**os.environ, **dict(package.environment), "FAILED_CALLS": str(failures),
             "CALLS_PART": part}  # fmt: skip
    begun, before = time.monotonic(), _cpu_seconds()
    ended = subprocess.run([*map(str, tool), *map(str, script)], cwd=HERE, env=given,
                           capture_output=True, text=True)  # fmt: skip
    seconds = round(time.monotonic() - begun)
    read = json.loads(result.read_text()) if result.exists() else {"swizzle": {}}
    rows = read["swizzle"].get("kernels", [])
    cautions = [caution.splitlines() for caution in read["swizzle"].get("cautions", ())]
    return {
        "commit": os.environ.get("COMMIT") or _commit(),
        "options": " ".join(options),
        "ended": ended.returncode,
        "said": [] if rows else ended.stderr.splitlines()[-3:],
        "failed_calls": failures.read_text().splitlines() if failures.exists() else [],
        "not_recorded": [" ".join(dict.fromkeys((caution[0], caution[-1]))) for caution in cautions
                         if "is not recorded" in caution[0]],
        "rows": [{"kernel": _called(row), "launches": row["launches"], "note": row["note"],
                  "before": row["baseline_l2_hit_rate"], "after": row["best_l2_hit_rate"],
                  "verdict": row["verdict"]} for row in rows],
        "seconds": seconds,
        "cpu_seconds": round(_cpu_seconds() - before),
    }  # fmt: skip


def record_of(package: Package, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The record of a package from what was found in the parts of its script.

    Of a kernel that several parts launch the row counts in which most was done.
    """
    rows: dict[str, dict[str, Any]] = {}
    for row in sorted((row for part in parts for row in part["rows"]), key=_done):
        before = rows.get(row["kernel"], {"launches": 0})["launches"]
        rows[row["kernel"]] = {**row, "launches": before + row["launches"]}
    traced = [row for row in rows.values() if row["before"] is not None]
    others = Counter(why for row in traced if (why := _not_searched(row)))
    told = {key: sorted({item for part in parts for item in part[key]})
            for key in ("said", "failed_calls", "not_recorded")}  # fmt: skip
    return {
        "commit": ", ".join(sorted({part["commit"] for part in parts})),
        "installed": list(package.wanted),
        "options": " or ".join(sorted({part["options"] for part in parts})),
        "parts": len(parts),
        "ended": next((part["ended"] for part in parts if part["ended"]), 0),
        **told,
        "kernels": len(rows),
        "launches": sum(row["launches"] for row in rows.values()),
        "not_traced": {key: row["note"] for key, row in rows.items() if row not in traced},
        "not_searched": dict(others),
        "searched": len(traced) - others.total(),
        "gained": {row["kernel"]: [row["before"], row["after"], row["verdict"]]
                   for row in traced if row["after"] is not None},
        "seconds": max(part["seconds"] for part in parts),
        "cpu_seconds": sum(part["cpu_seconds"] for part in parts),
    }  # fmt: skip


def _done(row: dict[str, Any]) -> tuple[bool, bool, float]:
    """How much was done for a kernel: traced, searched, and what was found."""
    traced = row["before"] is not None
    return traced, traced and not _not_searched(row), row["after"] or 0.0


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
    for name, record in sorted(records.items()):
        traced = record["kernels"] - len(record["not_traced"])
        numbers = (
            record["launches"],
            record["kernels"],
            len(record["not_recorded"]),
            traced,
            record["searched"],
            record["searched"] if record["searched"] is None else len(record["gained"]),
            record["seconds"],
            record["cpu_seconds"],
        )
        rows.append(
            [f"`{record['installed'][0]}`", *("–" if x is None else str(x) for x in numbers)]
        )
        told = [
            *record["not_recorded"],
            *(f"`{k}`: {why}" for k, why in record["not_traced"].items()),
        ]
        told += [
            f"{count} traced, not searched: {why}"
            for why, count in sorted(record["not_searched"].items())
        ]
        reasons += [f"- {name}: {re.sub(r'[0-9a-f]{32,}', '…', ' '.join(why.split()))}"
                    for why in told]  # fmt: skip
        found += [
            (name, f"`{kernel}`", f"{100 * before:.1f}", f"{100 * after:.1f}", verdict)
            for kernel, (before, after, verdict) in sorted(record["gained"].items())
        ]
    recorded = sum(record["kernels"] for record in records.values())
    refused = sum(len(record["not_recorded"]) for record in records.values())
    good = recorded - sum(len(record["not_traced"]) for record in records.values())
    searched = sum(record["searched"] or 0 for record in records.values())
    ways: dict[str, list[str]] = {}
    for name, record in sorted(records.items()):
        ways.setdefault(record["options"], []).append(name)
    how = "; ".join(f"`{options}`: {', '.join(names)}" for options, names in ways.items())
    failed = [
        f"{name} (exit {record['ended']})" for name, record in records.items() if record["ended"]
    ]
    ended = (
        f"The command ended early of these: {', '.join(failed)}"
        if failed
        else "No command ended because of one of them"
    )
    left = {
        name: record["kernels"] - len(record["not_traced"])
        for name, record in sorted(records.items())
        if record["searched"] is None
    }
    unsearched = (
        f"Nothing was searched in {', '.join(left)}: of their {sum(left.values())} traced kernels "
        "this page does not say how many gain. "
        if left
        else ""
    )
    commits = ", ".join(sorted({c for r in records.values() for c in r["commit"].split(", ")}))
    header = ["package", "launches", "recorded", "not recorded", "traced", "searched", "gained",
              "seconds", "CPU seconds"]  # fmt: skip
    text = page(
        generated("package_coverage.py --render"),
        "# Kernels of public packages",
        "The plain command on scripts that call the public operators of "
        f"{len(records)} packages, without a GPU: of {recorded + refused} distinct kernels "
        f"{recorded} were recorded, {good} traced ({100 * good / (recorded + refused):.1f} % of "
        f"all, {100 * good / recorded:.1f} % of those recorded), {searched} searched, and for "
        f"{len(found)} a swizzle was found. {unsearched}{ended}. Code of commit {commits}. "
        f"Options: {how}. A dash: that was not looked at in this run. The versions are "
        "those of the table, the scripts in `benchmarks/packages/`; of one that was run in parts, "
        "each with some of its calls, what all parts launch is counted in each, and seconds are "
        "the longest part's; "
        "operators that fail on their own (arguments that the script does not know, backward "
        "passes that are not implemented) are listed in the record. Seconds are of a machine with "
        "two cores that up to fifteen other processes used, too, or, of parts, of one of 32.",
        table(header, rows),
        "What was found, by modelled L2 hit rates (%):",
        table(["package", "kernel", "before", "after", "verdict"], found),
        "Why the others were not recorded, traced or searched:",
        "\n".join(reasons),
    )
    return {"results/coverage.md": text}


COVERAGE = Table("coverage", lambda *_: {name: run(name) for name in PACKAGES}, render)


def main() -> None:
    """Runs packages, or a part of one, or joins parts, or renders the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("packages", nargs="*", default=[*PACKAGES], metavar="PACKAGE")
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--part", metavar="I/N", help="of one package, which is installed here")
    parser.add_argument("--seconds", default=OPTIONS[-1], help="of the command, with --part")
    parser.add_argument("--parts", type=Path, help="folder of parts: --part writes, else joined")
    arguments = parser.parse_args()
    if arguments.part:
        (name,), (number, _) = arguments.packages, arguments.part.split("/")
        options = (*OPTIONS[:-3], arguments.seconds, "--seconds", arguments.seconds)
        with tempfile.TemporaryDirectory() as folder:
            found = look_at(PACKAGES[name], Path(sys.executable), Path(folder), arguments.part,
                            options)  # fmt: skip
        (arguments.parts / f"{name}.{number}.json").write_text(json.dumps(found, indent=1), "utf-8")
        return
    record = COVERAGE.record
    records = json.loads(record.read_text("utf-8")) if record.exists() else {}
    for name in () if arguments.render else arguments.packages:
        files = sorted(arguments.parts.glob(f"{name}.*.json")) if arguments.parts else ()
        parts = [json.loads(file.read_text("utf-8")) for file in files]
        if parts or not arguments.parts:
            records[name] = record_of(PACKAGES[name], parts) if parts else run(name)
        record.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n", "utf-8")
    for path, text in render(json.loads(record.read_text("utf-8"))).items():
        (DOCUMENTS / path).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
