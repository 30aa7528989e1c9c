# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Items of work, spread over processes, each remembered by what it follows from.

An item is a function and its inputs (JSON). Its outcome (JSON) is kept in a file named by a digest
of both and of the code that the numbers follow from; what is on file is not computed again, so an
interrupted table resumes, and a changed model or kernel starts anew.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

import intelliperf_swizzle
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.formulas import patterns

BENCHMARKS = Path(__file__).resolve().parents[1]
PACKAGE = Path(intelliperf_swizzle.__file__).parent

NOT_IN_NUMBERS = ("api", "cli", "doctor", "host", "mcp", "report")
"""Rooms of the package from which no number follows."""

Inputs = Mapping[str, Any]
Outcome = dict[str, Any]
Work = Callable[[Inputs], Outcome]


@dataclass(frozen=True)
class Bench:
    """Where items are computed and remembered.

    Attributes:
        folder: of the outcomes.
        jobs: items at a time; -1 = as many as the machine has cores.
    """

    folder: Path
    jobs: int = -1

    def map(self, work: Work, inputs: Sequence[Inputs]) -> list[Outcome]:
        """The outcome of each item, in order; those not on file are computed first.

        A `SwizzleError` becomes the outcome `{"error": …}`, which is not kept on file.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        files = [self.folder / f"{work.__name__}-{_key(work, input_)}.json" for input_ in inputs]
        missing = {
            file: input_ for file, input_ in zip(files, inputs, strict=True) if not file.exists()
        }
        failures: dict[Path, Outcome] = {}
        for count, (file, outcome) in enumerate(self._computed(work, missing), 1):
            if "error" in outcome:
                failures[file] = outcome
            else:
                _write(file, {"inputs": dict(missing[file]), "outcome": outcome})
            print(f"  {count}/{len(missing)} {_label(missing[file])}", file=sys.stderr, flush=True)
        return [
            failures[file] if file in failures else json.loads(file.read_text())["outcome"]
            for file in files
        ]

    def _computed(
        self, work: Work, missing: Mapping[Path, Inputs]
    ) -> Iterator[tuple[Path, Outcome]]:
        if not missing:
            return
        calls = [delayed(_one)(work, file, item) for file, item in missing.items()]
        yield from Parallel(self.jobs, return_as="generator_unordered", batch_size=1)(calls)


def _one(work: Work, file: Path, inputs: Inputs) -> tuple[Path, Outcome]:
    try:
        started, used = time.monotonic(), _processor_seconds()
        outcome = work(inputs)
        spent = {
            "seconds": round(time.monotonic() - started, 1),
            "processor_seconds": round(_processor_seconds() - used, 1),
        }
        return file, {**outcome, "spent": spent}
    except SwizzleError as error:
        return file, {"error": error.fact}


def _processor_seconds() -> float:
    """Of this process and the children that it has waited for."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))


def _key(work: Work, inputs: Inputs) -> str:
    """What an outcome follows from."""
    text = json.dumps([work.__name__, inputs], sort_keys=True)
    source = (BENCHMARKS / inputs["application"]).read_bytes()
    return hashlib.blake2b(text.encode() + source + code_digest(), digest_size=12).hexdigest()


@cache
def code_digest() -> bytes:
    """Of the package's code and hardware files that a modelled number follows from."""
    digest = hashlib.blake2b()
    for file in sorted(PACKAGE.rglob("*")):
        room = file.relative_to(PACKAGE).parts[0]
        if file.suffix in (".py", ".yaml") and room not in NOT_IN_NUMBERS:
            digest.update(file.read_bytes())
    digest.update(repr(patterns()).encode())
    digest.update((Path(__file__).parent / "work.py").read_bytes())
    return digest.digest()


def _write(file: Path, content: Mapping[str, Any]) -> None:
    """All of a file or nothing."""
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(content, indent=1) + "\n")
    partial.replace(file)


def _label(inputs: Inputs) -> str:
    values = [inputs.get(name) for name in ("application", "arguments", "target")]
    flat = [" ".join(value) if isinstance(value, list | tuple) else value for value in values]
    return " ".join(filter(None, flat))
