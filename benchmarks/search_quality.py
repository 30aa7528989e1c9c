# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How good is the default search? Compared with the catalogue and with a hundred times the work.

    python benchmarks/search_quality.py [KERNEL …]    # gemm transpose …; default: all
    python benchmarks/search_quality.py --render      # the page from the record alone

For each application: the default run; every pattern of the catalogue at every parameter, all with
full physics; and a search that may try a hundred times as many candidates as the default run scored
(thirty times where scoring one takes over 100 ms), and whose orders get a second look: where the
screen leaves effects out, its first ones need not be the best. Interrupted, it resumes: the
histories lie in `swizzle-out/search-quality/`. The outcome goes into
`benchmarks/records/search_quality.json` and `docs/results/search_quality.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import timeit
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from figure_02 import APPLICATIONS
from harness.applications import TARGET, Application
from harness.command import DOCUMENTS, RECORDS, made_with
from harness.render import generated, page, percent, points, table
from harness.work import rounded, setup_of
from intelliperf_swizzle.cache import ReplayedLaunch, replay
from intelliperf_swizzle.profile.modelled import ONE_DOMAIN, ModelScreen
from intelliperf_swizzle.propose.offline import OfflineProposer, pattern_candidates
from intelliperf_swizzle.records import Attempt
from intelliperf_swizzle.report.terminal import Lines
from intelliperf_swizzle.search.attempts import Attempts, pose_problem
from intelliperf_swizzle.search.evaluators import Evaluator, choose_evaluator
from intelliperf_swizzle.search.examine import choose_kernel, record_application
from intelliperf_swizzle.search.guard import SizeGuard
from intelliperf_swizzle.search.loop import search
from intelliperf_swizzle.search.plan import LEAST_GAIN, open_history
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.stages import EvaluationContext, Screened
from intelliperf_swizzle.search.subject import Subject

RECORD = RECORDS / "search_quality.json"
SLOW_SECONDS = 0.1
TIMES, TIMES_IF_SLOW = 100, 30
SCORED_TO_TIME = 10
MEASURED_AGAIN = 40
WITHIN = 0.01
"""The default's best may be this far (rate) below the long search's."""


def measured(application: Application, work: Path) -> dict[str, Any]:
    """The record of one application: its default run, its catalogue and its long search."""
    asked, progress = setup_of(application.inputs()), Lines()
    with record_application(asked, progress) as recorded:
        subject = choose_kernel(recorded, asked, progress)
        record: dict[str, Any] = {
            "name": application.name,
            "unchanged": rounded(subject.baseline.l2_hit_rate),
            "ceiling": rounded(subject.ceiling.l2_hit_rate),
            "nothing_to_gain": subject.headroom < LEAST_GAIN,
        }
        if record["nothing_to_gain"]:
            return record
        times = TIMES if seconds_to_score(subject, asked) <= SLOW_SECONDS else TIMES_IF_SLOW
        record["times"] = times
        for name in ("default", "catalogue", "long"):
            candidates = asked.options.candidates
            if name == "long":
                candidates = max(times * record["default"]["scored"], 1)
            history = str(work / f"{application.script}-{name}.jsonl")
            options = replace(asked.options, resume=True, history=history, candidates=candidates)
            setup = replace(asked, options=options)
            proposer = OfflineProposer(patience=candidates if name == "long" else None)
            with open_history(setup, subject, [proposer], work, progress) as kept:
                context = EvaluationContext(subject, setup, kept.record, progress)
                evaluator = choose_evaluator(context, work)
                attempts = Attempts(setup, subject, kept)
                problem = pose_problem(setup, subject, evaluator, attempts)
                again = {}
                if name == "catalogue":
                    catalogue = list(pattern_candidates(problem))
                    attempts.screen(catalogue, attempts.prove(catalogue))
                    evaluator.evaluate(attempts.edit(attempts.screened))
                else:
                    guard = SizeGuard(setup, subject, progress)
                    search([proposer], problem, attempts, evaluator, progress, guard)
                if name == "long":
                    kinds = look_again(setup, attempts, evaluator, record["default"]["l2_hit_rate"])
                    again = {"looked_at_again": kinds}
                record[name] = {**best(kept.attempts, subject), **again}
        return record


def seconds_to_score(subject: Subject, setup: RunContext) -> float:
    """How long the screen takes for one order: the least, for the machine may be busy."""
    screen = ModelScreen(subject.traced, setup.target)
    unmodified = [np.arange(traced_launch.trace.tiles) for traced_launch in subject.traced]
    score = partial(screen.hit_rate, unmodified)
    return min(timeit.repeat(score, number=1, repeat=SCORED_TO_TIME))


def look_again(setup: RunContext, attempts: Attempts, evaluator: Evaluator, above: float) -> int:
    """Replays one L2 under the best order of each kind above a rate, then evaluates the best.

    A kind: the orders that end in the same two digits and place the domains in the same way. The
    screen of a large launch knows no L1, and those that end alike share it alike.

    Returns:
        How many kinds there are.
    """
    kinds: dict[str, Screened] = {}
    promising = [
        attempt
        for attempt in attempts.screened
        if (attempt.attempt.screened_l2_hit_rate or 0) > above
    ]
    for candidate in sorted(
        promising, key=lambda candidate: -(candidate.attempt.screened_l2_hit_rate or 0)
    ):
        *digits, placement = candidate.attempt.candidate.name.replace("chunk ", "chunk=").split()
        kinds.setdefault(" ".join([*digits[-2:], placement]), candidate)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rates = list(pool.map(lambda candidate: rate_on_one_l2(setup, candidate), kinds.values()))
    ranked = sorted(zip(rates, kinds.values(), strict=True), key=lambda pair: -pair[0])
    evaluator.evaluate(attempts.edit(attempt for _, attempt in ranked[:MEASURED_AGAIN]))
    return len(kinds)


def rate_on_one_l2(setup: RunContext, screened: Screened) -> float:
    """An order's L2 hit rate with full physics, as far as one L2 tells."""
    traced = zip(screened.proved.subject.traced, screened.proved.tiles(), strict=True)
    runs = [ReplayedLaunch(of.trace, tile, of.launch.count, of.occupancy) for of, tile in traced]
    return replay(runs, setup.target, ONE_DOMAIN).l2_hit_rate


def best(attempts: tuple[Attempt, ...], subject: Subject) -> dict[str, Any]:
    """The highest hit rate of an eligible attempt under full physics; else that of the kernel."""
    found = [
        (attempt.measurement.l2_hit_rate, attempt.candidate.name)
        for attempt in attempts
        if attempt.measurement and attempt.verdict.eligible
    ]
    rate, name = max([*found, (subject.baseline.l2_hit_rate, "unmodified")])
    scored = sum(attempt.screened_l2_hit_rate is not None for attempt in attempts)
    return {"l2_hit_rate": rounded(rate), "name": name, "scored": scored}


def rendered(records: Mapping[str, Any]) -> str:
    """`docs/results/search_quality.md`."""
    rows, behind, again = [], [], []
    for script, record in records["kernels"].items():
        if record["nothing_to_gain"]:
            rows.append([record["name"], percent(record["unchanged"]), "nothing to gain",
                         *["–"] * 5, percent(record["ceiling"])])  # fmt: skip
            continue
        default, catalogue, long = (record[name] for name in ("default", "catalogue", "long"))
        difference = default["l2_hit_rate"] - long["l2_hit_rate"]
        if difference < -WITHIN:
            behind.append(script)
        if "looked_at_again" in long:
            again.append(f"{script} {long['looked_at_again']}")
        rows.append([record["name"], percent(record["unchanged"]), percent(default["l2_hit_rate"]),
                     default["scored"], percent(catalogue["l2_hit_rate"]),
                     percent(long["l2_hit_rate"]), f"{long['scored']} ({record['times']} ×)",
                     points(difference), percent(record["ceiling"])])  # fmt: skip
    verdict = (
        f"More than {100 * WITHIN:g} point below the long search: {', '.join(behind)}."
        if behind
        else f"Every default run is within {100 * WITHIN:g} point of the long search."
    )
    header = ["kernel", "baseline %", "default %", "scored", "best pattern %", "long search %",
              "scored (allowed)", "default − long", "ceiling %"]  # fmt: skip
    return page(
        generated("search_quality.py"),
        "# How good the default search is",
        f"Target `{TARGET}`, modelled with full physics. “Scored” counts different permutations; "
        "in brackets how many times the default's the long search was allowed: "
        f"{TIMES}, or {TIMES_IF_SLOW} where scoring one takes over {1000 * SLOW_SECONDS:g} ms. "
        "Where it scored fewer, no order was left that it could reach and had not tried. A rate is "
        "the highest of a run's finalists; a run may name one within 0.5 points of it that takes "
        "less modelled time.",
        table(header, rows),
        verdict,
        "The screen of a large launch knows no L1, so its first orders need not be the best. The "
        "long search looks again, with an L1, at the best order of each kind that the screen puts "
        f"above the default's rate, and measures the best {MEASURED_AGAIN}. Kinds that it found: "
        f"{', '.join(again)}. The other long searches are older and measured the finalists alone.",
        "What stands between these rates and the ceilings: [figure 2](figure_02.md).",
    )


def main() -> None:
    """Runs what is missing, then writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    scripts = {application.script: application for application in APPLICATIONS}
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=" ".join(scripts))
    parser.add_argument("--render", action="store_true", help="from the record; compute nothing")
    options = parser.parse_args()
    for script in options.kernels:
        if script not in scripts:
            parser.error(f"there is no kernel `{script}`: {' '.join(scripts)}")
    work = Path("swizzle-out/search-quality")
    work.mkdir(parents=True, exist_ok=True)
    records = json.loads(RECORD.read_text()) if RECORD.exists() else {"kernels": {}}
    for script in () if options.render else options.kernels or scripts:
        print(script, file=sys.stderr, flush=True)
        kernels = {**records["kernels"], script: measured(scripts[script], work)}
        ordered = {file: kernels[file] for file in scripts if file in kernels}
        records = {"made_with": made_with(), "target": TARGET, "kernels": ordered}
        RECORD.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    text = rendered(records)
    (DOCUMENTS / "results" / "search_quality.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
