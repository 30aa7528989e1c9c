# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The figures' runs of language models, with a model behind a URL."""

from __future__ import annotations

from openai_endpoint import answer

import language_model
from figure_02 import FORMULAS, items, without_attempts
from harness.applications import Application
from harness.command import Wishes, endpoint_of
from harness.items import Bench
from harness.work import search

SMALL = Application("transpose", "transpose", ("--m", "2048", "--n", "2048"))
WINDOW = Application("attention, window", "window_attention", ("--length", "1024"))
CONTIGUOUS = """\
share = num_pids // num_xcds
pid = pid % num_xcds * share + pid // num_xcds
"""


def test_a_models_run_is_summed_up(endpoint, tmp_path):
    analysis = "[[ ## memory_analysis ## ]]\nShared.\n\n[[ ## completed ## ]]"
    endpoint.script = [analysis, answer(CONTIGUOUS), "no answer at all"]
    named = endpoint_of("some-model", endpoint.url)
    assert FORMULAS[0] == "swizzle"
    [run] = Bench(tmp_path / "work", jobs=1).map(search, [items(Wishes(), SMALL, named, "swizzle")])
    assert run["proposer"] == "llm"
    assert {request["model"] for request in endpoint.requests} == {"some-model"}
    assert without_attempts(run)["verdicts"]["not a swizzle"] > 0


def test_a_run_of_an_arm_is_made_once_and_summed_up(endpoint, tmp_path, monkeypatch):
    endpoint.script = ["[[ ## memory_analysis ## ]]\nShared.", answer(CONTIGUOUS), "no answer"]
    monkeypatch.setattr(language_model, "KERNELS", (WINDOW,))
    monkeypatch.setattr(language_model, "ARMS", {"model": "llm"})
    monkeypatch.setattr(language_model, "SEEDS", (7,))
    (tmp_path / "prompt.yaml").write_text(
        "base: mi300x\nname: prompt\nlaunch_us: 0\nllc_gb_s: 500\n"
    )
    target = str(tmp_path / "prompt.yaml")
    wishes = Wishes((endpoint_of("some-model", endpoint.url),), target=target)
    bench = Bench(tmp_path / "work")
    [run] = language_model.compute(bench, wishes)["runs"]
    assert (run["kernel"], run["arm"], run["seed"], run["model"]) == (
        *("attention, window", "model", 7, "some-model"),
    )
    assert run["winner"] == "model"
    assert run["best"]["l2_hit_rate"] > run["unchanged"]["l2_hit_rate"]
    assert run["best"]["modelled_time_ms"] > 0
    assert run["course"][0] > 0
    assert run["course"][1] is None
    assert run["answers"] == len(run["course"])
    asked = len(endpoint.requests)
    assert run["tokens"] == 120 * asked
    assert language_model.compute(bench, Wishes(target=target))["runs"] == [run]
    assert len(endpoint.requests) == asked
