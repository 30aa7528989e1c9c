# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The loop with a language model: a real kernel, real proofs and measurements, a scripted model."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from openai_endpoint import KEY, Counting, Cut, Hang, Raw, Status, answer

from intelliperf_swizzle.children import CallError, Ended, call_each
from intelliperf_swizzle.errors import ModelError
from intelliperf_swizzle.formulas import load_formula
from intelliperf_swizzle.frontends.triton.validate import compare
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.history import History
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.llm import Endpoint, LanguageModelProposer, Model
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.rank import NOISE_BAND, order
from intelliperf_swizzle.records import Candidate
from intelliperf_swizzle.search.attempts import Attempts, pose_problem
from intelliperf_swizzle.search.evaluators import choose_evaluator
from intelliperf_swizzle.search.examine import choose_kernel, record_application
from intelliperf_swizzle.search.guard import SizeGuard
from intelliperf_swizzle.search.loop import search
from intelliperf_swizzle.search.setup import prepare
from intelliperf_swizzle.search.stages import EvaluationContext

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
TARGET = replace(
    load_target("mi300x"), l2_bytes_per_xcd=1 << 18, l2_set_bits=None, llc_bytes=None,
    llc_gb_s=None, launch_us=0.0,
)  # fmt: skip
"""With small L2s right before memory: what they save is time, as launching takes none."""

SHARES = """\
xcd = pid % num_xcds
slot = pid // num_xcds
order = slot // 64 * 64 * num_xcds + xcd * 64 + slot % 64
pid_1 = order // (4 * grid_0) * 4 + order % 4
pid_0 = order % (4 * grid_0) // 4
"""
SHARES_RENAMED = """\
a = pid & 7
b = pid >> 3
c = (b - b % 64) * 8 + a * 64 + b % 64
row = c // 256 * 4 + c % 4
pid = row * 64 + c % 256 // 4
"""
GAIN = "fewer L2 misses"
"""What a gain is called where the model tells no time."""

DROPS = "pid = pid // 2"
REVERSED = "pid = num_pids - 1 - pid"
SWAPPED = "pid = pid ^ 1"
STRIPS = """\
w in 4, 8, 3, 16
xcd = pid % num_xcds
slot = pid // num_xcds
order = slot // 64 * 64 * num_xcds + xcd * 64 + slot % 64
pid_1 = order // (w * grid_0) * w + order % w
pid_0 = order % (w * grid_0) // w
"""
WHOLE_KERNEL = """\
import triton

@triton.jit
def transpose_kernel(x_ptr, y_ptr, M, N):
    pid = tl.program_id(0)
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """A transpose of 64 x 64 tiles, recorded and traced once; and what a run works with."""
    command = (sys.executable, str(KERNELS / "transpose.py"), "--m", "2048", "--n", "2048")
    options = Options(
        project_directory=str(tmp_path_factory.mktemp("project")), profiler="model",
        candidates=40, num_attempts=3, validation_seconds=5.0,
    )  # fmt: skip
    setup = prepare(options, command, Silent(), target=TARGET)
    with record_application(setup, Silent()) as recorded:
        yield setup, choose_kernel(recorded, setup, Silent())


class Stage:
    """One run on the kernel with a history of its own."""

    def __init__(self, kernel, folder, endpoint, *, resume=False, iterations=1, **formula):
        setup, subject = kernel
        self.history = History(folder / "history.jsonl", {}, resume=resume)
        self.attempts = Attempts(setup, subject, self.history)
        context = EvaluationContext(subject, setup, self.history.record, Silent())
        self.evaluator = choose_evaluator(context, folder)
        self.guard = SizeGuard(setup, subject, Silent())
        problem = pose_problem(setup, subject, self.evaluator, self.attempts)
        self.problem = replace(problem, iterations=iterations)
        shown = replace(load_formula("swizzle"), **{"memory_analysis": False, **formula})
        where = Endpoint("openai/any", endpoint.url, KEY)
        ask = Model(where, shown.temperature, 8192, sleep=lambda _: None)
        self.model = LanguageModelProposer(shown, ask, Silent())
        self.best = None

    def run(self, *proposers):
        found, effort = search(
            proposers or [self.model], self.problem, self.attempts, self.evaluator, Silent(),
            self.guard,
        )  # fmt: skip
        self.best = found.attempt if found else None
        self.edit = found.edit if found else None
        self.history.close()
        return effort

    @property
    def verdicts(self):
        return [attempt.verdict.kind for attempt in self.attempts.all()]

    @property
    def names(self):
        """Of the model's attempts, each with its number."""
        own = [attempt for attempt in self.attempts.all() if attempt.candidate.origin == "llm"]
        return {attempt.candidate.name: attempt.number for attempt in own}


@pytest.fixture
def stage(kernel, tmp_path, endpoint):
    return partial(Stage, kernel, tmp_path, endpoint)


def test_good_first_time(stage, endpoint):
    endpoint.script = [answer(SHARES, idea="a share of its own for each XCD")]
    run = stage()
    effort = run.run()
    [attempt] = run.attempts.all()
    assert attempt.verdict.kind == GAIN
    assert attempt.validation is not None
    assert attempt.validation.same_bits
    assert attempt.candidate.idea == "a share of its own for each XCD"
    assert attempt.candidate.iteration == 1
    assert effort.usage == attempt.candidate.usage
    assert effort.usage.tokens == 120
    line = json.loads(run.history.path.read_text().splitlines()[-1])["attempt"]
    assert SHARES.strip() in line["text"]  # and behind it what the guard tests
    assert line["usage"]["output_tokens"] == 20
    assert line["usage"]["seconds"] > 0
    assert line["diff"].startswith("--- ")
    assert line["measurement"]["l2_hit_rate"] == attempt.measurement.l2_hit_rate


def test_a_family_is_proved_member_by_member_and_the_best_goes_on(stage, endpoint):
    endpoint.script = [
        answer(STRIPS, idea="strips"),
        answer(REVERSED, critiques="{}"),
    ]
    run = stage(iterations=2)
    effort = run.run()
    assert [*run.names] == ["llm 1 w=4", "llm 1 w=8", "llm 1 w=3", "llm 1 w=16", "llm 2"]
    tried = {attempt.candidate.name: attempt for attempt in run.attempts.all()}
    assert tried["llm 1 w=3"].verdict.kind == "not a permutation"
    good = [tried[f"llm 1 w={w}"] for w in (4, 8, 16)]
    assert all(attempt.proof and attempt.screened_l2_hit_rate for attempt in good)
    evaluated = [attempt for attempt in good if attempt.measurement is not None]
    best, *others = order(evaluated)
    assert max(good, key=lambda attempt: attempt.screened_l2_hit_rate) in evaluated
    assert best.verdict.kind == GAIN
    value = best.candidate.name.split()[-1]
    assert value.replace("=", " = ") in best.candidate.text.splitlines()
    shown = " ".join(endpoint.prompt(1).split())
    assert f"this is {value}, which ranks first." in shown
    assert "Refused, not a permutation: w=3 (the first: " in shown
    for other in others:
        name = other.candidate.name.split()[-1]
        assert re.search(rf"(Other members evaluated: |by a quick model: |; ){name} [\d.]+", shown)
    assert f"- {best.number} [{GAIN}" in shown
    assert effort.usage.calls == 2
    assert {part["type"] for call in (0, 1) for part in endpoint.parts(call)} == {"text"}


def test_both_hand_over_what_they_found_and_tune_a_family_further(stage, endpoint):
    endpoint.script = [answer(STRIPS.replace("4, 8, 3, 16", "5, 32"))]
    run = stage()
    run.model.tunes = True
    run.run(OfflineProposer(), run.model)
    first = " ".join(endpoint.prompt(0).split())
    searched = [attempt for attempt in run.attempts.all() if attempt.candidate.origin != "llm"]
    assert f"A search has tried {len(searched)} candidates before you." in first
    assert re.search(r"The best of each kind: - \d+ [^:]+: fewer L2 misses: L2 hit rate", first)
    assert "screened at" not in first
    assert "why (modelled)" in first.partition("The one to beat:")[2]
    assert "critiques" not in first
    values = [int(name.partition("w=")[2]) for name in run.names]
    assert values[:2] == [5, 32]
    assert {16, 24, 64} <= set(values)
    assert len(values) == len(set(values))


class Heard(Silent):
    """Keeps the notes."""

    def __init__(self):
        self.phases, self.steps = [], []

    def phase(self, sentence):
        self.phases.append(sentence)

    def step(self, done, total, best):
        self.steps.append((done, total))


def test_six_iterations_say_how_many_answers_and_promise_no_time(stage, endpoint):
    endpoint.script = [answer(DROPS), *[answer(DROPS, critiques="{}")] * 99]
    run = stage(iterations=6)
    run.model.progress = heard = Heard()
    search([run.model], run.problem, run.attempts, run.evaluator, heard, run.guard)
    run.history.close()
    assert len(endpoint.requests) == 18
    asked = [phase for phase in heard.phases if phase.startswith("asking: ")]
    assert asked[0] == "asking: iteration 1 of 6, up to 3 answers each"
    assert asked[-1] == "asking: iteration 6 of 6, up to 3 answers each, 2 refused"
    assert "Answers left if this is refused: 2. Iterations left after this: 5." in endpoint.prompt(
        0
    )
    assert "Answers left if this is refused: 0. Iterations left after this: 0." in endpoint.prompt(
        17
    )
    assert heard.steps
    assert all(done == total for done, total in heard.steps)  # a display adds no time left
    for call in (0, 17):
        assert not re.search(r"\b(seconds|minutes)\b|time (is )?left", endpoint.prompt(call))


def test_wrong_then_good_in_one_iteration(stage, endpoint):
    endpoint.script = [answer(DROPS), answer(SHARES, critiques='{"1": "it drops half"}')]
    run = stage()
    run.run()
    assert run.verdicts == ["not a permutation", GAIN]
    assert run.attempts.all()[1].candidate.critique == "1: it drops half"
    assert "tile 0 is computed by programs 0 and 1" in endpoint.prompt(1)
    assert DROPS in endpoint.prompt(1)
    assert "critiques" not in endpoint.prompt(0)


@pytest.mark.parametrize(
    "text",
    [
        "Sorry.",
        "",
        '{"swizzle": "pid = ',
        answer("pid = pid + 0 * (" + "1 + " * 25_000 + "1)"),
        answer("int pid = blockIdx.x;"),
        answer("pid = pid % num_xcds; mélangez les blocs"),
        answer(WHOLE_KERNEL),
        answer("__import__('os').system('touch owned')"),
        answer("pid = open('owned', 'w').write('x')"),
        answer("pid = undefined_name"),
        answer("for _ in range(100000000):\n    pid = pid + 0"),
        answer("w in range(1000000000)\npid = pid + w"),
    ],
    ids=lambda text: text[-40:-26] or "empty",
)
def test_anything_else_is_refused_and_reported(stage, endpoint, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    endpoint.script = [text]
    run = stage(iterations=2)
    run.run()
    assert run.verdicts == ["not a swizzle"] * 6  # two iterations, each asks again twice
    assert not any(attempt.measurement for attempt in run.attempts.all())
    assert run.best is None
    assert "not a swizzle" in endpoint.prompt(1)
    assert len(endpoint.prompt(5)) < 40_000
    assert not (tmp_path / "owned").exists()


def test_candidates_that_the_screen_cannot_tell_apart_are_evaluated(stage):
    run = stage()
    offered = [Candidate(f"pid = pid ^ {1 << bit}", f"llm {bit}", "llm") for bit in range(12)]
    rated = run.attempts.screen(offered, run.attempts.prove(offered))
    rates = [attempt.screened_l2_hit_rate for attempt in rated]
    chosen = [attempt.attempt.number for attempt in run.attempts.promising(rated, 0.0)]
    tied = [
        attempt.number
        for attempt in rated
        if attempt.screened_l2_hit_rate >= max(rates) - NOISE_BAND
    ]
    assert len(tied) > 3
    assert len(set(chosen)) == 3
    assert set(chosen) <= set(tied)
    assert rates[chosen[0] - 1] == max(rates)
    assert chosen[1] in (tied[0], tied[-1])
    assert run.attempts.promising(rated, max(rates) + NOISE_BAND) == []
    run.history.close()


def test_what_the_machine_has_no_time_to_validate_costs_no_iteration(
    kernel, tmp_path, endpoint, monkeypatch
):
    """A compiler that is stopped at once stands for a machine that is too busy."""

    def stopped(function, *given, **options):
        if function.endswith(":find_differences"):
            return [], CallError(Ended(None, ""), "")
        return call_each(function, *given, **options)

    monkeypatch.setattr(compare, "call_each", stopped)
    endpoint.script = [answer(SHARES), answer(DROPS, critiques="{}")]
    run = Stage(kernel, tmp_path, endpoint)
    run.run()
    assert run.verdicts == ["not validated", "not a permutation", "not a permutation"]
    shown = endpoint.prompt(1)
    assert "Not judged: outputs could not be compared (the compiler of the swizzled" in shown
    assert "- 1 [not judged]: " in shown
    assert run.best is None


def test_the_same_idea_in_other_words_is_refused(stage, endpoint):
    endpoint.script = [answer(SHARES), answer(SHARES_RENAMED, critiques="{}")]
    run = stage(iterations=2)
    run.run()
    assert run.verdicts == [GAIN, *["repeated"] * 3]
    assert run.attempts.all()[1].fingerprint == run.attempts.all()[0].fingerprint
    assert "the same permutation as attempt 1" in endpoint.prompt(2)


def test_a_text_of_what_a_search_has_not_evaluated_is_evaluated(stage, endpoint):
    endpoint.script = [answer(SHARES_RENAMED)]
    run = stage()
    [known] = run.attempts.take([Candidate(SHARES, "of a search", "search")])
    run.run()
    assert run.verdicts == ["screened out", GAIN]
    assert run.attempts.all()[1].fingerprint == known.fingerprint


def test_a_shorter_text_of_an_evaluated_permutation_replaces_it(stage, endpoint):
    shorter = SHARES.replace("slot", "s").replace("order", "o")
    endpoint.script = [answer(SHARES), answer(shorter, critiques="{}")]
    run = stage(iterations=2)
    run.run()
    assert run.verdicts == [GAIN, GAIN]
    assert "o = s // 64" in run.best.candidate.text


def test_no_change_is_refused_without_a_measurement(stage, endpoint):
    endpoint.script = [answer("pid = pid + 0"), answer(REVERSED, critiques="{}")]
    run = stage()
    run.run()
    assert run.verdicts[0] == "no difference"
    assert run.attempts.all()[0].measurement is None
    assert run.attempts.all()[1].measurement is not None


def test_fences_are_part_of_the_answers_form(stage, endpoint):
    endpoint.script = [answer(f"```python\n{SHARES}```")]
    run = stage()
    run.run()
    assert run.verdicts == [GAIN]


def test_the_best_of_several_samples_is_evaluated_first(stage, endpoint, mocker):
    endpoint.script = [answer(SHARES), answer(REVERSED), answer(DROPS)]
    run = stage()
    run.model.samples = 3
    evaluate = mocker.spy(run.evaluator, "evaluate")
    run.run()
    [first] = evaluate.call_args_list[0].args[0]
    assert first.attempt.candidate.text == SHARES.strip()
    assert {GAIN, "not a permutation"} < set(run.verdicts)
    assert len({request["seed"] for request in endpoint.requests}) == 3


def test_two_in_a_row_without_gain_ask_for_another_family(stage, endpoint):
    endpoint.script = [
        answer(REVERSED, idea="from behind"),
        answer(SWAPPED, idea="neighbours change places", critiques="{}"),
        answer(SHARES, critiques="{}"),
    ]
    run = stage(iterations=3)
    run.run()
    assert "another family" not in endpoint.prompt(1)
    assert "another family" in endpoint.prompt(2)
    assert "- 1: from behind" in endpoint.prompt(2)
    assert "- 2: neighbours change places" in endpoint.prompt(2)


def test_an_endpoint_that_fails_later_leaves_the_best_so_far(stage, endpoint):
    endpoint.script = [answer(SHARES), Status(500, "out of order")]
    run = stage(iterations=3)
    effort = run.run()
    assert any("the best so far stands" in note for note in effort.notes)
    best = run.best
    assert best is not None
    assert best.number == 1


def test_an_endpoint_that_never_answers_is_an_error(stage, endpoint):
    endpoint.script = [Status(500)]
    with pytest.raises(ModelError):
        stage().run()


def test_no_swizzle_helps_is_an_answer(stage, endpoint):
    endpoint.script = [answer("none", rationale="each tile reads `x` twice itself")]
    run = stage(iterations=3)
    effort = run.run()
    assert not run.attempts.all()
    assert len(endpoint.requests) == 1
    shown = "the language model says that no renumbering helps: `each tile reads 'x' twice itself`"
    assert shown in effort.notes


def test_a_slow_memory_analysis_is_done_without(stage, endpoint):
    endpoint.script = [Hang(), answer(SHARES)]
    budgets = replace(load_formula("swizzle").budgets, call_seconds=2)
    run = stage(memory_analysis=True, budgets=budgets)
    effort = run.run()
    assert any("without a memory analysis" in note for note in effort.notes)
    assert run.verdicts == [GAIN]
    assert endpoint.requests[0]["max_tokens"] < endpoint.requests[1]["max_tokens"]


def test_a_model_that_is_too_slow_leaves_the_run_to_the_search(stage, endpoint):
    endpoint.script = [Hang()]
    run = stage(budgets=replace(load_formula("swizzle").budgets, call_seconds=2))
    run.model.fallback = OfflineProposer()
    effort = run.run()
    assert any("searched without it" in note for note in effort.notes)
    assert run.best is not None


def test_both_go_on_alone_where_the_endpoint_fails(stage, endpoint):
    endpoint.script = [Status(500)]
    run = stage()
    effort = run.run(OfflineProposer(), run.model)
    assert any("searched offline" in note for note in effort.notes)
    assert run.best is not None


def test_both_show_the_model_what_the_search_found(stage, endpoint):
    endpoint.script = [answer(REVERSED)]
    run = stage()
    run.run(OfflineProposer(), run.model)
    best = run.best
    assert best is not None
    assert best.candidate.origin in ("pattern", "search")
    assert f"The one to beat:\nAttempt {best.number}." in endpoint.prompt(0)
    assert "Report: L2 hit rate" in endpoint.prompt(0)


def test_the_token_budget_ends_the_run(stage, endpoint):
    endpoint.script = [answer(REVERSED), answer(SWAPPED, critiques="{}")]
    formula = load_formula("swizzle")
    run = stage(iterations=9, budgets=replace(formula.budgets, tokens=4200))
    effort = run.run()
    assert "the budget of 4200 tokens is spent" in effort.notes
    assert 1 <= len(endpoint.requests) < 9 * 3
    assert effort.usage.tokens <= 4200


def test_the_time_budget_ends_the_run(stage, endpoint):
    endpoint.script = [answer(REVERSED)]
    run = stage(iterations=9)
    ticks = iter([0.0, 1.0, 5000.0, 5001.0])
    run.model.clock = lambda: next(ticks)
    effort = run.run()
    assert "the budget of 1800 seconds is spent" in effort.notes
    assert len(endpoint.requests) == 1


def test_a_resumed_run_goes_on_with_the_next_iteration(stage, endpoint):
    endpoint.script = [answer(SHARES)]
    stage(iterations=1).run()
    endpoint.script = [answer(SHARES), answer(REVERSED, critiques='{"1": "good"}')]
    run = stage(iterations=2, resume=True)
    effort = run.run()
    assert [attempt.candidate.iteration for attempt in run.attempts.all()] == [1, 2]
    assert SHARES.splitlines()[0] in endpoint.prompt(1)
    assert effort.usage.calls == 2
    best = run.best
    assert best is not None
    assert best.number == 1
    assert run.edit.diff


def test_the_memory_analysis_is_asked_first_and_passed_on(stage, endpoint):
    analysis = "[[ ## memory_analysis ## ]]\nRows are shared.\n\n[[ ## completed ## ]]"
    endpoint.script = [analysis, answer(SHARES)]
    run = stage()
    run.model.formula = load_formula("swizzle-unaware")
    effort = run.run()
    assert effort.usage.calls == 2
    assert "Rows are shared." in endpoint.prompt(1)
    for call in (0, 1):
        for word in ("XCD", "xcd", "MI300", "chiplet", "dispatched"):
            assert word not in endpoint.prompt(call)


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
AWAY = b"HTTP/1.1 307 Away\r\nLocation: http://127.0.0.1:9/v1\r\nContent-Length: 0\r\n\r\n"
PACKED = OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00"

FAULTS = {
    "429": (Status(429, "slow down"), "slow down"),
    "500": (Status(500, "out of order"), "out of order"),
    "418": (Status(418, "a teapot"), "a teapot"),
    "no answer": (Hang(), "no complete answer within 4 s"),
    "half a body": (Cut(), ""),
    "empty body": (Raw(OK + b"Content-Length: 0\r\n\r\n"), ""),
    "no HTTP": (Raw(b"SSH-2.0-OpenSSH_9.6\r\n"), ""),
    "garbage for JSON": (Raw(OK + b"Content-Length: 4\r\n\r\n\xff{]\0"), ""),
    "other JSON": (Raw(OK + b"Content-Length: 2\r\n\r\n[]"), ""),
    "a byte per second": (Raw(OK + b"\r\n" + b" " * 99, 0.2), "no complete answer within 4 s"),
    "slow headers": (Raw(OK + b"X: " + b"x" * 999, 0.2), "no complete answer within 4 s"),
    "endless headers": (Raw(OK + b"X: x", endless=True), ""),
    "huge body": (Raw(OK + b"\r\n ", endless=True), "its answer has more than 4194304 bytes"),
    "packed body": (Raw(PACKED), "in the encoding `gzip`, which was not asked for"),
    "redirect": (Raw(AWAY), ""),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_endpoint_leaves_the_best_so_far_and_is_named(stage, endpoint, name):
    fault, says = FAULTS[name]
    endpoint.script = [answer(SHARES), fault]
    formula = load_formula("swizzle")
    run = stage(iterations=2, budgets=replace(formula.budgets, call_seconds=4, refusals=0))
    effort = run.run()
    shown = " ".join(effort.notes)
    assert "gave no answer" in shown
    assert "the best so far stands" in shown
    assert says in shown
    assert KEY not in shown
    assert len(shown) < 1000
    assert run.best is not None
    assert run.best.number == 1


def test_a_redirect_is_not_followed_with_the_key(stage, endpoint):
    elsewhere = f"{endpoint.url}/elsewhere".encode()
    moved = b"HTTP/1.1 307 Away\r\nLocation: " + elsewhere + b"\r\nContent-Length: 0\r\n\r\n"
    endpoint.script = [answer(SHARES), Raw(moved)]
    stage(iterations=2).run()
    assert len(endpoint.paths) == 2
    assert not any("elsewhere" in path for path in endpoint.paths)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": -5, "completion_tokens": -5, "total_tokens": -10},
        {"prompt_tokens": 10**30, "completion_tokens": 1, "total_tokens": 1},
        {"prompt_tokens": "many", "completion_tokens": None, "total_tokens": []},
        {"prompt_tokens": math.nan, "completion_tokens": 1e300, "total_tokens": 0.5},
        [1, 2],
    ],
    ids=str,
)
def test_wrong_counts_of_tokens_are_not_believed(stage, endpoint, usage):
    endpoint.script = [answer(SHARES), Counting(answer(REVERSED, critiques="{}"), usage)]
    run = stage(iterations=2)
    known = run.run().usage
    assert 100 <= known.input_tokens < 2**31
    assert 20 <= known.output_tokens < 2**31
    assert known.cost_usd is None
    assert run.best.number == 1


def test_a_hostile_endpoint_leaves_a_small_history(stage, endpoint):
    endpoint.script = [
        answer("x" * 1_000_000, idea="\ud800" * 100_000),
        answer("pid = pid  # " + "é" * 9_000, idea="é" * 500_000, critiques="{}"),
        "\0" * 300_000,
    ]
    run = stage(iterations=10)
    run.run()
    assert len(run.verdicts) >= 10
    assert run.history.path.stat().st_size < 1_000_000
