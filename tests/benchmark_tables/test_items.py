# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Items of work: each computed once, resumed after an interruption, the same on a cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.command import endpoint_of
from harness.items import Bench
from harness.work import rates, search
from intelliperf_swizzle.errors import UsageError

SMALL = {
    "application": "kernels/transpose.py",
    "arguments": ["--m", "512", "--n", "256"],
    "target": "mi300x",
}
SWIZZLES = {"reversed": "pid = num_pids - 1 - pid", "stuck": "pid = 0 * pid"}


def noted(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Leaves a mark each time that it is computed."""
    with Path(inputs["log"]).open("a") as log:
        log.write(f"{inputs['number']}\n")
    if inputs["number"] == inputs.get("fails"):
        raise UsageError("number refused")
    if inputs["number"] == inputs.get("crashes"):
        raise KeyboardInterrupt
    return {"square": inputs["number"] ** 2}


def numbered(tmp_path: Path, count: int, **more: int) -> list[dict[str, Any]]:
    common = {"application": SMALL["application"], "log": str(tmp_path / "log"), **more}
    return [{**common, "number": number} for number in range(count)]


def log_of(tmp_path: Path) -> list[int]:
    return sorted(int(line) for line in (tmp_path / "log").read_text().split())


def test_what_is_on_file_is_not_computed_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "work", jobs=1)
    first = bench.map(noted, numbered(tmp_path, 3))
    again = bench.map(noted, numbered(tmp_path, 5))
    assert [item["square"] for item in again] == [0, 1, 4, 9, 16]
    assert again[:3] == first
    assert log_of(tmp_path) == [0, 1, 2, 3, 4]


def test_an_interrupted_table_resumes(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "work", jobs=1)
    with pytest.raises(KeyboardInterrupt):
        bench.map(noted, numbered(tmp_path, 4, crashes=2))
    done = {json.loads(file.read_text())["inputs"]["number"] for file in bench.folder.iterdir()}
    assert done <= {0, 1}
    (tmp_path / "log").write_text("")
    kept = [{**item, "crashes": 2} for item in numbered(tmp_path, 2)]
    bench.map(noted, kept)
    assert log_of(tmp_path) == sorted({0, 1} - done)


def test_a_failure_is_an_outcome_that_is_tried_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "work", jobs=1)
    outcomes = bench.map(noted, numbered(tmp_path, 3, fails=1))
    assert [outcome.get("square") for outcome in outcomes] == [0, None, 4]
    assert outcomes[1]["error"] == "number refused"
    bench.map(noted, numbered(tmp_path, 3, fails=1))
    assert log_of(tmp_path) == [0, 1, 1, 2]


def test_a_model_without_key_or_url_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LLM_GATEWAY_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError, match="neither a key nor a URL"):
        endpoint_of("gpt-4o", "openai")
    assert endpoint_of("any", "http://localhost:1/v1").model == "any"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    bench = Bench(tmp_path_factory.mktemp("here"), jobs=1)
    return bench.map(rates, [{**SMALL, "swizzles": SWIZZLES}])[0]


def test_rates_of_given_swizzles(here: Mapping[str, Any]) -> None:
    assert here["grid"] == [16, 8, 1]
    assert 0 <= here["unchanged"]["l2_hit_rate"] <= here["ceiling"] <= 1
    assert here["swizzles"]["reversed"]["l2_hit_rate"] <= here["ceiling"]
    assert here["swizzles"]["stuck"]["refused"][0] == "tile 0 is computed by programs 0 and 1"
    assert here["swizzles"]["stuck"]["computed"] == round(1 / 128, 6)


def test_a_search_is_summed_up(tmp_path: Path) -> None:
    [run] = Bench(tmp_path / "work", jobs=1).map(search, [{**SMALL, "candidates": 20}])
    assert run["unchanged"]["time_ms"] is None
    assert run["grid"] == [16, 8, 1]
    if run["best"]:
        assert run["best"]["validation"]["same_bits"]
        assert run["best"]["measurement"]["l2_hit_rate"] > run["unchanged"]["l2_hit_rate"]
    else:
        assert run["nothing_to_gain"] or len(run["attempts"]) > 0
