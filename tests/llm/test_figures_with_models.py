# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The figures' runs of language models, with a model behind a URL."""

from __future__ import annotations

import sys
from pathlib import Path

from openai_endpoint import answer

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from figure_02 import FORMULAS, items, without_attempts
from figure_14 import course
from harness.applications import Application
from harness.command import Wishes, endpoint_of
from harness.items import Bench
from harness.work import search

SMALL = Application("transpose", "transpose", ("--m", "2048", "--n", "2048"))
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
    progress = course(run)
    assert progress["screened"][0] > 0
    assert progress["screened"][1] is None
