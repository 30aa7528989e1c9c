# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The model screens, the hardware decides: on a GPU, or with the interpreter in its place."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.frontends.ports import GpuOutcome, RecordRequest
from intelliperf_swizzle.frontends.triton import trials
from intelliperf_swizzle.frontends.triton.capture.settings import gpu_of
from intelliperf_swizzle.frontends.triton.gpu import Rig
from intelliperf_swizzle.frontends.triton.trials import TritonOnGpu
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.history import History
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Interval,
    Measurement,
    Timing,
)
from intelliperf_swizzle.search import evaluators
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.evaluators import OnGpu
from intelliperf_swizzle.search.examine import choose_kernel, record_application
from intelliperf_swizzle.search.guard import SizeGuard
from intelliperf_swizzle.search.setup import prepare
from intelliperf_swizzle.search.stages import EvaluationContext, Screened

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
TARGET = replace(
    load_target("h200"), l2_bytes_per_xcd=65536, l2_channels_per_xcd=1, l2_ways=16,
    l2_channel_bits=None, l2_set_bits=None, cus_per_xcd=4,
)  # fmt: skip
CANDIDATES = [
    Candidate(
        load_pattern("grouped-rows").bind(cols=8, group=group), f"grouped-rows {group}", "pattern"
    )
    for group in (2, 4, 8)
]


CONFIRMING = Event()


class Counters:
    """A hardware profiler at its boundary: it reads fixed hit rates."""

    name = "counters"
    device = "a test"
    rate = 0.75

    def __init__(self) -> None:
        self.asked: list[Edit | None] = []

    def measure(self, launches: Sequence[TracedLaunch], edit: Edit | None = None) -> Measurement:
        self.asked.append(edit)
        rate = 0.5 if edit is None else self.rate
        return Measurement(self.name, self.device, l2_hit_rate=rate, memory_bytes=1000)

    def begin(self, launches: Sequence[TracedLaunch], replay: object) -> object:
        def count(edits: Sequence[Edit]) -> list[Measurement]:
            assert CONFIRMING.wait(60), "the application is started while a replay is counted"
            return [self.measure(launches, edit) for edit in (None, *edits)]

        return count


class Timed(TritonOnGpu):
    """Runs on a GPU whose clock is the test's: the interpreter's times say nothing of a GPU's."""

    ratios: dict[int, float]

    def validate_and_time(self, edits: Mapping[int, Edit]) -> dict[int, GpuOutcome]:
        outcomes = super().validate_and_time(edits)
        return {
            n: replace(outcome, timing=self.clock(n)) if outcome.timing else outcome
            for n, outcome in outcomes.items()
        }

    def confirm(self, edits: Mapping[int, Edit]) -> dict[int, GpuOutcome]:
        CONFIRMING.set()
        return super().confirm(edits)

    def clock(self, number: int) -> Timing:
        ratio = self.ratios[number]
        around = Interval(ratio, ratio - 0.001, ratio + 0.001)
        return Timing("a test", Interval(2.0, 2.0, 2.0), Interval(2 * ratio, 2.0, 2.0), around, 11)


@pytest.fixture(scope="module")
def stages(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Attempts, OnGpu, Timed]]:
    folder = tmp_path_factory.mktemp("project")
    small = {"m": 256, "n": 256, "k": 64, "block-m": 32, "block-n": 32, "block-k": 32, "group-m": 1}
    words = [word for name, value in small.items() for word in (f"--{name}", str(value))]
    command = (sys.executable, str(KERNELS / "gemm.py"), *words)
    options = Options(
        project_directory=str(folder), profiler="model", compute="never", num_attempts=3
    )
    setup = prepare(options, command, Silent(), target=TARGET)
    with record_application(setup, Silent()) as recorded:
        subject = choose_kernel(recorded, setup, Silent())
        request = RecordRequest(command, folder, recorded.folder.parent)
        rig = Rig(request, "a test", gpu=gpu_of(TARGET))
        runs = Timed(
            rig,
            [(traced_launch.launch, traced_launch.trace) for traced_launch in subject.traced],
            1e-6,
        )
        history = History(folder / "history.jsonl", {})
        own = replace(setup, profiler=Counters())
        context = EvaluationContext(subject, own, history.record, Silent())
        evaluator = OnGpu(context, runs, measured=3)
        yield Attempts(setup, subject, history), evaluator, runs
        history.close()


def test_the_fastest_that_agrees_is_selected_with_what_was_measured(
    stages: tuple[Attempts, OnGpu, Timed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "RACE_SECONDS", 0.1)
    attempts, evaluator, runs = stages
    screened = attempts.screen(CANDIDATES, attempts.prove(CANDIDATES))
    runs.ratios = dict(
        zip([attempt.number for attempt in screened], (0.9, 1.2, 1.001), strict=True)
    )
    shortlist = evaluator.shortlist(attempts.screened, ())
    chosen = evaluator.choose(evaluator.evaluate(attempts.edit(shortlist)))
    assert chosen is not None
    best = evaluator.settle(chosen, evaluator.count)
    assert runs.why_not_replayed is None, "the application is not started for trials"
    fast, slow, same = attempts.current(screened)
    assert best is not None
    assert best.attempt == fast
    check_named(fast)
    assert slow.verdict.kind == "slower"
    assert "time +20.0 % (+19.9 % to +20.1 %)".replace(" %", "%") in slow.verdict.reason
    assert slow.predicted is not None, "the prediction stays beside it"
    assert same.measurement is not None
    assert same.verdict.kind == "within noise"
    assert same.measurement.profiler == "model", "only what is better is counted"
    assert evaluator.baseline.time_ms == 2.0


def test_leaders_are_counted_once_also_if_that_puts_others_in_front(
    stages: tuple[Attempts, OnGpu, Timed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "RACE_SECONDS", 0.1)
    monkeypatch.setattr(evaluators, "LEADERS", 1)
    attempts, evaluator, runs = stages
    edited = attempts.edit(take(attempts, "8", 3, 5))
    runs.ratios = dict.fromkeys((edit.attempt.number for edit in edited), 0.7)
    chosen = evaluator.choose(evaluator.evaluate(edited))
    assert chosen is not None
    counters = evaluator._profiler
    assert isinstance(counters, Counters)
    counters.rate, counters.asked = 0.01, []
    assert evaluator.settle(chosen, evaluator.count) is not None
    assert counters.asked == [None, chosen.edit]


def test_what_would_take_longer_to_count_than_is_left_is_not_counted(
    stages: tuple[Attempts, OnGpu, Timed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "RACE_SECONDS", 0.1)
    attempts, evaluator, runs = stages
    unasked = replace(evaluator._setup.options, profiler="auto")
    setup = replace(evaluator._setup, options=unasked)
    context = replace(evaluator._context, setup=setup, recording_seconds=7.0)
    hurried = OnGpu(context, runs, measured=3)
    [edited] = attempts.edit(take(attempts, "4", 2))
    runs.ratios = {edited.attempt.number: 0.8}
    monkeypatch.setattr(evaluators, "spent", lambda share: share < 0.5)
    assert hurried.evaluate([edited])
    counters = hurried._profiler
    assert isinstance(counters, Counters)
    for seconds, asked in ((13.0, []), (15.0, [None, edited.edit])):
        counters.asked = []
        monkeypatch.setattr(evaluators, "left", lambda share, rest=seconds: rest)
        hurried.count()
        assert counters.asked == asked


def test_near_a_limit_few_are_tried_and_a_leader_is_delivered_with_its_condition(
    stages: tuple[Attempts, OnGpu, Timed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "RACE_SECONDS", 0.1)
    monkeypatch.setattr(evaluators, "spent", lambda share: True)
    attempts, evaluator, runs = stages
    [sixteen] = take(attempts, "cdiv(N, BLOCK_SIZE_N)", 16)
    number = sixteen.attempt.number
    shortlist = evaluator.shortlist([*attempts.screened] * 9, [number])
    assert len(shortlist) <= evaluators.LEADERS
    [edited] = attempts.edit([sixteen])
    runs.ratios = {number: 0.6}
    [leader] = evaluator.evaluate([edited])
    assert leader.attempt.validation is not None
    guard = SizeGuard(evaluator._setup, evaluator._context.subject, Silent())
    delivered = guard.at_once(leader)
    assert delivered is not None
    assert delivered.attempt.proof is not None
    condition = delivered.attempt.proof.condition
    assert condition is not None
    assert condition in delivered.attempt.candidate.text
    assert delivered.attempt.diff == delivered.edit.diff != leader.edit.diff
    assert guard.at_once(replace(leader, attempt=delivered.attempt)) is not None


def take(attempts: Attempts, cols: str, *groups: int) -> list[Screened]:
    pattern = load_pattern("grouped-rows")
    texts = {group: pattern.bind(cols=cols, group=group) for group in groups}
    candidates = [Candidate(text, f"grouped-rows {n}", "pattern") for n, text in texts.items()]
    made = {attempt.number for attempt in attempts.screen(candidates, attempts.prove(candidates))}
    return [attempt for attempt in attempts.screened if attempt.attempt.number in made]


def check_named(fast: Attempt) -> None:
    assert fast.verdict.kind == "better"
    assert fast.validation is not None
    assert (fast.validation.method, fast.validation.same_bits) == ("gpu", True)
    assert fast.validation.tiles_compared == fast.validation.tiles == 64
    assert fast.measurement is not None
    assert (fast.measurement.profiler, fast.measurement.l2_hit_rate) == ("counters", 0.75)
    assert fast.measurement.time_ms == 1.8
    assert fast.predicted is not None
    assert fast.predicted.profiler == "model"
    assert fast.proof is not None
    assert fast.diff
