# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The command line of a table or figure: compute what is missing, write its record, render it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness.applications import TARGET, Application
from harness.items import BENCHMARKS, Bench
from intelliperf_swizzle.errors import SwizzleError, UsageError
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.propose.llm import find_endpoint

RECORDS = BENCHMARKS / "records"
DOCUMENTS = BENCHMARKS.parent / "docs"

Record = dict[str, Any]


@dataclass(frozen=True)
class Endpoint:
    """A language model that a table is to ask: as `-m` and `-r` of IntelliPerf name it."""

    model: str
    provider: str


@dataclass(frozen=True)
class Wishes:
    """What a table is to do besides what needs neither GPU nor key.

    Attributes:
        endpoints: language models to ask.
        target: of the runs.
        profiler: what measures them; None = the model.
    """

    endpoints: tuple[Endpoint, ...] = ()
    target: str = TARGET
    profiler: str | None = None

    def run(self, application: Application, **more: Any) -> Mapping[str, Any]:
        """The inputs of a run on an application."""
        measured = {} if self.profiler is None else {"profiler": self.profiler}
        return application.inputs(self.target, **measured, **more)


@dataclass(frozen=True)
class Table:
    """One table or figure.

    Attributes:
        name: of its record, `benchmarks/records/<name>.json`.
        compute: the record, from items computed on the bench as is wished.
        render: the record as files, by path below `docs/`.
    """

    name: str
    compute: Callable[[Bench, Wishes], Record]
    render: Callable[[Record], Mapping[str, str]]

    @property
    def record(self) -> Path:
        """Where its numbers are kept."""
        return RECORDS / f"{self.name}.json"

    def make(self, bench: Bench, wishes: Wishes, *, render_only: bool) -> None:
        """Computes the record unless told not to, and renders it."""
        if not render_only:
            record = {"made_with": made_with(), **self.compute(bench, wishes)}
            RECORDS.mkdir(exist_ok=True)
            self.record.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        for path, text in self.render(json.loads(self.record.read_text())).items():
            file = DOCUMENTS / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            print(f"docs/{path}")


def main(*tables: Table, description: str | None, arguments: Sequence[str] | None = None) -> int:
    """Makes the tables one after the other; returns the exit code."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=-1, help="items at a time (one a core)")
    parser.add_argument(
        "--work", type=Path, default=Path("swizzle-out/figures"), help="where items are remembered"
    )
    parser.add_argument("--render", action="store_true", help="from the records; compute nothing")
    parser.add_argument(
        "--model", action="append", default=[], help="a language model too; may be repeated"
    )
    parser.add_argument("--provider", default="openai", help="of the models: a name or a URL")
    parser.add_argument("--target", default=TARGET, help=f"of the runs ({TARGET})")
    parser.add_argument(
        "--profiler",
        help="measure the runs on a GPU, one at a time: auto, ncu, … (the model)",
    )
    options = parser.parse_args(arguments)
    try:
        endpoints = tuple(endpoint_of(model, options.provider) for model in options.model)
        wishes = Wishes(endpoints, load_target(options.target).name, options.profiler)
        jobs = 1 if options.profiler else options.jobs
        bench = Bench(options.work, jobs)
        for table in tables:
            print(f"{table.name}", file=sys.stderr)
            table.make(bench, wishes, render_only=options.render)
    except SwizzleError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def endpoint_of(model: str, provider: str) -> Endpoint:
    """A language model that can be asked.

    Raises:
        UsageError: there is neither a key nor a URL.
    """
    if find_endpoint(model, provider, False, os.environ) is None:
        raise UsageError(
            f"model `{model}` has neither a key nor a URL",
            hint="set LLM_GATEWAY_KEY, or --provider http://localhost:8000/v1",
        )
    return Endpoint(model, provider)


def made_with() -> dict[str, str]:
    """What a record's numbers were made with, and with which commit (`+`: files had changed)."""
    packages = ("numpy", "numba", "torch", "triton")
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"], cwd=BENCHMARKS.parent,
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    return {
        "commit": commit,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }
