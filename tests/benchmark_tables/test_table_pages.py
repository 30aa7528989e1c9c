# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Records and pages belong together; the audit's proofs are those of today's code."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest

import audit
from ages import probe
from figure_02 import FORMULAS, gain, mark
from figure_14 import best_so_far
from figures import TABLES
from harness.age import PAGES, aged, digest, is_current, stamps, text_of
from harness.command import DOCUMENTS, Table
from harness.items import BENCHMARKS
from harness.render import points, table
from intelliperf_swizzle.cli import main
from language_model import LANGUAGE_MODEL
from package_coverage import COVERAGE
from paper_arms import PAPER_ARMS


@pytest.mark.parametrize(
    "made", [*TABLES, LANGUAGE_MODEL, PAPER_ARMS, COVERAGE], ids=lambda made: made.name
)
def test_a_page_follows_from_its_record(made: Table) -> None:
    rendered = made.render(json.loads(made.record.read_text()))
    assert rendered == made.render(json.loads(made.record.read_text()))
    for path, text in rendered.items():
        assert (DOCUMENTS / path).exists(), path
        if path.endswith(".md"):
            assert (DOCUMENTS / path).read_text() == text, f"{path}: render it again"
            for linked in re.findall(r"\]\(([^)#]+)", text):
                assert ((DOCUMENTS / path).parent / linked).exists(), f"{path}: {linked}"


def test_each_page_of_numbers_says_how_old_they_are() -> None:
    known = stamps()
    for page in PAGES:
        stamp = known["records"][page.record]
        content = digest((BENCHMARKS / page.record).read_bytes())
        assert stamp["content"] == content, f"{page.record} is new: run benchmarks/ages.py"
        text = (DOCUMENTS / page.path).read_text("utf-8")
        assert aged(text) == text, f"{page.path}: run benchmarks/ages.py"
        if page.made != "proved":
            assert f" at `{stamp['commit']}` ({stamp['date']})" in text
        if page.made == "modelled":
            assert is_current(page, known), f"{page.record} is of older code: make it again"


@pytest.mark.long
def test_the_code_gives_the_numbers_of_its_stamp() -> None:
    """At once where the text of the rooms is that of the stamp, else in a minute."""
    for decided, now in stamps()["now"].items():
        if text_of(decided) != now["text"]:
            assert probe(decided) == now["probe"], f"{decided}: run benchmarks/ages.py"


def test_every_page_of_numbers_is_listed_with_its_record_and_commit() -> None:
    listed = (DOCUMENTS / "results" / "index.md").read_text()
    rows = dict(re.findall(r"^\| \[.*?\]\((.*?)\) \|(.*)$", listed, re.M))
    pages = {path.name for path in (DOCUMENTS / "results").glob("*.md")} - {"index.md"}
    assert set(rows) == pages | {"../wild.md", "../audit.md", "../model-accuracy.md"}
    for row in rows.values():
        assert re.search(r"\d{4}-\d\d-\d\d, [0-9a-f]{8}", row)


@pytest.mark.long
def test_the_audits_proofs_are_those_of_its_record() -> None:
    recorded = json.loads(audit.AUDIT.record.read_text())["entries"]
    for entry in recorded:
        entry.pop("modelled", None)
    assert audit.proofs() == recorded


def commands() -> list[tuple[str, bool]]:
    """For each swizzle the first command that proves and the first that refutes it."""
    found: dict[tuple[str, bool], str] = {}
    for entry in json.loads(audit.AUDIT.record.read_text())["entries"]:
        for case in entry["cases"]:
            if case["programs"] <= 70_000:
                found.setdefault((entry["swizzle"], case["holds"]), case["command"])
    return [(command, holds) for (_, holds), command in found.items()]


@pytest.mark.parametrize(("command", "holds"), commands())
def test_the_audits_commands_work(
    command: str, holds: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *arguments = shlex.split(command)
    assert program == "intelliperf-swizzle"
    assert main(arguments) == (0 if holds else 1)
    assert capsys.readouterr().out.startswith("Proved" if holds else "Refused")


def run(before: float, after: float | None, **more: Any) -> dict[str, Any]:
    best = None if after is None else {"measurement": {"l2_hit_rate": after}}
    return {
        "unchanged": {"l2_hit_rate": before, "modelled_memory_time_ms": 1.0},
        "best": best,
        "profiler": "model",
        "ceiling": 0.9,
        "nothing_to_gain": False,
        "verdicts": {"worse": 3},
        "in_the_way": {"each_l2_alone": 0.8, "in_step": 0.5},
        **more,
    }


def test_the_papers_marks() -> None:
    assert mark(run(0.3, 0.5)) == ""
    assert mark(run(0.3, None)) == "×"
    assert mark(run(0.3, 0.3002)) == "×"
    assert mark(run(0.3, None, verdicts={"not a permutation": 5})) == "⊗"
    assert mark(run(0.3, None, nothing_to_gain=True)) == "nothing to gain"
    assert gain(run(0.25, None)) == 0


def test_pages_with_language_models() -> None:
    models = [
        {"model": "some-model", "formula": formula, **run(0.3, 0.4)} for formula in FORMULAS
    ] + [{"model": "other", "formula": "swizzle", "error": "no answer"}]
    rows = [{"name": "softmax", "offline": run(0.3, None), "models": models}]
    figure_02 = TABLES[0].render({"target": "mi300x", "iterations": 5, "rows": rows})
    assert "| softmax | some-model | `swizzle-overload` | 30.0 | 40.0 |" in str(figure_02)
    assert "no answer" in figure_02["results/figure_02.md"]


def of_arm(arm: str, rates: list[float], times: list[float], **more: Any) -> list[dict[str, Any]]:
    asked = {"model": "some-model", "winner": "family", "answers": 5, "tokens": 30_000}
    return [
        {
            "kernel": "SpMV",
            "arm": arm,
            "seed": seed,
            "ceiling": 0.9,
            "unchanged": {"l2_hit_rate": 0.3, "modelled_time_ms": 2.0},
            "best": {"l2_hit_rate": rate, "modelled_time_ms": time},
            "course": [0.31, None, rate],
            **(asked | more),
        }
        for seed, (rate, time) in enumerate(zip(rates, times, strict=True))
    ]


SEARCH = of_arm(
    "search", [0.5, 0.52], [1.0, 1.0], model=None, winner="search", answers=0, tokens=None
)


@pytest.mark.parametrize(
    ("rates", "times", "words"),
    [
        ([0.51, 0.535], [1.0, 1.0], "`both` on 1 of 1 kernels: SpMV. The goal was 3 kernels.\n"),
        ([0.5, 0.52], [0.99, 0.95], "`both` on 1 of 1 kernels: SpMV. The goal was 3 kernels.\n"),
        (
            [0.51, 0.52],
            [0.99, 0.98],
            "`some-model` adds nothing to the search here. On 1 of 1 kernels",
        ),
    ],
)
def test_what_a_model_adds_is_counted(rates: list[float], times: list[float], words: str) -> None:
    runs = [*SEARCH, *of_arm("both", rates, times)]
    rendered = LANGUAGE_MODEL.render({"target": "mi300x", "iterations": 4, "runs": runs})
    written = rendered["results/language_model.md"]
    assert words in written
    assert "| SpMV | search | 2 | 51.0 (50.0–52.0) | 1 | search 2 | 3 | – | – |" in written
    assert "| family 2 | 3 | 5 | 30,000 |" in written
    assert "some-model" in written


def test_without_a_model_no_message_mentions_one() -> None:
    rendered = LANGUAGE_MODEL.render({"target": "mi300x", "iterations": 4, "runs": SEARCH})
    assert "No run of `both`" in rendered["results/language_model.md"]


def test_a_measured_run_shows_its_speed_up() -> None:
    measured = run(0.3, 0.5, profiler="ncu", in_the_way=None)
    measured["unchanged"]["time_ms"] = 3.0
    measured["best"] |= {"name": "snake"}
    measured["best"]["measurement"]["time_ms"] = 2.0
    rows = [{"name": "SpMV", "offline": measured, "models": []}]
    pages = TABLES[0].render({"target": "h200", "iterations": 5, "rows": rows})
    assert "Hit rates by: ncu." in pages["results/figure_02.md"]
    assert "| 1.50× |" in pages["results/figure_02.md"]
    assert "speed-up, measured" in pages["results/figure_02.svg"]


def test_progress_never_falls() -> None:
    assert best_so_far([None, 0.5, 0.2, 0.6], 0.4) == [0.4, 0.5, 0.5, 0.6]


def test_cells() -> None:
    assert points(-0.0123) == "-1.2"
    assert table(["a", "b"], [["x|y", 1]]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 |"
