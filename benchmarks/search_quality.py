# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How good is the default search? Compared with the catalogue and with a hundred times the work.

    python benchmarks/search_quality.py [KERNEL …] [--times 100]

For each application: the default run; every pattern of the catalogue at every parameter, all with
full physics; and a search that may try so many times as many candidates. Interrupted, it resumes:
the histories lie in `swizzle-out/search-quality/`. The outcome is written to
`benchmarks/records/search_quality.json` and printed as a table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle import loop
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.profile.model import ModelProfiler
from intelliperf_swizzle.propose.offline import OfflineProposer, pattern_candidates
from intelliperf_swizzle.records import Attempt
from intelliperf_swizzle.report.terminal import Lines
from intelliperf_swizzle.workbench import Workbench

HERE = Path(__file__).parent
RECORDS = HERE / "records" / "search_quality.json"
KERNELS = ("gemm", "transpose", "stencil_2d")


def attempts_of(kernel: str, times: int, work: Path) -> dict[str, tuple[Attempt, ...]]:
    """All attempts of the default run, of the whole catalogue and of the long run."""
    target = load_target("mi300x")
    profiler, progress, proposer = ModelProfiler(target), Lines(), OfflineProposer()
    default = loop.Settings(
        command=(sys.executable, str(HERE / "kernels" / f"{kernel}.py")),
        project_directory=HERE / "kernels",
        output_directory=work,
        compute="never",
        resume=True,
    )
    attempts: dict[str, tuple[Attempt, ...]] = {}
    with loop.recorded(default, target, progress) as captured:
        subject, _ = loop.choose(captured, default, target, profiler, progress)
        for name in ("default", "catalogue", "long"):
            scored = len(attempts["default"]) if attempts else 0
            candidates = times * scored if name == "long" else default.candidates
            settings = replace(
                default, history=work / f"{kernel}-{name}.jsonl", candidates=candidates
            )
            with loop.opened_history(settings, subject, target, profiler, proposer) as history:
                bench = Workbench(subject, target, profiler, history, 0.0, 0.0)
                problem = loop.pose(settings, bench)
                if name == "catalogue":
                    for attempt in bench.screen(list(pattern_candidates(problem))):
                        if attempt.screened_l2_hit_rate is not None:
                            bench.measure(attempt)
                else:
                    trials = loop.tried(settings, bench, progress)
                    patience = candidates if name == "long" else None
                    OfflineProposer(patience=patience).propose(problem, trials)
                    trials.decide()
                attempts[name] = history.attempts
    return attempts


def best(attempts: tuple[Attempt, ...]) -> tuple[float, str]:
    """Highest L2 hit rate of an eligible attempt under full physics, and its name."""
    return max(
        (attempt.measurement.l2_hit_rate, attempt.candidate.name)
        for attempt in attempts
        if attempt.measurement and attempt.verdict.eligible
    )


def main() -> None:
    """Runs what is missing, then prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", default=KERNELS)
    parser.add_argument("--times", type=int, default=100)
    options = parser.parse_args()
    work = Path("swizzle-out/search-quality")
    work.mkdir(parents=True, exist_ok=True)
    RECORDS.parent.mkdir(exist_ok=True)
    records = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    for kernel in options.kernels:
        runs = attempts_of(kernel, options.times, work)
        records[kernel] = {
            "machine": f"{platform.platform()}, {os.cpu_count()} cores",
            "target": "mi300x",
            "times": options.times,
            **{
                name: dict(zip(("l2_hit_rate", "name"), best(attempts), strict=True))
                | {"scored": sum(one.screened_l2_hit_rate is not None for one in attempts)}
                for name, attempts in runs.items()
            },
        }
        RECORDS.write_text(json.dumps(records, indent=1) + "\n")
    print(
        "| kernel | default % | scored | best pattern % | long search % | scored | default - long |"
    )
    print("|---|---|---|---|---|---|---|")
    for kernel, record in records.items():
        default, catalogue, long = (record[name] for name in ("default", "catalogue", "long"))
        print(
            f"| {kernel} | {100 * default['l2_hit_rate']:.1f} | {default['scored']} "
            f"| {100 * catalogue['l2_hit_rate']:.1f} | {100 * long['l2_hit_rate']:.1f} "
            f"| {long['scored']} | {100 * (default['l2_hit_rate'] - long['l2_hit_rate']):+.2f} |"
        )


if __name__ == "__main__":
    main()
