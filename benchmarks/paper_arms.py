# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The arms of SwizzlePerf on the five kernels of its figure 14, and `both`: figures 14 and 16.

    python benchmarks/paper_arms.py --model gpt-4o
    python benchmarks/paper_arms.py --model any --provider http://localhost:8000/v1

Each run is one command, whose result is WORK/arm/kernel/seed.json (`--work WORK`); one that is
there is not made again, whoever made it. What the record says under `solver`, `commit` and
`remarks` was written by who made the runs, and stays.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import figure_14
import figure_16
from harness.applications import Application, named
from harness.command import Endpoint, Record, Table, Wishes, main
from harness.items import BENCHMARKS, Bench
from harness.render import generated, page, percent, points, table
from harness.work import rounded
from intelliperf_swizzle.records import Attempt, Run
from intelliperf_swizzle.report.files import read_run
from language_model import KERNELS as SMALLER

KERNELS = (*SMALLER[:3], named("softmax"), named("layer norm"))
"""Three at sizes that a run takes half a minute for, and two at the paper's."""

ARMS = {
    "unaware": ("llm", "swizzle-unaware"),
    "overload": ("llm", "swizzle-overload"),
    "aware": ("llm", "swizzle"),
    "both": ("both", "swizzle"),
}
"""Arm -> `--proposer` and `--formula`; the first three are the paper's."""

SEEDS = (0, 1, 2)
ITERATIONS = 5
"""As many as in the paper."""
HAND_WRITTEN = ("solver", "commit", "remarks")

Some = Sequence[Mapping[str, Any]]


def compute(bench: Bench, wishes: Wishes) -> Record:
    """The runs that are there, and those that can be made."""
    made: Record = json.loads(PAPER_ARMS.record.read_text()) if PAPER_ARMS.record.exists() else {}
    known = {(run["kernel"], run["arm"], run["seed"]): run for run in made.get("runs", ())}
    runs = []
    for application, arm, seed in itertools.product(KERNELS, ARMS, SEEDS):
        result = bench.folder / arm / application.script / f"{seed}.json"
        if not result.exists() and wishes.endpoints:
            make(application, arm, seed, result.resolve(), wishes.endpoints[0], wishes.target)
        if result.exists():
            run = summary(read_run(result))
            runs.append({"kernel": application.name, "arm": arm, "seed": seed, **run})
        elif (application.name, arm, seed) in known:
            runs.append(known[application.name, arm, seed])
    kept = {name: made[name] for name in HAND_WRITTEN if name in made}
    return {"target": wishes.target, "iterations": ITERATIONS, **kept, "runs": runs}


def make(
    application: Application, arm: str, seed: int, result: Path, endpoint: Endpoint, target: str
) -> None:
    """Makes one run; one that fails leaves no result."""
    result.parent.mkdir(parents=True, exist_ok=True)
    proposer, formula = ARMS[arm]
    asked = [
        *(sys.executable, "-m", "intelliperf_swizzle", "--profiler", "model", "--target", target),
        *("--proposer", proposer, "--formula", formula, "--all", "--seed", str(seed)),
        *("--num_attempts", str(ITERATIONS), "--validation_seconds", "20", "-o", str(result)),
        *("--call_seconds", "3600", "--max_seconds", "7200", "--model", endpoint.model),
        *("--provider", endpoint.provider, "--report_dir", str(result.with_suffix("")), "--"),
        *(sys.executable, f"kernels/{application.script}.py", *application.arguments),
    ]
    subprocess.run(asked, cwd=BENCHMARKS, stdout=subprocess.DEVNULL, check=False)


def summary(run: Run) -> dict[str, Any]:
    """What the page and the figures need of a run, with all that the model has answered."""
    evaluated = [attempt for attempt in run.attempts if attempt.measurement and attempt.proof]
    top = max(evaluated, key=_rate, default=None)
    asked = run.usage
    return {
        "ceiling": rounded(run.ceiling.l2_hit_rate),
        "unchanged": {"l2_hit_rate": rounded(run.baseline.l2_hit_rate)},
        "best": {"l2_hit_rate": rounded(max(_rate(top) if top else 0.0, run.baseline.l2_hit_rate))},
        "verdict": top.verdict.kind if top and _rate(top) > run.baseline.l2_hit_rate else None,
        "calls": asked.calls if asked else 0,
        "tokens": asked.tokens if asked else 0,
        "ended": [note for note in run.notes if "renumbering helps" in note],
        "answers": answers(run),
        "course": [
            None if attempt.screened_l2_hit_rate is None else round(attempt.screened_l2_hit_rate, 4)
            for attempt in run.attempts
        ],
    }


def _rate(attempt: Attempt) -> float:
    return attempt.measurement.l2_hit_rate if attempt.measurement else 0.0


def answers(run: Run) -> list[dict[str, Any]]:
    """Each answer with its best member: of a family one text, and how many were permutations."""
    found: dict[str, list[Attempt]] = {}
    for attempt in run.attempts:
        if attempt.candidate.origin == "llm":
            found.setdefault(attempt.candidate.family or attempt.candidate.name, []).append(attempt)
    shown = []
    for members in found.values():
        best = max(
            members, key=lambda attempt: (_rate(attempt), attempt.screened_l2_hit_rate or 0.0)
        )
        shown.append(
            {
                "idea": best.candidate.idea or members[0].candidate.idea,
                "text": best.candidate.text,
                "members": len(members),
                "permutations": sum(member.fingerprint is not None for member in members),
                "in_form": members[0].candidate.flaw is None,
                "verdict": best.verdict.kind,
                "l2_hit_rate": rounded(_rate(best)) or None,
            }
        )
    return shown


def render(record: Record) -> dict[str, str]:
    """The page and both figures."""
    runs = record["runs"]
    answered = [answer for run in runs for answer in run["answers"]]
    in_form = sum(answer["in_form"] for answer in answered)
    members = sum(answer["members"] for answer in answered)
    good = sum(answer["permutations"] for answer in answered)
    return {
        "results/paper_arms.md": page(
            generated("paper_arms.py"),
            "# The paper's arms",
            f"Target `{record['target']}`, modelled; {len(runs)} runs of up to "
            f"{record['iterations']} iterations, as in the paper; a run ends before when the model "
            "says that no renumbering helps (“none”). `unaware` sees the hit rate and the "
            "kernel; `overload` everything there is, unfiltered; `aware` what this tool selects; "
            "`both` the same, after a search, with what that found.",
            *([f"Solver: {record['solver']}."] if "solver" in record else []),
            *([f"Made with commit {record['commit']}."] if "commit" in record else []),
            *record.get("remarks", ()),
            table(
                [
                    "kernel",
                    "arm",
                    "L2 hit rate, %",
                    "points",
                    "verdict",
                    "calls",
                    "tokens",
                    "“none”",
                ],
                [_row(own) for own in _by_arm(runs)],
            ),
            "The rate is the highest of all evaluated permutations, with any verdict; "
            "the paper ranks by it. *no difference* is of the time; the kernels are small.",
            f"Of {len(answered)} answers with a swizzle {in_form} were in form, and of their "
            f"{members} members {good} were permutations, those that repeat another included.",
            "The dump of `overload` is not the paper's, which is not public: it is all that the "
            "tool knows (counters, tiles and accesses up to a limit, the data of every GPU with "
            "its sources) and a text of our own, `formulas/documents/mi300.md`.",
            "## Progress over the attempts (figure 14 of SwizzlePerf)",
            "Best rate of the screen, a quick model, after so many attempts. Each member of a "
            "family is one; `both` begins with those of the search.",
            "![Progress over the attempts](figure_14.svg)",
            "## Arms side by side (figure 16 of SwizzlePerf)",
            "The paper compares three models there; here one solver plays all arms.",
            "![Best hit rates](figure_16.svg)",
        ),
        "results/figure_14.svg": figure_14.draw(runs),
        "results/figure_16.svg": figure_16.draw(runs),
    }


def _by_arm(runs: Some) -> list[Some]:
    """The runs of each kernel and arm, which differ in their seeds."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for run in runs:
        groups.setdefault((run["kernel"], run["arm"]), []).append(run)
    return list(groups.values())


def _row(runs: Some) -> list[object]:
    """Means over the seeds; the range of the best rates where they differ."""
    before = runs[0]["unchanged"]["l2_hit_rate"]
    best = sorted(run["best"]["l2_hit_rate"] for run in runs)
    low, high = percent(best[0]), percent(best[-1])
    return [
        *(runs[0]["kernel"], runs[0]["arm"]),
        f"{percent(before)} → {low if low == high else f'{low} to {high}'}",
        points(fmean(best) - before),
        ", ".join(dict.fromkeys(run["verdict"] or "–" for run in runs)),
        sum(run["calls"] for run in runs),
        f"{sum(run['tokens'] for run in runs):,}",
        f"{sum(bool(run['ended']) for run in runs)} of {len(runs)}",
    ]


PAPER_ARMS = Table("paper_arms", compute, render)

if __name__ == "__main__":
    sys.exit(main(PAPER_ARMS, description=__doc__))
