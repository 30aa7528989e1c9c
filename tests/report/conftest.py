# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs to show: a real one, and what a model, hardware or bad luck would have made of it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.mapping import describe, prove
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Interval,
    Measurement,
    Run,
    Timing,
    Usage,
    Verdict,
    Witness,
)
from intelliperf_swizzle.report.files import result
from intelliperf_swizzle.search.deliver import Outcome
from intelliperf_swizzle.search.run import optimize
from intelliperf_swizzle.search.setup import prepare

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
TARGET = replace(
    load_target("mi300x"), l2_bytes_per_xcd=65536, l2_channels_per_xcd=1,
    l2_channel_bits=None, l2_set_bits=None, cus_per_xcd=4, flops_per_clock_cu=20480.0,
    launch_us=0.0,
)  # fmt: skip
SIZES = {"m": 512, "n": 512, "k": 64, "block-m": 32, "block-n": 32, "block-k": 32}


@pytest.fixture(scope="session")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """A real run on a GEMM of 16 x 16 tiles that finds something."""
    options = [word for name, value in SIZES.items() for word in (f"--{name}", str(value))]
    folder = tmp_path_factory.mktemp("run")
    asked = Options(
        project_directory=str(folder), profiler="model", compute="never", candidates=16,
        num_attempts=2, validation_seconds=1,
    )  # fmt: skip
    setup = prepare(
        asked, (sys.executable, str(KERNELS / "gemm.py"), *options), Silent(), target=TARGET,
        invocation="cd /home/user && intelliperf-swizzle -- python gemm.py",
    )  # fmt: skip
    return optimize(setup, [OfflineProposer()], folder)


@pytest.fixture(scope="session")
def run(outcome: Outcome) -> Run:
    assert outcome.run.best is not None
    return outcome.run


def by_a_model(run: Run) -> Run:
    """The run with attempts of a language model: refused with a witness, unreadable, criticised."""
    witness = prove(parse("pid = pid // 2"), run.grid, {}, num_xcds=8, cus_per_xcd=4)
    assert isinstance(witness, Witness)
    number = run.attempts[-1].number
    refused = Attempt(
        number + 1,
        Candidate(
            "pid = pid // 2", "halves", "llm", rationale="</pre><script>alert(1)</script>",
            critique="attempt 1 spread the rows & columns", idea="halve it", iteration=2,
            usage=Usage(1, 900, 40, None, 1.5),
        ),
        Verdict("not a permutation", "; ".join(describe(witness)), witness),
    )  # fmt: skip
    unreadable = Attempt(
        number + 2,
        Candidate("I cannot <b>do</b> that", "answer 2", "llm", flaw="no code block"),
        Verdict("not a swizzle", "no code block"),
    )
    return replace(
        run, attempts=(*run.attempts, refused, unreadable), proposer="llm",
        usage=Usage(2, 1800, 80, 0.01, 3.0),
    )  # fmt: skip


def timed(run: Run) -> Run:
    """The run as it looks where times were measured beside modelled rates."""
    best = run.best
    assert best is not None
    assert best.measurement is not None
    before, after = Interval(0.2, 0.19, 0.21), Interval(0.15, 0.148, 0.153)
    best = replace(
        best,
        measurement=replace(
            best.measurement, time_ms=after.median,
            timing=Timing("H200", before, after, Interval(0.75, 0.74, 0.77), 20),
        ),
    )  # fmt: skip
    baseline = replace(
        run.baseline, time_ms=before.median,
        timing=Timing("H200", before, before, Interval(1.0, 1.0, 1.0), 20),
    )  # fmt: skip
    attempts = tuple(best if attempt.number == best.number else attempt for attempt in run.attempts)
    return replace(run, baseline=baseline, best=best, attempts=attempts)


def counted(run: Run) -> Run:
    """The run as a profiler with counters would have it; what it did not collect is None."""

    def by_counters(rate: float) -> Measurement:
        return Measurement("ncu", "H200", rate, l2_before="cold", counters={"hits": 12.0})

    assert run.best is not None
    best = replace(run.best, predicted=run.best.measurement, measurement=by_counters(0.6))
    return replace(
        run, profiler="ncu", baseline=by_counters(0.5), predicted=run.baseline, best=best,
        attempts=(best,),
    )  # fmt: skip


def nothing_found(run: Run) -> Run:
    return replace(run, best=None)


def nothing_to_gain(run: Run) -> Run:
    return replace(run, best=None, attempts=(), nothing_to_gain=True)


def crowded(run: Run, attempts: int = 500) -> Run:
    """The run with so many attempts, the texts and reasons of real ones."""
    tried = [
        replace(run.attempts[number % len(run.attempts)], number=number + 1)
        for number in range(attempts)
    ]
    best = max(
        tried, key=lambda attempt: attempt.measurement.l2_hit_rate if attempt.measurement else 0
    )
    return replace(run, attempts=tuple(tried), best=replace(best, diff=run.best and run.best.diff))


ODD = (
    "7 of 256 tiles do <odd> things (intelliperf-swizzle prove --source gemm.py -- python gemm.py)"
)


def doubtful(run: Run) -> Run:
    """The run on a GPU whose domains have another name, and with something to beware of."""
    return replace(run, cautions=(ODD,), domain_name="L2 partition")


VARIANTS = {
    "found": lambda run: run,
    "by a model": by_a_model,
    "timed": timed,
    "counted": counted,
    "nothing found": nothing_found,
    "nothing to gain": nothing_to_gain,
    "doubtful": doubtful,
    "without pictures": lambda run: replace(run, picture=None, invocation=""),
}


@pytest.fixture(scope="session")
def run_on_a_gpu(run: Run) -> Run:
    return timed(run)


@pytest.fixture(scope="session")
def run_with_a_caution(run: Run) -> Run:
    return doubtful(run)


@pytest.fixture(scope="session")
def run_of_500(run: Run) -> Run:
    return by_a_model(crowded(run))


@pytest.fixture(params=VARIANTS)
def shown(request: pytest.FixtureRequest, run: Run) -> Run:
    """Each kind of run there is to show."""
    made: Run = VARIANTS[request.param](run)
    return made


@pytest.fixture
def fields(shown: Run) -> dict[str, Any]:
    """Its result."""
    return result(shown, initial="before", optimized="after" if shown.best else None)
