# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether a language model adds something: the search alone, a model alone, or both.

    python benchmarks/language_model.py                                  # the search alone
    python benchmarks/language_model.py --model gpt-4o                   # and what is missing
    python benchmarks/language_model.py --model any --provider http://localhost:8000/v1

Each run is one command, whose result is WORK/kernel/arm/seed.json (`--work WORK`); one that is
there is not made again, whoever made it. Results are added to those in the record, from which the
page follows; without the record, all runs begin anew.
"""

from __future__ import annotations

import itertools
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from harness.applications import Application
from harness.command import Record, Table, Wishes, main
from harness.items import BENCHMARKS, Bench
from harness.render import generated, milliseconds, page, percent, points, table
from harness.work import rounded
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.records import Attempt, Measurement, Run
from intelliperf_swizzle.report.files import read_run

SQUARE = ("--block-m", "64", "--block-n", "64")
CAUSAL = (
    *("--causal", "--dtype", "float16", "--heads", "64", "--kv-heads", "8"),
    *("--length", "1024", "--head-dim", "64", *SQUARE),
)

KERNELS = (
    Application("GEMM, tiled", "gemm", ("--m", "4096", "--n", "2048", "--k", "256", *SQUARE)),
    Application("stencil 2D", "stencil_2d", ("--m", "4096", "--n", "4096")),
    Application("SpMV", "spmv"),
    Application("attention, causal", "attention", CAUSAL),
    Application("batched GEMM", "batched_gemm"),
    Application("convolution 2D", "conv_2d"),
    Application("grouped GEMM", "grouped_gemm"),
    Application("attention, window", "window_attention"),
)
"""Four of figure 2 and four others, at sizes that a run takes about half a minute for."""

ARMS = {"search": "offline", "model": "llm", "both": "both"}
"""What is compared -> the option `--proposer`."""

SEEDS = (0, 1, 2)
ITERATIONS = 4
VALIDATION_SECONDS = 20
"""Half a minute more than by default before a busy machine refuses an attempt; executing all tiles
of any of these kernels takes longer, so a few are executed, as by default."""

GOAL = 3
"""Kernels on which a model should add something to the search."""

LEAST_RATE, LEAST_TIME = 0.01, 0.02
"""What counts as something: of the hit rate (points), or of the modelled time (its share)."""

NEAR = 0.006
"""Hit rates that differ by less are called level."""


def compute(bench: Bench, wishes: Wishes) -> Record:
    """The runs that are there, and those that can be made."""
    if len(wishes.endpoints) > 1:
        raise UsageError("one language model at a time", hint="name another --work folder for each")
    runs = []
    made = recorded()
    for application, arm, seed in itertools.product(KERNELS, ARMS, SEEDS):
        result = bench.folder / application.script / arm / f"{seed}.json"
        known = made.get((application.name, arm, seed))
        if not known and not result.exists() and (arm == "search" or wishes.endpoints):
            make(application, arm, seed, result, wishes)
        run = read_run(result) if result.exists() else None
        if run and counts(run, arm):
            known = {"kernel": application.name, "arm": arm, **summary(run)}
        elif run:
            print(f"  {result} does not count: cut short or no answer", file=sys.stderr)
        if known:
            runs.append(known)
    return {"target": wishes.target, "iterations": ITERATIONS, "runs": runs}


def recorded() -> dict[tuple[str, str, int], dict[str, Any]]:
    """Runs of the record by kernel, arm and seed."""
    if not LANGUAGE_MODEL.record.exists():
        return {}
    runs = json.loads(LANGUAGE_MODEL.record.read_text())["runs"]
    return {(run["kernel"], run["arm"], run["seed"]): run for run in runs}


def make(application: Application, arm: str, seed: int, result: Path, wishes: Wishes) -> None:
    """Makes one run; one that fails leaves no result, and is reported."""
    result.parent.mkdir(parents=True, exist_ok=True)
    asked = command(application, arm, seed, result.resolve(), wishes)
    print(f"  {shlex.join(asked)}", file=sys.stderr, flush=True)
    done = subprocess.run(asked, cwd=BENCHMARKS, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        print(f"  exit code {done.returncode}", file=sys.stderr, flush=True)


def command(
    application: Application, arm: str, seed: int, result: Path, wishes: Wishes
) -> list[str]:
    """One run, for the folder `benchmarks`."""
    model = []
    if arm != "search":
        [endpoint] = wishes.endpoints
        model = ["--model", endpoint.model, "--provider", endpoint.provider]
    return [
        *(sys.executable, "-m", "intelliperf_swizzle", "--profiler", "model"),
        *("--target", wishes.target, "--proposer", ARMS[arm], "--seed", str(seed)),
        *("--num_attempts", str(ITERATIONS), "--validation_seconds", str(VALIDATION_SECONDS)),
        *(*model, "-o", str(result)),
        *("--report_dir", str(result.with_suffix("")), "--"),
        *(sys.executable, f"kernels/{application.script}.py", *application.arguments),
    ]


def counts(run: Run, arm: str) -> bool:
    """Whether a run came to its end, and the model that it was to ask has answered."""
    return not run.interrupted and (arm == "search" or bool(run.usage and run.usage.calls))


def summary(run: Run) -> dict[str, Any]:
    """What the page and the figures need of a run."""
    words = shlex.split(run.invocation)
    answers = {
        attempt.candidate.family or attempt.candidate.name
        for attempt in run.attempts
        if attempt.candidate.origin == "llm"
    }
    reached = run.best.measurement if run.best else None
    return {
        "seed": run.seed,
        "model": words[words.index("--model") + 1] if run.usage else None,
        "ceiling": rounded(run.ceiling.l2_hit_rate),
        "unchanged": readings(run.baseline),
        "best": readings(reached or run.baseline),
        "winner": winner(run.best),
        "answers": len(answers),
        "tokens": (run.usage.tokens or None) if run.usage else None,
        "course": [
            None if attempt.screened_l2_hit_rate is None else round(attempt.screened_l2_hit_rate, 4)
            for attempt in run.attempts
        ],
    }


def readings(measurement: Measurement) -> dict[str, float | None]:
    """What runs are compared by."""
    return {
        "l2_hit_rate": rounded(measurement.l2_hit_rate),
        "modelled_time_ms": rounded(measurement.modelled_time_ms),
    }


def winner(best: Attempt | None) -> str:
    """Who offered the best swizzle; a family's member may be one that was tuned from another."""
    if best is None:
        return "nobody"
    if best.candidate.origin != "llm":
        return "search"
    return "family" if best.candidate.family else "model"


# --- the page -----------------------------------------------------------------------------------

Some = Sequence[Mapping[str, Any]]


def render(record: Record) -> dict[str, str]:
    """The page; a `doubt` that somebody put into the record stands on it."""
    runs = record["runs"]
    kernels = list(dict.fromkeys(run["kernel"] for run in runs))
    grouped = {
        kernel: {
            arm: [run for run in runs if (run["kernel"], run["arm"]) == (kernel, arm)]
            for arm in ARMS
        }
        for kernel in kernels
    }
    names = ", ".join(f"`{name}`" for name in sorted({run["model"] for run in runs} - {None}))
    return {
        "results/language_model.md": page(
            generated("language_model.py"),
            "# What a language model adds",
            f"Target `{record['target']}`, modelled; {len(runs)} of "
            f"{len(KERNELS) * len(ARMS) * len(SEEDS)} runs, with {len(SEEDS)} seeds. `search`: the "
            f"search alone; `model`: a language model alone, {record['iterations']} iterations; "
            "`both`: the search, then the model, which sees what the search found. "
            f"{f'Model: {names}. ' if names else ''}Means, in brackets the lowest and the highest.",
            *([f"**Not to be relied on**: {record['doubt']}"] if "doubt" in record else []),
            table(
                [
                    "kernel",
                    "",
                    "runs",
                    "L2 hit rate %",
                    "modelled time ms",
                    "best from",
                    "attempts",
                    "answers",
                    "tokens",
                ],
                [row for kernel in kernels for row in _rows(kernel, grouped[kernel])],
            ),
            "“Best from” counts who offered the best swizzle of each run: the search, the model "
            "with a single swizzle, or a family of the model's. `both` searches as "
            "long as `search` does; the model's answers come on top.",
            "## Against the search alone",
            _verdict(grouped, names),
            table(
                ["kernel", *(f"{arm}: {unit}" for arm in MODELS for unit in ("points", "time %"))],
                [[kernel, *_differences(grouped[kernel])] for kernel in kernels],
            ),
            *(_live(record["live"]) if "live" in record else []),
        ),
    }


def _live(live: Mapping[str, Any]) -> list[str]:
    """What a small model on one's own machine answered, one row per kernel."""
    answers = live["answers"]
    header = ["kernel", "answers", "a swizzle in form", "a permutation", "better", "seconds each"]
    rows = []
    for kernel in (*dict.fromkeys(answer["kernel"] for answer in answers), "all"):
        some = [answer for answer in answers if kernel in (answer["kernel"], "all")]
        verdicts = [attempt["verdict"] for attempt in some]
        formed = [verdict for verdict in verdicts if verdict != "not a swizzle"]
        proved = [verdict for verdict in formed if verdict != "not a permutation"]
        better = sum("better" in verdict or "fewer" in verdict for verdict in proved)
        seconds = [attempt["seconds"] for attempt in some]
        span = f"{min(seconds)} to {max(seconds)}"
        rows.append([kernel, len(some), len(formed), len(proved), better, span])
    return [
        "## A small model on one's own machine",
        f"{live['model']}, by {live['server']}, on {live['date']} at `{live['commit']}`; options "
        f"`{live['options']}`. All runs ended by themselves; no other mapping was let in.",
        table(header, rows),
    ]


MODELS = tuple(ARMS)[1:]


def _rows(kernel: str, arms: Mapping[str, Some]) -> list[list[object]]:
    first = next(run for runs in arms.values() for run in runs)
    unchanged, ceiling = first["unchanged"], percent(first["ceiling"])
    return [
        [kernel, "unmodified", "", f"{percent(unchanged['l2_hit_rate'])}, ceiling {ceiling}",
         milliseconds(unchanged["modelled_time_ms"]), "", "", "", ""],
        *(
            [kernel, arm, len(runs), _spread(runs, "l2_hit_rate", percent),
             _spread(runs, "modelled_time_ms", milliseconds), _winners(runs),
             _mean([len(run["course"]) for run in runs]),
             *(_mean([run[what] for run in runs]) for what in ("answers", "tokens"))]
            for arm, runs in arms.items() if runs
        ),
    ]  # fmt: skip


def _spread(runs: Some, reading: str, shown: Callable[[float], str]) -> str:
    values = [run["best"][reading] for run in runs]
    low, high = shown(min(values)), shown(max(values))
    return shown(mean(values)) + (f" ({low}–{high})" if low != high else "")


def _winners(runs: Some) -> str:
    winners = [run["winner"] for run in runs]
    return ", ".join(f"{who} {winners.count(who)}" for who in dict.fromkeys(winners))


def _mean(values: Sequence[int | None]) -> str:
    known = [value for value in values if value]
    return f"{mean(known):,.0f}" if known else "–"


def gains(arms: Mapping[str, Some], arm: str) -> tuple[float, float] | None:
    """What an arm gains on the search alone: of the hit rate, and the part of the time saved."""
    if not arms[arm] or not arms["search"]:
        return None
    rate, time = (
        [mean(run["best"][reading] for run in arms[searched]) for searched in ("search", arm)]
        for reading in ("l2_hit_rate", "modelled_time_ms")
    )
    return rate[1] - rate[0], 1 - time[1] / time[0]


def adds(gained: tuple[float, float] | None) -> bool:
    """Whether that is something."""
    return gained is not None and (gained[0] >= LEAST_RATE or gained[1] >= LEAST_TIME)


def _differences(arms: Mapping[str, Some]) -> list[str]:
    found = [gains(arms, arm) for arm in MODELS]
    shown = [(points(gain[0]), points(-gain[1])) if gain else ("–", "–") for gain in found]
    return [cell for pair in shown for cell in pair]


def _verdict(grouped: Mapping[str, Mapping[str, Some]], names: str) -> str:
    compared = [kernel for kernel, arms in grouped.items() if gains(arms, "both")]
    won = [kernel for kernel in compared if adds(gains(grouped[kernel], "both"))]
    if not compared:
        return "No run of `both` beside one of `search` (`--model` names a language model)."
    which = f": {', '.join(won)}" if won else ""
    end = "" if won else f" {names or 'The model'} adds nothing to the search here."
    found = {kernel: [gains(arms, arm) for arm in MODELS] for kernel, arms in grouped.items()}
    level = [
        kernel
        for kernel, gained in found.items()
        if not any(gain and (adds(gain) or abs(gain[0]) >= NEAR) for gain in gained)
    ]
    if level:
        end += (
            f" On {len(level)} of {len(grouped)} kernels all arms end within {100 * NEAR:g} points "
            "of each other: there the search is already where a model gets to, and what is left to "
            "the ceiling, which is a bound and no order, is out of reach for both. What a model "
            "saves is attempts, each of which is proved and modelled."
        )
    return (
        f"At least {100 * LEAST_RATE:g} point of hit rate or {100 * LEAST_TIME:g} % of modelled "
        f"time better than the search alone: `both` on {len(won)} of {len(compared)} kernels"
        f"{which}. The goal was {GOAL} kernels.{end}"
    )


LANGUAGE_MODEL = Table("language_model", compute, render)

if __name__ == "__main__":
    sys.exit(main(LANGUAGE_MODEL, description=__doc__))
