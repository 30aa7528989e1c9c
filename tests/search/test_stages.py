# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Each stage of a candidate alone: what it takes, what it returns, what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from second_language import N, Sums, small_target

from intelliperf_swizzle import stopping
from intelliperf_swizzle.dependence import NO_PAIRS, Dependence
from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.history import History
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose import CandidateBatch, Problem, ProposerReport
from intelliperf_swizzle.records import Attempt, Candidate, Validation, Verdict
from intelliperf_swizzle.search import evaluators
from intelliperf_swizzle.search.attempts import Attempts, pose_problem, screen_candidate
from intelliperf_swizzle.search.evaluators import OnModel
from intelliperf_swizzle.search.examine import choose_kernel
from intelliperf_swizzle.search.guard import SizeGuard
from intelliperf_swizzle.search.loop import search
from intelliperf_swizzle.search.setup import RunContext, prepare
from intelliperf_swizzle.search.stages import (
    Edited,
    EvaluationContext,
    Proved,
    UnitTest,
    edit_source,
    prove_candidate,
)
from intelliperf_swizzle.search.subject import Subject

REVERSED = "pid = num_pids - 1 - pid"
PAIRS = load_pattern("grouped-rows").bind(cols=N, group=2)
"""Clearly fewer misses than in the launch order; so it is from the last tile to the first."""
TARGET = small_target()


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> RunContext:
    folder = tmp_path_factory.mktemp("project")
    (folder / "kernel.sums").write_text("c[t] = a[t / N] + b[t % N]\n")
    options = Options(project_directory=str(folder), profiler="model")
    return prepare(options, ("sums",), Silent(), target=TARGET, language=Sums())


@pytest.fixture(scope="module")
def subject(setup: RunContext) -> Subject:
    recorded = setup.language.record(setup.record_request(setup.project))
    return choose_kernel(recorded, setup, Silent())


def proved(text: str, subject: Subject) -> Proved:
    outcome = prove_candidate(Candidate(text, "mine", "user"), subject, TARGET)
    assert isinstance(outcome, Proved), outcome
    return outcome


def edited(text: str, number: int, setup: RunContext, subject: Subject) -> Edited:
    outcome = edit_source(screen_candidate(proved(text, subject), number, 0.6, 0.5), setup)
    assert isinstance(outcome, Edited), outcome
    return outcome


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("pid = pid // 2", "not a permutation", "tile 0 is computed by programs 0 and 1"),
        ("pid = pid +", "not a swizzle", "1:"),
        ("pid = M - pid", "not a swizzle", "M"),
    ],
)
def test_what_is_not_proved_is_a_verdict(
    subject: Subject, text: str, kind: str, reason: str
) -> None:
    verdict = prove_candidate(Candidate(text, "mine", "user"), subject, TARGET)
    assert isinstance(verdict, Verdict)
    assert verdict.kind == kind
    assert reason in verdict.reason


def test_an_answer_that_cannot_be_read_is_not_proved(subject: Subject) -> None:
    flawed = Candidate("pid = pid", "mine", "llm", flaw="no code block")
    assert prove_candidate(flawed, subject, TARGET) == Verdict("not a swizzle", "no code block")


def test_a_proof_gives_the_tiles_again(subject: Subject) -> None:
    one = proved(REVERSED, subject)
    [tile] = one.tiles()
    assert np.array_equal(tile, np.arange(N * N)[::-1])
    assert not one.unchanged
    assert proved("pid = pid + 0", subject).unchanged
    assert one.certify().extent == "every size"


def test_a_launch_of_which_nothing_is_known_forbids_what_moves_it(subject: Subject) -> None:
    [traced] = subject.traced
    unseen = replace(traced.launch, ordinal=1, grid=(64, 1, 1))
    blind = replace(subject, launches=(traced.launch, unseen))
    refused = prove_candidate(Candidate(REVERSED, "mine", "user"), blind, TARGET)
    assert isinstance(refused, Verdict)
    assert refused.kind == "unsafe order"
    assert "launch 2" in refused.reason
    seen = replace(blind, dependences={1: Dependence(NO_PAIRS)})
    proved(REVERSED, seen)


def test_a_screened_candidate_is_an_attempt_without_evaluation(subject: Subject) -> None:
    attempt = screen_candidate(proved(REVERSED, subject), 7, 0.625, 0.5).attempt
    assert (attempt.number, attempt.screened_l2_hit_rate) == (7, 0.625)
    assert attempt.verdict.kind == "screened out"
    assert "+12.5 points" in attempt.verdict.reason
    assert attempt.measurement is None
    assert attempt.proof is not None
    assert attempt.proof.extent == "the recorded sizes"


def test_an_edit_that_cannot_be_made_is_a_verdict(setup: RunContext, subject: Subject) -> None:
    class Unwritable(Sums):
        def edit(self, *_, **__):  # type: ignore[no-untyped-def]
            raise SpliceError("kernel.sums:1: no place for it")

    screened = screen_candidate(proved(REVERSED, subject), 1, 0.6, 0.5)
    refused = edit_source(screened, replace(setup, language=Unwritable()))
    assert isinstance(refused, Verdict)
    assert (refused.kind, refused.reason) == ("not patched", "kernel.sums:1: no place for it")


def test_a_unit_test_that_does_not_end_costs_the_patch_alone(
    setup: RunContext, subject: Subject
) -> None:
    class Endless(Sums):
        def record(self, request):  # type: ignore[no-untyped-def]
            return replace(super().record(request), exit_code=None)

    options = replace(setup.options, unittest_command="sums", limit_seconds=7.0)
    unit_test = UnitTest(replace(setup, language=Endless(), options=options))
    unit_test.check()
    edited = edit_source(screen_candidate(proved(REVERSED, subject), 1, 0.6, 0.5), setup)
    assert isinstance(edited, Edited)
    refused = str(unit_test.failure(edited.edit))
    assert "took longer than 7 s; --limit_seconds" in refused


class Doubting(Sums):
    """Finds that the outputs of one text differ."""

    def __init__(self, text: str):
        self.text = text

    def validate(self, mapped, edit, **_):  # type: ignore[no-untyped-def]
        same = not edit.functions["sums"].startswith(self.text)
        return Validation("all-tiles", 1, N * N, N * N, same, difference=None if same else "c")


def evaluator(setup: RunContext, subject: Subject, language: Sums) -> tuple[OnModel, list[Attempt]]:
    remembered: list[Attempt] = []

    def remember(attempt: Attempt) -> Attempt:
        remembered.append(attempt)
        return attempt

    options = replace(
        setup.options, num_attempts=3, accordo_absolute_tolerance=0.0, validation_seconds=1.0
    )
    own = replace(setup, target=TARGET, language=language, profiler=None, options=options)
    context = EvaluationContext(subject, own, remember, Silent())
    return OnModel(context), remembered


def test_the_model_judges_against_the_baseline(setup: RunContext, subject: Subject) -> None:
    on_model, remembered = evaluator(setup, subject, Sums())
    better, same = on_model.evaluate(
        [edited(PAIRS, 1, setup, subject), edited("pid = pid", 2, setup, subject)]
    )
    assert better.attempt.verdict.kind == "fewer L2 misses"
    assert better.attempt.measurement is not None
    assert better.attempt.measurement.l2_hit_rate > on_model.baseline.l2_hit_rate
    assert better.attempt.proof is not None
    assert same.attempt.verdict.kind == "no difference"
    assert remembered == [better.attempt, same.attempt]


def test_what_the_screen_puts_below_what_a_claim_needs_is_not_replayed(
    setup: RunContext, subject: Subject
) -> None:
    """If no time is claimed: not after the first replays; what people use by hand always is."""
    timed = replace(subject.baseline, modelled_memory_time_ms=1.0, l2_hit_rate=0.99)
    on_model, _ = evaluator(setup, replace(subject, baseline=timed), Sums())
    rows = load_pattern("grouped-rows")
    texts = ["pid = pid", REVERSED, *(rows.bind(cols=N, group=group) for group in (2, 4, 8, 16))]
    waiting = [edited(text, at, setup, subject) for at, text in enumerate(texts, 1)]
    by_hand = {6}
    screened = [
        replace(candidate, attempt=replace(candidate.attempt, measurement=None))
        for candidate in waiting
    ]
    assert by_hand < {attempt.attempt.number for attempt in on_model.shortlist(screened, by_hand)}
    assert [evaluated.attempt.number for evaluated in on_model.evaluate(waiting)] == [1, 2, 3, 4, 6]


@pytest.mark.parametrize(("idle_lines", "replayed"), [(0, 4), (1_000_000_000, 6)])
def test_long_replays_end_when_none_has_been_better_for_long(
    setup: RunContext,
    subject: Subject,
    monkeypatch: pytest.MonkeyPatch,
    idle_lines: int,
    replayed: int,
) -> None:
    monkeypatch.setattr(evaluators, "IDLE_LINES", idle_lines)
    on_model, _ = evaluator(setup, subject, Sums())
    texts = [PAIRS, *(f"{REVERSED}\n{PAIRS}\npid = pid + {number}" for number in (0, 0, 0, 0, 0))]
    made = [edited(text, at, setup, subject) for at, text in enumerate(texts, 1)]
    screened = [replace(one.attempt, screened_l2_hit_rate=0.99) for one in made]
    waiting = [replace(one, attempt=new) for one, new in zip(made, screened, strict=True)]
    assert len(on_model.evaluate(waiting)) == replayed


def test_the_best_that_holds_is_confirmed(setup: RunContext, subject: Subject) -> None:
    on_model, remembered = evaluator(setup, subject, Doubting(PAIRS))
    evaluated = on_model.evaluate(
        [edited(PAIRS, 1, setup, subject), edited(f"{REVERSED}\n{PAIRS}", 2, setup, subject)]
    )
    assert [evaluated_attempt.attempt.verdict.kind for evaluated_attempt in evaluated] == [
        "fewer L2 misses"
    ] * 2
    assert on_model.confirmed == []
    first = on_model.choose(evaluated)
    assert first is evaluated[0]
    assert on_model.settle(first, on_model.count) is None
    best = on_model.settle(evaluated[1], on_model.count)
    assert best is not None
    assert best.attempt.number == 2
    assert on_model.confirmed == [best]
    refused = [attempt for attempt in remembered if attempt.verdict.kind == "output differs"]
    assert [attempt.number for attempt in refused] == [1]


@pytest.mark.parametrize("seconds", [600.0, None])
def test_under_a_limit_the_best_so_far_is_validated_before_the_next_batch(
    setup: RunContext, subject: Subject, tmp_path: Path, seconds: float | None
) -> None:
    on_model, _ = evaluator(setup, subject, Sums())
    attempts = Attempts(setup, subject, History(tmp_path / "history.jsonl", {}))
    confirmed: list[list[str]] = []

    class Batches:
        name = "offline"
        effort = ProposerReport()

        def propose(self, _: Problem) -> Iterator[CandidateBatch]:
            for text in (REVERSED, PAIRS, f"{PAIRS}\npid = pid"):
                yield CandidateBatch([Candidate(text, "mine", "pattern")])
                confirmed.append([one.attempt.candidate.text for one in on_model.confirmed])

    problem = pose_problem(setup, subject, on_model, attempts)
    guard = SizeGuard(setup, subject, Silent())
    stopping.limit(seconds)
    try:
        search([Batches()], problem, attempts, on_model, Silent(), guard)
    finally:
        stopping.limit(None)
    assert confirmed == ([[], [PAIRS], [PAIRS]] if seconds else [[], [], []])
